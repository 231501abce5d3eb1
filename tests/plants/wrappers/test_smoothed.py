"""Smoothed plant: the measured wrench comes late and calm, and nothing that is wrong with it is
hidden.
"""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest

from farhand.plants import Imperfections, Plant, Sample, SimulatedPlant
from farhand.plants.wrappers.filtered import SmoothedPlant, Smoothing
from farhand.robots import load_robot
from farhand.world import ForceHand, ForcePulse, Placed, World

UR5E = load_robot("ur5e")
MS = 1_000_000


def plant_of(smoothing: Smoothing, **imperfections) -> SmoothedPlant:
    """A weightless UR5e that is pushed by a slow half sine of 10 N."""
    world = World({"arm": Placed(UR5E)}, gravity=0.0)
    world.touch(
        "arm", "hand", ForceHand(pulses=[ForcePulse(0.0, 1000.0, (10.0, 0.0, 0.0, 0.0, 0.0, 0.0))])
    )
    plant = SimulatedPlant(world, "arm", Imperfections(**imperfections), np.random.default_rng(1))
    return SmoothedPlant(plant, 6, 6, smoothing)


def test_a_step_of_force_is_seen_to_63_percent_after_the_time_the_published_ratio_implies():
    """K of the steady state is K²/(1 − K) = q/r: 126 ms at 500 Hz and 2.5e-4."""
    plant = plant_of(Smoothing())
    plant._plant = _Stepping()
    seen = [plant.read(now * MS).wrench[0] for now in range(3000)]
    late = next(now for now in range(2000, 3000) if seen[now] >= 1.0 - math.exp(-1.0)) - 2000
    assert late == pytest.approx(126, abs=4)


class _Stepping(Plant):
    """A plant at rest whose force jumps from 0 to 1 N at 2 s, when the filter has settled."""

    def read(self, now_ns: int):
        sample = Sample(6, 6)
        sample.time_ns = now_ns
        sample.set_wrench(np.full(6, float(now_ns >= 2000 * MS)))
        return sample

    def write(self, command, now_ns: int) -> None:
        pass


def test_noise_is_reduced_as_the_gain_says():
    """White noise of 1 N leaves √(K/(2 − K)) of it: 0.09 N."""
    plant = plant_of(Smoothing(rate=1000.0), force_noise=1.0)
    seen = np.array([plant.read(now * MS).wrench[1] for now in range(6000)])[1000:]
    gain = 0.0157
    assert seen.std() == pytest.approx(math.sqrt(gain / (2.0 - gain)), rel=0.35)


def test_switched_off_the_plants_own_sample_comes_through():
    """The very object, so nothing is lost or late."""
    plant = plant_of(Smoothing(active=False))
    assert plant.read(5 * MS) is plant._plant.read(5 * MS)


@pytest.mark.parametrize("fault", ["nan-wrench", "no-wrench"])
def test_what_is_wrong_with_a_measurement_is_passed_on(fault):
    """A guard must see a value that is not a number, and a law that there is none."""
    plant = plant_of(Smoothing(), fault=fault, fault_start=0.05)
    for now in range(100):
        sample = plant.read(now * MS)
    assert sample.wrench is None if fault == "no-wrench" else np.isnan(sample.wrench).any()


def test_a_lost_reading_costs_certainty_and_not_the_estimate():
    """A push of 10 N with every fifth reading lost settles at 10 N, and so it stays."""
    plant, felt = plant_of(Smoothing(rate=1000.0)), []
    inner = plant._plant.read(0)
    for now in range(1500):
        inner.set_wrench(None if now % 5 == 4 else np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        with mock.patch.object(plant._plant, "read", return_value=inner):
            sample = plant.read(now * MS)
        assert (sample.wrench is None) == (now % 5 == 4)
        felt.append(10.0 if sample.wrench is None else sample.wrench[0])
    np.testing.assert_allclose(felt[1000:], 10.0, rtol=1e-3)


def test_motion_and_time_are_the_plants_own():
    """Only the wrench is smoothed."""
    plant = plant_of(Smoothing())
    for now in range(50):
        sample, raw = plant.read(now * MS), plant._plant.read(now * MS)
        np.testing.assert_array_equal(sample.motion, raw.motion)
        assert sample.time_ns == raw.time_ns


def test_the_wrench_before_the_filter_and_the_variance_after_it_are_recorded(published):
    """The raw reading is the plant's own; the variance is that of a reading times what the gain
    leaves of it.
    """
    plant = plant_of(Smoothing(rate=1000.0), force_noise=0.5, torque_noise=0.1)
    row = published(plant, 2000)
    np.testing.assert_array_equal(row[:6], plant._plant.read(1999 * MS).wrench)
    np.testing.assert_allclose(row[6:], 0.0157 * np.repeat([0.25, 0.01], 3), rtol=0.02)
