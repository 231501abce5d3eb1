"""The command behind ``make soak``: soak the rigs and the friction models; results to ``docs/results``.

Each rig runs in a process of its own, so that its memory is its own. A rig that has been soaked as long with the same
seed is not soaked again: an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

from farhand.experiments.soak.hour import LONG, soak
from farhand.experiments.soak.table import as_markdown
from farhand.files import write_text

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
        print(f"soak: --seconds = {given.seconds:g} is outside [{SHORTEST:g}, {LONGEST:g}] s", file=sys.stderr)
        return 2
    path = given.out / "soak.json"
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    for name in given.rig or [*LONG, FRICTION]:
        if not given.again and is_done(results.get(name), given.seconds, given.seed):
            print(f"{name}: done before", flush=True)
            continue
        print(f"{name}: {given.seconds:g} s of virtual time ...", flush=True)
        results[name] = apart(name, given.seconds, given.seed)
        write_text(path, json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        write_text(given.out / "soak.md", as_markdown(results))
        failures = results[name]["failures"]
        print("\n".join([f"{name}: {len(failures)} failures, {results[name]['wall']:g} s", *failures]), flush=True)
    return int(any(not results[name]["ok"] for name in given.rig or results))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("soak", description="Hours of virtual time with random operators and faults.")
    names = [*LONG, FRICTION]
    made.add_argument("--rig", action="append", choices=names, help="which one, or friction; all by default")
    made.add_argument("--seconds", type=float, default=HOUR, help="virtual time per rig, 3600 by default")
    made.add_argument("--seed", type=int, default=1, help="of every random number")
    made.add_argument("--out", type=Path, default=Path("docs/results"), help="where the results go")
    made.add_argument("--again", action="store_true", help="also what has been done before")
    return made


def is_done(result: dict[str, Any] | None, seconds: float, seed: int) -> bool:
    """Whether that result is what would be found again."""
    return result is not None and result["ok"] and result["asked"] >= seconds and result["seed"] == seed


def apart(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """Soak one rig in a process of its own; a process that dies is a failure like others."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_worker, args=(theirs, name, seconds, seed))
    process.start()
    theirs.close()
    found: dict[str, Any] = {"seed": seed, "wall": 0.0, "ok": False}
    with contextlib.suppress(EOFError):
        found = mine.recv()
    process.join()
    found.setdefault("failures", [f"the process ended with code {process.exitcode}"])
    return {"asked": seconds, **found}


def _worker(connection: Any, name: str, seconds: float, seed: int) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    give_back()
    connection.send(_friction(seconds, seed) if name == FRICTION else soak(name, seconds, seed))


def give_back() -> None:
    """Let the allocator return large blocks to the system at once, so that resident memory is memory in use.

    By itself the C library raises the size from which it does so with every large block that is freed, and keeps more
    and more in its heap: building and closing the dual-arm rig 24 times took the resident size from 171 to 212 MB, and
    with this from 158.8 to 158.8 MB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)


def _friction(seconds: float, seed: int) -> dict[str, Any]:
    """All friction models, each for its share of the time."""
    from farhand.experiments.youbot import friction_soak
    from farhand.friction import FRICTIONS

    began = time.perf_counter()
    failed = [name for name in FRICTIONS if friction_soak.soak(FRICTION_SHARE * seconds, [name])]
    failures = [f"{name} is not a number or makes energy" for name in failed]
    found = {"seed": seed, "seconds": FRICTION_SHARE * seconds, "models": len(FRICTIONS)}
    return {**found, "wall": round(time.perf_counter() - began, 1), "failures": failures, "ok": not failures}
