"""Limits of a robot's joints: from the model file, overridden by ``robot.toml``, refused where they mean nothing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue
from farhand.robots import description as toml
from farhand.robots.urdf import Stated, stated_limits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """What each DOF may do; infinite where unknown.

    Attributes:
        lower: smallest position, [rad or m].
        upper: largest position, [rad or m].
        velocity: largest speed, [rad/s or m/s].
        torque: largest effort, [N·m or N].
        slides: the DOF that translate, in m, m/s and N; all others are in rad, rad/s and N·m.
    """

    lower: Array
    upper: Array
    velocity: Array
    torque: Array
    slides: frozenset[int] = frozenset()

    def units(self, dof: int) -> tuple[str, str, str]:
        """Units of position, speed and effort of a DOF."""
        return ("m", "m/s", "N") if dof in self.slides else ("rad", "rad/s", "N·m")


def read_limits(
    table: dict[str, Any],
    spec: mujoco.MjSpec,
    model: mujoco.MjModel,
    path: Path,
    where: str,
    actuated: NDArray[np.bool_],
) -> Limits:
    """The limits of a model file, with those of its description in their place.

    Args:
        table: the description.
        spec: the model, actuators still in it.
        model: the same, compiled.
        path: the model file.
        where: the description's file, for messages; the model file where there is none.
        actuated: which DOF can be driven; only those that cannot may have no effort at all.

    Raises:
        BadValue: a range that does not rise, a speed or an effort that is not positive, or NaN.
    """
    given = toml.section(table.get("limits", {}), f"{where}: limits")
    toml.known_keys(given, {"lower", "upper", "velocity", "torque"}, f"{where}: limits")
    stated = stated_limits(path)
    if not {"lower", "upper"} <= given.keys():
        _check_ranges(spec, stated, path)
    if "torque" not in given:
        _check_forces(spec, path)
    lower, upper = position_limits(model)
    velocity, torque = np.full(model.nv, np.inf), torque_limits(model)
    _take_stated(stated, model, velocity, torque)
    found = {"lower": lower, "upper": upper, "velocity": velocity, "torque": torque}
    for key, value in given.items():
        found[key] = toml.vector(value, model.nv, f"{where}: limits.{key}", infinite=True)
    for array in found.values():
        array.setflags(write=False)
    limits = Limits(**found, slides=_slides(model))
    origin = {key: where if key in given else str(path) for key in ("lower", "velocity", "torque")}
    _check(limits, model, actuated, {**origin, "lower": where} if "upper" in given else origin)
    return limits


def position_limits(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Lower and upper limit of each DOF, [rad or m]; infinite for unlimited, ball and free joints."""
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for joint in np.flatnonzero(model.jnt_limited & single_dof(model)):
        dof = int(model.jnt_dofadr[joint])
        lower[dof], upper[dof] = model.jnt_range[joint]
    return lower, upper


def torque_limits(model: mujoco.MjModel) -> Array:
    """Largest effort of each DOF that the file states, [N·m or N]; inf where it states none.

    Looks at the joint's ``actuatorfrcrange`` (a URDF's ``effort``) and at actuators that act on one
    joint: their ``forcerange``, or the ``ctrlrange`` of a plain motor, times the gear.
    """
    limits = np.full(model.nv, np.inf)
    for joint in np.flatnonzero(model.jnt_actfrclimited):
        dof = int(model.jnt_dofadr[joint])
        limits[dof] = np.abs(model.jnt_actfrcrange[joint]).max()
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        dof = int(model.jnt_dofadr[model.actuator_trnid[actuator, 0]])
        force = _actuator_force(model, actuator) * abs(float(model.actuator_gear[actuator, 0]))
        limits[dof] = min(limits[dof], force)
    return limits


def single_dof(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which joints are hinges or slides."""
    return (model.jnt_type == int(mujoco.mjtJoint.mjJNT_HINGE)) | (
        model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)
    )


def _actuator_force(model: mujoco.MjModel, actuator: int) -> float:
    if model.actuator_forcelimited[actuator]:
        return float(np.abs(model.actuator_forcerange[actuator]).max())
    plain = int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_NONE)
    if plain and model.actuator_ctrllimited[actuator]:
        return float(
            np.abs(model.actuator_ctrlrange[actuator]).max()
            * abs(model.actuator_gainprm[actuator, 0])
        )
    return np.inf


def _slides(model: mujoco.MjModel) -> frozenset[int]:
    """Numbers of the DOF in metres: slides, and the first three of a free joint."""
    width = {int(mujoco.mjtJoint.mjJNT_SLIDE): 1, int(mujoco.mjtJoint.mjJNT_FREE): 3}
    starts = [
        (int(model.jnt_dofadr[i]), width.get(int(model.jnt_type[i]), 0)) for i in range(model.njnt)
    ]
    return frozenset(dof for start, count in starts for dof in range(start, start + count))


def _take_stated(
    stated: dict[str, Stated], model: mujoco.MjModel, velocity: Array, torque: Array
) -> None:
    """Speed and effort as a URDF writes them, in place: MuJoCo keeps no speed and takes an effort of 0 for none."""
    for name, limit in stated.items():
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if index < 0:
            continue
        dof = int(model.jnt_dofadr[index])
        if limit.velocity is not None:
            velocity[dof] = limit.velocity
        if limit.effort is not None:
            torque[dof] = limit.effort


def _check_ranges(spec: mujoco.MjSpec, stated: dict[str, Stated], path: Path) -> None:
    """MuJoCo takes a range that does not rise for no range at all, without a word."""
    for joint in spec.joints:
        limit = stated.get(joint.name)
        written = limit is not None and limit.lower is not None and limit.upper is not None
        ignored = joint.limited == mujoco.mjtLimited.mjLIMITED_FALSE and limit is None
        if not ignored and (written or np.any(joint.range)):
            hint = 'leave both out, or write type="continuous",' if stated else "leave it out"
            _check_rises(joint.range, f"{path}: range of joint {joint.name or '(unnamed)'}", hint)


def _check_forces(spec: mujoco.MjSpec, path: Path) -> None:
    for word, elements, fields in (
        ("joint", spec.joints, ("actfrc",)),
        ("actuator", spec.actuators, ("force", "ctrl")),
    ):
        for element, field in itertools.product(elements, fields):
            values = getattr(element, f"{field}range")
            if getattr(element, f"{field}limited") != mujoco.mjtLimited.mjLIMITED_FALSE and np.any(
                values
            ):
                _check_rises(
                    values,
                    f"{path}: {field}range of {word} {element.name or '(unnamed)'}",
                    "leave it out",
                )


def _check_rises(values: Array, what: str, hint: str) -> None:
    low, high = values
    if not low < high:
        raise BadValue(
            f"{what} is [{low:g}, {high:g}]: the lower limit must be below the upper; {hint} if there is none"
        )


def _check(
    limits: Limits, model: mujoco.MjModel, actuated: NDArray[np.bool_], origin: dict[str, str]
) -> None:
    for dof in range(model.nv):
        joint = int(model.dof_jntid[dof])
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or f"number {joint + 1}"
        position, speed, effort = limits.units(dof)
        low, high = limits.lower[dof], limits.upper[dof]
        if not low < high:
            whose = f"{origin['lower']}: limits of joint {name}"
            raise BadValue(
                f"{whose}: lower = {low:g} must be below upper = {high:g} {position}; ∓inf is no limit"
            )
        if not limits.velocity[dof] > 0:
            _refuse(origin["velocity"], "velocity", name, limits.velocity[dof], speed)
        if not (limits.torque[dof] > 0 or (limits.torque[dof] == 0 and not actuated[dof])):
            _refuse(origin["torque"], "torque", name, limits.torque[dof], effort)


def _refuse(where: str, key: str, joint: str, value: float, unit: str) -> None:
    raise BadValue(
        f"{where}: {key} limit of joint {joint} is {value:g} {unit}: it must be > 0, or inf for none;"
        f" limits.{key} in the toml overrides the model file"
    )
