"""Servos: straight ramps, replanning on the way, and a potentiometer that lies in its own way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.plants.servo_bus.joints import bus_joints
from farhand.plants.servo_bus.simulated_bus import ServoLoop, Servos

JOINTS = list(bus_joints().values())


def servos(**loop: float) -> Servos:
    return Servos(JOINTS, np.full(20, 1500.0), ServoLoop(**loop))


@given(speed=st.integers(1, 255))
def test_the_ramp_is_as_steep_as_the_speed_command_says(speed: int) -> None:
    """Until the target, and no further."""
    made = servos()
    made.speed[:] = speed
    made.move(0, 2400.0)
    made.advance(0.1)
    assert made.reference[0] - 1500.0 == pytest.approx(
        min(0.1 * made.top[0] * speed / 255.0, 900.0)
    )
    made.advance(1e3)
    assert made.reference[0] == 2400.0


def test_a_new_target_on_the_way_turns_the_ramp_without_a_stop() -> None:
    """Every step is as long as the one before."""
    made, steps = servos(), []
    made.move(0, 2000.0)
    for k in range(100):
        if k == 50:
            made.move(0, 2400.0)
        before = made.reference[0]
        made.advance(1e-3)
        steps.append(made.reference[0] - before)
    assert np.ptp(steps) < 1e-9


def test_the_error_of_the_read_back_vanishes_at_centre_and_ends_and_differs_between_units():
    """One to two degrees elsewhere."""
    made = servos()
    for at in (600.0, 1500.0, 2400.0):
        np.testing.assert_allclose(made.error(np.full(20, at)), 0.0, atol=1e-9)
    between = made.error(np.full(20, 1050.0))
    assert len(set(np.round(between, 3))) == 20


def test_torque_pulls_to_the_reference_within_the_rating_and_fails_with_the_supply() -> None:
    """Saturated, then dead below the brown-out."""
    made = servos()
    torque = made.torque(np.full(20, 1000.0), np.zeros(20))
    np.testing.assert_allclose(torque, made.torque_limit)
    made.loop.voltage = 4.0
    assert not made.torque(np.full(20, 1000.0), np.zeros(20)).any()


def test_starts_must_fit_the_servos() -> None:
    """One each."""
    with pytest.raises(BadValue, match="20 servos"):
        Servos(JOINTS, np.zeros(3))
