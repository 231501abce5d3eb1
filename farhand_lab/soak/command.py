"""Soak the rigs and the friction models, for ``farhand soak``.

Each rig runs in a process of its own, so that its memory is its own, and several run at a time.
With ``--go-on`` an interrupted soak goes on where it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing import connection
from pathlib import Path
from typing import Any

import farhand
from farhand.files import write_text
from farhand_lab.soak.hour import LONG, soak
from farhand_lab.soak.table import as_markdown

FRICTION = "friction"
NAMES = (*LONG, FRICTION)
M_MMAP_THRESHOLD, LARGE = -3, 1 << 17
HOUR = 3600.0  # [s]
SHORTEST, LONGEST = 10.0, 1e6  # [s]
FRICTION_SHARE = 1000.0 / HOUR
"""Friction models move for 1,000 s where rigs run for an hour."""

Results = dict[str, dict[str, Any]]


def run(
    rigs: list[str] | None, seconds: float, seed: int, jobs: int, out: Path, go_on: bool
) -> int:
    """Soak rigs, all by default, and write the results; 0 if none fails."""
    path = out / "soak.json"
    same = {"asked": seconds, "seed": seed, "code": fingerprint()}
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    names = list(rigs or NAMES)
    if go_on:
        for name in [name for name in names if is_done(results.get(name), same)]:
            print(f"{name}: done before", flush=True)
            names.remove(name)
    for name, result in side_by_side(names, seconds, seed, jobs):
        results[name] = {**same, **result}
        write_text(path, json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        write_text(out / "soak.md", as_markdown(results))
        failures = result["failures"]
        lines = [f"{name}: {len(failures)} failures, {result['wall']:g} s", *failures]
        print("\n".join(lines), flush=True)
    return int(any(not results[name]["ok"] for name in rigs or results))


def fingerprint() -> str:
    """Of all of the package's code, so that a result says what it is of."""
    digest, here = hashlib.sha256(), Path(farhand.__file__).parent
    for path in sorted(here.rglob("*.py")):
        digest.update(str(path.relative_to(here)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def is_done(result: dict[str, Any] | None, same: dict[str, Any]) -> bool:
    """Whether a result is well, and what would be found again."""
    return (
        result is not None
        and result["ok"]
        and all(result.get(name) == value for name, value in same.items())
    )


def side_by_side(
    names: list[str], seconds: float, seed: int, jobs: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Soak rigs in parallel processes; name and result of each as it ends."""
    waiting, running = deque(names), dict[Any, tuple[str, Any]]()
    context = multiprocessing.get_context("spawn")
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.popleft()
                print(f"{name}: {seconds:g} s of virtual time ...", flush=True)
                mine, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_worker, args=(theirs, name, seconds, seed))
                process.start()
                theirs.close()
                running[mine] = name, process
            for ended in connection.wait(list(running)):
                name, process = running.pop(ended)
                yield name, _found(ended, process)
    finally:
        for _, process in running.values():
            process.terminate()


def _found(ear: Any, process: Any) -> dict[str, Any]:
    """What a process found; one that died is a failure like others."""
    found: dict[str, Any] = {"wall": 0.0, "ok": False}
    with contextlib.suppress(EOFError):
        found = ear.recv()
    process.join()
    found.setdefault("failures", [f"the process ended with code {process.exitcode}"])
    return found


def _worker(tell: Any, name: str, seconds: float, seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    give_back()
    tell.send(_friction(seconds, seed) if name == FRICTION else soak(name, seconds, seed))


def give_back() -> None:
    """Let the allocator return large blocks at once, so that resident memory is in use.

    By itself the C library raises the size from which it does so with every large block that is
    freed, and keeps more and more in its heap: building and closing the dual-arm rig 24 times took
    the resident size from 171 to 212 MB, and with this from 158.8 to 158.8 MB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)


def _friction(seconds: float, seed: int) -> dict[str, Any]:
    """All friction models, each for its share of the time."""
    from farhand.friction import FRICTIONS
    from farhand_lab.youbot import friction_properties

    began = time.perf_counter()
    failed = [
        name for name in FRICTIONS if friction_properties.soak(FRICTION_SHARE * seconds, [name])
    ]
    failures = [f"{name} is not a number or makes energy" for name in failed]
    found = {"seed": seed, "seconds": FRICTION_SHARE * seconds, "models": len(FRICTIONS)}
    return {
        **found,
        "wall": round(time.perf_counter() - began, 1),
        "failures": failures,
        "ok": not failures,
    }
