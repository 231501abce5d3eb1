"""A robot: its model file, its limits and postures with their sources, and fresh MuJoCo and Pinocchio models of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from farhand.errors import BadValue, FileError, ModelError, OutOfRange, UnknownName
from farhand.robots import description as toml
from farhand.robots import model_file
from farhand.robots.edits import Edit
from farhand.robots.pinocchio_model import pinocchio_from_mujoco
from farhand.robots.springs import Spring, read_springs

FOLDER = Path(__file__).parent
TIMESTEP = 1e-3  # [s], of the models that compile() returns


@dataclass(frozen=True)
class Limits:
    """What each DOF may do; infinite where unknown.

    Attributes:
        lower: smallest position, [rad or m].
        upper: largest position, [rad or m].
        velocity: largest speed, [rad/s or m/s].
        torque: largest effort, [N·m or N].
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    velocity: NDArray[np.float64]
    torque: NDArray[np.float64]


@dataclass(frozen=True)
class Placement:
    """Where a robot stands in the world.

    Attributes:
        position: of the robot's origin, [m].
        quaternion: (x, y, z, w), rotates the robot's axes into the world's; normalised on creation.
    """

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        """Check and normalise."""
        position = toml.vector(list(self.position), 3, "placement position")
        quaternion = toml.vector(list(self.quaternion), 4, "placement quaternion")
        norm = np.linalg.norm(quaternion)
        if norm < 1e-6:
            raise BadValue(f"placement quaternion {self.quaternion} has no direction")
        object.__setattr__(self, "position", tuple(position.tolist()))
        object.__setattr__(self, "quaternion", tuple((quaternion / norm).tolist()))


ORIGIN = Placement()


@dataclass(frozen=True, eq=False)
class Robot:
    """One robot, ready to be compiled alone or attached to a world. Made by :func:`load_robot`.

    Attributes:
        name: folder or file name.
        variant: parameter set; "" when there is only one.
        variants: every parameter set there is, the default first.
        source: the model file.
        home: start configuration in MuJoCo's convention, shape (nq,), [rad, m; quaternions (w, x, y, z)].
        postures: further named configurations, like ``home``.
        limits: per DOF.
        actuated: which DOF can be driven, shape (nv,).
        rates: nominal rates of the real machine by name, [Hz].
        sources: where each group of values comes from.
        description: one line for people.
        tool: name of the site that is the tool frame.
        springs: passive springs by the number of their joint's velocity; the models know nothing of them.
        payload: largest mass at the flange, tool included; infinite where unknown, [kg].
    """

    name: str
    variant: str
    variants: tuple[str, ...]
    source: Path
    home: NDArray[np.float64]
    postures: dict[str, NDArray[np.float64]]
    limits: Limits
    actuated: NDArray[np.bool_]
    rates: dict[str, float]
    sources: dict[str, str]
    description: str
    _base: mujoco.MjSpec = field(repr=False)
    _edits: tuple[Edit, ...] = field(default=(), repr=False)
    tool: str = model_file.TOOL
    springs: Mapping[int, Spring] = field(default_factory=dict)
    payload: float = np.inf

    def spec(self) -> mujoco.MjSpec:
        """A fresh spec, safe to change and to attach; without actuators, sensors, keyframes and ``<option>``."""
        spec = self._base.copy()
        for edit in self._edits:
            edit(spec)
        return spec

    def compile(self, placement: Placement = ORIGIN, gravity: float = 9.81) -> mujoco.MjModel:
        """This robot alone in a world, with a step of 1 ms.

        Args:
            placement: where its origin is. The base of a free-floating robot is placed by ``qpos``, not by this.
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
        model = pinocchio_from_mujoco(self.compile(placement, gravity))
        model.name = self.name
        model.lowerVelocityLimit, model.upperVelocityLimit = -self.limits.velocity, np.array(self.limits.velocity)
        model.lowerEffortLimit, model.upperEffortLimit = -self.limits.torque, np.array(self.limits.torque)
        return model

    def edited(self, *edits: Edit) -> Robot:
        """A copy of this robot with changes to its model, see :mod:`farhand.robots.edits`.

        Raises:
            ModelError: the changed model does not compile or has other degrees of freedom.
        """
        robot = replace(self, _edits=(*self._edits, *edits))
        model = robot.compile()
        if (model.nq, model.nv) != (self.home.size, self.actuated.size):
            raise ModelError(
                f"an edit of {self.name} changed its degrees of freedom from {self.actuated.size} to {model.nv}:"
                " change the model file instead"
            )
        return robot


def robot_names() -> list[str]:
    """Names of the robots that come with Farhand."""
    return sorted(path.parent.name for path in FOLDER.glob("*/robot.toml") if (path.parent / "model.xml").is_file())


def load_robot(name_or_path: str | Path, variant: str | None = None) -> Robot:
    """Load a robot by name, or from a user's MJCF or URDF file, or from a folder with ``model.xml``.

    Without a toml beside the file (same stem, or ``robot.toml``) the limits come from the model, ``home`` from its
    keyframe "home" or else ``qpos0``, and the tool is the end of the chain if there is no site named ``tool``.

    Args:
        name_or_path: a path if it ends in .xml, .mjcf or .urdf or contains a path separator; otherwise a name.
        variant: parameter set; None is the robot's default.

    Raises:
        FarhandError: unknown name or variant, unreadable or malformed file, values that do not fit the model.
    """
    path = _model_path(name_or_path)
    name = path.parent.name if path.name == "model.xml" else path.stem
    toml_path = toml.find_description(path)
    where = str(toml_path or path)
    table = toml.read_description(toml_path, variant, name)
    spec = model_file.read_spec(path)
    toml.apply_overrides(spec, table, where)
    sources = dict(toml.strings(table.get("sources", {}), f"{where}: sources"))
    if "tool" in table:
        toml.place_tool(spec, table["tool"], where)
    elif spec.site(model_file.TOOL) is None:
        sources["tool"] = model_file.add_tool(spec, str(path))
    model = model_file.compile_spec(spec.copy(), str(path))
    if model.nv == 0:
        raise ModelError(f"{path} has no joints")
    limits = _limits(table, model, path, where)
    home, postures = _configurations(table, model, limits, where, sources)
    sources.setdefault("limits", "model file")
    model_file.strip(spec)
    return Robot(
        name=name,
        variant=table["variant"],
        variants=table["variants"],
        source=path,
        home=home,
        postures=postures,
        limits=limits,
        actuated=_actuated(table, model, where),
        rates=_rates(table, where),
        sources=sources,
        description=str(table.get("description", "")),
        _base=spec,
        springs=read_springs(table.get("springs", {}), model, where),
        payload=float(toml.vector(table.get("payload", np.inf), 1, f"{where}: payload", infinite=True)[0]),
    )


def _model_path(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    path = Path(text)
    if isinstance(name_or_path, str) and path.suffix.lower() not in model_file.SUFFIXES:
        if not any(separator in text for separator in {os.sep, os.altsep or os.sep, "/"}):
            if text not in robot_names():
                raise UnknownName("robot", text, robot_names())
            return FOLDER / text / "model.xml"
    if path.is_dir():
        return path / "model.xml"
    if path.suffix.lower() not in model_file.SUFFIXES:
        raise FileError(f"robot file {path} must end in {', '.join(model_file.SUFFIXES)}")
    return path


def _limits(table: dict[str, Any], model: mujoco.MjModel, path: Path, where: str) -> Limits:
    given = toml.section(table.get("limits", {}), f"{where}: limits")
    lower, upper = model_file.position_limits(model)
    found = {
        "lower": lower,
        "upper": upper,
        "velocity": model_file.velocity_limits(path, model),
        "torque": model_file.torque_limits(model),
    }
    toml.known_keys(given, set(found), f"{where}: limits")
    for key, value in given.items():
        found[key] = toml.vector(value, model.nv, f"{where}: limits.{key}", infinite=True)
    for array in found.values():
        array.setflags(write=False)
    return Limits(**found)


def _configurations(
    table: dict[str, Any], model: mujoco.MjModel, limits: Limits, where: str, sources: dict[str, str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    postures = toml.section(table.get("postures", {}), f"{where}: postures")
    checked = {key: _configuration(value, model, limits, f"{where}: postures.{key}") for key, value in postures.items()}
    if "home" in table:
        return _configuration(table["home"], model, limits, f"{where}: home"), checked
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    home = np.array(model.key_qpos[key] if key >= 0 else model.qpos0)
    if not np.isfinite(home).all():
        raise BadValue(f"{where}: home must be finite, not {home.tolist()}")
    home.setflags(write=False)
    sources.setdefault("home", "keyframe 'home' of the model file" if key >= 0 else "qpos0 of the model file")
    return home, checked


def _configuration(value: Any, model: mujoco.MjModel, limits: Limits, what: str) -> NDArray[np.float64]:
    q = toml.vector(value, model.nq, what)
    for joint in np.flatnonzero(model_file.single_dof(model)):
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if not limits.lower[dof] <= q[at] <= limits.upper[dof]:
            raise OutOfRange(f"{what}[{at}]", q[at], limits.lower[dof], limits.upper[dof], "rad or m")
    q.setflags(write=False)
    return q


def _rates(table: dict[str, Any], where: str) -> dict[str, float]:
    rates = toml.section(table.get("rates", {}), f"{where}: rates")
    return {key: float(toml.vector(rate, 1, f"{where}: rates.{key}")[0]) for key, rate in rates.items()}


def _actuated(table: dict[str, Any], model: mujoco.MjModel, where: str) -> NDArray[np.bool_]:
    if "actuated" in table:
        given = table["actuated"]
        if not isinstance(given, list) or len(given) != model.nv or not all(isinstance(item, bool) for item in given):
            raise BadValue(f"{where}: actuated must be {model.nv} booleans, not {given!r}")
        actuated = np.array(given, dtype=bool)
    else:
        actuated = np.array(model_file.single_dof(model)[model.dof_jntid])
    actuated.setflags(write=False)
    return actuated
