"""Where the tool is if the file has no site of that name, and that the user is told."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.errors import BadValue, UnknownName
from farhand.robots import load_robot
from tests.robots.own_files import CHAIN, URDF, refusal, write

END = "</body>\n    </body></worldbody>"
JAW = '<body name="{0}"><joint name="{1}"/><geom size="0.02" mass="0.1"/></body>'


def ending(inside: str, joints: int = 0) -> str:
    """The chain with something on its last body, which may have joints of its own."""
    assert CHAIN.count(END) == 1
    text = CHAIN.replace(END, f"{inside}{END}")
    return text.replace('qpos="0.5 1.5"', f'qpos="0.5 1.5{" 0.1" * joints}"')


def tool_of(path: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """Body, position [m] and rotation of the tool at home."""
    robot = load_robot(path)
    model = robot.compile()
    data = mujoco.MjData(model)
    data.qpos = robot.home
    mujoco.mj_kinematics(model, data)
    at = data.site("tool")
    body = model.body(int(model.site_bodyid[at.id])).name
    return body, at.xpos.copy(), at.xmat.copy()


@pytest.mark.parametrize(
    "name",
    [
        *("attachment_site", "pinch_site", "gripperframe", "grasp_site", "tool0", "tcp", "ee_site"),
        *("gripper", "TCP", "a/pinch", "panda_hand_tcp"),
    ],
)
def test_a_site_with_a_usual_name_is_the_tool(tmp_path: Path, name: str) -> None:
    """With its place and its axes, also behind a frame, and in a model that branches."""
    site = f'<frame pos="0 0 0.1" euler="0.3 0 0"><site name="{name}" pos="0 0.2 0"/></frame>'
    body, position, rotation = tool_of(write(tmp_path, ending(site)))
    model = mujoco.MjModel.from_xml_string(ending(site))
    data = mujoco.MjData(model)
    data.qpos = [0.5, 1.5]
    mujoco.mj_kinematics(model, data)
    assert body == "lower"
    np.testing.assert_allclose(position, data.site(name).xpos, atol=1e-12)
    np.testing.assert_allclose(rotation, data.site(name).xmat, atol=1e-12)
    branched = ending(site + JAW.format("left", "l") + JAW.format("right", "r"), joints=2)
    assert tool_of(write(tmp_path, branched))[0] == "lower"


def test_a_site_named_tool_counts_more_and_is_not_remarked_on(tmp_path: Path) -> None:
    """Whoever wrote it meant it."""
    both = '<site name="tcp" pos="1 0 0"/><site name="tool" pos="0 0 0.3"/>'
    path = write(tmp_path, ending(both))
    robot = load_robot(path)
    np.testing.assert_allclose(robot.spec().site("tool").pos, [0, 0, 0.3])
    assert not any("tool" in note for note in robot.notes)


def test_a_link_named_tool0_is_the_tool_of_a_urdf(tmp_path: Path) -> None:
    """A URDF has no sites; its frames are links that do not move by themselves."""
    text = URDF.replace('"tip"', '"tool0"').replace(
        "</robot>",
        """<link name="camera"/><joint name="see" type="fixed"><parent link="rod"/>
        <child link="camera"/></joint></robot>""",
    )
    assert tool_of(write(tmp_path, text, name="arm.urdf"))[0] == "tool0"


@pytest.mark.parametrize(
    ("body", "joint"),
    [
        ("Moving_Jaw", "Jaw"),
        ("gripperMover", "jointGripper"),
        ("gripper_moving_1", "joint6"),
        ("left_finger_link", "slider"),
    ],
)
def test_the_mover_of_a_gripper_is_not_the_tool(tmp_path: Path, body: str, joint: str) -> None:
    """The tool is on the body that carries it, and both are said."""
    path = write(tmp_path, ending(JAW.format(body, joint), joints=1))
    assert tool_of(path)[0] == "lower"
    robot = load_robot(path)
    assert robot.gripper == joint
    tool, gripper = robot.notes
    assert "the tool is at the origin of lower" in tool and f"{joint} is the gripper" in gripper
    path.with_suffix(".toml").write_text(f'locked = ["{joint}"]')
    assert load_robot(path).compile().nv == 2


@pytest.mark.parametrize("toml", [None, 'tool = { site = "tcp" }'])
def test_a_tool_on_a_jaw_is_taken_only_if_asked_for(tmp_path: Path, toml: str | None) -> None:
    """And then a note says that the gripper moves it."""
    jaw = JAW.format("Moving_Jaw", "Jaw").replace("<geom", '<site name="tcp"/><geom')
    path = write(tmp_path, ending(jaw, joints=1), toml)
    assert tool_of(path)[0] == ("Moving_Jaw" if toml else "lower")
    moved = [note for note in load_robot(path).notes if "which Jaw of the gripper moves" in note]
    assert len(moved) == (toml is not None)


@pytest.mark.parametrize("text", ["gripper_static_finger", "joint_gripper"])
def test_the_hand_that_carries_the_finger_holds_the_tool(tmp_path: Path, text: str) -> None:
    """Its own joint is the wrist, though its name sounds like a finger."""
    finger = JAW.format("moving_finger", "gripper")
    hand = (
        f'<body name="{text}"><joint name="{text}"/><geom size="0.02" mass="0.1"/>{finger}</body>'
    )
    hand = hand.replace('<joint name="gripper_static_finger"/>', '<joint name="wrist"/>')
    path = write(tmp_path, ending(hand, joints=2))
    assert tool_of(path)[0] == text and load_robot(path).gripper == "gripper"


def test_an_arm_that_is_a_finger_has_its_tool_at_its_end(tmp_path: Path) -> None:
    """Every joint of it is named so."""
    text = CHAIN.replace('"j1"', '"finger_1"').replace('"j2"', '"finger_2"')
    path = write(tmp_path, text)
    assert tool_of(path)[0] == "lower" and load_robot(path).gripper is None


def test_two_fingers_are_no_branch(tmp_path: Path) -> None:
    """A parallel gripper at the end of a chain leaves the end where it is."""
    fingers = JAW.format("l", "finger_l") + JAW.format("r", "finger_r")
    assert tool_of(write(tmp_path, ending(fingers, joints=2)))[0] == "lower"


def test_a_hand_that_is_called_gripper_is_still_the_end(tmp_path: Path) -> None:
    """Many arms call their last link so; its joint is the wrist."""
    text = CHAIN.replace('name="lower"', 'name="gripper_link"')
    assert tool_of(write(tmp_path, text))[0] == "gripper_link"


def test_the_description_may_name_a_site(tmp_path: Path) -> None:
    """Any site, in place of the one named tool."""
    text = ending('<site name="grasp" pos="0 0 0.2"/><site name="tool"/>')
    path = write(tmp_path, text, 'tool = { site = "grasp" }')
    np.testing.assert_allclose(load_robot(path).spec().site("tool").pos, [0, 0, 0.2])
    assert "mine.toml" in load_robot(path).sources["tool"]


@pytest.mark.parametrize(
    ("toml", "kind", "words"),
    [
        ('tool = { site = "grsp" }', UnknownName, "did you mean 'grasp'"),
        ('tool = { site = "grasp", pos = [0, 0, 1] }', UnknownName, "unknown key"),
        ('tool = "grasp"', BadValue, "tool must be a table"),
    ],
)
def test_a_site_that_is_not_there_is_refused(
    tmp_path: Path, toml: str, kind: type[Exception], words: str
) -> None:
    """With the sites that are."""
    error = refusal(write(tmp_path, ending('<site name="grasp"/>'), toml))
    assert isinstance(error, kind) and words in str(error)
