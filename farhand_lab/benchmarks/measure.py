"""Measuring: medians of interleaved batches, so that a busy machine slows all alike."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from operator import truediv
from statistics import median
from typing import Any

from farhand.errors import UnknownName
from farhand.loop.interrupts import end_with_parent, ignoring_interrupts
from farhand.running.resume import FinishedPieces

NAMED = ("tick", "kinematics", "ik", "recording", "ur", "can", "link", "console", "publishing")
SUITES = tuple(f"farhand_lab.benchmarks.{name}" for name in NAMED)
BATCHES = 15
PAIRS = 7

Work = Callable[[], None]
Prepared = tuple[Work, Work | None, dict[str, Work]]
"""The thing that is timed, its floor or None, and its peers by name; each is called many times."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Benchmark:
    """Something to be timed."""

    name: str  #: such as ``"tick/dual-arm"``
    prepare: Callable[[], Prepared] | None  #: makes what is timed
    calls: int = 500  #: calls per batch; a batch's time divided by this is one reading
    unit: str = "µs"  #: of the result, ``"µs"`` or ``"s"``
    #: time every call by itself; the reading is their median, as for a control loop
    each: bool = False
    per_call: float = 1.0  #: units of work that one call does, [-]
    #: other results, such as success rates; ``prepare`` may fill it
    meta: dict[str, Any] = field(default_factory=dict)
    #: in place of ``prepare``, reads the thing and its floor once, one after the other, in the
    #: result's unit; called :data:`PAIRS` times
    pair: Callable[[], tuple[float, float]] | None = None


def suite() -> dict[str, Benchmark]:
    """Every benchmark by name."""
    benchmarks = [
        benchmark for module in SUITES for benchmark in importlib.import_module(module).BENCHMARKS
    ]
    return {benchmark.name: benchmark for benchmark in benchmarks}


def names() -> list[str]:
    """Names of all benchmarks."""
    return list(suite())


def run(
    selection: str | None = None,
    progress: Progress | None = None,
    finished: FinishedPieces | None = None,
) -> list[dict[str, Any]]:
    """Time the benchmarks whose name is, or begins with, ``selection``; all of them by default.

    Each group, such as ``link``, has a process of its own, so that one does not slow the next: with
    the controller of ``ur`` still running, a round trip of ``link`` took a quarter longer. Those
    that are finished are not timed again; new ones are added to them.

    Returns:
        One ``{name, value, unit, floor, ratio_to_floor, peers}`` per benchmark; the floor and its
        ratio may be None.
    """
    known, prefix = suite(), f"{selection}/"
    chosen = [b for n, b in known.items() if not selection or f"{n}/".startswith(prefix)]
    if not chosen:
        raise UnknownName("benchmark", selection or "", known)
    finished = FinishedPieces() if finished is None else finished
    left = [benchmark for benchmark in chosen if benchmark.name not in finished.rows]
    for _, group in groupby(left, key=lambda benchmark: benchmark.name.partition("/")[0]):
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawn, initializer=end_with_parent) as process:
            for benchmark in group:
                if progress is not None:
                    progress(len(finished.rows), len(chosen), benchmark.name)
                # A worker that starts here leaves Ctrl-C to this process
                with ignoring_interrupts():
                    future = process.submit(_measure_named, benchmark.name)
                finished.add(benchmark.name, future.result())
    if progress is not None:
        progress(len(chosen), len(chosen), "")
    return [finished.rows[benchmark.name] for benchmark in chosen]


def _measure_named(name: str) -> dict[str, Any]:
    return measure(suite()[name])


def measure(benchmark: Benchmark) -> dict[str, Any]:
    """Medians over interleaved batches of the thing, its floor, its peers and their ratios."""
    if benchmark.pair is not None:
        return _measure_pairs(benchmark, benchmark.pair)
    assert benchmark.prepare is not None
    # prepare may bind this process to one core
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    thing, floor, peers = benchmark.prepare()
    works = {"": thing} | ({"floor": floor} if floor else {})
    works |= {f"peer {name}": work for name, work in peers.items()}
    readings: dict[str, list[float]] = {name: [] for name in works}
    scale = (1e6 if benchmark.unit == "µs" else 1.0) / benchmark.per_call
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for batch in range(BATCHES + 1):
            for name, work in works.items():
                seconds = (_each if benchmark.each else _batch)(work, benchmark.calls)
                # The first batch warms caches
                if batch:
                    readings[name].append(seconds * scale)
    finally:
        gc.unfreeze()
        gc.enable()
        if cores is not None:
            os.sched_setaffinity(0, cores)
    bare = readings.get("floor")
    return {
        "name": benchmark.name,
        "value": _round(median(readings[""])),
        "unit": benchmark.unit,
        "floor": _round(median(bare)) if bare else None,
        "ratio_to_floor": _round(median(map(truediv, readings[""], bare))) if bare else None,
        "peers": {name: _round(median(readings[f"peer {name}"])) for name in peers},
        **({"meta": benchmark.meta} if benchmark.meta else {}),
    }


def _measure_pairs(benchmark: Benchmark, pair: Callable[[], tuple[float, float]]) -> dict[str, Any]:
    """Medians of the readings and of the ratios of pairs, which slow drift leaves alone."""
    readings = [pair() for _ in range(PAIRS)]
    ratios = sorted(value / floor for value, floor in readings)
    return {
        "name": benchmark.name,
        "value": _round(median(value for value, _ in readings)),
        "unit": benchmark.unit,
        "floor": _round(median(floor for _, floor in readings)),
        "ratio_to_floor": _round(median(ratios)),
        "peers": {},
        "meta": {"ratios": [_round(ratio) for ratio in ratios]},
    }


def _batch(work: Work, calls: int) -> float:
    """Seconds per call."""
    began = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - began) / calls


def _each(work: Work, calls: int) -> float:
    """Median seconds of single calls; the clock's own 0.1 µs is in it."""
    readings = []
    for _ in range(calls):
        began = time.perf_counter()
        work()
        readings.append(time.perf_counter() - began)
    return median(readings)


def _round(value: float) -> float:
    return float(f"{value:.4g}")
