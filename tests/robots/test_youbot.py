"""The youBot against the public description, and its two variants against each other."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import UnknownName
from farhand.plants.simulated.mecanum import LinkMap
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

# origin [m], fixed turn (axis, degrees), joint axis: sources/youbot §2.9
CHAIN = [
    ((0.024, 0.0, 0.096), ("z", 170.0), (0, 0, -1)),
    ((0.033, 0.0, 0.019), ("y", -65.0), (0, 1, 0)),
    ((0.0, 0.0, 0.155), ("y", 146.0), (0, 1, 0)),
    ((0.0, 0.0, 0.135), ("y", -102.5), (0, 1, 0)),
    ((-0.002, 0.0, 0.130), ("z", 167.5), (0, 0, -1)),
]
MOUNT = (0.143, 0.0, 0.046 + 0.084)
TOOL = (0.0, 0.0, 0.070)


def transform(position: tuple[float, ...], rotation: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def published_pose(q: np.ndarray) -> np.ndarray:
    poses = [transform(MOUNT, np.eye(3))]
    for (origin, (axis, turn), joint), angle in zip(CHAIN, q, strict=True):
        fixed = rotation_from_vector(np.radians(turn) * np.eye(3)["xyz".index(axis)])
        poses.append(
            transform(origin, fixed @ rotation_from_vector(angle * np.array(joint, dtype=float)))
        )
    return functools.reduce(np.matmul, [*poses, transform(TOOL, np.eye(3))])


def arm_at(variant: str, q: np.ndarray) -> Arm:
    arm = Arm.of(load_robot("youbot", variant))
    arm.update(q, np.zeros(arm.nv))
    return arm


def test_the_tool_is_where_the_public_description_puts_it() -> None:
    """Fifty random postures of the arm on the standing base."""
    rng, arm = np.random.default_rng(1), arm_at("fixed", load_robot("youbot", "fixed").home)
    for q in rng.uniform(-3.0, 3.0, (50, 5)):
        arm.update(q, np.zeros(5))
        np.testing.assert_allclose(arm.position, published_pose(q)[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(arm.rotation, published_pose(q)[:3, :3], rtol=0, atol=1e-12)


def test_home_is_the_published_first_setpoint_with_the_tool_45_degrees_down() -> None:
    """(0.35, 0, 0.35) m above the floor, tool axis (0.7071, 0, −0.7071): erratum ER-13 resolved."""
    for variant in ("fixed", "mobile"):
        arm = arm_at(variant, load_robot("youbot", variant).home)
        np.testing.assert_allclose(arm.position, [0.35, 0.0, 0.35], atol=1e-9)
        np.testing.assert_allclose(
            arm.rotation[:, 2], [np.sqrt(0.5), 0.0, -np.sqrt(0.5)], atol=1e-9
        )


def test_the_candle_pose_points_straight_up() -> None:
    """The published unfolded pose equals the description's joint offsets, up to a degree."""
    arm = arm_at("fixed", load_robot("youbot", "fixed").postures["candle"])
    np.testing.assert_allclose(arm.rotation[:, 2], [0.0, 0.0, 1.0], atol=1e-12)
    height = 0.084 + 0.046 + 0.096 + 0.019 + 0.155 + 0.135 + 0.130 + 0.070
    assert arm.position[2] == pytest.approx(height, abs=1e-12)


def test_a_standing_base_changes_nothing_for_the_arm() -> None:
    """Arm block of mass matrix, gravity and Jacobian agree between the variants."""
    home = load_robot("youbot", "fixed").home
    fixed, mobile = arm_at("fixed", home), arm_at("mobile", np.concatenate([np.zeros(3), home]))
    np.testing.assert_allclose(mobile.M[3:, 3:], fixed.M, atol=1e-12)
    np.testing.assert_allclose(mobile.gravity[3:], fixed.gravity, atol=1e-12)
    np.testing.assert_allclose(mobile.J[:, 3:], fixed.J, atol=1e-12)


def test_the_wheels_inertia_is_the_armature_of_the_base() -> None:
    """Four blocks of J_w + G² J_r through the Link Map: M = Aᵀ J A, which is diagonal."""
    block, link = 1.6e-3 + (9405.0 / 364.0) ** 2 * 1.35e-5, LinkMap()
    armature = load_robot("youbot").compile().dof_armature[:3]
    np.testing.assert_allclose(np.diag(armature), block * link.A.T @ link.A, rtol=1e-4, atol=1e-12)


def test_masses_are_those_of_one_published_set() -> None:
    """Links and gripper 6.165 kg, base 22 kg."""
    assert load_robot("youbot").compile().body_mass.sum() == pytest.approx(22.0 + 6.165)


def test_locking_a_joint_that_is_not_there_is_refused_by_name(tmp_path) -> None:
    """The joints there are come with the message."""
    folder = tmp_path / "rail"
    folder.mkdir()
    (folder / "model.xml").write_text(
        '<mujoco><worldbody><body name="a"><joint name="j1" axis="0 0 1"/>'
        '<geom size="0.1"/><site name="tool"/></body>'
        "</worldbody></mujoco>"
    )
    (folder / "robot.toml").write_text('variant = "free"\n[variants.stuck]\nlocked = ["j2"]\n')
    with pytest.raises(UnknownName, match="j1"):
        load_robot(folder / "model.xml", "stuck")
