"""The command behind ``make soak``: soak the rigs and the friction models; results to ``docs/results``.

Each rig runs in a process of its own, so that its memory is its own, and several run at a time.
With ``--go-on`` an interrupted soak goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import multiprocessing
import os
import signal
import sys
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
M_MMAP_THRESHOLD, LARGE = -3, 1 << 17
HOUR = 3600.0  # [s]
SHORTEST, LONGEST = 10.0, 1e6  # [s]
FRICTION_SHARE = 1000.0 / HOUR
"""Friction models move for 1,000 s where rigs run for an hour."""

Results = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Soak what is asked for; 0 if all is well."""
    given = parser().parse_args(arguments)
    if not SHORTEST <= given.seconds <= LONGEST:
        print(
            f"soak: --seconds = {given.seconds:g} is outside [{SHORTEST:g}, {LONGEST:g}] s",
            file=sys.stderr,
        )
        return 2
    if given.jobs < 1:
        print(f"soak: --jobs = {given.jobs} is outside [1, ...]", file=sys.stderr)
        return 2
    path, same = (
        given.out / "soak.json",
        {"asked": given.seconds, "seed": given.seed, "code": fingerprint()},
    )
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    names = list(given.rig or [*LONG, FRICTION])
    if given.go_on:
        for name in [name for name in names if is_done(results.get(name), same)]:
            print(f"{name}: done before", flush=True)
            names.remove(name)
    for name, found in side_by_side(names, given.seconds, given.seed, given.jobs):
        results[name] = {**same, **found}
        write_text(path, json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        write_text(given.out / "soak.md", as_markdown(results))
        failures = found["failures"]
        print(
            "\n".join([f"{name}: {len(failures)} failures, {found['wall']:g} s", *failures]),
            flush=True,
        )
    return int(any(not results[name]["ok"] for name in given.rig or results))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        "soak", description="Hours of virtual time with random operators and faults."
    )
    names, cores = [*LONG, FRICTION], os.cpu_count() or 1
    made.add_argument(
        "--rig", action="append", choices=names, help="which one, or friction; all by default"
    )
    made.add_argument(
        "--seconds", type=float, default=HOUR, help="virtual time per rig, 3600 by default"
    )
    made.add_argument("--seed", type=int, default=1, help="of every random number")
    made.add_argument("--jobs", type=int, default=cores, help=f"rigs at a time, {cores} by default")
    made.add_argument("--out", type=Path, default=Path("docs/results"), help="where the results go")
    made.add_argument(
        "--go-on", action="store_true", help="leave out what has been done so with this very code"
    )
    return made


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
    """Soak rigs, so many at a time, each in a process of its own; name and result of each as it ends."""
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
    """Let the allocator return large blocks to the system at once, so that resident memory is memory in use.

    By itself the C library raises the size from which it does so with every large block that is
    freed, and keeps more and more in its heap: building and closing the dual-arm rig 24 times took
    the resident size from 171 to 212 MB, and with this from 158.8 to 158.8 MB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)


def _friction(seconds: float, seed: int) -> dict[str, Any]:
    """All friction models, each for its share of the time."""
    from farhand.friction import FRICTIONS
    from farhand_lab.youbot import friction_soak

    began = time.perf_counter()
    failed = [name for name in FRICTIONS if friction_soak.soak(FRICTION_SHARE * seconds, [name])]
    failures = [f"{name} is not a number or makes energy" for name in failed]
    found = {"seed": seed, "seconds": FRICTION_SHARE * seconds, "models": len(FRICTIONS)}
    return {
        **found,
        "wall": round(time.perf_counter() - began, 1),
        "failures": failures,
        "ok": not failures,
    }
