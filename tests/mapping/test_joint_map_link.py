"""What both ends of a link have in common of a map of joints, and how the follower takes it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.mapping.joint_map import JointMapping


def ends(scale: float = -0.5) -> tuple[JointMapping, JointMapping]:
    """The maps of a leader's and a follower's end, two joints of three driven."""
    made = [JointMapping((2, 0), (1.0, s), 3, idle=(1,)) for s in (scale, -0.5)]
    return made[0], made[1]


def test_a_map_that_is_taken_over_maps_alike_and_says_how_far_the_target_moves():
    """The largest change of a joint; every capture counts as a new map."""
    leader, follower = ends()
    rng = np.random.default_rng(1)
    q_a, v_a = rng.normal(size=3), rng.normal(size=3)
    leader.capture(q_a, np.array([0.3, -0.4]))
    follower.capture(q_a, np.array([0.1, -0.3]))
    assert leader.revision == follower.revision == 1
    leader.force_scale = 0.25
    assert follower.adopt(leader.numbers) == pytest.approx((0.0, 0.2))
    assert follower.adopt(leader.numbers) == (0.0, 0.0)
    # a slide moves by metres
    follower.slides[0] = True
    follower.offsets += [0.3, 0.01]
    assert follower.adopt(leader.numbers) == pytest.approx((0.3, 0.01))
    for mapping in (leader, follower):
        mapping.forward(q_a, v_a)
    np.testing.assert_allclose(follower.q, [0.3, -0.4])
    np.testing.assert_allclose(follower.v, [v_a[2], -0.5 * v_a[0]])
    felt = [np.zeros(3), np.zeros(3)]
    for mapping, out in zip((leader, follower), felt, strict=True):
        mapping.back(np.array([1.0, 2.0]), out)
    np.testing.assert_allclose(felt[0], 0.25 * np.array([-1.0, 0.0, 1.0]))
    np.testing.assert_allclose(felt[0], felt[1])


def test_a_map_of_other_scales_is_not_taken_over():
    """The follower would move, and be felt, otherwise than the leader believes."""
    leader, follower = ends(scale=0.5)
    leader.capture(np.ones(3), np.ones(2))
    assert follower.adopt(leader.numbers) == (math.inf, math.inf)
    np.testing.assert_array_equal(follower.offsets, 0.0)


def test_a_map_knows_its_joints_by_name_and_kind():
    """Names of the follower's joints, or numbers; metres where one of them slides."""
    plain = ends()[0]
    assert plain.names == ("joint 1", "joint 2")
    assert plain.unit == "rad"
    alike = JointMapping.alike(["a", "b"], ["b", "c"], slides=[False, True])
    assert alike.names == ("b", "c")
    assert alike.unit == "m, rad"
    np.testing.assert_array_equal(alike.slides, [False, True])
