"""Measuring leaves the process as it was, and takes ratios of readings side by side."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from farhand_lab.benchmarks import measure as measuring
from farhand_lab.benchmarks.measure import BATCHES, Benchmark, measure, run


def nothing() -> None:
    """Takes no time to speak of."""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_a_benchmark_that_chooses_a_core_gives_the_others_back():
    """So that the next one is not held to it."""
    before = os.sched_getaffinity(0)

    def prepare():
        os.sched_setaffinity(0, {min(before)})
        return nothing, nothing, {}

    measure(Benchmark("x", prepare, calls=1))
    assert os.sched_getaffinity(0) == before


def test_the_ratio_is_of_readings_taken_side_by_side(monkeypatch):
    """Not of the two medians, which may come from batches of unlike speed."""
    # the first only warms up
    pairs = [(9.0, 9.0)] + [(1.0, 10.0), (2.0, 1.0), (3.0, 2.0)] * (BATCHES // 3)
    readings = (reading for pair in pairs for reading in pair)
    monkeypatch.setattr(measuring, "_batch", lambda work, calls: next(readings))
    result = measure(Benchmark("x", lambda: (nothing, nothing, {}), unit="s"))
    assert (result["value"], result["floor"], result["ratio_to_floor"]) == (2.0, 2.0, 1.5)


def test_benchmarks_run_in_a_process_that_ends_with_them():
    """What one leaves behind cannot slow the next: nobody is left."""
    told: list[tuple[int, int, str]] = []
    (row,) = run("telemetry/100-channels", lambda *words: told.append(words))
    assert row["name"] == "telemetry/100-channels"
    assert 0.0 < row["value"] < 1000.0
    assert row["value"] / row["floor"] == pytest.approx(row["ratio_to_floor"], rel=0.5)
    assert told == [(0, 1, "telemetry/100-channels"), (1, 1, "")]
    assert multiprocessing.active_children() == []
