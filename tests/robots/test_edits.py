"""Edits of a robot's model, judged by its mass matrix and gravity load."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

from farhand.errors import BadValue, FarhandError, ModelError, OutOfRange
from farhand.robots import Robot, load_robot, robot_names
from farhand.robots.edits import (
    add_payload,
    scale_mass,
    set_armature,
    set_damping,
    set_frictionloss,
)

GEOM_INERTIA = """<mujoco><compiler inertiafromgeom="true" settotalmass="5"/><worldbody>
    <body name="a"><inertial pos="0 0 0" euler="20 30 40" mass="9" diaginertia="1 1 1"/>
        <joint axis="0 1 0" damping="2" frictionloss="3"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" euler="10 20 30"/>
        <body name="b" pos="0 0 1"><joint axis="1 0 0"/>
        <geom type="capsule" size="0.1 0.2" euler="0 50 0"/>
            <site name="tool" pos="0 0 0.1" euler="90 0 0"/></body></body></worldbody></mujoco>"""


pytestmark = pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass' is deprecated")


@pytest.fixture
def geom_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Robot:
    """A robot whose inertias come from its geoms and whose total mass is prescribed."""
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its deprecation warning in the working directory
    path = tmp_path / "boxes.xml"
    path.write_text(GEOM_INERTIA)
    return load_robot(path)


def mass_matrix(robot: Robot, q: NDArray[np.float64]) -> NDArray[np.float64]:
    model = robot.pinocchio()
    mass = pin.crba(model, model.createData(), q)
    return np.triu(mass) + np.triu(mass, 1).T


def random_configuration(robot: Robot) -> NDArray[np.float64]:
    qpos = np.array(robot.home)
    mujoco.mj_integratePos(
        robot.compile(), qpos, np.random.default_rng(3).normal(size=robot.actuated.size), 1.0
    )
    return qpos


@pytest.mark.parametrize("name", robot_names())
def test_a_quarter_of_the_mass_is_a_quarter_of_the_mass_matrix(name: str) -> None:
    """B2(q) = 0.25 B1(q) exactly, armature included."""
    robot = load_robot(name)
    q = random_configuration(robot)
    np.testing.assert_allclose(
        mass_matrix(robot.edited(scale_mass(0.25)), q),
        0.25 * mass_matrix(robot, q),
        rtol=1e-12,
        atol=1e-14,
    )


def test_scaling_also_reaches_inertias_that_come_from_geoms(geom_robot: Robot) -> None:
    """No ``inertiafromgeom``, ``settotalmass`` or ``<inertial>`` undoes it, alone or in a world."""
    q = np.array([0.3, -0.4])
    light = geom_robot.edited(scale_mass(0.25))
    np.testing.assert_allclose(mass_matrix(light, q), 0.25 * mass_matrix(geom_robot, q), rtol=1e-12)
    world = mujoco.MjSpec()
    world.copy_during_attach = True
    world.attach(light.spec(), prefix="light/", frame=world.worldbody.add_frame())
    assert world.compile().body_mass.sum() == pytest.approx(1.25, abs=1e-12)


def test_scaling_reaches_joint_friction(geom_robot: Robot) -> None:
    """A lighter clone with the friction of the heavy arm would not be its scaled copy."""
    model = geom_robot.edited(scale_mass(0.5)).compile()
    np.testing.assert_array_equal(model.dof_damping, [1, 0])
    np.testing.assert_array_equal(model.dof_frictionloss, [1.5, 0])


def test_edits_apply_in_order_and_leave_the_original_alone() -> None:
    """``edited`` returns a new robot; edits of an edited robot add up."""
    robot = load_robot("ur5e")
    before = robot.compile().body_mass
    twice = robot.edited(scale_mass(0.5)).edited(scale_mass(0.5), set_armature(0.3))
    np.testing.assert_allclose(twice.compile().body_mass, 0.25 * before, rtol=1e-14)
    np.testing.assert_array_equal(twice.compile().dof_armature, np.full(6, 0.3))
    np.testing.assert_array_equal(robot.compile().body_mass, before)


def test_joint_values_are_set_for_all_joints_or_one_by_one() -> None:
    """One number or one per joint, in the order of the joints."""
    values = [2.0, 2.0, 2.0, 0.5, 0.4, 0.3]
    model = (
        load_robot("ur5e")
        .edited(set_damping(values), set_frictionloss(1.5), set_armature(values))
        .compile()
    )
    np.testing.assert_array_equal(model.dof_damping, values)
    np.testing.assert_array_equal(model.dof_armature, values)
    np.testing.assert_array_equal(model.dof_frictionloss, np.full(6, 1.5))


@pytest.mark.parametrize("name", robot_names())
def test_a_payload_pulls_at_the_tool_with_its_weight(name: str) -> None:
    """Gravity load grows by the weight through Jᵀ, at the given point of the tool frame."""
    robot = load_robot(name)
    q, com, mass = random_configuration(robot), np.array([0.02, -0.03, 0.1]), 2.0
    bare, loaded = robot.pinocchio(), robot.edited(add_payload(mass, com)).pinocchio()
    data = bare.createData()
    tool = bare.getFrameId("tool", pin.OP_FRAME)
    jacobian = pin.computeFrameJacobian(bare, data, q, tool, pin.LOCAL_WORLD_ALIGNED)
    pin.updateFramePlacements(bare, data)
    lever = data.oMf[tool].rotation @ com
    at_payload = jacobian[:3] - pin.skew(lever) @ jacobian[3:]
    expected = -at_payload.T @ [0, 0, -mass * 9.81]
    gravity_bare = pin.computeGeneralizedGravity(bare, data, q).copy()
    gravity_loaded = pin.computeGeneralizedGravity(loaded, loaded.createData(), q)
    np.testing.assert_allclose(gravity_loaded - gravity_bare, expected, atol=1e-10)


def test_two_payloads_weigh_as_much_as_both(geom_robot: Robot) -> None:
    """Payloads do not replace each other, and the site's own orientation is respected."""
    model = geom_robot.edited(
        scale_mass(1.0), add_payload(1.0, (0, 0, 0.2)), add_payload(2.0, (0, 0, 0))
    ).compile()
    assert model.body_mass.sum() == pytest.approx(8.0)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.body("payload").xipos, [0, -0.2, 1.1], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: scale_mass(0.0), OutOfRange),
        (lambda: scale_mass(float("nan")), OutOfRange),
        (lambda: scale_mass(float("inf")), OutOfRange),
        (lambda: set_armature(-0.1), OutOfRange),
        (lambda: set_damping([1.0, float("nan")]), BadValue),
        (lambda: set_frictionloss("much"), BadValue),
        (lambda: add_payload(-1.0, (0, 0, 0)), OutOfRange),
        (lambda: add_payload(1.0, (0, 0)), BadValue),
        (lambda: add_payload(1.0, (0, 0, float("inf"))), BadValue),
    ],
)
def test_a_meaningless_value_is_refused_when_the_edit_is_made(
    make, kind: type[FarhandError]
) -> None:
    """Nothing waits for the compile to fail."""
    with pytest.raises(kind):
        make()


def test_the_wrong_number_of_joint_values_is_refused() -> None:
    """The message says how many joints there are."""
    with pytest.raises(BadValue, match="one number or 6"):
        load_robot("ur5e").edited(set_damping([1.0, 2.0]))


def test_an_edit_that_changes_the_degrees_of_freedom_is_refused() -> None:
    """Home and limits would no longer fit."""
    with pytest.raises(ModelError, match="from 6 to 7"):
        load_robot("ur5e").edited(
            lambda spec: spec.body("wrist_3").add_joint(name="extra", type=2) and None
        )
