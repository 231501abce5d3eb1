"""The youBot's robot and rig: the experiments measure what they say; quick ids pass."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.simulated.mecanum import TICK
from farhand_lab import harness
from farhand_lab.youbot import motor, rig, robot

QUICK = ("Y-16", "Y-17", "Y-18", "Y-19", "Y-46")


@pytest.mark.parametrize("id", QUICK)
def test_quick_experiments_pass(id) -> None:
    """Those without a rig."""
    (entry,) = harness.run(f"youbot/{id}")
    assert entry.verdict == "pass", entry.note


def test_the_path_of_the_base_is_continuous_and_its_speed_is_its_rate() -> None:
    """Position, speed and acceleration belong together; it rests at both ends."""
    t = np.arange(0.0, rig.BASE_SECONDS, 1e-3)
    x, v, a = np.array([rig.path(float(s)) for s in t]).T
    np.testing.assert_allclose(np.gradient(x, t), v, atol=2e-4)
    assert np.abs(v).max() == pytest.approx(rig.SPEED)
    assert np.abs(np.cumsum(a) * 1e-3 - v).max() < 1e-3
    assert v[0] == v[-1] == 0.0


def test_a_swing_is_told_from_a_creep() -> None:
    """A base that creeps to its target is at rest; one that swings by 0.1 mm is not."""
    t = np.linspace(0.0, 1.0, 600)
    assert rig.shaking(1e-3 * (1.0 - t) ** 2) < 1e-9
    assert rig.shaking(5e-5 * np.sin(40.0 * t)) == pytest.approx(0.1, rel=0.2)


def test_the_recording_of_a_lifted_wheel_has_counts_and_noise() -> None:
    """Whole counts, 2 % of noise, both directions."""
    found = rig.lifted(1)
    counts = found.position / TICK
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    assert found.torque.min() < -0.03 and found.torque.max() > 0.03


def test_a_perfect_encoder_closes_the_square_exactly() -> None:
    """What is left of the odometry's error is its counts alone."""
    closure, errors = robot.square(0.5 * np.pi, 0.0)
    assert closure < 1e-9 and errors.max() < 1e-9


def test_the_bench_pulls_the_pen_home_with_70_newtons_per_metre() -> None:
    """On every axis of the pen, against its displacement."""
    spring = rig.Spring(rig.KT, 0.0, 30.0, 0.0)
    for axis in np.eye(3):
        np.testing.assert_allclose(rig._force(spring, 0.01 * axis), -0.7 * axis, atol=1e-12)


def test_a_blocked_motor_settles_within_its_bandwidth() -> None:
    """500 Hz: a third of a millisecond to 63 %, three of them to 95 %."""
    assert motor.current_step() < 1.5
