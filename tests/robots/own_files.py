"""A user's robot files for the tests: a chain as MJCF and as URDF, written down and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from farhand.errors import FarhandError
from farhand.robots import load_robot

BODY = '<joint name="{0}" axis="0 1 0"/><geom size="0.05" mass="1"/>'
CHAIN = f"""<mujoco model="mine"><compiler angle="radian"/>
    <option timestep="0.01" gravity="0 0 -1"/><worldbody>
    <body name="table"/><body name="upper" pos="0 0 1">{BODY.format("j1")}
    <body name="lower" pos="0 0 0.5"><joint name="j2" axis="1 0 0" range="-1 2"/>
    <geom size="0.05" mass="1"/></body>
    </body></worldbody>
    <actuator><position name="servo" joint="j1" kp="100" forcerange="-7 7" gear="2"/>
    <motor joint="j2" ctrlrange="-3 3"/></actuator>
    <sensor><actuatorpos actuator="servo"/></sensor><keyframe><key name="home" qpos="0.5 1.5"/>
    </keyframe></mujoco>"""
BRANCHED = CHAIN.replace(
    "</worldbody>", f'<body name="other">{BODY.format("j3")}</body></worldbody>'
).replace('qpos="0.5 1.5"', 'qpos="0.5 1.5 0"')
URDF = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
    <origin xyz="0 0 -0.5"/>
    <mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    </link>
    <link name="tip"/><joint name="swing" type="revolute"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
    <joint name="end" type="fixed"><parent link="rod"/><child link="tip"/><origin xyz="0 0 -1"/>
    </joint></robot>"""


def write(folder: Path, text: str = CHAIN, toml: str | None = None, name: str = "mine.xml") -> Path:
    """A model file, with a toml beside it if there is one."""
    path = folder / name
    path.write_text(text)
    if toml is not None:
        path.with_suffix(".toml").write_text(toml)
    return path


def refusal(path: Path | str, variant: str | None = None) -> FarhandError:
    """The error, of one line, that loading ends in."""
    with pytest.raises(FarhandError) as caught:
        load_robot(path, variant)
    assert "\n" not in str(caught.value)
    return caught.value
