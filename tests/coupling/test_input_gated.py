"""The input-gated law: shut without input, open with it, and no recoil."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import InputGated
from farhand.coupling.side import Side
from farhand.mapping.joint_map import JointMapping


def felt(angle, speed=0.0):
    """Torque on the leader of a joint that is led by an angle and moves with a speed."""
    joints = JointMapping.alike(["a"], ["a"])
    law = InputGated(mapping=joints)
    a, b = Side("leader", joints=1), Side("follower", joints=1)
    law.engage(a, b)
    a.q[:], a.v[:], b.v[:] = angle, speed, speed
    efforts = law.step(a, b, 1e-3)
    return float(efforts[0].wrench[0]), float(efforts[1].wrench[0])


def test_the_follower_is_always_pulled_and_the_leader_only_beyond_the_gate():
    """20 N·m/rad: shut up to 0.02 rad; beyond it the leader feels the spring from there on, never a
    steeper one.
    """
    for angle, beyond in ((0.01, 0.0), (0.03, 0.01), (0.05, 0.03), (-0.05, -0.03)):
        back, forth = felt(angle)
        assert forth == pytest.approx(20.0 * angle)
        assert back == pytest.approx(-20.0 * beyond)


def test_feedback_that_drives_the_leader_is_weakened():
    """At 0.2 rad/s to half; against the motion it is whole."""
    assert felt(0.05, 0.2)[0] == pytest.approx(-0.6)
    assert felt(0.05, -0.2)[0] == pytest.approx(-0.3)
    assert np.sign(felt(-0.05, 0.2)[0]) == 1.0
