"""Grippers in other people's files: tied, looped, sprung or driven by tendons, and still loaded."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue, ModelError, UnknownName
from farhand.robots import check_robot, load_robot
from tests.robots.own_files import BRANCHED, CHAIN, URDF, refusal, write
from tests.robots.test_locking import GRIPPER
from tests.robots.test_tool import JAW, ending

MIMIC = URDF.replace(
    "</robot>",
    """<link name="finger"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial></link><joint name="grip" type="revolute"><parent link="tip"/>
    <child link="finger"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="5" velocity="3"/><mimic joint="swing"/></joint></robot>""",
)
LINKAGE = ending(
    """<body name="l7" pos="0 0.02 0"><joint name="crank"/><geom size="0.02" mass="0.1"/></body>
    <body name="l8" pos="0 -0.02 0"><joint/><geom size="0.02" mass="0.1"/></body>""",
    joints=2,
).replace(
    "</worldbody>",
    "</worldbody><equality><connect body1='l7' body2='l8' anchor='0 0 0'/></equality>",
)


def tied(slope: float) -> str:
    """The arm with two fingers, of which the left one moves ``slope`` times as far as the right."""
    text = GRIPPER.replace('joint2="right"', f'joint2="right" polycoef="0 {slope} 0 0 0"')
    text = text.replace('<motor joint="left"/>', "").replace('ctrl="0 1 0 0"', "")
    return text.replace('<motor tendon="split"/>', '<motor tendon="split" ctrlrange="-8 8"/>')


@pytest.mark.parametrize("slope", [1.0, -2.0])
def test_the_joint_that_is_followed_carries_the_other_finger(tmp_path: Path, slope: float) -> None:
    """Its inertia is that of both under their constraint, and the engines agree about it."""
    robot = load_robot(write(tmp_path, tied(slope)))
    assert robot.gripper == "right" == robot.limits.names[-1]
    whole = mujoco.MjModel.from_xml_string(tied(slope))
    data, M = mujoco.MjData(whole), np.zeros((4, 4))
    mujoco.mj_forward(whole, data)
    mujoco.mj_fullM(whole, data, M)
    along = np.array([0.0, 0.0, slope, 1.0])  # left, right
    arm = Arm.of(robot)
    arm.update(np.zeros(3), np.zeros(3))
    assert arm.M[2, 2] == pytest.approx(along @ M @ along, rel=1e-12)
    (note,) = (note for note in robot.notes if "follows" in note)
    assert "left follows right" in note and "inertia" in note


def test_a_finger_tip_that_its_own_finger_carries_counts_too(tmp_path: Path) -> None:
    """Turning with the finger, it turns twice as fast: both terms of their coupled inertia."""
    tip = JAW.format("tip", "finger_tip").replace('"tip"', '"tip" pos="0 0 0.1"')
    text = ending(JAW.format("l", "finger").replace("</body>", f"{tip}</body>"), joints=2)
    tie = '</worldbody><equality><joint joint1="finger_tip" joint2="finger"/></equality>'
    text = text.replace("</worldbody>", tie)
    whole = mujoco.MjModel.from_xml_string(text)
    data, M = mujoco.MjData(whole), np.zeros((4, 4))
    mujoco.mj_forward(whole, data)
    mujoco.mj_fullM(whole, data, M)
    robot = load_robot(write(tmp_path, text))
    arm = Arm.of(robot)
    arm.update(np.zeros(3), np.zeros(3))
    assert robot.gripper == "finger" and M[2, 3] != 0
    assert arm.M[2, 2] == pytest.approx(M[2:, 2:].sum(), rel=1e-12)


@pytest.mark.parametrize("slope", [1.0, -2.0])
def test_a_tendons_motor_becomes_the_grippers_largest_force(tmp_path: Path, slope: float) -> None:
    """By virtual work: half of it at each finger, times how far the finger moves."""
    robot = load_robot(write(tmp_path, tied(slope)))
    np.testing.assert_allclose(robot.limits.torque, [14, 3, 8 * abs(0.5 + 0.5 * slope)])


def test_the_finger_with_the_motor_is_the_one_that_stays(tmp_path: Path) -> None:
    """Whichever of the two the file calls the follower."""
    robot = load_robot(write(tmp_path, GRIPPER))
    assert robot.gripper == "left" and robot.home[2] == 0.02
    assert robot.compile().ntendon == 0


def test_joints_of_a_closed_loop_beyond_the_tool_are_locked(tmp_path: Path) -> None:
    """A linkage gripper: the arm is the same without its motion."""
    robot = load_robot(write(tmp_path, LINKAGE))
    assert robot.compile().nv == 2 and robot.gripper is None
    (note,) = (note for note in robot.notes if "closed loops are locked" in note)
    assert "crank" in note


def test_a_joint_that_mimics_one_of_the_arm_is_locked_if_the_tool_does_not_feel_it(
    tmp_path: Path,
) -> None:
    """If it moves the tool, the arm itself is tied, and the file is refused."""
    robot = load_robot(write(tmp_path, MIMIC, name="arm.urdf"))
    assert robot.compile().nv == 1 and any("grip" in note for note in robot.notes)
    toml = 'tool = { body = "finger" }'
    assert "grip mimics joint swing" in str(refusal(write(tmp_path, MIMIC, toml, "arm.urdf")))


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('name="left" type', 'name="left" stiffness="9" type', "spring of left"),
        ('name="split"', 'name="split" stiffness="9"', "tendon split"),
    ],
)
def test_forces_inside_the_gripper_are_left_out_and_said(
    tmp_path: Path, old: str, new: str, word: str
) -> None:
    """They do not reach the tool."""
    assert GRIPPER.count(old) == 1
    robot = load_robot(write(tmp_path, GRIPPER.replace(old, new)))
    assert sum(word in note for note in robot.notes) == 1
    assert not robot.compile().jnt_stiffness.any()


def test_a_spring_of_another_limb_is_still_refused(tmp_path: Path) -> None:
    """A leg is no gripper, though it does not move the tool either."""
    text = BRANCHED.replace('name="j3"', 'name="j3" stiffness="9"')
    error = refusal(write(tmp_path, text, 'tool = { body = "lower" }'))
    assert "joint j3 has stiffness 9" in str(error)


def test_weightless_bodies_get_their_weight(tmp_path: Path) -> None:
    """MuJoCo's gravcomp is a controller inside the plant; Farhand has its own."""
    plain, light = CHAIN, CHAIN.replace('name="lower"', 'name="lower" gravcomp="1"')
    torques = []
    for text in (plain, light):
        robot = load_robot(write(tmp_path, text))
        data = mujoco.MjData(model := robot.compile())
        data.qpos = robot.home
        mujoco.mj_forward(model, data)
        torques.append(data.qfrc_bias - data.qfrc_passive)
    np.testing.assert_array_equal(*torques)
    assert abs(torques[0][0]) > 1 and any("gravcomp" in note for note in robot.notes)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("Jw", UnknownName, "did you mean 'Jaw'"), ("j2", BadValue, "it moves the tool")],
)
def test_a_gripper_that_cannot_be_one_is_refused(
    tmp_path: Path, name: str, kind: type[Exception], words: str
) -> None:
    """The coupling relies on what the description promises."""
    path = write(tmp_path, ending(JAW.format("l", "Jaw"), joints=1), f"gripper = '{name}'")
    error = refusal(path)
    assert isinstance(error, kind) and words in str(error)


def test_several_free_fingers_are_no_gripper(tmp_path: Path) -> None:
    """Nothing says how they move together; the note has the line that fixes them."""
    fingers = JAW.format("l", "finger_l") + JAW.format("r", "finger_r")
    robot = load_robot(write(tmp_path, ending(fingers, joints=2)))
    assert robot.gripper is None
    assert any('locked = ["finger_l", "finger_r"]' in note for note in robot.notes)


def test_a_loop_in_the_arm_is_still_refused_with_everything_else(tmp_path: Path) -> None:
    """All problems at once, also if the tool cannot be placed."""
    loop = "</worldbody><equality><connect body1='lower' body2='table' anchor='0 0 0'/></equality>"
    text = CHAIN.replace("</worldbody>", loop).replace('name="j2"', 'name="j2" stiffness="5"')
    path = write(tmp_path, text)
    assert isinstance(refusal(path), ModelError)
    problems = " ".join(check_robot(path).problems)
    assert "connect of lower" in problems and "joint j2 has stiffness" in problems
