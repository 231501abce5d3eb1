"""The joint map and the robot pair: what is copied, what is clamped, and no power is made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.mapping.ik import Model
from farhand.mapping.joint_map import IIWA_TO_POWERBALL, JointMapping
from farhand.mapping.workspace import IIWA_POWERBALL, RobotPair
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

seeds = st.integers(0, 2**32 - 1)


def test_identical_arms_copy_each_other() -> None:
    """A plain copy, as published for alike arms."""
    mapping = JointMapping(tuple(range(6)), (1.0,) * 6, 6)
    q, v = np.arange(6.0), np.ones(6)
    mapping.forward(q, v)
    np.testing.assert_array_equal(mapping.q, q)
    np.testing.assert_array_equal(mapping.v, v)


def test_the_published_pair_keeps_the_tools_parallel() -> None:
    """Seven joints on six: with joint 3 locked the orientations are equal."""
    leader, follower = Model(load_robot("iiwa14")), Model(load_robot("lwa4p"))
    mapping = JointMapping(**IIWA_TO_POWERBALL)
    for q in np.random.default_rng(1).uniform(-2, 2, (100, 7)):
        held = mapping.lock(q)
        assert held[2] == 0.0
        mapping.forward(held, np.zeros(7))
        np.testing.assert_allclose(
            follower.pose(mapping.q).rotation, leader.pose(held).rotation, atol=1e-12
        )


@given(seeds)
def test_no_power_is_made_or_lost(seed: int) -> None:
    """Torque back times leader speed is torque times follower speed, also at joint limits."""
    rng = np.random.default_rng(seed)
    mapping = JointMapping(**IIWA_TO_POWERBALL, lower=np.full(6, -1.0), upper=np.full(6, 1.0))
    v, torque, felt = rng.normal(size=7), rng.normal(size=6), np.zeros(7)
    mapping.forward(rng.uniform(-2, 2, 7), v)
    mapping.back(torque, felt)
    assert felt @ v == pytest.approx(torque @ mapping.v, abs=1e-12)
    assert felt[2] == 0.0


def test_a_joint_stays_at_the_followers_limit() -> None:
    """And neither moves nor is felt there."""
    mapping = JointMapping(
        (0, 1), (1.0, -1.0), 2, (0.5, 0.0), lower=np.array([-1.0, -1.0]), upper=np.array([1.0, 1.0])
    )
    mapping.forward(np.array([3.0, 0.2]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(mapping.q, [1.0, -0.2])
    np.testing.assert_array_equal(mapping.v, [0.0, -1.0])
    assert mapping.free.tolist() == [False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": (0, 1), "signs": (1.0,), "leader_joints": 2},
        {"source": (0, 1), "signs": (1.0, 1.0), "leader_joints": 3},
        {"source": (0, 0), "signs": (1.0, 1.0), "leader_joints": 2},
        {"source": (0, 1), "signs": (1.0, 1.0), "leader_joints": 2, "locked": {1: 0.0}},
        {"source": (0, 1), "signs": (1.0, 1.0), "leader_joints": 2, "upper": np.ones(3)},
    ],
)
def test_a_table_that_does_not_fit_is_refused(wrong) -> None:
    """Every joint of the leader drives one or is locked."""
    with pytest.raises(BadValue):
        JointMapping(**wrong)


def test_the_published_pair_scales_about_the_shoulders() -> None:
    """The leader's shoulder maps to the follower's, its reach to the follower's reach."""
    mapping = IIWA_POWERBALL.mapping()
    for reach in (np.zeros(3), np.array([0.955, 0, 0]), np.array([0, 0, 0.955])):
        mapping.forward(np.array([0, 0, 0.350]) + reach, np.eye(3), np.zeros(6))
        expected = np.array([0, 0, 0.205]) + 0.705 / 0.955 * reach
        np.testing.assert_allclose(mapping.position, expected, atol=1e-12)


@given(seeds)
def test_a_pair_is_the_equation_it_documents(seed: int) -> None:
    """Turned bases and turned tools included."""
    rng = np.random.default_rng(seed)
    centre_a, centre_b, axes, tool, p = rng.uniform(-1, 1, (5, 3))
    pair = RobotPair(0.5, tuple(centre_a), tuple(centre_b), tuple(axes), tuple(tool))
    mapping, R, A = (
        pair.mapping(),
        rotation_from_vector(rng.normal(size=3)),
        rotation_from_vector(axes),
    )
    mapping.forward(p, R, np.zeros(6))
    np.testing.assert_allclose(mapping.position, centre_b + 0.5 * A @ (p - centre_a), atol=1e-12)
    np.testing.assert_allclose(mapping.rotation, A @ R @ rotation_from_vector(tool), atol=1e-12)


@pytest.mark.parametrize(
    ("leader", "follower", "source"),
    [
        (["pan", "lift", "gripper"], ["j1", "j2", "j3"], (0, 1, -1)),
        (["pan", "lift", "roll"], ["j1", "j2", "gripper"], (0, 1, -1)),
        (["pan", "gripper"], ["j1", "j2", "gripper"], (0, -1, 1)),
        (["pan", "lift", "gripper"], ["j1", "gripper"], (0, 2)),
        (["pan", "lift"], ["lift", "roll", "pan"], (1, -1, 0)),
        (["a", "b", "c"], ["d", "e"], (0, 1)),
    ],
)
def test_a_gripper_moves_the_other_gripper_or_nothing(leader, follower, source) -> None:
    """Arms of unlike joints are matched in order; a hand that squeezes must not turn an elbow."""
    assert JointMapping.alike(leader, follower).source == source
