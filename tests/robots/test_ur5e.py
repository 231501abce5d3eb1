"""The UR5e against its own tables: DH product, and kinetic energy per link.

The tables are typed here once more on purpose: a test that read the robot's own files would not
notice a slip in them.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

from farhand.robots import load_robot
from farhand_lab.dh import DHArm

HALF_PI = np.pi / 2
ALPHA = (HALF_PI, 0.0, 0.0, HALF_PI, -HALF_PI, 0.0)  # [rad]
LENGTHS = {  # (a, d) of the DH table, [m]
    "cb": ((0, -0.425, -0.392, 0, 0, 0), (0.163, 0, 0, 0.131, 0.100, 0.100)),
    "ur": ((0, -0.425, -0.3922, 0, 0, 0), (0.1625, 0, 0, 0.1333, 0.0997, 0.0996)),
}
PUBLISHED = {  # posture: tool position [m], tool z-axis; set cb
    "zero": ((-0.817, -0.231, 0.063), (0, -1, 0)),
    "q_A": ((0.131, 0.492, 0.488), (0, 0, -1)),
    "q_B": ((-0.131, 0.817, 0.079), (0, 0, -1)),
    "q_L": ((-0.131, 0.917, 0.063), (0, 0, -1)),
}
# Mass [kg], centre of mass in the DH frame after the joint [m], Ixx Ixy Ixz Iyy Iyz Izz in its axes
# [kg·m²]
LINKS = (
    (
        3.761,
        (0, -0.02561, 0.00193),
        (0.00700210, 7.3e-7, -1.053e-5, 0.00648091, 4.9994e-4, 0.00657286),
    ),
    (8.058, (0.2125, 0, 0.11336), (0.01505885, -5.4e-5, 5.63e-6, 0.33388086, -1.81e-6, 0.33247207)),
    (
        2.846,
        (0.15, 0, 0.0265),
        (0.00399632, -1.365e-5, 1.37272e-3, 0.07879254, -6.6e-6, 0.07848510),
    ),
    (
        1.370,
        (0, -0.0018, 0.01634),
        (0.00165491, -2.82e-6, -4.38e-6, 0.00135962, 1.0157e-4, 0.00126279),
    ),
    (
        1.300,
        (0, 0.0018, 0.01634),
        (0.00135617, -2.74e-6, 4.44e-6, 0.00127827, -5.048e-5, 0.00096614),
    ),
    (0.365, (0, 0, -0.001159), (0.00018694, 6e-8, -1.7e-7, 0.00018908, -9.2e-7, 0.00025756)),
)
ARMATURE = 0.1  # [kg·m²]
STATES = np.random.default_rng(7).uniform(-3, 3, size=(20, 6))


def dh_frames(q: NDArray[np.float64], variant: str) -> list[NDArray[np.float64]]:
    """Poses of DH frames 0…6 in the base."""
    frames = [np.eye(4)]
    for angle, a, d, alpha in zip(q, *LENGTHS[variant], ALPHA, strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        step = [
            [c, -s * ca, s * sa, a * c],
            [s, c * ca, -c * sa, a * s],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
        frames.append(frames[-1] @ np.array(step))
    return frames


def dh_mass_matrix(q: NDArray[np.float64], variant: str) -> NDArray[np.float64]:
    """Sum over the links of m JpᵀJp + Joᵀ R I Rᵀ Jo, plus the armature."""
    frames = dh_frames(q, variant)
    total = ARMATURE * np.eye(6)
    for link, (mass, com, (xx, xy, xz, yy, yz, zz)) in enumerate(LINKS):
        pose = frames[link + 1]
        centre = pose[:3, :3] @ com + pose[:3, 3]
        linear, angular = np.zeros((3, 6)), np.zeros((3, 6))
        for joint in range(link + 1):
            axis = frames[joint][:3, 2]
            linear[:, joint], angular[:, joint] = (
                np.cross(axis, centre - frames[joint][:3, 3]),
                axis,
            )
        turned = pose[:3, :3].T @ angular
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total += mass * linear.T @ linear + turned.T @ inertia @ turned
    return total


def tool_pose(
    variant: str, q: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    model = load_robot("ur5e", variant).compile()
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_kinematics(model, data)
    return data.site("tool").xpos, data.site("tool").xmat.reshape(3, 3)


@pytest.mark.parametrize("variant", LENGTHS)
def test_the_table_in_the_robots_folder_is_the_published_one(variant: str) -> None:
    """Lengths, masses, centres and inertias, number by number."""
    arm = DHArm.load("ur5e", variant)
    np.testing.assert_array_equal([arm.a, arm.d], LENGTHS[variant])
    np.testing.assert_allclose(arm.alpha, ALPHA, rtol=1e-15)
    for link, (mass, com, inertia) in enumerate(LINKS):
        np.testing.assert_array_equal(
            [arm.mass[link], *arm.com[link], *arm.inertia[link]], [mass, *com, *inertia]
        )
    np.testing.assert_array_equal(arm.armature, np.full(6, ARMATURE))


@pytest.mark.parametrize("posture", PUBLISHED)
def test_the_tool_is_where_the_published_table_says(posture: str) -> None:
    """Reference poses of the default parameter set."""
    position, rotation = tool_pose("cb", load_robot("ur5e").postures[posture])
    np.testing.assert_allclose(position, PUBLISHED[posture][0], atol=1e-3)
    np.testing.assert_allclose(rotation[:, 2], PUBLISHED[posture][1], atol=1e-9)


@pytest.mark.parametrize("variant", LENGTHS)
def test_the_tool_pose_is_the_product_of_the_dh_table(variant: str) -> None:
    """Both parameter sets, to rounding."""
    for q in STATES:
        position, rotation = tool_pose(variant, q)
        expected = dh_frames(q, variant)[-1]
        np.testing.assert_allclose(position, expected[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(rotation, expected[:3, :3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", LENGTHS)
def test_the_mass_matrix_is_the_kinetic_energy_of_the_tabulated_links(variant: str) -> None:
    """Masses, centres and inertias were moved correctly from the DH frames into the body frames."""
    model = load_robot("ur5e", variant).pinocchio()
    data = model.createData()
    for q in STATES:
        mass = np.triu(pin.crba(model, data, q))
        np.testing.assert_allclose(mass, np.triu(dh_mass_matrix(q, variant)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", LENGTHS)
def test_each_link_has_the_tabulated_inertia_in_its_dh_frame(variant: str) -> None:
    """The shoulder's off-diagonal terms never show in the mass matrix, so check the tensors too."""
    model = load_robot("ur5e", variant).compile()
    data = mujoco.MjData(model)
    data.qpos = STATES[0]
    mujoco.mj_kinematics(model, data)
    for pose, body, (mass, com, (xx, xy, xz, yy, yz, zz)) in zip(
        dh_frames(STATES[0], variant)[1:], range(2, 8), LINKS, strict=True
    ):
        axes = pose[:3, :3].T @ data.ximat[body].reshape(3, 3)
        tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
        assert model.body_mass[body] == mass
        np.testing.assert_allclose(data.xipos[body], pose[:3, :3] @ com + pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(
            tensor, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], rtol=0, atol=1e-12
        )


def test_the_two_parameter_sets_put_the_tool_about_two_millimetres_apart() -> None:
    """The published distance between the sets: mean 2.40 mm, at most 2.88 mm."""
    distances = [np.linalg.norm(tool_pose("cb", q)[0] - tool_pose("ur", q)[0]) for q in STATES]
    assert np.mean(distances) == pytest.approx(2.4e-3, abs=0.2e-3)
    assert max(distances) < 2.9e-3


def test_the_stretched_posture_is_singular_and_home_is_not() -> None:
    """q_L cannot move further out; the start pose q_A can move every way."""
    robot = load_robot("ur5e")
    model = robot.pinocchio()
    data = model.createData()
    tool = model.getFrameId("tool")
    condition = {
        name: np.linalg.cond(
            pin.computeFrameJacobian(model, data, np.array(q), tool, pin.LOCAL_WORLD_ALIGNED)
        )
        for name, q in robot.postures.items()
    }
    assert condition["q_L"] > 1e12
    assert condition["q_A"] < 50
    np.testing.assert_array_equal(robot.home, robot.postures["q_A"])


def test_the_default_variant_is_the_one_of_the_published_system() -> None:
    """Asking for nothing and asking for ``cb`` is the same."""
    assert load_robot("ur5e").variant == "cb"
    assert load_robot("ur5e").variants == ("cb", "ur")
    assert "manufacturer" in load_robot("ur5e", "ur").description
