"""What only MuJoCo would know is refused, so that the engines agree; so are non-numbers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue, ModelError
from farhand.robots import load_robot
from tests.robots.own_files import CHAIN, refusal, write

TENDON = '</worldbody><tendon><fixed name="rope" {}><joint joint="j1" coef="1"/></fixed></tendon>'
EQUALITY = "</worldbody><equality>{}</equality>"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name="j2"', 'name="j2" stiffness="20"', "joint j2 has stiffness 20"),
        ('name="j2"', 'name="j2" springdamper="0.1 1"', "joint j2 has a springdamper"),
        ("</worldbody>", EQUALITY.format('<joint joint1="j1" joint2="j2"/>'), "joint of j1 and j2"),
        (
            "</worldbody>",
            EQUALITY.format('<connect body1="lower" body2="table" anchor="0 0 0"/>'),
            "connect of lower",
        ),
        ("</worldbody>", TENDON.format('stiffness="5"'), "tendon rope has stiffness 5"),
        ("</worldbody>", TENDON.format('damping="5"'), "tendon rope has damping 5"),
        ("</worldbody>", TENDON.format('armature="0.5"'), "tendon rope has armature 0.5"),
        ('kp="100"', 'kp="100" armature="0.1"', "actuator servo has armature 0.1"),
    ],
)
def test_what_pinocchio_does_not_know_is_refused_by_name(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """One line with the element, its value and what to do."""
    assert CHAIN.count(old) == 1
    error = refusal(write(tmp_path, CHAIN.replace(old, new)))
    assert isinstance(error, ModelError)
    assert words in str(error)
    assert "remove it" in str(error) or "write it at the joint" in str(error)


@pytest.mark.parametrize(
    "new",
    [
        TENDON.format('range="-9 9"'),
        EQUALITY.format('<joint joint1="j1" joint2="j2" active="false"/>'),
    ],
)
def test_what_acts_on_nothing_is_let_in(tmp_path: Path, new: str) -> None:
    """A tendon that only a motor pulled at, and a constraint that is switched off."""
    assert load_robot(write(tmp_path, CHAIN.replace("</worldbody>", new))).compile().nv == 2


@pytest.mark.parametrize(
    ("angle", "rest", "name"), [("radian", 0.3, "j2"), ("degree", -40.0, "elbow (2)")]
)
def test_the_line_about_a_spring_holds_the_same_spring(
    tmp_path: Path, angle: str, rest: float, name: str
) -> None:
    """Written into the toml as the message says, the arm's model pulls as MuJoCo's spring did."""
    plain = (
        CHAIN.replace('"radian"', f'"{angle}"')
        .replace('range="-1 2"', "")
        .replace('"j2"', f'"{name}"')
    )
    sprung = plain.replace(f'name="{name}"', f'name="{name}" stiffness="20" springref="{rest}"')
    line = re.search(r"springs\..* = \{.*\}", str(refusal(write(tmp_path, sprung))))
    assert line is not None and "springs" in tomllib.loads(line[0])
    arm = Arm.of(load_robot(write(tmp_path, plain, toml=line[0], name="other.xml")))
    q = np.array([0.2, 0.7])
    arm.update(q, np.zeros(2))
    model = mujoco.MjModel.from_xml_string(sprung.replace('gravity="0 0 -1"', ""))
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_forward(model, data)
    assert abs(data.qfrc_spring[1]) > 1
    # six digits in the line
    np.testing.assert_allclose(arm.bias, data.qfrc_bias - data.qfrc_spring, atol=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name="lower" pos="0 0 0.5"', 'name="lower" pos="0 nan 0.5"', "pos of body lower"),
        (
            "</body>\n    </body>",
            '<site name="tool" pos="nan 0 0"/></body></body>',
            "pos of site tool",
        ),
        (
            "</body>\n    </body>",
            '<site name="tool" quat="1 0 nan 0"/></body></body>',
            "quat of site tool",
        ),
        ('range="-1 2"', 'range="-1 2" armature="nan"', "armature of joint j2"),
    ],
)
def test_a_value_that_is_not_a_number_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    """MuJoCo lets it in, and the first step would spread it through the state."""
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log about it
    assert CHAIN.count(old) == 1
    error = refusal(write(tmp_path, CHAIN.replace(old, new)))
    assert isinstance(error, BadValue)
    assert words in str(error) and "nan" in str(error)


@pytest.mark.parametrize(
    ("model", "toml"),
    [
        (
            CHAIN.replace('<body name="table"/>', '<body name="table"><site name="tool"/></body>'),
            None,
        ),
        (CHAIN, "tool = { body = 'table' }"),
        (CHAIN, "tool = { body = 'world' }"),
    ],
)
def test_a_tool_that_no_joint_moves_is_refused(
    tmp_path: Path, model: str, toml: str | None
) -> None:
    """It has no mobility, by which laws divide; the line offers a body that has."""
    error = refusal(write(tmp_path, model, toml))
    assert isinstance(error, ModelError)
    assert "no joint moves" in str(error) and 'tool = { body = "lower" } in mine.toml' in str(error)
