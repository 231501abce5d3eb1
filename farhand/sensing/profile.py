"""Profiles: what is known of a force/torque sensor, of where it sits and of the handle on it; data is in toml files."""

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
"""Names of the six axes, forces first."""

UNITS = ("N", "N", "N", "N·m", "N·m", "N·m")
"""Their units."""

_DATA = Path(__file__).with_name("data")
_COMMON = {"kind", "description", "sources", "mass", "com"}
_KEYS = {
    "sensor": _COMMON | {"capacity", "counts", "rate", "noise", "drift"},
    "handle": _COMMON | {"grip"},
}


@dataclass(frozen=True)
class Load:
    """A rigid mass that hangs on the sensing element.

    Attributes:
        mass: [kg].
        com: centre of mass in the sensor frame, [m].
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))

    def __add__(self, other: Load) -> Load:
        mass = self.mass + other.mass
        moment = self.mass * self.com + other.mass * other.com
        return Load(mass, moment / mass if mass else np.zeros(3))

    def __sub__(self, other: Load) -> Load:
        return self + Load(-other.mass, other.com)


@dataclass(frozen=True)
class Mounting:
    """Where a sensor sits and which way its readings count.

    Attributes:
        position: of the sensor's origin (the point its moments are about) in the tool frame, [m].
        rotation: of sensor axes in the tool frame, matrix.
        sign: +1 if the sensor reports what hand, contact and gravity do to the tool side of it, −1
            if the reaction.
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    sign: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a sign that would scale."""
        if self.sign not in (1.0, -1.0):
            raise BadValue(f"sign of a sensor's mounting must be +1 or -1, not {self.sign}")


@dataclass(frozen=True)
class SensorProfile:
    """The data sheet of a 6-axis sensor; six numbers each, [N] ×3 then [N·m] ×3.

    Attributes:
        name: of the profile.
        capacity: largest reading.
        counts: raw counts at capacity, [-].
        rate: samples per second, [Hz].
        noise: standard deviation of one sample.
        drift: standard deviation of the zero's random walk after one hour.
        internals: the sensor's own moving parts.
        sources: where each number comes from.
    """

    name: str
    capacity: Array
    counts: Array
    rate: float
    noise: Array
    drift: Array
    internals: Load = field(default_factory=Load)
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def resolution(self) -> Array:
        """One count, [N] and [N·m]."""
        return self.capacity / self.counts

    @property
    def variance(self) -> Array:
        """Of one reading: noise, and the rounding to counts as an even spread over one count, [N²] and [N²·m²]."""
        return self.noise**2 + self.resolution**2 / 12.0

    def silent(self) -> SensorProfile:
        """The same sensor without noise and drift."""
        return replace(self, noise=np.zeros(6), drift=np.zeros(6))


@dataclass(frozen=True)
class HandleLoad:
    """What the hand holds: a mass on the sensor, and the frame in which the hand's wrench is given.

    Attributes:
        name: of the handle.
        load: its mass, in the sensor frame.
        grip_position: where it is held, in the tool frame, [m].
        grip_rotation: of the grip's axes in the tool frame, matrix.
        sources: where each number comes from.
    """

    name: str
    load: Load
    grip_position: Array
    grip_rotation: Array = field(default_factory=lambda: np.eye(3))
    sources: Mapping[str, str] = field(default_factory=dict)

    def wrench_in_tool(self, wrench_in_grip: Array) -> Array:
        """A wrench given in the grip's axes about the grip point, in tool axes about the tool point, [N] and [N·m]."""
        return wrench_in_parent(self.grip_rotation, self.grip_position, wrench_in_grip)


def load_sensor(name: str | Path) -> SensorProfile:
    """The profile of a sensor: one that comes with Farhand, by name, or a toml file of one's own."""
    table, where = _read(name, "sensor")
    numbers = {
        key: vector(_need(table, key, where), 6, f"{where}: {key}")
        for key in ("capacity", "counts")
    }
    for key, values in numbers.items():
        if not (values > 0.0).all():
            raise OutOfRange(f"{where}: {key}", values.tolist(), np.nextafter(0.0, 1.0), np.inf)
    spread = {
        key: vector(table.get(key, [0.0] * 6), 6, f"{where}: {key}") for key in ("noise", "drift")
    }
    for key, values in spread.items():
        if not (values >= 0.0).all():
            raise OutOfRange(f"{where}: {key}", values.tolist(), 0.0, np.inf)
    rate = float(vector(_need(table, "rate", where), 1, f"{where}: rate")[0])
    if not rate > 0.0:
        raise OutOfRange(f"{where}: rate", rate, np.nextafter(0.0, 1.0), np.inf, "Hz")
    load, sources = _load_of(table, where), strings(table.get("sources", {}), f"{where}: sources")
    return SensorProfile(
        Path(name).stem, **numbers, rate=rate, **spread, internals=load, sources=sources
    )


def load_handle(name: str | Path) -> HandleLoad:
    """A handle: one that comes with Farhand, by name, or a toml file of one's own."""
    table, where = _read(name, "handle")
    grip = section(table.get("grip", {}), f"{where}: grip")
    known_keys(grip, {"pos", "quat_xyzw"}, f"{where}: grip")
    position = vector(grip.get("pos", [0.0] * 3), 3, f"{where}: grip.pos")
    quaternion = vector(grip.get("quat_xyzw", [0.0, 0.0, 0.0, 1.0]), 4, f"{where}: grip.quat_xyzw")
    if abs(np.linalg.norm(quaternion) - 1.0) > 1e-3:
        raise BadValue(
            f"{where}: grip.quat_xyzw must have length 1, not {np.linalg.norm(quaternion):g}"
        )
    rotation, sources = (
        rotation_from_quaternion(quaternion),
        strings(table.get("sources", {}), f"{where}: sources"),
    )
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
    """The table of a file of this kind, and what to call it in messages."""
    path = Path(name) if Path(name).suffix == ".toml" else _DATA / f"{name}.toml"
    if path.parent == _DATA and not path.is_file():
        raise UnknownName(
            kind, str(name), [known.stem for known in _DATA.glob("*.toml") if _kind(known) == kind]
        )
    table = _parse(path)
    if table.get("kind") != kind:
        raise BadValue(f"{path.name} must say kind = {kind!r}, not {table.get('kind')!r}")
    known_keys(table, _KEYS[kind], path.name)
    return table, path.name


def _kind(path: Path) -> object:
    return _parse(path).get("kind")


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadValue(f"{path}: {' '.join(str(error).split())}") from None
