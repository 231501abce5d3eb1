"""What a model may not hold: forces and constraints that only MuJoCo would know of, and values that are no numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import mujoco
import numpy as np

from farhand.errors import BadValue, ModelError
from farhand.robots.model_file import TOOL

_SINGLE = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
_NUMBERS = {
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia"),
    "jnt": ("pos", "axis", "range"),
    "dof": ("armature", "damping", "frictionloss"),
    "site": ("pos", "quat"),
    "geom": ("pos", "quat"),
}
_KINDS = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "jnt": mujoco.mjtObj.mjOBJ_JOINT,
    "dof": mujoco.mjtObj.mjOBJ_JOINT,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
}
_WORDS = {"jnt": "joint", "dof": "joint"}


def refuse_passive(spec: mujoco.MjSpec, what: str, toml: str, urdf: bool) -> None:
    """Refuse what acts inside the mechanism and is unknown to Pinocchio: the two engines would drift apart.

    Args:
        spec: the model, its overrides applied and its actuators still in it.
        what: the file, for the message.
        toml: name of the description beside it, for the advice.
        urdf: whether it is a URDF, whose only constraints are joints that follow others.

    Raises:
        ModelError: springs of joints or tendons, damping, friction or inertia of tendons,
            weightless bodies, equality constraints, flexible bodies, plugins on bodies, and inertia
            written at an actuator.
    """
    found = [
        *_joint_springs(spec, toml),
        *_gravity_compensation(spec),
        *_constraints(spec, toml, urdf),
        *_tendons(spec),
        *_others(spec),
    ]
    if found:
        more = f" (and {len(found) - 1} more of that sort)" if len(found) > 1 else ""
        raise ModelError(f"{what}: {found[0]}{more}")


def check_numbers(model: mujoco.MjModel, what: str) -> None:
    """Refuse NaN and infinity in poses, inertias and joint data, by the element's name."""
    for prefix, fields in _NUMBERS.items():
        for field in fields:
            values = np.asarray(getattr(model, f"{prefix}_{field}"))
            bad = np.unique(np.argwhere(~np.isfinite(values))[:, 0])
            if not len(bad):
                continue
            index = int(model.dof_jntid[bad[0]]) if prefix == "dof" else int(bad[0])
            name = mujoco.mj_id2name(model, _KINDS[prefix], index) or f"number {index}"
            shown = np.array2string(values[bad[0]], precision=4)
            raise BadValue(
                f"{what}: {field} of {_WORDS.get(prefix, prefix)} {name} must be finite, not {shown}"
            )


def check_tool(model: mujoco.MjModel, what: str, toml: str) -> None:
    """Refuse a tool that no joint moves: every law would divide by its mobility."""
    body = int(model.site_bodyid[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)])
    if model.body_weldid[body] == 0:
        moving = [
            model.body(i).name or "(unnamed)"
            for i in range(model.nbody)
            if model.body_weldid[i] != 0
        ]
        raise ModelError(
            f"{what}: the tool is on {model.body(body).name or '(unnamed)'}, which no joint moves:"
            f' put it on one of {", ".join(moving)}, for example with tool = {{ body = "{moving[-1]}" }} in {toml}'
        )


def _name(element: object) -> str:
    return getattr(element, "name", "") or "(unnamed)"


def _joint_springs(spec: mujoco.MjSpec, toml: str) -> Iterator[str]:
    for joint in spec.joints:
        if np.any(joint.springdamper):
            yield f"joint {_name(joint)} has a springdamper, a spring that the controller does not know: remove it"
        stiffness = np.array(joint.stiffness, dtype=float)
        if not stiffness.any():
            continue
        words = f"joint {_name(joint)} has stiffness {stiffness[0]:g}, which the controller does not know: remove it"
        if joint.name and joint.type in _SINGLE and not stiffness[1:].any():
            in_degrees = joint.type == mujoco.mjtJoint.mjJNT_HINGE and joint.compiler.degree
            rest = math.radians(joint.springref) if in_degrees else float(joint.springref)
            constant = 0.0 - stiffness[0] * rest
            curve = f"[{constant:.6g}, {stiffness[0]:.6g}, 0, 0]"
            key = joint.name if re.fullmatch(r"[A-Za-z0-9_-]+", joint.name) else f'"{joint.name}"'
            words += f' and write springs.{key} = {{ kind = "cubic", coefficients = {curve} }} into {toml}'
        yield words


def _gravity_compensation(spec: mujoco.MjSpec) -> Iterator[str]:
    for body in spec.bodies:
        if body.gravcomp:
            yield (
                f"body {_name(body)} has gravcomp {body.gravcomp:g}, which the controller does not know:"
                " remove it, the controller itself carries the weight"
            )


def _constraints(spec: mujoco.MjSpec, toml: str, urdf: bool) -> Iterator[str]:
    for equality in spec.equalities:
        if not equality.active:
            continue
        if urdf:
            yield (
                f"joint {equality.name1} mimics joint {equality.name2}, which the controller does not know:"
                f' make it type="fixed", or write locked = ["{equality.name1}"] into {toml}'
            )
        else:
            kind = equality.type.name.removeprefix("mjEQ_").lower()
            pair = " and ".join(name for name in (equality.name1, equality.name2) if name)
            lock = (
                f', or lock {equality.name1} with locked = ["{equality.name1}"] in {toml}'
                if kind == "joint"
                else ""
            )
            yield (
                f"equality constraint {kind} of {pair}: the controller knows open trees of independent joints only:"
                f" remove it{lock}"
            )


def _tendons(spec: mujoco.MjSpec) -> Iterator[str]:
    for tendon in spec.tendons:
        for field in ("stiffness", "damping", "frictionloss", "armature"):
            if np.any(getattr(tendon, field)):
                yield (
                    f"tendon {_name(tendon)} has {field} {np.max(getattr(tendon, field)):g}, which the controller"
                    " does not know: remove it, or describe it at the joints"
                )


def _others(spec: mujoco.MjSpec) -> Iterator[str]:
    for flex in spec.flexes:
        yield f"flex {_name(flex)}: the controller knows rigid bodies only: remove it"
    for body in spec.bodies:
        if body.plugin.active:
            yield f"body {_name(body)} has a plugin, which the controller does not know: remove it"
    for actuator in spec.actuators:
        if actuator.armature:
            yield (
                f"actuator {_name(actuator)} has armature {actuator.armature:g}, and actuators are left out:"
                " write it at the joint, times the gear squared"
            )
