"""Wheel motors: the power balance closes, and the voltage has its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.friction import make
from farhand_lab.youbot.motor import MotorData, WheelMotors


@settings(max_examples=15)
@given(torque=st.floats(-2, 2), load=st.floats(-0.5, 0.5))
def test_what_goes_in_at_the_terminals_is_stored_or_spent(torque, load) -> None:
    """Four motors with the measured friction of their wheels, under current control."""
    motors = WheelMotors(4, MotorData(no_load=0.0), make("youbot-wheels", 4))
    for _ in range(50):
        motors.step(np.full(4, torque), 1e-3, load)
    total = sum(abs(value) for value in motors.energy.values())
    spent = sum(value for name, value in motors.energy.items() if name != "in")
    assert abs(motors.energy["in"] - spent) <= 1e-10 * max(total, 1e-9)


def test_no_load_speed_is_the_motors_own() -> None:
    """24 V: 6710 rpm and 0.185 A by the data, within 3 %."""
    motors = WheelMotors(1, MotorData(wheel_inertia=0.0))
    for _ in range(500):
        motors.apply(24.0, 1e-3)
    assert motors.speed[0] * motors.data.gear * 30.0 / np.pi == pytest.approx(6710.0, rel=0.03)
    assert motors.current[0] == pytest.approx(0.185, rel=0.03)


def test_the_voltage_never_leaves_its_limits_and_the_integral_does_not_wind_up() -> None:
    """A torque far beyond reach, then none: the current is back within a few milliseconds."""
    motors = WheelMotors(1)
    for _ in range(300):
        motors.step(np.array([50.0]), 1e-3)
        assert abs(motors.voltage[0]) <= 24.0
    for _ in range(20):
        motors.step(np.array([0.0]), 1e-3)
    assert abs(motors.current[0]) < 0.05


def test_without_its_no_load_resistance_a_rotor_keeps_turning() -> None:
    """Coasting with an open loop at zero current: only what is removed brakes it."""
    ends = []
    for b in (8.82e-6, 0.0):
        motors = WheelMotors(1, MotorData(no_load=b))
        motors.speed[:] = 5.0
        for _ in range(200):
            motors.step(np.zeros(1), 1e-3)
        ends.append(float(motors.speed[0]))
    assert ends[0] < 0.97 * ends[1]


def test_friction_of_another_number_of_joints_is_refused() -> None:
    """One model for one wheel does not serve four."""
    with pytest.raises(BadValue, match="4 motors"):
        WheelMotors(4, friction=make("kfm", 1))
