"""Joint servos: delayed integrators that shut down when a command breaks a limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand_lab.hazardous.joint_servo import JointServo


def one_joint(**named: float) -> JointServo:
    """A joint that takes any step."""
    return JointServo(velocity_limit=np.ones(1), step_limit=np.full(1, 2.0), **named)


@given(delay=st.floats(0.0, 0.2), command=st.floats(-1.0, 1.0))
def test_a_held_command_moves_the_joint_by_its_speed_for_the_time_after_the_delay(delay, command):
    """Exact for delays that are no multiple of the period."""
    servo, steps = one_joint(delay=delay), 40
    for _ in range(steps):
        servo.step(np.array([command]))
    time = max(steps * servo.period - delay, 0.0)
    assert servo.q[0] == pytest.approx(servo.speed * command * time, abs=1e-9)


def test_a_command_twice_the_step_limit_trips_its_joint_only_and_stops_all():
    """The arm stands where it is, whatever is sent, until it is switched on again."""
    servo = JointServo()
    for _ in range(20):
        servo.step(0.5 * servo.step_limit)
    where = servo.q.copy()
    servo.step(
        2.6 * servo.step_limit * np.eye(6)[2] + 0.5 * servo.step_limit * (1.0 - np.eye(6)[2])
    )
    assert servo.tripped.tolist() == [False, False, True, False, False, False]
    for _ in range(20):
        servo.step(np.zeros(6))
    np.testing.assert_array_equal(servo.q, where)
    servo.restart()
    for _ in range(20):
        servo.step(0.5 * servo.step_limit)
    assert (servo.q > where).all()


def test_a_velocity_beyond_the_limit_trips_however_slowly_it_was_reached():
    """Also the limit of the velocity itself counts."""
    servo = JointServo()
    for share in np.arange(0.0, 1.2, 0.05):
        if not servo.off:
            last = share
        servo.step(share * servo.velocity_limit)
    assert servo.off and last == pytest.approx(1.05)


def test_a_command_that_is_not_a_number_trips():
    """And moves nothing."""
    servo = JointServo()
    servo.step(np.full(6, np.nan))
    assert servo.tripped.all() and np.isfinite(servo.q).all()


def test_arms_side_by_side_do_not_see_each_other():
    """One trips, the other goes on, and each moves as it would alone."""
    servo = JointServo()
    servo.place(np.zeros((2, 6)))
    alone = JointServo()
    for _ in range(30):
        servo.step(np.stack([0.9 * servo.step_limit, 1.1 * servo.step_limit]))
        alone.step(0.9 * alone.step_limit)
    assert servo.off.tolist() == [False, True]
    np.testing.assert_array_equal(servo.q[0], alone.q)


def test_a_drifting_drive_moves_without_a_command():
    """At the drift times full speed."""
    servo = one_joint(drift=0.01)
    for _ in range(120):
        servo.step(np.zeros(1))
    assert servo.q[0] == pytest.approx(0.01 * servo.speed)


def test_another_number_of_joints_is_refused():
    """The limits say how many there are."""
    with pytest.raises(BadValue, match="5 joints"):
        JointServo().place(np.zeros(5))
