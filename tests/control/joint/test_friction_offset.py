"""The friction offset points where the joint moves or is pushed, within its share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.control.joint.assists import FrictionOffset
from farhand.robots import load_robot

COULOMB = np.array([7.0, 7.0, 7.0, 1.3, 1.3, 1.3])
numbers = st.lists(st.floats(-20.0, 20.0), min_size=6, max_size=6).map(np.array)


@pytest.fixture(scope="module")
def arm() -> Arm:
    """A UR5e at its home posture."""
    arm = Arm.of(load_robot("ur5e"))
    arm.update(load_robot("ur5e").home, np.zeros(6))
    return arm


def at_speed(arm: Arm, v: np.ndarray) -> Arm:
    arm.update(arm.q.copy(), v)
    return arm


@given(numbers, numbers, numbers)
def test_the_offset_never_exceeds_its_share_of_the_friction(arm, v, commanded, wrench):
    """Whatever moves or pushes, so it cannot drive a joint that has the friction it was told."""
    offset = FrictionOffset(coulomb=COULOMB).torque(at_speed(arm, v), commanded, wrench)
    assert (np.abs(offset) <= 0.7 * COULOMB * (1.0 + 1e-12)).all()


@given(numbers)
def test_a_moving_joint_is_helped_along_its_motion(arm, v):
    """Also against the command: a joint that slows down still has friction to overcome."""
    v = np.where(np.abs(v) < 0.1, 0.1, v)
    offset = FrictionOffset(coulomb=COULOMB).torque(at_speed(arm, v), -100.0 * v, None)
    np.testing.assert_allclose(offset, 0.7 * COULOMB * np.sign(v), rtol=2e-4)


def test_at_rest_what_the_hand_and_the_command_push_together_counts(arm):
    """The hand pulls with 20 N, the law answers with 4 N against it: the offset helps the hand."""
    at_speed(arm, np.zeros(6))
    hand = np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    against = -0.2 * hand @ arm.J
    felt = FrictionOffset(coulomb=COULOMB).torque(arm, against, hand)
    deaf = FrictionOffset(coulomb=COULOMB, feels_hand=False).torque(arm, against, hand)
    unmeasured = FrictionOffset(coulomb=COULOMB).torque(arm, against, None)
    assert felt[0] * (hand @ arm.J)[0] > 0.0
    assert deaf[0] * (hand @ arm.J)[0] < 0.0
    np.testing.assert_array_equal(deaf, unmeasured)


def test_slow_joints_are_helped_partly_by_motion_and_partly_by_load(arm):
    """The equation of the docstring at a speed and a load of half their thresholds; a hand that the
    command just balances counts for nothing.
    """
    law, hand = (
        FrictionOffset(coulomb=COULOMB, share=0.5),
        np.array([3.0, 2.0, -1.0, 0.2, 0.1, 0.3]),
    )
    at_speed(arm, np.full(6, -0.01))
    moving = np.tanh(-0.5)
    for command in (0.25, -0.25, 0.0):
        found = law.torque(arm, np.full(6, command) - hand @ arm.J, hand)
        direction = moving + (1.0 - abs(moving)) * np.tanh(command / 0.5)
        np.testing.assert_allclose(found, 0.5 * COULOMB * direction, rtol=1e-9)


def test_nothing_moves_and_nothing_pushes_so_nothing_is_added(arm):
    """At rest the offset is zero."""
    offset = FrictionOffset(coulomb=COULOMB).torque(
        at_speed(arm, np.zeros(6)), np.zeros(6), np.zeros(6)
    )
    np.testing.assert_array_equal(offset, np.zeros(6))
