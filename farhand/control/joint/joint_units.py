"""Units of joints: a slide has metres and newtons where a hinge has radians and newton metres."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pinocchio as pin

LINEAR = {"rad": "m", "rad/s": "m/s", "N·m": "N"}
"""The unit of a slide by that of a hinge."""

_SLIDES = ("JointModelP", "JointModelTranslation")
# The position of these is a quaternion, or a sine and a cosine.
_UNBOUNDED = ("JointModelSpherical", "JointModelRUB", "JointModelRevoluteUnbounded")


def joint_units(model: pin.Model, unit: str) -> str:
    """Units of all joints of a model, as text for a telemetry channel.

    Args:
        model: the robot.
        unit: that of a hinge: ``"rad"`` (positions), ``"rad/s"`` or ``"N·m"``.
    """
    units = [one for joint in list(model.joints)[1:] for one in _units_of(joint, unit)]
    return join_units(units, unit)


def join_units(units: Sequence[str], default: str = "-") -> str:
    """One text for many: ``"rad"``, ``"m, rad"`` for three and three, else ``"m ×2, rad ×6"``."""
    runs = [(unit, len(list(run))) for unit, run in groupby(units)]
    if len(runs) <= 1:
        return units[0] if units else default
    if [count for _, count in runs] == [3, 3]:
        return f"{runs[0][0]}, {runs[1][0]}"
    return ", ".join(unit if count == 1 else f"{unit} ×{count}" for unit, count in runs)


def _units_of(joint: pin.JointModel, unit: str) -> list[str]:
    kind, count = joint.shortname(), joint.nq if unit == "rad" else joint.nv
    slides = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2}.get(kind)
    if slides is not None:
        return [LINEAR[unit]] * slides + ["-" if unit == "rad" else unit] * (count - slides)
    if kind.startswith(_SLIDES):
        return [LINEAR[unit]] * count
    return ["-" if unit == "rad" and kind.startswith(_UNBOUNDED) else unit] * count
