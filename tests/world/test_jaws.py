"""Jaws that hold an object by the engine's contact."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from farhand.arm import Arm
from farhand.rigs.cooperative.arms import gripping_robot
from farhand.world import ForceHand, ForcePulse, Jaws, Placed, World, add_pads, box
from farhand.world.objects import PADS

GRAVITY, MASS = 9.804, 2.0


@pytest.fixture(params=["arm first", "box first"])
def held(request) -> tuple[World, Jaws]:
    """An arm that stands braked, its jaws open around the edge of a free box."""
    robot = gripping_robot().edited(add_pads(0.1, Jaws.crush))
    q = robot.postures["table"]
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(q, np.zeros(6))
    at = arm.position + arm.rotation @ [0.0, 0.0, 0.05]
    placed = {"arm": Placed(robot, q=q), "object": Placed(box((0.1, 0.2, 0.1), MASS, at))}
    names = ("arm", "object") if request.param == "arm first" else ("object", "arm")
    world = World({name: placed[name] for name in names}, 500_000, GRAVITY)
    jaws = Jaws()
    world.grasp("arm", "object", jaws)
    world.ports["arm"].torque[:] = arm.gravity
    world.ports["arm"].brake(True)
    return world, jaws


def run(world: World, seconds: float) -> None:
    """Let time pass."""
    world.advance(world.now_ns + round(seconds * 1e9))


def squeeze(world: World) -> np.ndarray:
    """Normal force on each pad by the engine's own sum, [N]."""
    pads, forces, one = (
        [world.model.geom(f"arm/{pad}").id for pad in PADS],
        np.zeros(2),
        np.zeros(6),
    )
    for number, contact in enumerate(world.data.contact):
        mujoco.mj_contactForce(world.model, world.data, number, one)
        forces += one[0] * np.isin(pads, contact.geom)
    return forces


def test_jaws_close_in_their_time_and_squeeze_with_their_clamp(held) -> None:
    """Half of it after half of the time; the lower pad carries the weight on top. Open again, they
    touch nothing.
    """
    world, jaws = held
    assert not squeeze(world).any()
    jaws.closed, jaws.clamp, jaws.time = True, 600.0, 0.1
    for seconds, share in ((0.05, 0.5), (0.05, 1.0), (0.1, 1.0)):
        run(world, seconds)
        assert squeeze(world).mean() == pytest.approx(600.0 * share, rel=0.02)
    assert abs(np.diff(squeeze(world))[0]) == pytest.approx(MASS * GRAVITY, rel=0.02)
    jaws.closed = False
    run(world, 0.002)
    assert not squeeze(world).any()
    assert not world.ports["arm"].wrench.any()


def test_the_contact_of_the_jaws_is_critically_damped(held) -> None:
    """d² = 4 k per unit of mass, given to the engine with minus signs."""
    world, jaws = held
    jaws.closed = True
    run(world, 0.3)
    for pad in PADS:
        stiffness, damping = -world.model.geom_solref[world.model.geom(f"arm/{pad}").id]
        assert stiffness > 0.0 and damping > 0.0
        assert damping**2 == pytest.approx(4.0 * stiffness)


def test_pads_press_into_what_they_hold_by_their_crush() -> None:
    """Faces one height apart less twice the crush, across the tool's x axis, in front of it."""
    robot = gripping_robot().edited(add_pads(0.1, 0.004))
    world = World({"arm": Placed(robot, q=robot.postures["table"])})
    tool, model = world.ports["arm"].tool, world.model
    for name, side in zip(PADS, (-1.0, 1.0), strict=True):
        pad = model.geom(f"arm/{name}").id
        place = tool.rotation.T @ (world.data.geom_xpos[pad] - tool.position)
        turn = tool.rotation.T @ world.data.geom_xmat[pad].reshape(3, 3)
        half = model.geom_size[pad]
        np.testing.assert_allclose(turn, np.eye(3), atol=1e-9)
        # its inner face, its middle and its near end
        corner = place - [side * half[0], 0.0, half[2]]
        np.testing.assert_allclose(corner, [side * 0.046, 0.0, 0.0], atol=1e-9)


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


def test_what_else_pushes_on_the_tool_adds_to_the_contact(held) -> None:
    """The wrist feels both, and the arm is moved by the push once."""
    world, jaws = held
    jaws.closed = True
    run(world, 0.3)
    before, push = world.ports["arm"].wrench.copy(), np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])
    world.touch("arm", "hand", ForceHand(pulses=[ForcePulse(-100.0, 200.6, tuple(push))]))
    np.testing.assert_allclose(world.ports["arm"].wrench, before + push, atol=1e-4)


def test_pads_without_friction_do_not_hold_what_is_pulled_along_them(held) -> None:
    """Up and down they hold by their normal force; sideways only friction does."""
    world, jaws = held
    jaws.closed, jaws.friction, jaws._share = True, 0.0, 1.0
    jaws._set()
    world.data.xfrc_applied[world.model.body("object/object").id, 1] = 10.0
    run(world, 0.3)
    assert world.ports["object"].tool.position[1] > 0.1
    assert world.ports["arm"].wrench[1] == pytest.approx(0.0, abs=0.1)
