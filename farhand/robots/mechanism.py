"""Checks of a model: no forces or constraints that only MuJoCo would know, and finite values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

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
    "body": ("body", mujoco.mjtObj.mjOBJ_BODY),
    "jnt": ("joint", mujoco.mjtObj.mjOBJ_JOINT),
    "dof": ("joint", mujoco.mjtObj.mjOBJ_JOINT),
    "site": ("site", mujoco.mjtObj.mjOBJ_SITE),
    "geom": ("geom", mujoco.mjtObj.mjOBJ_GEOM),
}
_UNKNOWN = "which the controller does not know: remove it"


def refuse_passive(spec: mujoco.MjSpec, what: str, toml: str, urdf: bool) -> None:
    """Refuse forces inside the mechanism that Pinocchio does not know: the engines would differ.

    Raises:
        ModelError: springs of joints or tendons, damping, friction or inertia of tendons,
            weightless bodies, equality constraints, flexible bodies, plugins on bodies, and inertia
            written at an actuator.
    """
    reasons = [*_springs(spec, toml), *_constraints(spec, toml, urdf), *_tendons(spec)]
    reasons += _others(spec)
    if reasons:
        more = f" (and {len(reasons) - 1} more of that sort)" if len(reasons) > 1 else ""
        raise ModelError(f"{what}: {reasons[0]}{more}")


def check_numbers(model: mujoco.MjModel, what: str) -> None:
    """Refuse NaN and infinity in poses, inertias and joint data, by the element's name."""
    for prefix, fields in _NUMBERS.items():
        for field in fields:
            values = np.asarray(getattr(model, f"{prefix}_{field}"))
            bad = np.unique(np.argwhere(~np.isfinite(values))[:, 0])
            if not len(bad):
                continue
            index = int(model.dof_jntid[bad[0]]) if prefix == "dof" else int(bad[0])
            word, kind = _KINDS[prefix]
            name = mujoco.mj_id2name(model, kind, index) or f"number {index}"
            shown = np.array2string(values[bad[0]], precision=4)
            raise BadValue(f"{what}: {field} of {word} {name} must be finite, not {shown}")


def check_tool(model: mujoco.MjModel, what: str, toml: str) -> None:
    """Refuse a tool that no joint moves: every law would divide by its mobility."""
    body = int(model.site_bodyid[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)])
    if model.body_weldid[body] == 0:
        names = [model.body(i).name or "(unnamed)" for i in range(model.nbody)]
        moving = [names[i] for i in range(model.nbody) if model.body_weldid[i] != 0]
        example = f'tool = {{ body = "{moving[-1]}" }} in {toml}'
        remedy = f"put it on one of {', '.join(moving)}, for example with {example}"
        raise ModelError(f"{what}: the tool is on {names[body]}, which no joint moves: {remedy}")


def _name(element: Any) -> str:
    return element.name or "(unnamed)"


def _springs(spec: mujoco.MjSpec, toml: str) -> Iterator[str]:
    for joint in spec.joints:
        if np.any(joint.springdamper):
            yield f"joint {_name(joint)} has a springdamper, {_UNKNOWN}"
        stiffness = np.array(joint.stiffness, dtype=float)
        if not stiffness.any():
            continue
        reason = f"joint {_name(joint)} has stiffness {stiffness[0]:g}, {_UNKNOWN}"
        if joint.name and joint.type in _SINGLE and not stiffness[1:].any():
            in_degrees = joint.type == mujoco.mjtJoint.mjJNT_HINGE and joint.compiler.degree
            rest = math.radians(joint.springref) if in_degrees else float(joint.springref)
            constant = 0.0 - stiffness[0] * rest
            curve = f"[{constant:.6g}, {stiffness[0]:.6g}, 0, 0]"
            key = joint.name if re.fullmatch(r"[A-Za-z0-9_-]+", joint.name) else f'"{joint.name}"'
            spring = f'springs.{key} = {{ kind = "cubic", coefficients = {curve} }}'
            reason += f" and write {spring} into {toml}"
        yield reason
    for body in spec.bodies:
        if body.gravcomp:
            reason = f"body {_name(body)} has gravcomp {body.gravcomp:g}, {_UNKNOWN}"
            yield f"{reason}, the controller itself carries the weight"


def _constraints(spec: mujoco.MjSpec, toml: str, urdf: bool) -> Iterator[str]:
    for equality in spec.equalities:
        if not equality.active:
            continue
        first, second = equality.name1, equality.name2
        locked = f'locked = ["{first}"]'
        if urdf:
            reason = f"joint {first} mimics joint {second}, which the controller does not know"
            yield f'{reason}: make it type="fixed", or write {locked} into {toml}'
            continue
        kind = equality.type.name.removeprefix("mjEQ_").lower()
        pair = " and ".join(name for name in (first, second) if name)
        lock = f", or lock {first} with {locked} in {toml}" if kind == "joint" else ""
        known = "the controller knows open trees of independent joints only"
        yield f"equality constraint {kind} of {pair}: {known}: remove it{lock}"


def _tendons(spec: mujoco.MjSpec) -> Iterator[str]:
    for tendon in spec.tendons:
        for field in ("stiffness", "damping", "frictionloss", "armature"):
            value = getattr(tendon, field)
            if np.any(value):
                reason = f"tendon {_name(tendon)} has {field} {np.max(value):g}, {_UNKNOWN}"
                yield f"{reason}, or describe it at the joints"


def _others(spec: mujoco.MjSpec) -> Iterator[str]:
    for flex in spec.flexes:
        yield f"flex {_name(flex)}: the controller knows rigid bodies only: remove it"
    for body in spec.bodies:
        if body.plugin.active:
            yield f"body {_name(body)} has a plugin, {_UNKNOWN}"
    for actuator in spec.actuators:
        if actuator.armature:
            reason = f"actuator {_name(actuator)} has armature {actuator.armature:g}"
            remedy = "write it at the joint, times the gear squared"
            yield f"{reason}, and actuators are left out: {remedy}"
