"""Filtered plant: velocities and wrench are smoothed as published, live, and bad numbers are passed
on.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.plant import JointTorque, Plant, Sample
from farhand.plants.wrappers.filtered import FilteredPlant, Filters
from farhand.sensing.kalman import steady_gain


class Steady(Plant):
    """A plant that always reads the same, at a new time each read."""

    name, accepts, actuated, period_ns = (
        "steady",
        frozenset({JointTorque}),
        np.ones(2, dtype=bool),
        4_000_000,
    )

    def __init__(self) -> None:
        self.sample = Sample(2, 2)
        self.sample.v[:] = 1.0
        self.sample.set_wrench(np.full(6, 10.0))

    def read(self, now_ns: int) -> Sample:
        self.sample.time_ns = now_ns
        return self.sample

    def write(self, command, now_ns: int) -> None:
        pass


def run(plant: FilteredPlant, ticks: int, start: int = 1) -> Sample:
    for tick in range(start, start + ticks):
        sample = plant.read(tick * 4_000_000)
    return sample


def test_a_step_reaches_two_thirds_after_fifty_milliseconds_once_settled():
    """With r = 20 at 4 ms: gain 0.076."""
    inner = Steady()
    plant = FilteredPlant(inner, 2, 2)
    inner.sample.v[:] = 0.0
    run(plant, 500)
    inner.sample.v[:] = 1.0
    assert run(plant, 13, 600).v[0] == pytest.approx(1 - np.exp(-13 * 4 / 50.6), abs=0.01)


def test_r_of_zero_leaves_the_signal_as_it_is_and_r_may_change_without_a_jump():
    """From heavy filtering to light: the first step is still small."""
    inner = Steady()
    plant = FilteredPlant(inner, 2, 2, Filters(r_velocity=0.0, r_wrench=5000.0))
    sample = run(plant, 400)
    assert sample.v[0] == 1.0
    before = sample.wrench.copy()
    plant.filters.r_wrench = 20.0
    after = run(plant, 1, 500).wrench
    assert 0.0 < after[0] - before[0] < 0.05 * 10.0


def test_q_may_change_live_too():
    """A signal that is said to wander more is followed faster, as by a filter that began so."""
    inner = Steady()
    plant = FilteredPlant(inner, 2, 2)
    inner.sample.v[:] = 0.0
    run(plant, 500)
    plant.filters.q = 12.5
    run(plant, 100, 600)
    inner.sample.v[:] = 1.0
    assert run(plant, 1, 800).v[0] == pytest.approx(steady_gain(12.5, 20.0), rel=1e-3)


def test_the_same_sample_is_not_filtered_twice():
    """Two reads at one time are one step of the filter."""
    plant = FilteredPlant(Steady(), 2, 2)
    first = plant.read(4_000_000).v.copy()
    np.testing.assert_array_equal(plant.read(4_000_000).v, first)


def test_after_a_missing_reading_the_filter_goes_on_from_where_it_was():
    """It does not begin again from zero."""
    inner = Steady()
    plant = FilteredPlant(inner, 2, 2)
    before = run(plant, 400).wrench.copy()
    inner.sample.set_wrench(None)
    assert run(plant, 3, 500).wrench is None
    inner.sample.set_wrench(np.full(6, 10.0))
    after = run(plant, 1, 600).wrench
    assert (before < after).all() and (after <= 10.0).all() and (before > 9.9).all()


def test_no_measurement_stays_none_and_what_is_no_number_is_passed_on():
    """The guard is to see it."""
    inner = Steady()
    plant = FilteredPlant(inner, 2, 2)
    run(plant, 5)
    inner.sample.set_wrench(None)
    assert run(plant, 1, 10).wrench is None
    inner.sample.v[0] = np.nan
    assert np.isnan(run(plant, 1, 11).v[0])
    inner.sample.v[0] = 1.0
    assert np.isfinite(run(plant, 1, 12).v).all()
