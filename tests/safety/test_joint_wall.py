"""Joint wall: free in the middle, pushing back near the limits, never pulling in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.safety.handle import JointWall

LIMIT = np.array([2.0, 1.5])


def wall() -> JointWall:
    """Two joints."""
    made = JointWall()
    made.watch(-LIMIT, LIMIT)
    return made


def test_in_the_middle_there_is_no_wall():
    """At any speed."""
    assert not wall().torque(np.array([1.8, -1.3]), np.array([5.0, -5.0])).any()


def test_at_rest_it_is_a_spring_from_the_edge_of_the_zone():
    """200 N·m/rad, both ends."""
    edge = LIMIT - np.radians(10.0)
    np.testing.assert_allclose(wall().torque(edge + 0.1, np.zeros(2)), -20.0)
    np.testing.assert_allclose(wall().torque(-edge - 0.1, np.zeros(2)), 20.0)


def test_deep_in_the_zone_the_damper_acts_in_full():
    """τ = −(k s + d q̇): 200 N·m/rad and 40 N·m·s/rad; halfway to that depth half of the damper."""
    edge, v = LIMIT - np.radians(10.0), np.full(2, 0.5)
    for depth, share in ((0.1, 1.0), (np.radians(1.0), 0.5)):
        expected = -(200.0 * depth + share * 40.0 * 0.5)
        np.testing.assert_allclose(wall().torque(edge + depth, v), expected)


@given(q=st.floats(-2.2, 2.2), v=st.floats(-10.0, 10.0))
def test_it_never_pulls_into_the_limit_and_is_a_mirror_image(q, v):
    """Not even while the joint moves away fast."""
    torque = wall().torque(np.array([q, 0.0]), np.array([v, 0.0]))[0]
    assert torque * np.sign(q) <= 0.0
    assert wall().torque(np.array([-q, 0.0]), np.array([-v, 0.0]))[0] == -torque


@given(v=st.floats(-10.0, 10.0))
def test_entering_fast_makes_no_step(v):
    """A micro-radian into the zone the torque is that of a micro-radian."""
    edge = LIMIT - np.radians(10.0)
    assert np.abs(wall().torque(edge + 1e-6, np.full(2, v))).max() < 0.02


def test_it_takes_energy_out_of_a_bounce():
    """A joint that flies in comes back slower."""
    law, q, v = wall(), np.array([1.8, 0.0]), np.array([1.0, 0.0])
    for _ in range(20000):
        v = v + 1e-4 * law.torque(q, v) / 2.56
        q = q + 1e-4 * v
    assert -0.5 < v[0] < 0.0


def test_limits_without_room_are_refused():
    """Two walls must fit."""
    both = 2.0 * np.radians(10.0)
    JointWall().watch(np.zeros(2), np.full(2, both + 1e-3))
    for upper in (np.full(2, both - 1e-3), np.array([2.0, 0.3]), np.full(3, 2.0)):
        with pytest.raises(BadValue, match="room"):
            JointWall().watch(np.zeros(2), upper)
    with pytest.raises(BadValue, match="room"):
        JointWall().watch(np.full(2, 3.0), np.full(2, 3.3))


def test_the_clearance_is_the_distance_from_the_nearer_limit():
    """And below zero beyond it."""
    made = JointWall()
    made.watch(np.array([-1.0, 0.5]), np.array([2.0, 3.0]))
    for q, clear in (([0.0, 1.0], [1.0, 0.5]), ([1.5, 3.2], [0.5, -0.2])):
        np.testing.assert_allclose(made.clearance(np.array(q)), clear)
