"""Changes to a robot's model: ``robot.edited(scale_mass(0.25), set_damping(1.0))``."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from farhand.errors import BadValue, ModelError, OutOfRange
from farhand.robots.model_file import TOOL, compile_spec

Array = NDArray[np.float64]
Edit = Callable[[mujoco.MjSpec], None]


def disable_contacts(spec: mujoco.MjSpec) -> None:
    """Let no link touch anything: contact is at the tool only."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for pair in list(spec.pairs):
        spec.delete(pair)


def scale_mass(factor: float) -> Edit:
    """Multiply masses, inertias, armature, damping and dry friction by a factor > 0, [-].

    M(q) then scales exactly. Inertias that the file leaves to its geoms are made explicit first.
    """
    if not (np.isfinite(factor) and factor > 0):
        raise OutOfRange("mass factor", factor, 0.0, np.inf)

    def edit(spec: mujoco.MjSpec) -> None:
        model, body_ids, _ = _compiled(spec)
        for body, index in zip(spec.bodies, body_ids, strict=True):
            if model.body_mass[index] > 0:
                _set_inertia(body, model, index, factor)
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        spec.compiler.settotalmass = -1
        spec.compiler.boundmass = spec.compiler.boundinertia = 0
        for joint in spec.joints:
            joint.armature *= factor
            joint.frictionloss *= factor
            joint.damping = np.array(joint.damping) * factor

    return edit


def set_armature(values: ArrayLike) -> Edit:
    """Set the reflected rotor inertia, one number ≥ 0 or one per joint, [kg·m² or kg]."""
    return _set_joints("armature", values)


def set_damping(values: ArrayLike) -> Edit:
    """Set the viscous joint friction, one number ≥ 0 or one per joint, [N·m·s/rad or N·s/m]."""
    return _set_joints("damping", values)


def set_frictionloss(values: ArrayLike) -> Edit:
    """Set the dry joint friction, one number ≥ 0 or one per joint, [N·m or N]."""
    return _set_joints("frictionloss", values)


def add_payload(mass: float, com: ArrayLike, inertia: ArrayLike = (0.0, 0.0, 0.0)) -> Edit:
    """Fix a mass to the body that carries the tool site.

    Args:
        mass: > 0, [kg].
        com: its position in the tool frame, [m].
        inertia: principal moments about its centre, along the tool's axes, [kg·m²].
    """
    if not (np.isfinite(mass) and mass > 0):
        raise OutOfRange("payload mass", mass, 0.0, np.inf, "kg")
    centre = _three(com, "payload com")
    moments = _three(inertia, "payload inertia")

    def edit(spec: mujoco.MjSpec) -> None:
        site, position, quaternion = _tool(spec, "fix the payload to")
        taken = sum(body.name.startswith("payload") for body in spec.bodies)
        name = f"payload{taken or ''}"
        body = site.parent.add_body(name=name, pos=position, quat=quaternion)
        body.mass, body.ipos, body.inertia, body.explicitinertial = mass, centre, moments, True

    return edit


def move_tool(position: ArrayLike) -> Edit:
    """Move the tool point in its own frame [m]; its axes and what is fixed to its body stay."""
    shift = _three(position, "tool position")

    def edit(spec: mujoco.MjSpec) -> None:
        site, place, quaternion = _tool(spec, "move")
        turned = np.zeros(3)
        mujoco.mju_rotVecQuat(turned, shift, quaternion)
        site.pos = place + turned

    return edit


def _set_joints(attribute: str, values: ArrayLike) -> Edit:
    numbers = _numbers(values, attribute)
    if (numbers < 0).any():
        raise OutOfRange(attribute, numbers.min(), 0.0, np.inf)

    def edit(spec: mujoco.MjSpec) -> None:
        _, _, joint_ids = _compiled(spec)
        if numbers.ndim > 1 or (numbers.ndim == 1 and numbers.size != len(joint_ids)):
            count = f"one number or {len(joint_ids)}, one per joint"
            raise BadValue(f"{attribute} must be {count}, not {numbers.size}")
        per_joint = np.broadcast_to(numbers, len(joint_ids))
        for joint, index in zip(spec.joints, joint_ids, strict=True):
            value = float(per_joint[index])
            setattr(joint, attribute, [value, 0.0, 0.0] if attribute == "damping" else value)

    return edit


def _tool(spec: mujoco.MjSpec, purpose: str) -> tuple[mujoco.MjsSite, Array, Array]:
    """The tool site, and its position [m] and quaternion (w, x, y, z) in the compiled model."""
    site = spec.site(TOOL)
    if site is None:
        raise ModelError(f"no site named {TOOL!r} to {purpose}")
    model, _, _ = _compiled(spec)
    index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)
    return site, model.site_pos[index], model.site_quat[index]


def _compiled(spec: mujoco.MjSpec) -> tuple[mujoco.MjModel, list[int], list[int]]:
    """The compiled spec, with the index of each of the spec's bodies and joints in it."""
    copy = spec.copy()
    model = compile_spec(copy, spec.modelname or "robot")
    return model, [body.id for body in copy.bodies], [joint.id for joint in copy.joints]


def _set_inertia(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, factor: float) -> None:
    body.explicitinertial = True
    body.fullinertia = np.full(6, np.nan)
    body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    body.mass = float(model.body_mass[index]) * factor
    body.ipos, body.iquat = model.body_ipos[index], model.body_iquat[index]
    body.inertia = model.body_inertia[index] * factor


def _three(values: ArrayLike, what: str) -> Array:
    numbers = _numbers(values, what)
    if numbers.shape != (3,):
        raise BadValue(f"{what} must have 3 values, not {numbers.size}")
    return numbers


def _numbers(values: ArrayLike, what: str) -> Array:
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise BadValue(f"{what} must be numbers, not {values!r}") from None
    if not np.isfinite(numbers).all():
        raise BadValue(f"{what} must be finite, not {values!r}")
    return numbers
