"""Limits of a robot's joints: from the model file, overridden by ``robot.toml``, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue
from farhand.robots import description as toml
from farhand.robots.urdf import UrdfLimit, urdf_limits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """What each DOF may do; infinite where unknown."""

    lower: Array  #: smallest position, [rad or m]
    upper: Array  #: largest position, [rad or m]
    velocity: Array  #: largest speed, [rad/s or m/s]
    torque: Array  #: largest effort, [N·m or N]
    #: the DOF that translate, in m, m/s and N; all others are in rad, rad/s and N·m
    slides: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()  #: joint of each DOF; empty where it has no name or none are known

    def joint(self, dof: int) -> str:
        """The joint of a DOF in words: by its name, else by its number."""
        name = self.names[dof] if dof < len(self.names) else ""
        return f"joint {name or dof + 1}"

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
    problems: list[str] | None = None,
) -> Limits:
    """The limits of a model file, overridden by those of its description.

    Args:
        table: the description.
        spec: the model, actuators still in it.
        model: the same, compiled.
        path: the model file.
        where: the description's file, for messages; the model file if there is none.
        actuated: which DOF can be driven; the others may have a torque limit of zero.
        problems: takes every limit that means nothing; without it the first is raised.

    Raises:
        BadValue: a range that does not rise, a speed or an effort that is not positive, or NaN.
    """
    overrides = toml.section(table.get("limits", {}), f"{where}: limits")
    toml.known_keys(overrides, {"lower", "upper", "velocity", "torque"}, f"{where}: limits")
    stated = urdf_limits(path)
    wrong: list[str] = []
    if not {"lower", "upper"} <= overrides.keys():
        wrong += _wrong_ranges(spec, stated, path)
    if "torque" not in overrides:
        wrong += _wrong_forces(spec, path)
    lower, upper = position_limits(model)
    velocity, torque = np.full(model.nv, np.inf), torque_limits(model)
    _take_stated(stated, model, velocity, torque)
    arrays = {"lower": lower, "upper": upper, "velocity": velocity, "torque": torque}
    for key, value in overrides.items():
        arrays[key] = toml.vector(value, model.nv, f"{where}: limits.{key}", infinite=True)
    for array in arrays.values():
        array.setflags(write=False)
    names = tuple(model.joint(int(joint)).name for joint in model.dof_jntid)
    limits = Limits(**arrays, slides=_slides(model), names=names)
    checked = ("lower", "velocity", "torque")
    origin = {key: where if key in overrides else str(path) for key in checked}
    if "upper" in overrides:
        origin["lower"] = where
    wrong += _wrong_values(limits, model, actuated, origin)
    if problems is not None:
        problems += wrong
    elif wrong:
        raise BadValue(wrong[0])
    return limits


def position_limits(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Lower and upper limit of each DOF, [rad or m]; infinite for ball and free joints."""
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
        force = actuator_force(model, actuator) * abs(float(model.actuator_gear[actuator, 0]))
        limits[dof] = min(limits[dof], force)
    return limits


def single_dof(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which joints are hinges or slides."""
    kind = mujoco.mjtJoint
    return (model.jnt_type == int(kind.mjJNT_HINGE)) | (model.jnt_type == int(kind.mjJNT_SLIDE))


def actuator_force(model: mujoco.MjModel, actuator: int) -> float:
    """Largest force of an actuator before its gear, [N·m or N]; infinite if none is stated."""
    if model.actuator_forcelimited[actuator]:
        return float(np.abs(model.actuator_forcerange[actuator]).max())
    plain = int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_NONE)
    if plain and model.actuator_ctrllimited[actuator]:
        largest = np.abs(model.actuator_ctrlrange[actuator]).max()
        return float(largest * abs(model.actuator_gainprm[actuator, 0]))
    return np.inf


def _slides(model: mujoco.MjModel) -> frozenset[int]:
    """Numbers of the DOF in metres: slides, and the first three of a free joint."""
    widths = {int(mujoco.mjtJoint.mjJNT_SLIDE): 1, int(mujoco.mjtJoint.mjJNT_FREE): 3}
    slides: set[int] = set()
    for kind, start in zip(model.jnt_type.tolist(), model.jnt_dofadr.tolist(), strict=True):
        slides.update(range(start, start + widths.get(kind, 0)))
    return frozenset(slides)


def _take_stated(
    stated: dict[str, UrdfLimit], model: mujoco.MjModel, velocity: Array, torque: Array
) -> None:
    """Take speed and effort of a URDF, in place: MuJoCo drops the speed and an effort of 0."""
    for name, limit in stated.items():
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if index < 0:
            continue
        dof = int(model.jnt_dofadr[index])
        if limit.velocity is not None:
            velocity[dof] = limit.velocity
        if limit.effort is not None:
            torque[dof] = limit.effort


def _wrong_ranges(spec: mujoco.MjSpec, stated: dict[str, UrdfLimit], path: Path) -> Iterator[str]:
    """Ranges that do not rise: MuJoCo would silently ignore them."""
    for joint in spec.joints:
        limit = stated.get(joint.name)
        written = limit is not None and limit.has_range and not limit.continuous
        ignored = joint.limited == mujoco.mjtLimited.mjLIMITED_FALSE and limit is None
        if not ignored and (written or np.any(joint.range)):
            hint = 'leave both out, or write type="continuous",' if stated else "leave it out"
            what = f"{path}: range of joint {joint.name or '(unnamed)'}"
            yield from _not_rising(joint.range, what, hint)


def _wrong_forces(spec: mujoco.MjSpec, path: Path) -> Iterator[str]:
    checked = [("joint", joint, "actfrc") for joint in spec.joints]
    checked += [("actuator", one, field) for one in spec.actuators for field in ("force", "ctrl")]
    for word, element, field in checked:
        values, limited = getattr(element, f"{field}range"), getattr(element, f"{field}limited")
        if limited != mujoco.mjtLimited.mjLIMITED_FALSE and np.any(values):
            what = f"{path}: {field}range of {word} {element.name or '(unnamed)'}"
            yield from _not_rising(values, what, "leave it out")


def _not_rising(values: Array, what: str, hint: str) -> Iterator[str]:
    low, high = values
    if not low < high:
        need = f"the lower limit must be below the upper; {hint} if there is none"
        yield f"{what} is [{low:g}, {high:g}]: {need}"


def _wrong_values(
    limits: Limits, model: mujoco.MjModel, actuated: NDArray[np.bool_], origin: dict[str, str]
) -> Iterator[str]:
    for dof in range(model.nv):
        joint = int(model.dof_jntid[dof])
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or f"number {joint + 1}"
        position, speed, effort = limits.units(dof)
        low, high = limits.lower[dof], limits.upper[dof]
        if not low < high:
            need = f"lower = {low:g} must be below upper = {high:g} {position}; ∓inf is no limit"
            yield f"{origin['lower']}: limits of joint {name}: {need}"
        if not limits.velocity[dof] > 0:
            yield _not_positive(origin["velocity"], "velocity", name, limits.velocity[dof], speed)
        if not (limits.torque[dof] > 0 or (limits.torque[dof] == 0 and not actuated[dof])):
            yield _not_positive(origin["torque"], "torque", name, limits.torque[dof], effort)


def _not_positive(where: str, key: str, joint: str, value: float, unit: str) -> str:
    need = "it must be > 0, or inf for none"
    remedy = f"limits.{key} in the toml overrides the model file"
    return f"{where}: {key} limit of joint {joint} is {value:g} {unit}: {need}; {remedy}"
