"""A robot: its model file, limits and postures with their sources, and fresh models of it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from farhand import plugins
from farhand.errors import BadValue, FarhandError, FileError, ModelError, OutOfRange, UnknownName
from farhand.robots import description as toml
from farhand.robots import model_file
from farhand.robots.edits import Edit
from farhand.robots.gripper import find_gripper, joints_beyond_tool, settle_gripper
from farhand.robots.limits import Limits, read_limits, single_dof
from farhand.robots.mechanism import (
    check_numbers,
    check_tool,
    drop_gravcomp,
    is_singular,
    masses_from_meshes,
    passive_forces,
    without_passive_forces,
)
from farhand.robots.pinocchio_model import pinocchio_from_mujoco
from farhand.robots.springs import JointSpring, read_springs
from farhand.robots.urdf import is_urdf, limit_continuous, resolve_meshes
from farhand.spatial import rotation_from_quaternion

Array = NDArray[np.float64]

FOLDER = Path(__file__).parent
GROUP = "farhand.robots"
XACRO = ".xacro"
INSIDE = 0.1
"""How far inside a limit a joint starts if its range has no middle, [rad or m]."""

ROUNDING = 1e-3
"""How far outside a limit a model file's keyframe may be and count as on it, [rad or m]."""

TIMESTEP = 1e-3  # [s], of the models that compile() returns


@dataclass(frozen=True)
class Placement:
    """Where a robot stands in the world."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: of the robot's origin, [m]
    #: (x, y, z, w), rotates the robot's axes into the world's; normalised on creation
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        position = toml.vector(list(self.position), 3, "placement position")
        quaternion = toml.vector(list(self.quaternion), 4, "placement quaternion")
        norm = np.linalg.norm(quaternion)
        if norm < 1e-6:
            raise BadValue(f"placement quaternion {self.quaternion} has no direction")
        object.__setattr__(self, "position", tuple(position.tolist()))
        object.__setattr__(self, "quaternion", tuple((quaternion / norm).tolist()))

    def pose(self) -> tuple[Array, Array]:
        """Position [m] and rotation matrix of the robot's origin in world."""
        return np.array(self.position), rotation_from_quaternion(np.array(self.quaternion))


ORIGIN = Placement()


@dataclass(frozen=True, eq=False)
class Robot:
    """One robot, ready to be compiled alone or attached to a world. Made by :func:`load_robot`."""

    name: str  #: folder or file name
    variant: str  #: parameter set; "" when there is only one
    variants: tuple[str, ...]  #: every parameter set there is, the default first
    source: Path  #: the model file
    home: Array  #: start configuration in MuJoCo's convention, shape (nq,), [rad or m]
    postures: dict[str, Array]  #: further named configurations, like ``home``
    limits: Limits
    actuated: NDArray[np.bool_]  #: which DOF can be driven, shape (nv,)
    rates: dict[str, float]  #: nominal rates of the real machine by name, [Hz]
    sources: dict[str, str]  #: where each group of values comes from
    description: str
    _base: mujoco.MjSpec = field(repr=False)
    _edits: tuple[Edit, ...] = field(default=(), repr=False)
    tool: str = model_file.TOOL  #: name of the site that is the tool frame
    #: passive springs by the number of their joint's velocity; not in the models
    springs: Mapping[int, JointSpring] = field(default_factory=dict)
    #: the joint that opens and closes the gripper, the last one; it does not move the tool
    gripper: str | None = None
    payload: float = np.inf  #: largest mass at the flange, tool included; infinite if unknown, [kg]
    #: decisions of the loader to know, one line each: meshes left out, a start moved
    notes: tuple[str, ...] = ()

    def spec(self) -> mujoco.MjSpec:
        """A fresh spec of the mechanism alone, safe to change and to attach."""
        spec = self._base.copy()
        for edit in self._edits:
            edit(spec)
        return spec

    def compile(self, placement: Placement = ORIGIN, gravity: float = 9.81) -> mujoco.MjModel:
        """This robot alone in a world, with a step of 1 ms.

        Args:
            placement: where its origin is; ``qpos`` places the base of a free-floating robot.
            gravity: along −z, [m/s²].
        """
        if not np.isfinite(gravity):
            raise BadValue(f"gravity must be finite, not {gravity}")
        spec = self.spec()
        x, y, z, w = placement.quaternion
        model_file.place(spec, np.array(placement.position), np.array([w, x, y, z]))
        spec.option.timestep = TIMESTEP
        spec.option.gravity = [0.0, 0.0, -gravity]
        return model_file.compile_spec(spec, self.name)

    def pinocchio(self, placement: Placement = ORIGIN, gravity: float = 9.81) -> pin.Model:
        """The same as :meth:`compile` for Pinocchio, with the limits of this robot."""
        compiled = self.compile(placement, gravity)
        model = pinocchio_from_mujoco(compiled)
        model.name = self.name
        lower, upper = model.lowerPositionLimit, model.upperPositionLimit
        for joint in np.flatnonzero(single_dof(compiled)):
            at, dof = int(compiled.jnt_qposadr[joint]), int(compiled.jnt_dofadr[joint])
            lower[at], upper[at] = self.limits.lower[dof], self.limits.upper[dof]
        model.lowerPositionLimit, model.upperPositionLimit = lower, upper
        speed, effort = np.array(self.limits.velocity), np.array(self.limits.torque)
        model.lowerVelocityLimit, model.upperVelocityLimit = -speed, speed
        model.lowerEffortLimit, model.upperEffortLimit = -effort, effort
        return model

    def edited(self, *edits: Edit) -> Robot:
        """A copy of this robot with changes to its model, see :mod:`farhand.robots.edits`.

        Raises:
            ModelError: the changed model does not compile or has other degrees of freedom.
        """
        robot = replace(self, _edits=(*self._edits, *edits))
        model = robot.compile()
        if (model.nq, model.nv) != (self.home.size, self.actuated.size):
            change = f"from {self.actuated.size} to {model.nv}: change the model file instead"
            raise ModelError(f"an edit of {self.name} changed its degrees of freedom {change}")
        return robot


def robot_names() -> list[str]:
    """Robots by name: those that come with Farhand, then those of other packages."""
    own = sorted(path.parent.name for path in FOLDER.glob("*/model.xml"))
    return list(dict.fromkeys([*own, *plugins.found(GROUP)]))


def is_robot(text: str) -> bool:
    """Whether this names a robot, or a model file whether it is there or not."""
    return text in robot_names() or Path(text).suffix.lower() in (*model_file.SUFFIXES, XACRO)


def _folder(name: str) -> Path:
    """The folder of a robot that is known by name.

    Another package brings one by an entry point of the group ``farhand.robots`` whose value is the
    package that holds ``model.xml`` and ``robot.toml``.
    """
    if (FOLDER / name / "model.xml").is_file():
        return FOLDER / name
    package = plugins.found(GROUP)[name].value
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"robot {name!r}: {package} is not an installed package")
    return Path(spec.submodule_search_locations[0])


def load_robot(name_or_path: str | Path, variant: str | None = None) -> Robot:
    """Load a robot by name, from an MJCF or URDF file, or from a folder with ``model.xml``.

    Without a toml beside the file (same stem, or ``robot.toml``) the limits come from the model,
    ``home`` from its keyframe "home" or else ``qpos0`` (the middle of the range where that is
    outside the limits or on one), and the tool is a site with a usual name or the end of the chain
    if there is no site named ``tool``. ``notes`` says what was decided.

    Args:
        name_or_path: a path if it ends in .xml, .mjcf or .urdf or contains a path separator;
            otherwise a name.
        variant: parameter set; None is the robot's default.

    Raises:
        FarhandError: unknown name or variant, unreadable or malformed file, values that do not fit
            the model.
    """
    return _load(name_or_path, variant, None)


@dataclass(frozen=True)
class RobotCheck:
    """What is in a robot's file, and everything that keeps it from being run."""

    robot: Robot | None  #: without what cannot be run; None if not even the rest can be loaded
    problems: tuple[str, ...]  #: one line each; empty if it can be run


def check_robot(name_or_path: str | Path, variant: str | None = None) -> RobotCheck:
    """Look a robot's file through to the end, where :func:`load_robot` stops at the first problem.

    Raises:
        FarhandError: there is no such file, name or variant.
    """
    problems: list[str] = []
    try:
        robot = _load(name_or_path, variant, problems)
    except (FileError, UnknownName):
        if not problems:
            raise
        return RobotCheck(None, tuple(problems))
    except FarhandError as error:
        return RobotCheck(None, (*problems, str(error)))
    return RobotCheck(robot, tuple(problems))


def _load(name_or_path: str | Path, variant: str | None, problems: list[str] | None) -> Robot:
    """A robot; with ``problems``, what would be refused is written there and left out instead."""
    path = _model_path(name_or_path)
    name = path.parent.name if path.name == "model.xml" else path.stem
    toml_path = toml.find_description(path)
    where = str(toml_path or path)
    table = toml.read_description(toml_path, variant, name)
    sources = dict(toml.strings(table.get("sources", {}), f"{where}: sources"))
    spec, notes = _mechanism(path, table, where, sources, problems)
    compiled = spec.copy()
    model = model_file.compile_spec(compiled, str(path))
    actuated = _actuated(table, model, where)
    limits = read_limits(table, spec, model, path, where, actuated, problems)
    check_numbers(model, where)
    check_tool(model, where, _toml_name(path))
    home, postures = _configurations(table, model, limits, where, sources, notes)
    notes += _remarks(path, model, home, masses_from_meshes(spec, compiled, model))
    sources.setdefault("limits", "model file")
    payload = table.get("payload", np.inf)
    gripper = find_gripper(table, model, where)
    notes += _gripper_note(path, model, gripper) if "gripper" not in table else []
    model_file.strip(spec)
    return Robot(
        name=name,
        variant=table["variant"],
        variants=table["variants"],
        source=path,
        home=home,
        postures=postures,
        limits=limits,
        actuated=actuated,
        rates=_rates(table, where),
        sources=sources,
        description=str(table.get("description", "")),
        _base=spec,
        springs=read_springs(table.get("springs", {}), model, where),
        gripper=gripper,
        payload=toml.positive(payload, f"{where}: payload", zero=True, infinite=True),
        notes=tuple(notes),
    )


def _mechanism(
    path: Path,
    table: dict[str, Any],
    where: str,
    sources: dict[str, str],
    problems: list[str] | None,
) -> tuple[mujoco.MjSpec, list[str]]:
    """The model file with meshes, overrides and a tool, and notes for the user."""
    spec = model_file.read_spec(path)
    urdf = is_urdf(path)
    notes = [*resolve_meshes(spec, path, urdf, problems)]
    if urdf:
        notes += limit_continuous(spec, path)
    toml.apply_overrides(spec, table, where)
    if not spec.joints:
        raise ModelError(f"{path} has no joints: a robot needs at least one that moves")
    found = drop_gravcomp(spec)
    try:
        found += _place_tool(spec, path, table, where, urdf, sources)
    except FarhandError:
        if problems is not None:
            problems += [f"{path}: {line}" for line in passive_forces(spec, _toml_name(path), urdf)]
        raise
    found += settle_gripper(spec, str(path))
    notes += [f"{_short(path)}: {line}" for line in found]
    refused = passive_forces(spec, _toml_name(path), urdf)
    if refused and problems is None:
        more = f" (and {len(refused) - 1} more: farhand robot lists them)" if refused[1:] else ""
        raise ModelError(f"{path}: {refused[0]}{more}")
    if refused and problems is not None:
        problems += [f"{path}: {reason}" for reason in refused]
        without_passive_forces(spec)
    return spec, notes


def _place_tool(
    spec: mujoco.MjSpec,
    path: Path,
    table: dict[str, Any],
    where: str,
    urdf: bool,
    sources: dict[str, str],
) -> list[str]:
    """Give the spec its tool, in place, and say where it is if nobody said so."""
    found = []
    if "tool" in table:
        toml.place_tool(spec, table["tool"], where)
        sources.setdefault("tool", f"as {where} says")
    elif spec.site(model_file.TOOL) is None:
        advice = f'write tool = {{ body = "…" }} into {_toml_name(path)}'
        if not urdf:
            site = f'<site name="{model_file.TOOL}"/>'
            advice = f"add {site} to one of its moving bodies, or {advice}"
        sources["tool"] = model_file.add_tool(spec, str(path), advice)
        found.append(f"the tool is {sources['tool']}")
    else:
        sources.setdefault("tool", f"site {model_file.TOOL} of the model file")
    for body in model_file.carriers(spec.site(model_file.TOOL).parent):
        if model_file.is_jaw(body):
            joints = ", ".join(joint.name for joint in body.joints)
            found.append(f"the tool is on {body.name}, which {joints} of the gripper moves")
    return found


def _remarks(
    path: Path, model: mujoco.MjModel, home: Array, from_meshes: Mapping[str, float]
) -> list[str]:
    """What surprises about a robot that can be run, one line each."""
    remarks = []
    file = _short(path)
    for joint in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
        body = model.body(int(model.jnt_bodyid[joint])).name or "(unnamed)"
        remarks.append(f"{file}: {body} floats freely: nothing holds the robot's base")
    if from_meshes:
        listed = ", ".join(f"{name} {mass:.3g} kg" for name, mass in from_meshes.items())
        cause = "follow from the volume of meshes, because the file states no <inertial>"
        total = f"{sum(from_meshes.values()):.4g} kg"
        remarks.append(f"{file}: masses of together {total} {cause}: {listed}")
    if is_singular(model, home):
        effect = "there the joints cannot move the tool in every direction as elsewhere"
        remedy = f"another home = […] in {_toml_name(path)} avoids it"
        remarks.append(f"{file}: its home is singular: {effect}; {remedy}")
    return remarks


def _gripper_note(path: Path, model: mujoco.MjModel, gripper: str | None) -> list[str]:
    """Which joints do not move the tool, unless the description says it."""
    beyond = [model.joint(joint).name or f"{joint + 1}" for joint in joints_beyond_tool(model)]
    if gripper:
        return [f"{_short(path)}: {gripper} is the gripper: it does not move the tool"]
    if not beyond or path.is_relative_to(FOLDER):
        return []
    quoted = ", ".join(f'"{name}"' for name in beyond)
    remedy = f"locked = [{quoted}] in {_toml_name(path)} fixes them"
    return [f"{_short(path)}: several joints do not move the tool: {remedy}"]


def _short(path: Path) -> str:
    """What a note calls the robot."""
    return path.parent.name if path.name == "model.xml" else path.name


def _toml_name(path: Path) -> str:
    return (toml.find_description(path) or path.with_suffix(".toml")).name


def _model_path(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    path = Path(text)
    if path.suffix.lower() == XACRO:
        made = path.with_suffix("") if path.stem.endswith(".urdf") else path.with_suffix(".urdf")
        remedy = f"make a URDF of it first, with ROS's own tool: xacro {path} > {made}"
        raise FileError(f"robot file {path} is a macro file that only xacro reads: {remedy}")
    if isinstance(name_or_path, str) and path.suffix.lower() not in model_file.SUFFIXES:
        if not any(separator in text for separator in {os.sep, os.altsep or os.sep, "/"}):
            if text not in robot_names():
                raise UnknownName("robot", text, robot_names())
            return _folder(text) / "model.xml"
    if path.is_dir():
        return path / "model.xml"
    if path.suffix.lower() not in model_file.SUFFIXES:
        raise FileError(f"robot file {path} must end in {', '.join(model_file.SUFFIXES)}")
    return path


def _configurations(
    table: dict[str, Any],
    model: mujoco.MjModel,
    limits: Limits,
    where: str,
    sources: dict[str, str],
    notes: list[str],
) -> tuple[Array, dict[str, Array]]:
    postures = toml.section(table.get("postures", {}), f"{where}: postures")
    checked = {
        key: _configuration(value, model, limits, f"{where}: postures.{key}")
        for key, value in postures.items()
    }
    if "home" in table:
        return _configuration(table["home"], model, limits, f"{where}: home"), checked
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    if key >= 0:
        sources.setdefault("home", "keyframe 'home' of the model file")
        keyframe = np.array(model.key_qpos[key])
        # a vendor's limit may be rounded
        single = single_dof(model)
        at, dof = model.jnt_qposadr[single], model.jnt_dofadr[single]
        nearest = np.clip(keyframe[at], limits.lower[dof], limits.upper[dof])
        rounded = np.abs(nearest - keyframe[at]) < ROUNDING
        keyframe[at] = np.where(rounded, nearest, keyframe[at])
        home = _configuration(keyframe.tolist(), model, limits, f"{where}: keyframe 'home'").copy()
        if moved := _into_limits(home, model, limits):
            cause = f"{where}: keyframe 'home' is on a limit"
            notes.append(f"{cause}: it starts with {', '.join(moved)}")
        home.setflags(write=False)
        return home, checked
    sources.setdefault("home", "qpos0 of the model file")
    home = np.array(model.qpos0)
    moved = _into_limits(home, model, limits)
    if moved:
        sources["home"] = "qpos0 of the model file, moved where outside the limits or on one"
        cause = f"{where} gives no home and qpos0 is outside the limits or on one"
        notes.append(f"{cause}: it starts with {', '.join(moved)}")
    return _configuration(home.tolist(), model, limits, f"{where}: home"), checked


def _into_limits(q: Array, model: mujoco.MjModel, limits: Limits) -> list[str]:
    """Move joints that are not inside their limits to the middle of their range, in place.

    Not to the nearer limit: a joint that starts on its limit trips its guard at the first tick. A
    range that is open on one side has no middle; the joint then goes a little way into it.

    Returns:
        Where each of them is now, in words.
    """
    moved = []
    for joint in np.flatnonzero(single_dof(model)):
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        low, high = limits.lower[dof], limits.upper[dof]
        if not low < q[at] < high:
            inside = np.clip(q[at], low + INSIDE, high - INSIDE)
            q[at] = 0.5 * (low + high) if np.isfinite(high - low) else inside
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
            moved.append(f"{name or f'joint {joint + 1}'} at {q[at]:.4g} {limits.units(dof)[0]}")
    return moved


def _configuration(value: Any, model: mujoco.MjModel, limits: Limits, what: str) -> Array:
    q = toml.vector(value, model.nq, what)
    for joint in np.flatnonzero(single_dof(model)):
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        low, high = limits.lower[dof], limits.upper[dof]
        if not low <= q[at] <= high:
            raise OutOfRange(f"{what}[{at}]", q[at], low, high, limits.units(dof)[0])
    q.setflags(write=False)
    return q


def _rates(table: dict[str, Any], where: str) -> dict[str, float]:
    rates = toml.section(table.get("rates", {}), f"{where}: rates")
    return {key: toml.positive(rate, f"{where}: rates.{key}") for key, rate in rates.items()}


def _actuated(table: dict[str, Any], model: mujoco.MjModel, where: str) -> NDArray[np.bool_]:
    actuated = np.array(single_dof(model)[model.dof_jntid])
    if "actuated" in table:
        flags = table["actuated"]
        booleans = isinstance(flags, list) and all(isinstance(item, bool) for item in flags)
        if not booleans or len(flags) != model.nv:
            raise BadValue(f"{where}: actuated must be {model.nv} booleans, not {flags!r}")
        actuated = np.array(flags, dtype=bool)
    actuated.setflags(write=False)
    return actuated
