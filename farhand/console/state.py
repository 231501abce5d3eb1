"""State: joint angles, tool places and what else a robot's driver says, as numbers that follow every frame."""

from __future__ import annotations

import html
import math

import mujoco
import numpy as np

from farhand.console.kinematics import Kinematics
from farhand.console.palette import css, role_colour
from farhand.console.scene import RobotScene, Scene
from farhand.console.status import Reading

Array = np.ndarray

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


def state(reading: Reading, scene: Scene, kinematics: Kinematics) -> str:
    """Everything about every robot as HTML; objects without a station are left out."""
    robots = [robot for robot in scene["robots"] if robot["name"] in reading.mode]
    return f"<div style='{_FRAME}'>{''.join(_robot(r, reading, kinematics) for r in robots) or 'nothing yet'}</div>"


def joints(robot: RobotScene, kinematics: Kinematics) -> list[tuple[str, float, str]]:
    """Name, value and unit of every hinge [°] and slide [mm] of a robot, in the order of its configuration."""
    model, first = kinematics.model, robot["q"][0]
    q, found = kinematics.configuration(robot["name"]), []
    for index in range(model.njnt):
        place, kind = int(model.jnt_qposadr[index]) - first, int(model.jnt_type[index])
        if 0 <= place < len(q) and kind in (_HINGE, _SLIDE):
            name = model.joint(index).name.partition("/")[2].replace("_", " ")
            scale, unit = (math.degrees(1.0), "°") if kind == _HINGE else (1e3, "mm")
            found.append((name, scale * float(q[place]), unit))
    return found


def _robot(robot: RobotScene, reading: Reading, kinematics: Kinematics) -> str:
    name = robot["name"]
    rows = [(joint, f"{value:.1f} {unit}") for joint, value, unit in joints(robot, kinematics)]
    rows.append(
        (
            "tool, x y z",
            " ".join(f"{1e3 * part:.1f}" for part in kinematics.tool_position[name]) + " mm",
        )
    )
    origin = reading.origin(name)
    rows.append(
        ("force, x y z", _triple(reading.measured(name)) + (f" ({origin})" if origin else ""))
    )
    rows += [(what, said) for what, said in reading.said.get(name, {}).items()]
    dot = f"<span style='color:{css(role_colour(robot['role']))}'>●</span>"
    title = f"<div style='margin-top:6px;font-weight:600'>{dot} {html.escape(name)}</div>"
    return f"{title}<table style='width:100%'>{''.join(_row(*row) for row in rows)}</table>"


def _row(label: str, value: str) -> str:
    return f"<tr><td style='opacity:0.7'>{html.escape(label)}</td><td style='{_RIGHT}'>{html.escape(value)}</td></tr>"


def _triple(force: Array) -> str:
    return (
        " ".join(f"{part:.1f}" for part in force) + " N"
        if np.isfinite(force).all()
        else "not measured"
    )


_FRAME = "padding:2px 14px 8px;font-size:12px;line-height:1.45"
_RIGHT = "text-align:right;font-variant-numeric:tabular-nums"
