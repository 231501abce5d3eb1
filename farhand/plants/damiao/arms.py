"""Arms of Damiao motors: which motor turns which joint, from a toml file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch
from farhand.plants.damiao import frames
from farhand.plants.damiao.frames import Ranges
from farhand.robots import Robot
from farhand.robots.description import beside, known_keys, load_toml, ranged, section, vector, whole
from farhand.spatial import Array

FOLDER = Path(__file__).parent
KNOWN = tuple(sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != "models"))
"""Arms that come with Farhand."""

MAX_ID = 0x3FF
"""Largest identifier of a motor: beyond it, those of its other modes would not fit."""

MIN_RATIO = 1e-6
"""Smallest ratio of a motor, [rad/rad] or [m/rad]."""


@dataclass(frozen=True)
class MotorJoint:
    """One motor and the joint that it turns."""

    joint: str  #: name in the robot's model
    id: int  #: of the frames that it reads
    model: str  #: which motor it is
    answer: int = 0  #: of the frames that it sends; 0x10 above ``id`` by default
    ratio: float = 1.0  #: joint per motor, [rad/rad] or [m/rad]; negative if it turns against it
    zero: float = 0.0  #: of the joint where the motor is at zero, [rad] or [m]
    limits: tuple[float, float] | None = None  #: of the joint; those of the robot by default
    hold_kp: float = 10.0  #: with which it holds by itself, [N·m/rad]
    hold_kd: float = 0.3  #: [N·m·s/rad]

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of its frames."""
        return frames.model(self.model)


@dataclass(frozen=True)
class MotorArm:
    """Motors on one bus that turn the joints of one robot, in the order of its model."""

    robot: str  #: name of the robot's model
    motors: tuple[MotorJoint, ...]
    bit_rate: int = 1_000_000  #: [bit/s]
    data_bit_rate: int = 5_000_000  #: of the data in FD frames, [bit/s]
    timeout: float = 0.1  #: after which a motor without frames stops, [s]
    rate: float = 500.0  #: cycles of the bus, in each of which every motor is asked, [Hz]
    source: str = field(default="", compare=False)  #: the file, for messages

    @cached_property
    def ratios(self) -> Array:
        """Joints per motor, [rad/rad] or [m/rad]."""
        return np.array([motor.ratio for motor in self.motors])

    @cached_property
    def zeros(self) -> Array:
        """Joints where motors are at zero, [rad] or [m]."""
        return np.array([motor.zero for motor in self.motors])

    def check(self, robot: Robot) -> None:
        """Refuse a robot whose joints are others than those of the motors."""
        model = robot.compile()
        names = [model.joint(number).name for number in range(model.njnt)]
        listed = [motor.joint for motor in self.motors]
        if listed != names:
            raise Mismatch(
                f"{self.source}: the motors turn {', '.join(listed)}; "
                f"the joints of {robot.name} are {', '.join(names)}"
            )


def load_arm(name: str) -> MotorArm:
    """The arm of this name, or from a toml file.

    Raises:
        FileError: there is no such arm or file.
        BadValue: the file has a wrong or missing value.
    """
    path = FOLDER / f"{name}.toml" if name in KNOWN else Path(name)
    if not path.is_file():
        known = ", ".join(KNOWN)
        raise FileError(f"{name!r} is neither an arm ({known}) nor a toml file of one")
    table = load_toml(path)
    allowed = {
        "robot",
        "motor",
        "bit_rate",
        "data_bit_rate",
        "timeout",
        "rate",
        "hold_kp",
        "hold_kd",
    }
    known_keys(table, allowed, path.name)
    rows = table.get("motor", [])
    if not isinstance(rows, list) or not rows:
        raise BadValue(f"{path.name} needs a [[motor]] for every joint")
    motors = tuple(
        _motor(section(row, f"a motor of {path.name}") | gains, path.name)
        for row, gains in zip(rows, _gains(table, len(rows), path.name), strict=True)
    )
    _check_identifiers(motors, path.name)
    if "robot" not in table:
        raise BadValue(f"{path.name} has no robot")
    return MotorArm(
        beside(path, str(table["robot"])),
        motors,
        whole(table.get("bit_rate", 1_000_000), 10_000, 1_000_000, f"bit_rate of {path.name}"),
        whole(
            table.get("data_bit_rate", 5_000_000),
            10_000,
            8_000_000,
            f"data_bit_rate of {path.name}",
        ),
        ranged(table.get("timeout", 0.1), 0.001, 10.0, f"timeout of {path.name}", "s"),
        ranged(table.get("rate", 500.0), 10.0, 2000.0, f"rate of {path.name}", "Hz"),
        path.name,
    )


def _gains(table: dict[str, Any], count: int, where: str) -> list[dict[str, Any]]:
    """Gains of holding, for each motor."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for key in ("hold_kp", "hold_kd"):
        values = table.get(key)
        if values is None:
            continue
        if not isinstance(values, list) or len(values) != count:
            raise BadValue(f"{where}: {key} needs {count} numbers, one per motor")
        for row, value in zip(rows, values, strict=True):
            row[key] = value
    return rows


def _motor(row: dict[str, Any], where: str) -> MotorJoint:
    known_keys(row, {one.name for one in fields(MotorJoint)}, f"a motor of {where}")
    for key in ("joint", "id", "model"):
        if key not in row:
            raise BadValue(f"a motor of {where} has no {key}")
    what = f"motor {row['joint']} of {where}"
    id = whole(row["id"], 1, MAX_ID, f"id of {what}")
    ratio = ranged(row.get("ratio", 1.0), -1e3, 1e3, f"ratio of {what}")
    if abs(ratio) < MIN_RATIO:
        raise BadValue(f"the ratio of {what} is {ratio:g}: its motor would turn nothing")
    limits = None
    if "limits" in row:
        low, high = vector(row["limits"], 2, f"limits of {what}").tolist()
        if not low < high:
            raise BadValue(f"limits of {what} must be [smallest, largest]")
        limits = low, high
    motor = MotorJoint(
        str(row["joint"]),
        id,
        str(row["model"]),
        whole(row.get("answer", id + 0x10), 1, 0x7FE, f"answer of {what}"),
        ratio,
        ranged(row.get("zero", 0.0), -1e3, 1e3, f"zero of {what}"),
        limits,
        ranged(row.get("hold_kp", 10.0), 0.0, frames.KP_MAX, f"hold_kp of {what}", "N·m/rad"),
        ranged(row.get("hold_kd", 0.3), 0.0, frames.KD_MAX, f"hold_kd of {what}", "N·m·s/rad"),
    )
    # an unknown model is refused here, before anything moves
    _ = motor.ranges
    return motor


def _check_identifiers(motors: tuple[MotorJoint, ...], where: str) -> None:
    used: dict[int, str] = {}
    for motor in motors:
        for number in (motor.id, motor.answer):
            if number in used:
                raise BadValue(
                    f"{where}: identifier {number:#x} of {motor.joint} is also of {used[number]}"
                )
            used[number] = motor.joint
