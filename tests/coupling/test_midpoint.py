"""The midpoint law: half a spring on each side, and dampers against all motion."""

from __future__ import annotations

import pytest

from farhand.coupling import Midpoint
from farhand.coupling.side import Side
from farhand.mapping.joint_map import JointMapping


def torques(angle, speed_a, speed_b):
    """On leader and follower of one joint, 20 N·m/rad and 1.2 N·m·s/rad; what each side damps."""
    joints = JointMapping.alike(["a"], ["a"])
    law = Midpoint(mapping=joints)
    a, b = Side("leader", joints=1), Side("follower", joints=1)
    law.engage(a, b)
    a.q[:], a.v[:], b.v[:] = angle, speed_a, speed_b
    return [(float(one.wrench[0]), float(one.local[0])) for one in law.step(a, b, 1e-3)]


def test_each_side_has_half_the_spring_and_its_own_damper():
    """The efforts are opposite at rest; in motion each damper sees its own side alone."""
    assert torques(0.1, 0.0, 0.0) == [(pytest.approx(-1.0), 0.0), (pytest.approx(1.0), 0.0)]
    (on_a, drag_a), (on_b, drag_b) = torques(0.1, 0.5, -0.2)
    assert drag_a == pytest.approx(-0.6) and drag_b == pytest.approx(0.24)
    assert on_a == pytest.approx(-1.0 - 0.6) and on_b == pytest.approx(1.0 + 0.24)


def test_free_motion_costs_the_hand_two_dampers():
    """Both joints at one speed: the spring is at rest and both dampers drag."""
    (on_a, _), (on_b, _) = torques(0.0, 1.0, 1.0)
    assert on_a == pytest.approx(-1.2) and on_b == pytest.approx(-1.2)
