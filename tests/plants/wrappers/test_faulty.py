"""Faulty plant: each fault does its own harm, for as long as it lasts, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import UnknownName
from farhand.plants import JointTorque, SimulatedPlant
from farhand.plants.wrappers.wrapped import FAULTS, FaultyPlant
from farhand.robots import load_robot
from farhand.world import ForceHand, ForcePulse, Placed, World

TICK = 1_000_000


def faulty(
    fault: str, from_ns: int = 10 * TICK, to_ns: int = 20 * TICK
) -> tuple[FaultyPlant, SimulatedPlant]:
    """A falling, pushed arm with a fault in the middle, and the plant underneath."""
    world = World({"arm": Placed(load_robot("ur5e"))})
    world.touch(
        "arm", "hand", ForceHand(pulses=[ForcePulse(-1.0, 2.0, (1.0, 2.0, 3.0, 0.0, 0.0, 0.0))])
    )
    plant = SimulatedPlant(world, "arm")
    return FaultyPlant(plant, fault, from_ns, to_ns), plant


@pytest.mark.parametrize("fault", FAULTS)
def test_before_and_after_a_fault_the_samples_are_right(fault):
    """The plant itself is healthy all the time."""
    plant, true = faulty(fault)
    for tick in range(30):
        sample = plant.read(tick * TICK)
        if not 10 <= tick < 20:
            np.testing.assert_array_equal(sample.q, true.port.q)
            np.testing.assert_array_equal(sample.v, true.port.v)
            np.testing.assert_array_equal(sample.wrench, true.port.wrench)
            assert sample.time_ns == tick * TICK


@pytest.mark.parametrize("fault", FAULTS)
def test_during_a_fault_exactly_one_thing_is_wrong(fault):
    """Position, velocity or wrench is not a number, the wrench is missing, or all of it is old."""
    plant, true = faulty(fault)
    for tick in range(20):
        sample = plant.read(tick * TICK)
        if tick == 9:
            last = sample.copy()
    if fault == "frozen":
        assert sample.time_ns == last.time_ns == 9 * TICK
        np.testing.assert_array_equal(sample.q, last.q)
        np.testing.assert_array_equal(sample.v, last.v)
        return
    wrong = {
        "position": np.isnan(sample.q).sum() == 1,
        "velocity": np.isnan(sample.v).sum() == 1,
        "wrench": sample.wrench is not None and np.isnan(sample.wrench).sum() == 1,
        "missing": sample.wrench is None,
    }
    expected = {
        "nan-position": "position",
        "nan-velocity": "velocity",
        "nan-wrench": "wrench",
        "no-wrench": "missing",
    }
    assert [name for name, broken in wrong.items() if broken] == [expected[fault]]
    assert sample.time_ns == 19 * TICK


def test_commands_still_reach_the_plant():
    """A blind arm can be told to stop."""
    plant, true = faulty("frozen", 0)
    command = JointTorque(6)
    command.value[:] = 3.0
    plant.write(command, 0)
    np.testing.assert_array_equal(true.port.torque, 3.0)


def test_a_faulty_plant_is_a_plant():
    """It has the name, the modes and the rate of the one inside."""
    plant, true = faulty("frozen")
    assert (plant.name, plant.accepts, plant.period_ns) == (true.name, true.accepts, true.period_ns)


def test_a_plant_frozen_from_the_start_repeats_its_first_sample():
    """A fault at the first tick freezes the state at start, of the right size."""
    plant, _ = faulty("frozen", 0)
    assert len(plant.read(0).q) == 6
    assert len(plant.read(5 * TICK).q) == 6


def test_an_unknown_fault_is_answered_with_those_there_are():
    """By name."""
    with pytest.raises(UnknownName, match="frozen, nan-position"):
        faulty("explodes")
