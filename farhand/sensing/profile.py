"""Data sheets of force/torque sensors, their mounting and the handles on them, from toml files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, OutOfRange, UnknownName
from farhand.robots.description import known_keys, section, strings, vector
from farhand.spatial import rotation_from_quaternion, wrench_in_parent

Array = np.ndarray

AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
UNITS = ("N", "N", "N", "N·m", "N·m", "N·m")
"""Names and units of the six axes."""

_DATA = Path(__file__).with_name("data")
_COMMON = {"kind", "description", "sources", "mass", "com"}
_KEYS = {
    "sensor": _COMMON | {"capacity", "counts", "rate", "noise", "drift"},
    "handle": _COMMON | {"grip"},
}


@dataclass(frozen=True)
class Load:
    """A rigid mass that hangs on the sensing element."""

    mass: float = 0.0  #: [kg]
    #: centre of mass in the sensor frame, [m]
    com: Array = field(default_factory=lambda: np.zeros(3))

    def __add__(self, other: Load) -> Load:
        mass = self.mass + other.mass
        moment = self.mass * self.com + other.mass * other.com
        return Load(mass, moment / mass if mass else np.zeros(3))

    def __sub__(self, other: Load) -> Load:
        return self + Load(-other.mass, other.com)


@dataclass(frozen=True)
class Mounting:
    """Where a sensor sits and which way its readings count."""

    #: of the sensor's origin (the point its moments are about) in the tool frame, [m]
    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))  #: sensor axes in the tool frame
    sign: float = 1.0  #: +1 if it reports what acts on its tool side, −1 if the reaction

    def __post_init__(self) -> None:
        if self.sign not in (1.0, -1.0):
            raise BadValue(f"sign of a sensor's mounting must be +1 or -1, not {self.sign}")


@dataclass(frozen=True)
class SensorProfile:
    """The data sheet of a 6-axis sensor; six numbers each, [N] ×3 then [N·m] ×3."""

    name: str  #: of the profile
    capacity: Array  #: largest reading
    counts: Array  #: raw counts at capacity, [-]
    rate: float  #: samples per second, [Hz]
    noise: Array  #: standard deviation of one sample
    drift: Array  #: standard deviation of the zero's random walk after one hour
    internals: Load = field(default_factory=Load)  #: the sensor's own moving parts
    sources: Mapping[str, str] = field(default_factory=dict)  #: where each number comes from

    @property
    def resolution(self) -> Array:
        """One count, [N] and [N·m]."""
        return self.capacity / self.counts

    @property
    def variance(self) -> Array:
        """Of one reading: noise and rounding to counts, [N²] and [N²·m²]."""
        return self.noise**2 + self.resolution**2 / 12.0

    def silent(self) -> SensorProfile:
        """The same sensor without noise and drift."""
        return replace(self, noise=np.zeros(6), drift=np.zeros(6))


@dataclass(frozen=True)
class HandleLoad:
    """A handle: its mass on the sensor, and the frame of the hand's wrench."""

    name: str  #: of the handle
    load: Load  #: its mass, in the sensor frame
    grip_position: Array  #: where it is held, in the tool frame, [m]
    grip_rotation: Array = field(default_factory=lambda: np.eye(3))  #: its axes in the tool frame
    sources: Mapping[str, str] = field(default_factory=dict)  #: where each number comes from

    def wrench_in_tool(self, wrench_in_grip: Array) -> Array:
        """A wrench about the grip point in its axes, as one about the tool point, [N], [N·m]."""
        return wrench_in_parent(self.grip_rotation, self.grip_position, wrench_in_grip)


def rotation_about_z(angle: float) -> Array:
    """Rotation matrix about the z axis by an angle [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def load_sensor(name: str | Path) -> SensorProfile:
    """Load a sensor's profile: one that comes with Farhand, by name, or your own toml file."""
    table, where = _read(name, "sensor")
    above_zero = float(np.nextafter(0.0, 1.0))

    def numbers(key: str, count: int, least: float, unit: str = "", default: Any = None) -> Array:
        value = _need(table, key, where) if default is None else table.get(key, default)
        values = vector(value, count, f"{where}: {key}")
        if not (values >= least).all():
            shown = values.tolist() if count > 1 else float(values[0])
            raise OutOfRange(f"{where}: {key}", shown, least, np.inf, unit)
        return values

    return SensorProfile(
        Path(name).stem,
        capacity=numbers("capacity", 6, above_zero),
        counts=numbers("counts", 6, above_zero),
        noise=numbers("noise", 6, 0.0, default=[0.0] * 6),
        drift=numbers("drift", 6, 0.0, default=[0.0] * 6),
        rate=float(numbers("rate", 1, above_zero, "Hz")[0]),
        internals=_load_of(table, where),
        sources=strings(table.get("sources", {}), f"{where}: sources"),
    )


def load_handle(name: str | Path) -> HandleLoad:
    """Load a handle: one that comes with Farhand, by name, or your own toml file."""
    table, where = _read(name, "handle")
    grip = section(table.get("grip", {}), f"{where}: grip")
    known_keys(grip, {"pos", "quat_xyzw"}, f"{where}: grip")
    position = vector(grip.get("pos", [0.0] * 3), 3, f"{where}: grip.pos")
    quaternion = vector(grip.get("quat_xyzw", [0.0, 0.0, 0.0, 1.0]), 4, f"{where}: grip.quat_xyzw")
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > 1e-3:
        raise BadValue(f"{where}: grip.quat_xyzw must have length 1, not {length:g}")
    sources = strings(table.get("sources", {}), f"{where}: sources")
    rotation = rotation_from_quaternion(quaternion)
    return HandleLoad(Path(name).stem, _load_of(table, where), position, rotation, sources)


def _load_of(table: dict[str, Any], where: str) -> Load:
    mass = float(vector(table.get("mass", 0.0), 1, f"{where}: mass")[0])
    if mass < 0.0:
        raise OutOfRange(f"{where}: mass", mass, 0.0, np.inf, "kg")
    return Load(mass, vector(table.get("com", [0.0] * 3), 3, f"{where}: com"))


def _need(table: dict[str, Any], key: str, where: str) -> Any:
    if key not in table:
        raise BadValue(f"{where} lacks {key!r}")
    return table[key]


def _read(name: str | Path, kind: str) -> tuple[dict[str, Any], str]:
    """The table of a file of this kind, and its name for messages."""
    path = Path(name) if Path(name).suffix == ".toml" else _DATA / f"{name}.toml"
    if path.parent == _DATA and not path.is_file():
        known = [one.stem for one in _DATA.glob("*.toml") if _parse(one).get("kind") == kind]
        raise UnknownName(kind, str(name), known)
    table = _parse(path)
    if table.get("kind") != kind:
        raise BadValue(f"{path.name} must have kind = {kind!r}, not {table.get('kind')!r}")
    known_keys(table, _KEYS[kind], path.name)
    return table, path.name


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadValue(f"{path}: {' '.join(str(error).split())}") from None
