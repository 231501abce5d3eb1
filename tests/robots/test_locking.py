"""Locked joints: what is left behaves as the same robot with that joint welded at zero."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.errors import BadValue, UnknownName
from farhand.robots import load_robot
from tests.robots.own_files import CHAIN, refusal, write

FINGER = (
    '<body name="{0}"><joint name="{0}" type="slide" range="0 0.04"/>'
    '<geom size="0.01" mass="0.1"/></body>'
)
GRIPPER = (
    CHAIN.replace(
        "</body>\n    </body>",
        f"{FINGER.format('left')}{FINGER.format('right')}<site name='tool'/></body></body>",
    )
    .replace(
        "</worldbody>", '</worldbody><equality><joint joint1="left" joint2="right"/></equality>'
    )
    .replace(
        "<actuator>",
        """<tendon><fixed name="split"><joint joint="left" coef="0.5"/>
        <joint joint="right" coef="0.5"/></fixed>
        </tendon><actuator><motor tendon="split"/><motor joint="left"/>""",
    )
    .replace("<sensor>", '<sensor><jointpos joint="left"/>')
    .replace('qpos="0.5 1.5"', 'qpos="0.5 1.5 0.04 0.04" ctrl="0 1 0 0"')
)


def test_a_gripper_can_be_locked_in_a_model_that_drives_it(tmp_path: Path) -> None:
    """With its tendon, constraint, motors, sensor and keyframe entries; the arm keeps its own."""
    robot = load_robot(write(tmp_path, GRIPPER, toml='locked = ["left", "right"]'))
    np.testing.assert_array_equal(robot.home, [0.5, 1.5])
    np.testing.assert_array_equal(robot.limits.torque, [14, 3])
    model = robot.compile()
    assert (model.nv, model.ntendon, model.neq) == (2, 0, 0)


@pytest.mark.parametrize("finger", ["left", "right"])
def test_a_joint_that_is_tied_to_a_locked_one_is_locked_too(tmp_path: Path, finger: str) -> None:
    """It cannot move either: no eighth joint of unlimited torque is left."""
    text = GRIPPER.replace("<site name='tool'/>", "")
    robot = load_robot(write(tmp_path, text, toml=f'locked = ["{finger}"]'))
    assert robot.compile().nv == 2 and robot.gripper is None
    assert robot.spec().site("tool").parent.name == "lower"


def test_a_locked_joint_is_welded_at_its_zero(tmp_path: Path) -> None:
    """The mass matrix is that of the whole robot with the fingers held at zero."""
    locked = load_robot(write(tmp_path, GRIPPER, toml='locked = ["left", "right"]')).compile()
    whole = mujoco.MjModel.from_xml_string(GRIPPER)
    inertia = []
    for model in (locked, whole):
        data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
        data.qpos[:2] = [0.5, 1.5]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, M)
        inertia.append(M[:2, :2])
    np.testing.assert_allclose(inertia[0], inertia[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("toml", "kind"), [("locked = ['thumb']", UnknownName), ("locked = 'left'", BadValue)]
)
def test_a_lock_that_fits_no_joint_is_refused(
    tmp_path: Path, toml: str, kind: type[Exception]
) -> None:
    """A misspelt joint would stay free."""
    error = refusal(write(tmp_path, GRIPPER, toml=toml))
    assert isinstance(error, kind)
