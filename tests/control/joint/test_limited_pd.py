"""Limited PD: commands stay inside their limits, and the joints arrive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.joint.loops import LimitedPD
from farhand_lab.hazardous.joint_servo import JointServo

DT = 1.0 / 120.0


@given(errors=arrays(float, (30, 6), elements=st.floats(-10.0, 10.0)))
def test_no_command_ever_breaks_a_limit(errors):
    """Whatever the reference does."""
    controller, last = LimitedPD(), np.zeros(6)
    for wanted in errors:
        u = controller.step(wanted, np.zeros(6), DT)
        assert (np.abs(u) <= controller.velocity_limit + 1e-12).all()
        assert (np.abs(u - last) <= controller.step_limit + 1e-12).all()
        last = u


def test_a_small_steady_error_gives_the_proportional_command():
    """No integral: it does not grow."""
    controller = LimitedPD(proportional=10.0, derivative=0.5)
    for _ in range(500):
        u = controller.step(np.full(6, 1e-3), np.zeros(6), DT)
    np.testing.assert_allclose(u, 0.01)


def test_a_growing_error_adds_the_derivative():
    """At 0.01 rad/s and D = 0.5, 0.005 more."""
    controller = LimitedPD(proportional=0.0, derivative=0.5)
    for i in range(50):
        u = controller.step(np.full(6, 0.01 * i * DT), np.zeros(6), DT)
    np.testing.assert_allclose(u, 0.005)


def test_smoothing_delays_the_derivative_by_its_time_constant():
    """63 % after one of them."""
    controller = LimitedPD(proportional=0.0, derivative=0.5, smoothing=0.1)
    for i in range(14):
        u = controller.step(np.full(6, 0.01 * i * DT), np.zeros(6), DT)
    assert u[0] / 0.005 == pytest.approx(1.0 - np.exp(-13 * DT / 0.1), abs=0.03)


def test_the_joints_reach_the_reference_and_no_drive_trips():
    """A far step, on delayed joints with the very limits."""
    servo, controller = JointServo(), LimitedPD()
    for _ in range(600):
        servo.step(controller.step(np.full(6, 1.0), servo.q, servo.period))
    assert not servo.off
    np.testing.assert_allclose(servo.q, 1.0, atol=1e-6)


def test_the_first_step_after_a_reset_has_no_rate():
    """An old error must not count as a jump."""
    controller = LimitedPD(proportional=0.0)
    controller.step(np.ones(6), np.zeros(6), DT)
    controller.reset()
    np.testing.assert_array_equal(controller.step(np.zeros(6), np.zeros(6), DT), np.zeros(6))


def test_limited_says_which_joints_were_held_back():
    """Only those whose command wanted to change faster."""
    controller = LimitedPD()
    controller.step(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6), DT)
    assert controller.limited.tolist() == [True, False, False, False, False, False]
