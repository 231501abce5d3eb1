"""Fingers that follow one another: the joint that stays resists as all of them did together."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import ModelError
from farhand.robots import load_robot
from tests.robots.own_files import write
from tests.robots.test_tool import ending

FINGER = """<body name="l_{0}" pos="{1} 0 0"><joint name="{0}" type="slide" axis="0 1 0"
    range="-0.05 0.2" damping="{2}" frictionloss="{3}" armature="0.01"/>
    <geom size="0.02" mass="{4}"/>{5}</body>"""


def hand(motor: str, active: str = "true", share: tuple[float, float] | None = None) -> str:
    """``left`` moves −2 times as far as ``right``; a motor on one of them, or on a tendon."""
    left = FINGER.format("left", 0.1, 0.3, 0.02, 0.2, "")
    right = FINGER.format("right", -0.1, 0.5, 0.04, 0.3, "")
    site = '<site name="tool"/>'
    tie = f'<joint joint1="left" joint2="right" polycoef="0 -2 0 0 0" active="{active}"/>'
    text = ending(f"{left}{right}{site}", joints=2)
    text = text.replace("</worldbody>", f"</worldbody><equality>{tie}</equality>")
    drive = f'<motor joint="{motor}" ctrlrange="-6 6" gear="1.5"/>'
    if share is not None:
        parts = zip(("left", "right"), share, strict=True)
        coupled = "".join(f'<joint joint="{name}" coef="{coef}"/>' for name, coef in parts)
        text = text.replace(
            "<actuator>", f'<tendon><fixed name="t">{coupled}</fixed></tendon><actuator>'
        )
        drive += '<motor tendon="t" ctrlrange="-4 4"/>'
    return text.replace("</actuator>", f"{drive}</actuator>")


@pytest.mark.parametrize(("motor", "along"), [("right", (-2.0, 1.0)), ("left", (1.0, -0.5))])
def test_inertia_friction_and_damping_are_those_of_both_fingers(tmp_path: Path, motor, along):
    """Per motion of the joint that stays, the one with the motor: aᵀMa, Σ|a|f and Σa²d."""
    robot = load_robot(write(tmp_path, hand(motor)))
    assert robot.gripper == motor
    whole = mujoco.MjModel.from_xml_string(hand(motor))
    data, M = mujoco.MjData(whole), np.zeros((4, 4))
    mujoco.mj_forward(whole, data)
    mujoco.mj_fullM(whole, data, M)
    a = np.array([0.0, 0.0, *along])
    arm, model = Arm.of(robot), robot.compile()
    arm.update(np.zeros(3), np.zeros(3))
    assert arm.M[2, 2] == pytest.approx(a @ M @ a, rel=1e-9)
    assert arm.viscous[2] == pytest.approx(np.square(a) @ whole.dof_damping)
    assert model.dof_frictionloss[2] == pytest.approx(np.abs(a) @ whole.dof_frictionloss)
    assert robot.limits.torque[2] == pytest.approx(9.0)


def test_motors_on_a_finger_and_on_a_tendon_pull_together(tmp_path: Path):
    """By virtual work: 9 N at the right finger, and 4 N over a tendon of both."""
    robot = load_robot(write(tmp_path, hand("right", share=(0.25, 2.0))))
    assert robot.limits.torque[2] == pytest.approx(9.0 + 4.0 * abs(-2.0 * 0.25 + 2.0))


def test_fingers_whose_tie_is_switched_off_are_free(tmp_path: Path):
    """Two joints beyond the tool are no gripper; neither carries the other."""
    robot = load_robot(write(tmp_path, hand("right", active="false")))
    assert robot.gripper is None
    assert robot.compile().nv == 4
    arm = Arm.of(robot)
    arm.update(np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(np.diag(arm.M)[2:], [0.21, 0.31])


@pytest.mark.parametrize("joints", [("j1", "j2"), ("j2", "right")])
def test_a_tendon_of_the_arm_is_not_the_grippers_to_drop(tmp_path: Path, joints):
    """It stays, and one that pulls by itself is refused: the controller does not know of it."""
    parts = "".join(f'<joint joint="{name}" coef="1"/>' for name in joints)
    tendon = '<tendon><fixed name="t" {}>' + parts + "</fixed></tendon><actuator>"
    text = hand("right")
    robot = load_robot(write(tmp_path, text.replace("<actuator>", tendon.format(""))))
    assert robot.compile().ntendon == 1
    with pytest.raises(ModelError, match="tendon t has stiffness 5"):
        load_robot(write(tmp_path, text.replace("<actuator>", tendon.format('stiffness="5"'))))
