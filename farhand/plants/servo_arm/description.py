"""What an arm on a servo bus is made of: control tables, servo models, and the joints they move."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.plants.servo_arm.packets import (
    DYNAMIXEL,
    FEETECH,
    Protocol,
    from_sign_magnitude,
    sign_magnitude,
)
from farhand.robots import Robot
from farhand.robots.description import beside, known_keys, load_toml, ranged, section, whole

FOLDER = Path(__file__).parent
STEPS = 4096
"""Steps of an encoder per turn."""

STEP = 2.0 * math.pi / STEPS
"""Angle of a step, [rad]."""

VELOCITY_UNIT = 0.229 * math.pi / 30.0
"""Speed of one count in a Dynamixel's registers, 0.229 rpm, [rad/s]."""

WATCHDOG_EXPIRED = 255
"""Of a Dynamixel's bus watchdog that has expired; it takes no goals until 0 is written there."""

MAX_ID = 252
"""Largest id of a servo."""

VOLTS = 3.0, 60.0
"""Range of supplies, [V]."""

NEEDED = ("robot", "family", "baud", "volts", "servos")
"""Keys of an arm's file."""

PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (FEETECH, DYNAMIXEL)}


@dataclass(frozen=True)
class Register:
    """One entry of a control table."""

    name: str
    at: int  #: address
    size: int  #: [bytes]
    value: int  #: at the factory
    sign: int | bool = False  #: bit of the sign, or whether two's complement
    fixed: bool = False  #: whether it can only be read
    low: int | None = None  #: smallest value that may be written, None for any
    high: int | None = None  #: largest value that may be written, None for any

    def encode(self, value: int) -> bytes:
        """The bytes of a value; what does not fit is limited."""
        top = 1 << 8 * self.size
        if self.sign is True:
            raw = min(max(value, -top // 2), top // 2 - 1) % top
        elif self.sign:
            raw = sign_magnitude(value, self.sign)
        else:
            raw = min(max(value, 0), top - 1)
        return raw.to_bytes(self.size, "little")

    def decode(self, raw: bytes) -> int:
        """The value in these bytes."""
        value = int.from_bytes(raw, "little")
        if self.sign is True:
            top = 1 << 8 * self.size
            return value - top if value >= top // 2 else value
        return from_sign_magnitude(value, self.sign) if self.sign else value


@dataclass(frozen=True)
class Family:
    """The control table that servos of a family have in common."""

    protocol: Protocol
    registers: Mapping[str, Register]
    sram: int  #: first address that forgets its value without power
    size: int  #: addresses
    baud_rates: tuple[int, ...]  #: by the number in the register
    delay_unit: float  #: of the return delay, [s]

    def __getitem__(self, name: str) -> Register:
        return self.registers[name]


@dataclass(frozen=True)
class ServoModel:
    """A kind of servo."""

    name: str
    family: Family
    number: int  #: in its register
    modes: tuple[int, ...]  #: that it has
    current: float  #: of one count of its current registers, [A]; 0 without
    stall: float  #: current at stall, [A]
    effort: str = "pwm"  #: what mode 2 of a Feetech servo sets: pwm or current

    @property
    def current_loop(self) -> bool:
        """Whether it can hold a current, so that it takes torques as commands."""
        if self.family.protocol is FEETECH:
            return self.effort == "current"
        return 0 in self.modes


@dataclass(frozen=True)
class ArmServo:
    """One servo of an arm."""

    joint: str  #: of the robot's model that it moves
    id: int  #: on the bus
    model: ServoModel
    sign: int = 1  #: -1 where the positions that it tells fall as the joint's rise
    ratio: float = 1.0  #: angle of the servo per angle (or way) of the joint, [-] or [rad/m]
    volts: float = 12.0  #: of its supply, at which the robot's limits of torque and speed hold
    drive_mode: int = 0  #: 1 for a Dynamixel that turns its positions round
    shadows: int = 255  #: id to which it listens too, without an answer; 255 for none


@dataclass(frozen=True)
class ServoArm:
    """An arm on a servo bus."""

    name: str
    robot: str
    family: Family
    baud: int
    servos: tuple[ArmServo, ...]

    @property
    def ids(self) -> list[int]:
        """Of all servos, in the order of the joints."""
        return [servo.id for servo in self.servos]

    def check(self, robot: Robot) -> None:
        """Refuse a robot whose joints are others than those of the servos."""
        names = list(robot.limits.names)
        moved = list(dict.fromkeys(servo.joint for servo in self.servos))
        if sorted(moved) != sorted(names):
            raise Mismatch(
                f"the servos of {self.name} move {', '.join(moved)}; "
                f"the joints of {robot.name} are {', '.join(names)}"
            )


@cache
def families() -> dict[str, Family]:
    """All families by name."""
    found = {}
    for name, protocol in PROTOCOLS.items():
        table = _tables()[name]
        registers = {key: Register(key, **row) for key, row in table["registers"].items()}
        rates = tuple(table["baud_rates"])
        found[name] = Family(
            protocol, registers, table["sram"], table["size"], rates, table["delay_unit"]
        )
    return found


@cache
def servo_models() -> dict[str, ServoModel]:
    """All kinds of servos by name."""
    found = {}
    for name, row in _tables()["servos"].items():
        known = {key: row[key] for key in ("number", "current", "stall")}
        found[name] = ServoModel(
            name,
            families()[row["family"]],
            modes=tuple(row["modes"]),
            effort=row.get("effort", "pwm"),
            **known,
        )
    return found


@cache
def _tables() -> dict[str, Any]:
    return load_toml(FOLDER / "tables.toml")


def arm_names() -> list[str]:
    """The arms that come with Farhand."""
    return sorted(path.stem for path in (FOLDER / "arms").glob("*.toml"))


def load_arm(name: str) -> ServoArm:
    """An arm that comes with Farhand, or one described in a toml file.

    Raises:
        UnknownName: there is no such arm and no such file.
        BadValue: the file describes no arm.
    """
    path = FOLDER / "arms" / f"{name}.toml"
    if name not in arm_names():
        path = Path(name)
        if path.suffix != ".toml":
            raise UnknownName("servo arm", name, [*arm_names(), "FILE.toml"])
    table = load_toml(path)
    known_keys(table, set(NEEDED), path.name)
    _present(table, NEEDED, path.name)
    family = families().get(str(table["family"]))
    if family is None:
        raise UnknownName(f"family of servos in {path.name}", str(table["family"]), families())
    if table["baud"] not in family.baud_rates:
        known = ", ".join(map(str, family.baud_rates))
        raise BadValue(f"baud of {path.name} is {table['baud']!r}; it must be one of {known}")
    volts = ranged(table["volts"], *VOLTS, f"volts of {path.name}", "V")
    rows = table["servos"]
    if not isinstance(rows, list) or not rows:
        raise BadValue(f"servos of {path.name} must be a list of tables, one for each servo")
    servos = tuple(_servo(section(row, f"a servo of {path.name}"), volts, path) for row in rows)
    if any(servo.model.family is not family for servo in servos):
        raise BadValue(f"{path.name}: all servos of a bus must be of the family {table['family']}")
    if len({servo.id for servo in servos}) != len(servos):
        raise BadValue(f"{path.name}: two servos have the same id")
    robot = beside(path, str(table["robot"]))
    return ServoArm(path.stem, robot, family, int(table["baud"]), servos)


def arm_with(servos: Mapping[int, str], volts: float) -> str:
    """The arm with these servos, by id; of several alike, the one whose supply is nearest."""
    arms = [load_arm(name) for name in arm_names()]
    same = [arm for arm in arms if {one.id: one.model.name for one in arm.servos} == servos]
    same.sort(key=lambda arm: abs(arm.servos[0].volts - volts))
    return same[0].name if same else ""


def _present(table: dict[str, Any], keys: Iterable[str], where: str) -> None:
    missing = [key for key in keys if key not in table]
    if missing:
        raise BadValue(f"{where} has no {' and no '.join(missing)}")


def _servo(row: dict[str, Any], volts: float, path: Path) -> ArmServo:
    keys = {"joint", "id", "model", "sign", "ratio", "volts", "drive_mode", "shadows"}
    known_keys(row, keys, f"a servo of {path.name}")
    _present(row, ("joint", "id", "model"), f"a servo of {path.name}")
    what = f"servo {row['joint']} of {path.name}"
    if str(row["model"]).startswith("scs"):
        raise BadValue(
            f"{path.name}: the SCS series (high byte first) is not served; STS and HLS servos are"
        )
    model = servo_models().get(str(row["model"]))
    if model is None:
        raise UnknownName("servo", str(row["model"]), servo_models())
    if row.get("sign", 1) not in (1, -1):
        raise BadValue(f"sign of {what} must be 1 or -1, not {row['sign']!r}")
    return ArmServo(
        str(row["joint"]),
        whole(row["id"], 0, MAX_ID, f"id of {what}"),
        model,
        int(row.get("sign", 1)),
        ranged(row.get("ratio", 1.0), 1e-3, 1e3, f"ratio of {what}"),
        ranged(row.get("volts", volts), *VOLTS, f"volts of {what}", "V"),
        whole(row.get("drive_mode", 0), 0, 1, f"drive_mode of {what}"),
        whole(row.get("shadows", 255), 0, 255, f"shadows of {what}"),
    )
