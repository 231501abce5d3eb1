"""Frames of Damiao motors: MIT commands, the state they answer with, and registers.

A frame is an identifier and eight bytes. Byte orders and ranges are those of enactic/openarm_can.
The codes of states and the unit of the time-out are Damiao's, as the package ``damiao-motor`` has
them.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

from farhand.errors import BadValue, LinkError, UnknownName
from farhand.robots.description import load_toml

COMMON = 0x7FF
"""Identifier of frames about registers, which every motor reads."""

KP_MAX, KD_MAX = 500.0, 5.0
"""Largest gains of an MIT command, [N·m/rad] and [N·m·s/rad]; the same for every model."""

TIMEOUT_UNIT = 50e-6
"""Of the register :attr:`MotorRegister.TIMEOUT`, [s]."""

READ, WRITE, SAVE, REFRESH = 0x33, 0x55, 0xAA, 0xCC


class Order(IntEnum):
    """Last byte of an order to one motor; the seven before it are 0xFF."""

    CLEAR = 0xFB
    ENABLE = 0xFC
    DISABLE = 0xFD
    ZERO = 0xFE


class Status(IntEnum):
    """Upper half of the first byte of an answer."""

    DISABLED = 0x0
    ENABLED = 0x1
    OVER_VOLTAGE = 0x8
    UNDER_VOLTAGE = 0x9
    OVER_CURRENT = 0xA
    DRIVE_TOO_HOT = 0xB
    MOTOR_TOO_HOT = 0xC
    LOST_COMMUNICATION = 0xD
    OVERLOAD = 0xE

    @property
    def is_fault(self) -> bool:
        """Whether the motor has switched itself off."""
        return self >= Status.OVER_VOLTAGE

    @property
    def text(self) -> str:
        """For messages."""
        return self.name.lower().replace("_", " ")


class MotorMode(IntEnum):
    """Values of the register :attr:`MotorRegister.MODE`; identifiers of commands follow from it."""

    MIT = 1
    POSITION = 2
    VELOCITY = 3
    POSITION_FORCE = 4


class MotorRegister(IntEnum):
    """Registers that Farhand uses; a motor has more."""

    TORQUE_CONSTANT = 1
    OVER_TEMPERATURE = 2
    ANSWER_ID = 7
    ID = 8
    TIMEOUT = 9
    MODE = 10
    SOFTWARE_VERSION = 14
    SERIAL_NUMBER = 15
    GEAR_RATIO = 20
    POSITION_RANGE = 21
    VELOCITY_RANGE = 22
    TORQUE_RANGE = 23
    BIT_RATE = 35
    MOTOR_POSITION = 80
    SHAFT_POSITION = 81


INTEGERS = frozenset({*range(7, 11), *range(13, 17), 35, 36})
"""Registers that hold an integer; the others hold a float."""


@dataclass(frozen=True)
class Ranges:
    """Ranges over which a motor maps numbers to bits, ± at the output shaft."""

    position: float = 12.5  #: [rad], 16 bits
    velocity: float = 45.0  #: [rad/s], 12 bits
    torque: float = 54.0  #: [N·m], 12 bits

    @property
    def steps(self) -> tuple[float, float, float]:
        """One bit of position [rad], velocity [rad/s] and torque [N·m]."""
        return 2 * self.position / 0xFFFF, 2 * self.velocity / 0xFFF, 2 * self.torque / 0xFFF


@dataclass(frozen=True)
class Mit:
    """An MIT command: the motor makes ``kp (q - θ) + kd (v - ω) + torque``."""

    q: float = 0.0  #: [rad]
    v: float = 0.0  #: [rad/s]
    kp: float = 0.0  #: [N·m/rad]
    kd: float = 0.0  #: [N·m·s/rad]
    torque: float = 0.0  #: [N·m]


@dataclass(frozen=True)
class MotorState:
    """What a motor answers."""

    id: int  #: lower four bits of the motor's identifier
    status: Status
    q: float  #: [rad]
    v: float  #: [rad/s]
    torque: float  #: [N·m]
    drive_temperature: int = 25  #: [°C]
    motor_temperature: int = 25  #: [°C]


@dataclass(frozen=True)
class RegisterFrame:
    """A frame about a register, in either direction."""

    id: int  #: of the motor
    action: int  #: READ, WRITE, SAVE or REFRESH
    register: int = 0
    raw: bytes = bytes(4)

    @property
    def value(self) -> float:
        """What the register holds."""
        kind = "<I" if self.register in INTEGERS else "<f"
        return float(struct.unpack(kind, self.raw)[0])


@cache
def models() -> dict[str, Ranges]:
    """The ranges of every model, by its name."""
    rows = load_toml(Path(__file__).parent / "models.toml")
    return {name: Ranges(*row) for name, row in rows.items()}


def model(name: str) -> Ranges:
    """The ranges of one model."""
    if name not in models():
        raise UnknownName("Damiao motor", name, models())
    return models()[name]


def to_bits(value: float, low: float, high: float, bits: int) -> int:
    """A number as an integer, limited to its range and cut to the step below, as motors do it."""
    if not math.isfinite(value):
        raise BadValue(f"{value} cannot be sent to a motor")
    return int((min(max(value, low), high) - low) / (high - low) * ((1 << bits) - 1))


def from_bits(number: int, low: float, high: float, bits: int) -> float:
    """The number that an integer stands for."""
    return number / ((1 << bits) - 1) * (high - low) + low


def encode_mit(command: Mit, ranges: Ranges) -> bytes:
    """An MIT command as bytes: 16 bits of position, then 12 each of v, kp, kd and torque."""
    q = to_bits(command.q, -ranges.position, ranges.position, 16)
    v = to_bits(command.v, -ranges.velocity, ranges.velocity, 12)
    kp = to_bits(command.kp, 0.0, KP_MAX, 12)
    kd = to_bits(command.kd, 0.0, KD_MAX, 12)
    torque = to_bits(command.torque, -ranges.torque, ranges.torque, 12)
    return (q << 48 | v << 36 | kp << 24 | kd << 12 | torque).to_bytes(8, "big")


def decode_mit(data: bytes, ranges: Ranges) -> Mit:
    """The MIT command that a motor understands."""
    whole = int.from_bytes(_eight(data), "big")
    return Mit(
        from_bits(whole >> 48, -ranges.position, ranges.position, 16),
        from_bits(whole >> 36 & 0xFFF, -ranges.velocity, ranges.velocity, 12),
        from_bits(whole >> 24 & 0xFFF, 0.0, KP_MAX, 12),
        from_bits(whole >> 12 & 0xFFF, 0.0, KD_MAX, 12),
        from_bits(whole & 0xFFF, -ranges.torque, ranges.torque, 12),
    )


def encode_state(state: MotorState, ranges: Ranges) -> bytes:
    """A motor's answer as bytes."""
    q = to_bits(state.q, -ranges.position, ranges.position, 16)
    v = to_bits(state.v, -ranges.velocity, ranges.velocity, 12)
    torque = to_bits(state.torque, -ranges.torque, ranges.torque, 12)
    first = state.status << 4 | state.id & 0xF
    temperatures = bytes((state.drive_temperature & 0xFF, state.motor_temperature & 0xFF))
    return bytes((first,)) + (q << 24 | v << 12 | torque).to_bytes(5, "big") + temperatures


def decode_state(data: bytes, ranges: Ranges) -> MotorState:
    """What a motor answered; LinkError for a length or status that does not exist."""
    first, middle = _eight(data)[0], int.from_bytes(data[1:6], "big")
    if first >> 4 not in Status.__members__.values():
        raise LinkError(f"a motor answered with the unknown status {first >> 4:#x}")
    return MotorState(
        first & 0xF,
        Status(first >> 4),
        from_bits(middle >> 24, -ranges.position, ranges.position, 16),
        from_bits(middle >> 12 & 0xFFF, -ranges.velocity, ranges.velocity, 12),
        from_bits(middle & 0xFFF, -ranges.torque, ranges.torque, 12),
        data[6],
        data[7],
    )


def encode_order(order: Order) -> bytes:
    """An order to one motor as bytes."""
    return b"\xff" * 7 + bytes((order,))


def decode_order(data: bytes) -> Order | None:
    """The order in a frame to one motor, or None if it is a command."""
    known = data[:7] == b"\xff" * 7 and data[7] in Order.__members__.values()
    return Order(data[7]) if known else None


def encode_register(
    id: int, action: int, register: int = 0, value: float = 0.0, raw: bytes | None = None
) -> bytes:
    """A frame about a register as bytes; sent with the identifier :data:`COMMON`.

    Args:
        id: of the motor.
        action: READ, WRITE, SAVE or REFRESH.
        register: which one.
        value: what to write.
        raw: the value as bytes, instead of ``value``.
    """
    if raw is None:
        integer = register in INTEGERS
        raw = struct.pack("<I", int(value)) if integer else struct.pack("<f", value)
    return struct.pack("<HBB", id, action, register) + raw


def decode_register(data: bytes) -> RegisterFrame:
    """A frame about a register."""
    id, action, register = struct.unpack("<HBB", _eight(data)[:4])
    return RegisterFrame(id, action, register, data[4:8])


def is_register(data: bytes, id: int) -> bool:
    """Whether an answer of motor ``id`` is about a register, and not a state.

    Both come with the same identifier. The first two bytes of the one are the motor's identifier;
    as a state they would be a disabled motor within a few mrad of the end of its range.
    """
    return data[0] == id & 0xFF and data[1] == id >> 8 and data[2] in (READ, WRITE, SAVE)


def _eight(data: bytes) -> bytes:
    if len(data) != 8:
        raise LinkError(f"a frame of a Damiao motor has 8 bytes, not {len(data)}")
    return data
