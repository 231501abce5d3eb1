"""PHUA: its masses, its symmetry and its height; its closed forms are tested beside them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants.simulated.haptic import HapticProfile
from farhand.robots import load_robot

SIDES = {"left": 1, "right": -1}


def at_home() -> tuple[mujoco.MjModel, mujoco.MjData]:
    robot = load_robot("phua")
    model = robot.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = robot.home
    mujoco.mj_forward(model, data)
    return model, data


def test_it_weighs_what_the_table_says_and_has_27_joints_of_which_25_are_driven() -> None:
    """The toes are passive."""
    robot = load_robot("phua")
    model = robot.compile()
    assert model.body_mass.sum() == pytest.approx(5.964, abs=1e-9)
    assert (model.nv - 6, int(robot.actuated.sum())) == (27, 25)


def test_it_stands_on_both_soles_and_is_65_cm_high() -> None:
    """At home, all limbs stretched down."""
    model, data = at_home()
    for side in SIDES:
        assert data.site(f"{side}_sole").xpos[2] == pytest.approx(0.0, abs=1e-12)
    tops = data.geom_xpos[:, 2] + model.geom_rbound
    assert tops.max() == pytest.approx(0.65, abs=0.02)


def test_the_toe_and_the_rest_of_the_foot_are_together_the_foot_of_the_table() -> None:
    """Mass, centre and inertia of both about their common centre, toe unbent."""
    model, data = at_home()
    parts = [model.body("left_foot").id, model.body("left_toe").id]
    mass = model.body_mass[parts]
    centre = mass @ data.xipos[parts] / mass.sum()
    inertia = np.zeros((3, 3))
    for index, m in zip(parts, mass, strict=True):
        R, off = data.ximat[index].reshape(3, 3), data.xipos[index] - centre
        inertia += R @ np.diag(model.body_inertia[index]) @ R.T + m * (
            off @ off * np.eye(3) - np.outer(off, off)
        )
    assert mass.sum() == pytest.approx(0.444)
    np.testing.assert_allclose(
        centre - data.site("left_ankle").xpos, [0.00906, 0.002746, -0.0183], atol=1e-9
    )
    wanted = [[3.8e-4, -1.1e-5, 1.5e-4], [-1.1e-5, 9.3e-4, 2.2e-5], [1.5e-4, 2.2e-5, 7.6e-4]]
    np.testing.assert_allclose(inertia, wanted, atol=1e-9)


def test_the_bands_hold_the_trunk_up_and_push_the_knee_straight() -> None:
    """The trunk's stiffness exceeds what its weight takes; the knee's band pulls more when bent."""
    springs, model = load_robot("phua", "banded").springs, load_robot("phua").compile()
    lateral = springs[int(model.joint("torso_lateral").dofadr[0])]
    knee = springs[int(model.joint("left_knee").dofadr[0])]
    assert lateral.torque(0.1) > 2.93 * 9.81 * 0.11 * np.sin(0.1)
    assert 0.0 < knee.torque(0.0) < knee.torque(1.0) < knee.torque(2.0)


@pytest.mark.parametrize(
    ("name", "peak"), [("omni", 3.3), ("phantom_desktop", 7.4), ("virtuose", 10.0)]
)
def test_a_pen_moves_along_its_own_axes_with_z_to_the_operator(name: str, peak: float) -> None:
    """World x, y, z are the device's z, x, y; forces do not turn the wrist."""
    arm = Arm.of(load_robot(name))
    arm.update(np.array([0.01, 0.02, 0.03, 0.2, -0.3, 0.1]), np.zeros(6))
    np.testing.assert_allclose(arm.position, [0.03, 0.01, 0.02], atol=1e-12)
    np.testing.assert_allclose(arm.J[:3, 3:], 0.0, atol=1e-12)
    assert HapticProfile.of(load_robot(name)).force_peak == peak
