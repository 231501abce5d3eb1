"""What a loader decides or finds surprising about a file that can be run, it says in a note."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.errors import ModelError
from farhand.robots import Robot, load_robot
from tests.robots.own_files import CHAIN, URDF, refusal, write
from tests.robots.test_meshes import TETRAHEDRON

CONTINUOUS = URDF.replace('type="revolute"', 'type="continuous"')
ARM = """<mujoco><compiler angle="radian"/><worldbody><body name="upper">
    <joint name="shoulder" axis="0 0 1"/><geom size="0.05" mass="1"/><body pos="0.3 0 0">
    <joint name="elbow" axis="0 0 1" {}/><geom size="0.05" mass="1"/>
    <site name="tool" pos="0.3 0 0"/></body></body></worldbody></mujoco>"""


def notes_with(robot: Robot, word: str) -> list[str]:
    """The notes about something."""
    return [note for note in robot.notes if word in note]


def test_a_continuous_joint_with_a_range_keeps_it(tmp_path: Path) -> None:
    """MuJoCo would drop it; a note says what became of the joint."""
    robot = load_robot(write(tmp_path, CONTINUOUS, name="arm.urdf"))
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    (note,) = notes_with(robot, "continuous")
    assert "swing from -1 to 2 rad" in note


@pytest.mark.parametrize("limits", ['lower="0" upper="0"', 'lower="-inf" upper="inf"', ""])
def test_a_continuous_joint_without_a_range_turns_freely(tmp_path: Path, limits: str) -> None:
    """An exporter's zeros are no range there, as the type says."""
    text = CONTINUOUS.replace('lower="-1" upper="2"', limits)
    robot = load_robot(write(tmp_path, text, name="arm.urdf"))
    assert np.isinf(robot.limits.upper).all() and not notes_with(robot, "continuous")


@pytest.mark.parametrize(
    ("limits", "start"), [("0 2", 1.0), ("-2 0", -1.0), ("0.5 1.5", 1.0), ("-1 2", 0.0)]
)
def test_a_home_on_a_limit_is_moved_inside(tmp_path: Path, limits: str, start: float) -> None:
    """Otherwise the guard stops the arm at the first tick."""
    robot = load_robot(write(tmp_path, ARM.format(f'range="{limits}"')))
    assert robot.home[1] == start
    assert len(notes_with(robot, f"elbow at {start:g} rad")) == (start != 0.0)


@pytest.mark.parametrize("rounded", ["2", "2.0005"])
def test_a_keyframe_on_a_limit_is_moved_inside_too(tmp_path: Path, rounded: str) -> None:
    """Vendors' keyframes often open a gripper to its stop, or a little beyond."""
    robot = load_robot(write(tmp_path, CHAIN.replace('qpos="0.5 1.5"', f'qpos="0.5 {rounded}"')))
    np.testing.assert_array_equal(robot.home, [0.5, 0.5])
    assert notes_with(robot, "keyframe 'home' is on a limit: it starts with j2 at 0.5 rad")


def test_a_range_open_on_one_side_is_started_inside(tmp_path: Path) -> None:
    """It has no middle."""
    toml = "limits = { lower = [-inf, 0.0], upper = [inf, inf] }"
    assert load_robot(write(tmp_path, ARM.format(""), toml)).home[1] == pytest.approx(0.1)


def test_a_singular_home_is_remarked_on(tmp_path: Path) -> None:
    """A stretched arm cannot move along itself; a bent one can."""
    assert notes_with(load_robot(write(tmp_path, ARM.format(""))), "home is singular")
    bent = load_robot(write(tmp_path, ARM.format(""), "home = [0.0, 1.0]"))
    assert not notes_with(bent, "singular")


def test_a_floating_base_is_remarked_on(tmp_path: Path) -> None:
    """It falls."""
    text = ARM.format("").replace('<joint name="shoulder" axis="0 0 1"/>', "<freejoint/>")
    assert notes_with(load_robot(write(tmp_path, text)), "upper floats freely")


@pytest.mark.parametrize(("inertial", "heavy"), [("", True), ('mass="2"', False)])
def test_masses_from_the_volume_of_meshes_are_remarked_on(
    tmp_path: Path, inertial: str, heavy: bool
) -> None:
    """A tetrahedron of 1/6 m³ weighs 167 kg with the density of water."""
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    text = (
        ARM.format("")
        .replace("<worldbody>", '<asset><mesh name="part" file="part.obj"/></asset><worldbody>')
        .replace(
            '<geom size="0.05" mass="1"/><body', f'<geom type="mesh" mesh="part" {inertial}/><body'
        )
    )
    notes = notes_with(load_robot(write(tmp_path, text)), "volume of meshes")
    assert len(notes) == heavy
    assert all("upper 167 kg" in note for note in notes)


@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_an_impossible_inertia_is_answered_with_the_line_that_evens_it(
    tmp_path: Path, suffix: str
) -> None:
    """Written where the message says, the file loads."""
    compiler = '<compiler balanceinertia="true"/>'
    if suffix == "urdf":
        text = URDF.replace('ixx="0.1"', 'ixx="10"')
        cured = text.replace("</robot>", f"<mujoco>{compiler}</mujoco></robot>")
    else:
        wrong = '<inertial pos="0 0 0" mass="1" diaginertia="10 0.1 0.1"/><site name="tool"'
        text = ARM.format("").replace('<site name="tool"', wrong)
        cured = text.replace("<worldbody>", f"{compiler}<worldbody>")
    error = refusal(write(tmp_path, text, name=f"arm.{suffix}"))
    assert isinstance(error, ModelError)
    assert compiler in str(error) and "A + B >= C" in str(error)
    assert isinstance(
        load_robot(write(tmp_path, cured, name=f"arm.{suffix}")).compile(), mujoco.MjModel
    )
