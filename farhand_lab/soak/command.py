"""Soak the rigs and the friction models, for ``farhand soak``.

Each rig runs in a process of its own, so that its memory is its own, and several run at a time.
With ``--go-on`` an interrupted soak continues.
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

FRICTION = "friction"
NAMES = (*LONG, FRICTION)
M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES = -3, 1 << 17
SHORTEST_S, LONGEST_S = 10.0, 1e6
FRICTION_SHARE = 1000.0 / 3600.0
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
        for name in [name for name in names if is_finished(results.get(name), same)]:
            print(f"{name}: done before", flush=True)
            names.remove(name)
    for name, result in run_in_parallel(names, seconds, seed, jobs):
        results[name] = {**same, **result}
        write_text(path, json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        write_text(out / "soak.md", as_markdown(results))
        failures = result["failures"]
        lines = [f"{name}: {len(failures)} failures, {result['wall']:g} s", *failures]
        print("\n".join(lines), flush=True)
    return int(any(not results[name]["ok"] for name in rigs or results))


def fingerprint() -> str:
    """Hash of the library's code, so that a result names the code that it belongs to."""
    digest, here = hashlib.sha256(), Path(farhand.__file__).parent
    for path in sorted(here.rglob("*.py")):
        digest.update(str(path.relative_to(here)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def is_finished(result: dict[str, Any] | None, same: dict[str, Any]) -> bool:
    """Whether a result passed and has the same time, seed and code."""
    if result is None or not result["ok"]:
        return False
    return all(result.get(name) == value for name, value in same.items())


def run_in_parallel(
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
                yield name, _result_of(ended, process)
    finally:
        for _, process in running.values():
            process.terminate()


def _result_of(receiver: Any, process: Any) -> dict[str, Any]:
    """The result of a process; one that died is a failure like others."""
    result: dict[str, Any] = {"wall": 0.0, "ok": False}
    with contextlib.suppress(EOFError):
        result = receiver.recv()
    process.join()
    result.setdefault("failures", [f"the process ended with code {process.exitcode}"])
    return result


def _worker(sender: Any, name: str, seconds: float, seed: int) -> None:
    # Ctrl-C reaches the parent, which ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return_freed_memory()
    sender.send(_friction(seconds, seed) if name == FRICTION else soak(name, seconds, seed))


def return_freed_memory() -> None:
    """Let the allocator return large blocks at once, so that resident memory is in use.

    By default the C library raises that size with every large block that is freed, and keeps more
    and more in its heap: building and closing the dual-arm rig 24 times took the resident size from
    171 to 212 MB, and with this from 158.8 to 158.8 MB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def _friction(seconds: float, seed: int) -> dict[str, Any]:
    """All friction models, each for its share of the time."""
    from farhand.friction import FRICTIONS
    from farhand_lab.youbot import friction_properties

    began = time.perf_counter()
    share = FRICTION_SHARE * seconds
    failed = [name for name in FRICTIONS if friction_properties.soak(share, [name])]
    failures = [f"{name} is not a number or creates energy" for name in failed]
    wall = round(time.perf_counter() - began, 1)
    result = {"seed": seed, "seconds": share, "models": len(FRICTIONS), "wall": wall}
    return {**result, "failures": failures, "ok": not failures}


HEAD = """# Soak

Random operators and random faults in virtual time, from a seed. Made by `farhand soak`; all numbers
are in `soak.json`. A trip is *explained* by an injected fault of its kind, place and time, or by
the limit it names. Memory is the resident size of the process: its growth within the long session,
once the history of signals is full, and from the first to the last short session of one kind.

"""
COLUMNS = (
    "rig | time | sessions | ticks | commands (refused) | acts | trips (unexplained) | NaN | MB | "
    "growth | verdict"
)


def as_markdown(results: dict[str, dict[str, Any]]) -> str:
    """The page."""
    rows = [f"| {COLUMNS} |", "|" + " --- |" * len(COLUMNS.split("|"))]
    rows += [_row(name, result) for name, result in sorted(results.items()) if "ticks" in result]
    parts = _friction_line(results.get("friction")), _code(results), _failures(results)
    return HEAD + "\n".join(rows) + "\n" + "".join(parts)


def _row(name: str, result: dict[str, Any]) -> str:
    trips, acts = sum(result["trips"].values()), sum(result["acts"].values())
    counted = {
        word: sum(line.startswith(word) for line in result["failures"])
        for word in ("unexplained", "not a number")
    }
    growth = ", ".join(_share(result[f"memory_growth_{kind}"]) for kind in ("within", "across"))
    cells = (
        name,
        f"{result['seconds']:g} s",
        result["sessions"],
        f"{result['ticks']:,}",
        f"{result['commands']:,} ({result['refused']:,})",
        f"{acts:,}",
        f"{trips:,} ({counted['unexplained']})",
        counted["not a number"],
        f"{max(result['memory_mb'].values()):g}",
        growth,
        "ok" if result["ok"] else "**failed**",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _share(growth: float | None) -> str:
    return "–" if growth is None else f"{100 * growth:+.1f} %"


def _friction_line(result: dict[str, Any] | None) -> str:
    if result is None or "models" not in result:
        return ""
    verdict = "no NaN, no energy created" if result["ok"] else "; ".join(result["failures"])
    models = f"{result['models']} models, {result['seconds']:g} s of random motion each"
    return f"\nFriction: {models}: {verdict}.\n"


def _code(results: dict[str, dict[str, Any]]) -> str:
    codes = sorted({result["code"] for result in results.values() if "code" in result})
    return f"\nCode: {', '.join(codes)} (over every Python file of the package).\n" if codes else ""


def _failures(results: dict[str, dict[str, Any]]) -> str:
    lines = [
        f"- {name}: {words}" for name, result in results.items() for words in result["failures"]
    ]
    return "\n## Failures\n\n" + "\n".join(lines) + "\n" if lines else ""
