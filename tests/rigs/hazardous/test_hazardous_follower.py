"""The follower of the hazardous-environment rig: its drives answer late."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants import JointVelocity
from farhand.rigs.hazardous.following import PLACES, Hazardous, following
from farhand.rigs.hazardous.parts import make_follower
from farhand.robots import Placement, load_robot
from farhand.world import Placed, World


def test_the_arm_moves_a_twentieth_of_a_second_after_the_command():
    """The pause that limits the whole loop, and at most one cycle of the bus beside it."""
    shape, place = Hazardous(), Placement(PLACES["follower"])
    way = following(shape, load_robot("iiwa14"), place)
    world = World({"follower": Placed(way.robot, place, way.posture())}, shape.period_ns)
    drives = make_follower(world, way, shape, np.random.default_rng(0)).drives
    command = JointVelocity(6)
    command.value[:] = 0.5 * way.step_limit * way.robot.limits.velocity
    drives.write(command, 0)
    speeds = []
    for ms in range(1, 80):
        drives.advance(ms * 1_000_000)
        speeds.append(np.abs(world.ports["follower"].v).max())
    assert 50 <= np.argmax(np.array(speeds) > 1e-3) <= 60


@pytest.mark.parametrize(
    ("mapping", "base"),
    [("cartesian", "fixed"), ("position-only", "fixed"), ("cartesian", "mobile")],
)
def test_forces_come_back_one_to_one_though_motions_are_scaled(mapping, base):
    """The hand feels the contact's own force, whichever way the follower goes."""
    shape = Hazardous(mapping=mapping, base=base)
    way = following(shape, load_robot("iiwa14"), Placement(PLACES["follower"]))
    models = way.models()
    made, felt = way.mapping(models["leader"], models["follower"], True), np.zeros(6)
    made.back(np.array([3.0, -4.0, 12.0, 0.0, 0.0, 0.0]), felt)
    assert np.linalg.norm(felt[:3]) == pytest.approx(13.0)
    assert made.motion_scale != 1.0
