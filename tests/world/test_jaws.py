"""Jaws that hold an object by the engine's contact."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.rigs.cooperative.arms import gripping_robot
from farhand.world import Jaws, Placed, World, add_pads, box

GRAVITY, MASS = 9.804, 2.0


@pytest.fixture
def held() -> tuple[World, Jaws]:
    """An arm that stands braked, its jaws open around the edge of a free box."""
    robot = gripping_robot().edited(add_pads(0.1, Jaws.crush))
    q = robot.postures["table"]
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(q, np.zeros(6))
    at = arm.position + arm.rotation @ [0.0, 0.0, 0.05]
    world = World(
        {"arm": Placed(robot, q=q), "object": Placed(box((0.1, 0.2, 0.1), MASS, at))},
        500_000,
        GRAVITY,
    )
    jaws = Jaws()
    world.grasp("arm", "object", jaws)
    world.ports["arm"].torque[:] = arm.gravity
    world.ports["arm"].brake(True)
    return world, jaws


def run(world: World, seconds: float) -> None:
    """Let time pass."""
    world.advance(world.now_ns + round(seconds * 1e9))


def test_open_jaws_let_an_object_fall(held) -> None:
    """Freely: ½ g t²."""
    world, _ = held
    height = world.ports["object"].tool.position[2]
    run(world, 0.1)
    assert height - world.ports["object"].tool.position[2] == pytest.approx(
        0.5 * GRAVITY * 0.01, rel=0.02
    )
    assert not world.ports["arm"].wrench.any()


def test_closed_jaws_carry_its_weight_and_the_cell_sees_it(held) -> None:
    """At rest the tool carries m g and its moment; nothing has slid by more than a millimetre."""
    world, jaws = held
    jaws.closed = True
    jaws._share = 1.0  # already closed when gravity begins to act
    jaws._set()
    start = world.ports["object"].tool.position.copy()
    run(world, 0.6)
    wrench, away = (
        world.ports["arm"].wrench,
        world.ports["object"].tool.position - world.ports["arm"].tool.position,
    )
    np.testing.assert_allclose(wrench[:3], [0.0, 0.0, -MASS * GRAVITY], atol=0.4)
    np.testing.assert_allclose(wrench[3:], np.cross(away, wrench[:3]), atol=0.1)
    assert np.abs(world.ports["object"].tool.position - start).max() < 1e-3
    assert abs(world.energy_residual()) < 0.01 * MASS * GRAVITY * 0.1


def test_pads_without_friction_do_not_hold_what_is_pulled_along_them(held) -> None:
    """Up and down they hold by their normal force; sideways only friction does."""
    world, jaws = held
    jaws.closed, jaws.friction, jaws._share = True, 0.0, 1.0
    jaws._set()
    world.data.xfrc_applied[world.model.body("object/object").id, 1] = 10.0
    run(world, 0.3)
    assert world.ports["object"].tool.position[1] > 0.1
    assert world.ports["arm"].wrench[1] == pytest.approx(0.0, abs=0.1)
