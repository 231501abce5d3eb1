"""Reproduce the rigs side by side, one process each; what measures time comes last and alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

from farhand.loop.interrupts import end_with_parent, ending_workers, ignoring_interrupts
from farhand_lab import harness, report
from farhand_lab.harness import Entry, Experiment, Progress

LOOK_S = 0.3
"""How often the finished pieces are collected, [s]."""

_FORK = get_context("fork")
# made before the workers, which inherit it; full rows are small beside its buffer
_finished: Any = None


def run(
    *selections: str, progress: Progress, seed: int, plots: bool, finished: dict[str, Entry]
) -> list[Entry]:
    """As :func:`farhand_lab.harness.run`, with the same results, on all cores.

    Args:
        selections: what to reproduce.
        progress: called with the ids done, the ids in total and the id that comes next.
        seed: of all random numbers.
        plots: whether figures are drawn.
        finished: entries by key that need not be measured; new ones are added as they come.
    """
    global _finished
    items = harness.select(*selections)
    left = [item for item in items if item.key not in finished]
    rigs: dict[str, list[str]] = {}
    for item in left:
        if not measures_time(item):
            rigs.setdefault(item.group, []).append(item.key)
    if len(rigs) > 1:
        _finished = _FORK.Queue()
        count = min(os.cpu_count() or 1, len(rigs))
        pool = ProcessPoolExecutor(count, _FORK, initializer=end_with_parent)
        with ending_workers(), pool:
            with ignoring_interrupts():
                # the longest first
                order = sorted(rigs.values(), key=len, reverse=True)
                futures = [pool.submit(_measure, keys, seed, plots) for keys in order]
            pending: Any = futures
            while pending:
                pending = wait(pending, LOOK_S).not_done
                _collect(finished, progress, len(items))
            for future in futures:
                future.result()
        _collect(finished, progress, len(items))
    keep = report.drawn if plots else report.undrawn
    return harness.run(*selections, progress=progress, seed=seed, keep=keep, finished=finished)


def measures_time(item: Experiment) -> bool:
    """Whether an experiment reads the wall clock, and so wants the machine for itself."""
    return bool(getattr(sys.modules[item.function.__module__], "MEASURES_TIME", False))


def _measure(keys: Sequence[str], seed: int, plots: bool) -> None:
    """In a worker: the experiments of one rig; rows go out as they are finished."""
    entries: dict[str, Entry] = {}
    sent: set[str] = set()

    def send(next_one: str) -> None:
        new = [] if plots else report.undrawn([entries[key] for key in entries.keys() - sent])
        sent.update(f"{entry.group}/{entry.id}" for entry in new)
        _finished.put((next_one, [report.to_row(entry) for entry in new]))

    with harness.seeded(seed):
        items = harness.select(*keys)
        measured = harness.measure(items, lambda done, total, key: send(key), finished=entries)
        if plots:
            _finished.put(("", [report.to_row(entry) for entry in report.drawn(measured)]))


def _collect(finished: dict[str, Entry], progress: Progress, total: int) -> None:
    while not _finished.empty():
        next_one, rows = _finished.get()
        for entry in map(report.from_row, rows):
            finished[f"{entry.group}/{entry.id}"] = entry
        progress(len(finished), total, next_one)
