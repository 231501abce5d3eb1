"""Instrumented plant: the wrench comes from the sensor, at the sensor's rate, and the rest from the
plant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants import JointTorque, SimulatedPlant
from farhand.plants.wrappers.instrumented import InstrumentedPlant
from farhand.plants.wrappers.wrapped import FaultyPlant
from farhand.robots import load_robot
from farhand.sensing import Conditioner, ForceSensor, Mounting, load_handle, load_sensor
from farhand.world import ForceHand, ForcePulse, Placed, World

TICK = 1_000_000
HEX_E, HANDLE = load_sensor("optoforce-hex-e"), load_handle("dual-arm-handle")
MOUNTING = Mounting(np.array([0.0, -0.03, 0.05]))


def pushed(
    peak: float = 20.0, samples: int = 2, rate: float = 100.0
) -> tuple[InstrumentedPlant, SimulatedPlant]:
    """A falling arm, pushed along x from 50 ms on for 100 ms, with the published sensor on it, and
    the plant inside.
    """
    robot = load_robot("ur5e")
    world = World({"arm": Placed(robot, q=robot.postures["q_A"])})
    world.touch(
        "arm", "hand", ForceHand(pulses=[ForcePulse(0.05, 0.1, (peak, 0.0, 0.0, 0.0, 0.0, 0.0))])
    )
    plant = SimulatedPlant(world, "arm")
    profile = replace(HEX_E.silent(), rate=rate)
    sensor = ForceSensor(profile, MOUNTING, HANDLE.load, bias=np.repeat([3.0, 0.1], 3))
    conditioner = Conditioner(profile, MOUNTING, HANDLE.load, samples=samples)
    return InstrumentedPlant(plant, sensor, conditioner, Arm.of(robot)), plant


def test_the_wrench_is_the_true_one_up_to_rounding_at_the_sensors_rate():
    """Read every millisecond: a new value every ten, the last one in between."""
    plant, true = pushed()
    seen = np.array([plant.read(tick * TICK).values[-6:].copy() for tick in range(20)])
    assert not seen.any()  # the bias is being taken
    for tick in range(20, 150):
        sample = plant.read(tick * TICK)
        seen = np.vstack([seen, sample.values[-6:]])
        if tick % 10 == 0:
            assert np.abs(seen[-1] - true.port.wrench).max() < 0.2
        else:
            np.testing.assert_array_equal(seen[-1], seen[-2])
    assert seen[:, 0].max() == pytest.approx(20.0, abs=0.2)


def test_there_is_no_wrench_while_the_bias_is_taken():
    """Two readings at 100 Hz: none for the first 20 ms."""
    plant, _ = pushed()
    assert [plant.read(tick * TICK).wrench is None for tick in range(30)] == [True] * 20 + [
        False
    ] * 10


def test_there_is_no_wrench_while_the_sensor_is_saturated():
    """A push of 300 N: none from the reading at 95 % of 200 N on; one again when the plant is armed
    anew.
    """
    plant, true = pushed(300.0, rate=1000.0)
    largest = 0.0
    for tick in range(160):
        sample = plant.read(tick * TICK)
        largest = max(largest, np.abs(plant.counts / HEX_E.counts).max())
        if tick >= 2:
            assert (sample.wrench is None) == (largest >= 0.95)
    assert sample.wrench is None
    plant.rearm()
    assert plant.read(161 * TICK).wrench is not None


def test_motion_and_time_are_the_plants_own():
    """Only the wrench is another; reading twice at one time gives the same and disturbs nothing
    inside.
    """
    plant, true = pushed()
    for tick in range(0, 100, 7):
        first = plant.read(tick * TICK).copy()
        again = plant.read(tick * TICK)
        np.testing.assert_array_equal(first.values, again.values)
        np.testing.assert_array_equal(first.q, true.port.q)
        np.testing.assert_array_equal(first.v, true.port.v)
        assert first.time_ns == tick * TICK
        np.testing.assert_array_equal(true.read(tick * TICK).wrench, true.port.wrench)


def test_a_plant_without_a_wrench_has_none_to_measure():
    """No measurement stays no measurement."""
    plant, true = pushed(samples=1)
    true.imperfections.wrench_sensor = False
    assert all(plant.read(tick * TICK).wrench is None for tick in range(40))


def test_a_wrench_that_is_not_a_number_is_no_measurement():
    """NaN does not pass through the conditioner."""
    plant, true = pushed(samples=1, rate=1000.0)
    broken = InstrumentedPlant(
        FaultyPlant(true, "nan-wrench", 5 * TICK),
        plant.sensor,
        plant.conditioner,
        Arm.of(load_robot("ur5e")),
    )
    assert [broken.read(tick * TICK).wrench is None for tick in range(8)] == [
        True,
        *[False] * 4,
        *[True] * 3,
    ]
    assert "is not a number" in plant.conditioner.reason


def test_commands_reach_the_plant():
    """It is a plant like the one inside."""
    plant, true = pushed()
    command = JointTorque(6)
    command.value[:] = 3.0
    plant.write(command, 0)
    np.testing.assert_array_equal(true.port.torque, 3.0)
    assert (plant.name, plant.accepts, plant.period_ns) == (true.name, true.accepts, true.period_ns)


def test_a_tick_slower_than_the_sensor_reads_it_every_time():
    """At 48 Hz no reading is used twice."""
    plant, _ = pushed(samples=3)
    period = 21 * TICK
    assert [plant.read(k * period).wrench is None for k in range(5)] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_the_raw_reading_and_the_covariance_are_recorded_beside_the_wrench(published):
    """What the sensor said is kept, with its bias, and how far the conditioned wrench is to be
    trusted.
    """
    plant, _ = pushed()
    row = published(plant, 101)
    np.testing.assert_array_equal(row[:6], plant.conditioner.raw)
    assert row[0] > 3.0
    np.testing.assert_array_equal(row[6:].reshape(6, 6), plant.conditioner.covariance(np.eye(3)))
