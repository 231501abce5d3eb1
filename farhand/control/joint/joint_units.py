"""Units of joints: what a slide measures in metres and newtons, a hinge measures in radians and newton metres."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pinocchio as pin

LINEAR = {"rad": "m", "rad/s": "m/s", "N·m": "N"}
"""The unit of a slide by that of a hinge."""

_SLIDES = ("JointModelP", "JointModelTranslation")
_TURNING_FREELY = (
    "JointModelFreeFlyer",
    "JointModelSpherical",
    "JointModelRUB",
    "JointModelRevoluteUnbounded",
)


def joint_units(model: pin.Model, unit: str) -> str:
    """The unit of positions, velocities or efforts of all joints of a model, as a channel of the telemetry says it.

    Args:
        model: whose joints.
        unit: what a hinge is measured in: ``"rad"`` (positions), ``"rad/s"`` or ``"N·m"``.
    """
    return joined([one for joint in list(model.joints)[1:] for one in _units(joint, unit)], unit)


def joined(units: Sequence[str], default: str = "-") -> str:
    """Units of single numbers as one text: ``"rad"``, ``"m, rad"`` for three and three, else ``"m ×2, rad ×6"``."""
    runs = [(unit, len(list(run))) for unit, run in groupby(units)]
    if len(runs) <= 1:
        return units[0] if units else default
    if [count for _, count in runs] == [3, 3]:
        return f"{runs[0][0]}, {runs[1][0]}"
    return ", ".join(unit if count == 1 else f"{unit} ×{count}" for unit, count in runs)


def _units(joint: pin.JointModel, unit: str) -> list[str]:
    """Of one joint's numbers; the position of a joint that turns freely is a quaternion, or a sine and a cosine."""
    kind, count = joint.shortname(), joint.nq if unit == "rad" else joint.nv
    if kind == "JointModelFreeFlyer":
        return [LINEAR[unit]] * 3 + ["-" if unit == "rad" else unit] * (count - 3)
    if kind == "JointModelPlanar":
        return [LINEAR[unit]] * 2 + ["-" if unit == "rad" else unit] * (count - 2)
    if kind.startswith(_SLIDES):
        return [LINEAR[unit]] * count
    return ["-" if unit == "rad" and kind.startswith(_TURNING_FREELY) else unit] * count
