"""Joints on the bus: angles as counts and back, and no further than servo and joint allow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import OutOfRange, UnknownName
from farhand.plants.servo_bus.joints import LIMBS, bus_joints, joints_named
from farhand.robots import load_robot

JOINTS = list(bus_joints().values())


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.name)
@given(share=st.floats(0.0, 1.0))
def test_an_angle_comes_back_to_half_a_count(joint, share: float) -> None:
    """Over all that the joint can do."""
    low, high = joint.limits
    angle = low + share * (high - low)
    assert (
        abs(joint.exact_counts(joint.angle(joint.counts(angle))) - joint.exact_counts(angle))
        <= 0.5 + 1e-9
    )


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.name)
def test_an_angle_beyond_the_travel_is_refused(joint) -> None:
    """By name, with the limits."""
    for angle in (joint.travel[0] - 1.0, joint.travel[1] + 1.0):
        with pytest.raises(OutOfRange, match=joint.name):
            joint.counts(math.radians(angle))


def test_there_are_twenty_numbers_and_every_joint_is_one_of_the_robots() -> None:
    """Each limb has its own decade."""
    assert len({joint.id for joint in JOINTS}) == 20
    model = load_robot("phua").compile()
    for joint in JOINTS:
        assert model.joint(joint.name).range.tolist() == pytest.approx(
            [math.radians(end) for end in joint.travel]
        )


def test_a_limb_is_its_joints_in_the_order_of_its_closed_form() -> None:
    """And an unknown joint is refused with the ones there are."""
    assert [joint.id for joint in joints_named(*LIMBS["left-arm"])] == [44, 43, 41]
    with pytest.raises(UnknownName, match="left_elbow"):
        joints_named("left_elbo")
