"""Checks of a model: no forces or constraints that only MuJoCo would know, and finite values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from farhand.errors import BadValue, ModelError
from farhand.robots.model_file import TENDON_FORCES, TOOL, moves

SINGULAR_POSTURES = 20
"""Random postures whose mobility is what a tool usually has."""

SINGULAR_SHARE = 0.01
"""Share of that, in the worst direction, below which a posture counts as singular, [-]."""

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


def passive_forces(spec: mujoco.MjSpec, toml: str, urdf: bool) -> list[str]:
    """Forces inside the mechanism that Pinocchio does not know, and what to do about each.

    The engines would differ by them: springs of joints or tendons, damping, friction or inertia of
    tendons, equality constraints, flexible bodies, plugins on bodies, and inertia written at an
    actuator.
    """
    found = [*_springs(spec, toml), *_constraints(spec, toml, urdf), *_tendons(spec)]
    return [*found, *_others(spec)]


def without_passive_forces(spec: mujoco.MjSpec) -> None:
    """Take them out, in place, so that the rest can be looked at."""
    for element in [*spec.equalities, *spec.flexes]:
        spec.delete(element)
    for joint in spec.joints:
        joint.springdamper = np.zeros(2)
        joint.stiffness = np.zeros(np.shape(joint.stiffness))
    for tendon in spec.tendons:
        for field in TENDON_FORCES:
            setattr(tendon, field, np.zeros(np.shape(getattr(tendon, field))))


def drop_gravcomp(spec: mujoco.MjSpec) -> list[str]:
    """Give weightless bodies their weight, in place; one line that says so, or nothing."""
    bodies = [body for body in spec.bodies if body.gravcomp]
    for body in bodies:
        body.gravcomp = 0.0
    names = ", ".join(_name(body) for body in bodies)
    return [f"gravcomp is left out, the controller carries the weight: {names}"] if names else []


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


def masses_from_meshes(
    spec: mujoco.MjSpec, compiled: mujoco.MjSpec, model: mujoco.MjModel
) -> dict[str, float]:
    """Masses [kg] of moving bodies that follow from the volume of meshes, by body.

    Args:
        spec: the model.
        compiled: the copy of it that was compiled, whose bodies have numbers.
        model: what came out.
    """
    from_geoms = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    masses = {}
    for body, twin in zip(spec.bodies, compiled.bodies, strict=True):
        stated = body.explicitinertial and spec.compiler.inertiafromgeom != from_geoms
        meshes = [geom for geom in body.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH]
        if not stated and moves(body) and any(np.isnan(geom.mass) for geom in meshes):
            masses[_name(body)] = float(model.body_mass[twin.id])
    return {name: mass for name, mass in masses.items() if mass > 0.0}


def is_singular(model: mujoco.MjModel, q: np.ndarray) -> bool:
    """Whether the joints move the tool, or its point, in fewer directions at ``q`` than usual."""
    rng = np.random.default_rng(0)
    here, elsewhere = _mobilities(model, np.array(q)), []
    for _ in range(SINGULAR_POSTURES):
        other = np.array(q)
        mujoco.mj_integratePos(model, other, rng.uniform(-1.0, 1.0, model.nv), 1.0)
        elsewhere.append(_mobilities(model, other))
    for found, usual in zip(here, np.median(elsewhere, axis=0), strict=True):
        rank = int((usual > 1e-6 * max(usual[0], 1e-300)).sum())
        if rank and found[rank - 1] < SINGULAR_SHARE * usual[rank - 1]:
            return True
    return False


def _mobilities(model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
    """Singular values of the tool's Jacobian and of its point's, largest first, 2 × 6."""
    data, J = mujoco.MjData(model), np.zeros((6, model.nv))
    data.qpos = q
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_jacSite(model, data, J[:3], J[3:], model.site(TOOL).id)
    values = np.zeros((2, 6))
    for row, part in zip(values, (J, J[:3]), strict=True):
        found = np.linalg.svd(part, compute_uv=False)
        row[: len(found)] = found
    return values


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
        for field in TENDON_FORCES:
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
