"""Pushes on an arm's links: they act for as long as they last, and the account closes."""

from __future__ import annotations

import numpy as np

from farhand.robots import load_robot
from farhand.world import Placed, World
from farhand.world.joints import JointPush


def test_a_push_moves_the_joint_it_acts_on_and_its_work_is_accounted_for():
    """5 N·m on joint 1 for 0.2 s, without gravity: the kinetic energy is the push's work."""
    world = World({"arm": Placed(load_robot("ur5e"))}, gravity=0.0)
    world.push("arm", JointPush(np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.1, 0.2))
    port = world.ports["arm"]
    world.advance(100_000_000)
    np.testing.assert_array_equal(port.v, np.zeros(6))
    world.advance(400_000_000)
    assert port.v[0] > 0.2
    assert port.work["push"] > 0.1
    assert abs(world.energy_residual()) < 1e-3 * port.work["push"]


def test_a_push_lasts_from_its_start_to_its_end():
    """It begins with its start and is gone at its end."""
    push = JointPush(np.array([2.0]), 1.0, 0.5)
    for t, expected in ((0.999, 0.0), (1.0, 2.0), (1.499, 2.0), (1.5, 0.0)):
        push.at(t)
        assert push.now[0] == expected
