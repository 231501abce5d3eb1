"""The one packet format that serves every coupling law."""

from __future__ import annotations

import hashlib
import struct
from operator import attrgetter
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farhand.errors import BadValue, FarhandError, LinkError, OutOfRange

Array: TypeAlias = NDArray[np.float64]

MAGIC = b"FARH"
VERSION = 3
MAX_COORDINATES = 2700  # keeps the largest packet, sealed, inside one UDP datagram

_IDENTITY = struct.Struct("<4sIIIQ")  # magic, version, nq, nv, model hash
_SCALARS = struct.Struct("<QqqqIIII")
_CHECKED = struct.Struct(_SCALARS.format + "8d")  # scalars and both quaternions, which follow them
_SCALAR_LIMITS = {
    "sequence": (0, 2**64 - 1),
    "time_ns": (-(2**63), 2**63 - 1),
    "echo_time_ns": (-(2**63), 2**63 - 1),
    "echo_age_ns": (-(2**63), 2**63 - 1),
    "flags": (0, 2**32 - 1),
    "mode": (0, 2**32 - 1),
    "engagement_id": (0, 2**32 - 1),
    "buttons": (0, 2**32 - 1),
}
_SCALARS_AT = _IDENTITY.size
_FLOATS_AT = _SCALARS_AT + _SCALARS.size

QUATERNION_TOLERANCE = 1e-3  # largest | |quaternion|² - 1 | that load accepts [-]
# squared lengths between which that is
_SHORTEST, _LONGEST = (1.0 - QUATERNION_TOLERANCE, 1.0 + QUATERNION_TOLERANCE)
# of the numbers: sign and the upper seven bits of the exponent
_TOP_BYTES = slice(_FLOATS_AT + 7, None, 8)


class Flag:
    """Bits of :attr:`Packet.flags`."""

    MEASURED_WRENCH = 1 << 0
    COMMANDED_WRENCH = 1 << 1
    ENGAGED = 1 << 2
    CLUTCH_PRESSED = 1 << 3
    TRIPPED = 1 << 4
    DEADMAN_HELD = 1 << 5
    GRIPPER = 1 << 6
    ECHO = 1 << 7
    EXTERNAL_TORQUE = 1 << 8
    LEAVING = 1 << 9
    ALL = (1 << 10) - 1


_UNKNOWN = ~Flag.ALL

_OPTIONAL = {
    "measured_wrench": Flag.MEASURED_WRENCH,
    "commanded_wrench": Flag.COMMANDED_WRENCH,
    "gripper": Flag.GRIPPER,
    "external_torque": Flag.EXTERNAL_TORQUE,
}


def _sizes(nq: int, nv: int) -> dict[str, int]:
    """Length of every array field, in the order of the layout: those of fixed length first, at fixed places."""
    pose = {
        "tool_quaternion": 4,
        "offset_quaternion": 4,
        "tool_position": 3,
        "offset_position": 3,
        "tool_twist": 6,
    }
    port = {
        "port_energy_in": 6,
        "port_energy_out": 6,
        "measured_wrench": 6,
        "commanded_wrench": 6,
        "gripper": 2,
    }
    return pose | port | {"q": nq, "v": nv, "external_torque": nv}


def model_hash(*parts: str | bytes | ArrayLike) -> int:
    """Hash of whatever must be the same on both sides, as an unsigned 64-bit number.

    Numbers are hashed to the last bit, with their shape; hash sources (names, file text,
    parameters) rather than compiled matrices when the two sides run on unlike machines.

    Args:
        parts: strings, bytes, numbers or arrays of numbers, in an order both sides agree on.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, str):
            kind, content = "text", part.encode()
        elif isinstance(part, bytes):
            kind, content = "bytes", part
        else:
            numbers = np.asarray(part, dtype="<f8") + 0.0  # makes -0 the same as 0
            kind, content = f"array{numbers.shape}", numbers.tobytes()
        digest.update(f"{kind}:{len(content)}:".encode())
        digest.update(content)
    return int.from_bytes(digest.digest(), "little")


def _views(buffer: bytes | bytearray, nq: int, nv: int) -> dict[str, Array]:
    """The array fields in a packet's buffer, by name."""
    views, start = {}, _FLOATS_AT
    for name, count in _sizes(nq, nv).items():
        views[name] = np.frombuffer(buffer, "<f8", count, start)
        start += 8 * count
    return views


def _array(name: str, meaning: str) -> Any:
    """Field that reads as a view into the packet and copies in place when assigned."""
    view = attrgetter(f"_{name}")

    def copy_in(packet: Packet, value: ArrayLike) -> None:
        view(packet)[...] = value

    return property(view, copy_in, doc=meaning)


def _optional(name: str, meaning: str) -> Any:
    """Array field that reads as None unless its flag is set; assigning sets the flag, assigning None clears it."""
    view = attrgetter(f"_{name}")
    bit = _OPTIONAL[name]

    def read(packet: Packet) -> Array | None:
        return view(packet) if packet.flags & bit else None

    def copy_in(packet: Packet, value: ArrayLike | None) -> None:
        if value is None:
            packet.flags &= ~bit
        else:
            view(packet)[...] = value
            packet.flags |= bit

    return property(read, copy_in, doc=meaning)


def _flag(bit: int, meaning: str) -> Any:
    def read(packet: Packet) -> bool:
        return bool(packet.flags & bit)

    def write(packet: Packet, value: bool) -> None:
        packet.flags = packet.flags | bit if value else packet.flags & ~bit

    return property(read, write, doc=meaning)


class Packet:
    """State of one side as it crosses the link, in a fixed little-endian layout.

    Assigning to an array field copies into the packet's buffer; reading one gives a view that stays
    valid, and changes, for the life of the packet. All quantities are in SI units, twists and
    wrenches linear part first.

    =======  ======================================================================================
    offset   content
    =======  ======================================================================================
    0        magic ``FARH``, version, nq, nv (u32 each), model hash (u64)
    24       sequence (u64), time_ns, echo_time_ns, echo_age_ns (i64 each)
    56       flags, mode, engagement_id, buttons (u32 each)
    72       f64: tool_quaternion (4), offset_quaternion (4), tool_position (3), offset_position
    (3),
             tool_twist (6), port_energy_in (6), port_energy_out (6), measured_wrench (6),
             commanded_wrench (6), gripper (2), q (nq), v (nv), external_torque (nv)
    =======  ======================================================================================

    Attributes:
        nq: number of configuration coordinates, [-].
        nv: number of velocity coordinates, [-].
        model_hash: what both sides must agree on, from :func:`model_hash`.
        size: length of the packet, [bytes].
        sequence: number of the packet, counted by its sender from 1; 0 before the first.
        time_ns: when it was sent, by the sender's clock, [ns].
        echo_time_ns: ``time_ns`` of the newest packet the sender had received; 0 and without
            meaning unless ``echo_valid``, [ns].
        echo_age_ns: how long before ``time_ns`` that packet had arrived, by the sender's clock,
            [ns].
        flags: bits of :class:`Flag`.
        mode: the sender's mode of operation, as the session numbers them.
        engagement_id: counts engagements, so that offsets are matched with the engagement they
            belong to.
        buttons: one bit per button, set while pressed.
    """

    __slots__ = (
        *(
            "nq",
            "nv",
            "model_hash",
            "size",
            *_SCALAR_LIMITS,
            *(f"_{name}" for name in _sizes(0, 0)),
            "_buffer",
        ),
        *("_view", "_identity"),
    )

    q: Array = _array(
        "q", "Configuration (nq), [rad] or [m]; a free-floating base as Pinocchio orders it."
    )
    v: Array = _array("v", "Velocity (nv), [rad/s] or [m/s].")
    tool_position: Array = _array(
        "tool_position", "Position of the tool in the side's base frame (3), [m]."
    )
    tool_quaternion: Array = _array(
        "tool_quaternion", "Rotation of tool axes into base axes (4), x y z w, [-]."
    )
    tool_twist: Array = _array(
        "tool_twist", "Twist of the tool in base axes (6), [m/s] ×3 then [rad/s] ×3."
    )
    offset_position: Array = _array(
        "offset_position", "Position offset taken at engagement (3), [m]."
    )
    offset_quaternion: Array = _array(
        "offset_quaternion", "Rotation offset taken at engagement (4), x y z w, [-]."
    )
    port_energy_in: Array = _array(
        "port_energy_in", "Energy this side has put into the port, per axis (6), [J]."
    )
    port_energy_out: Array = _array(
        "port_energy_out", "Energy this side has taken from the port, per axis (6), [J]."
    )
    measured_wrench: Array | None = _optional(
        "measured_wrench",
        "Wrench measured on the arm (6), [N] ×3 then [N·m] ×3; None without a measurement.",
    )
    commanded_wrench: Array | None = _optional(
        "commanded_wrench",
        "Wrench the controller asks for (6), [N] ×3 then [N·m] ×3; None without one.",
    )
    gripper: Array | None = _optional(
        "gripper", "Gripper position [m] and force [N] (2); None without a gripper."
    )
    external_torque: Array | None = _optional(
        "external_torque",
        "Joint torque known to act beside the tool's wrench (nv), [N·m]; None where not known.",
    )
    engaged: bool = _flag(Flag.ENGAGED, "The sender takes part in the coupling.")
    clutch_pressed: bool = _flag(
        Flag.CLUTCH_PRESSED, "The sender's clutch is pressed: motion is not to be followed."
    )
    tripped: bool = _flag(Flag.TRIPPED, "The sender's guard has tripped.")
    deadman_held: bool = _flag(Flag.DEADMAN_HELD, "The sender's dead-man switch is held.")
    leaving: bool = _flag(
        Flag.LEAVING, "The sender ends in order: nothing more will be heard of it."
    )
    echo_valid: bool = _flag(Flag.ECHO, "The sender has received a packet, and echoes its time.")

    def __init__(self, nq: int, nv: int, model_hash: int = 0) -> None:
        """Make an empty packet: zeros, identity rotations, no measurements.

        Args:
            nq: number of configuration coordinates, [-].
            nv: number of velocity coordinates, [-].
            model_hash: what both sides must agree on, from :func:`model_hash`.

        Raises:
            OutOfRange: for a negative or too large number of coordinates.
        """
        for name, number, limit in (
            ("nq", nq, MAX_COORDINATES),
            ("nv", nv, MAX_COORDINATES),
            ("model_hash", model_hash, 2**64 - 1),
        ):
            if not 0 <= number <= limit:
                raise OutOfRange(f"packet.{name}", number, 0, limit)
        self.nq, self.nv, self.model_hash = nq, nv, model_hash
        for name in _SCALAR_LIMITS:
            setattr(self, name, 0)
        self._identity = _IDENTITY.pack(MAGIC, VERSION, nq, nv, model_hash)
        self.size = _FLOATS_AT + 8 * sum(_sizes(nq, nv).values())  # [bytes]
        self._buffer = bytearray(self.size)
        self._buffer[: _IDENTITY.size] = self._identity
        self._view = memoryview(self._buffer)  # copies in faster than the buffer itself
        for name, view in _views(self._buffer, nq, nv).items():
            setattr(self, f"_{name}", view)
        self.tool_quaternion[3] = self.offset_quaternion[3] = 1.0

    def blank(self) -> Packet:
        """An empty packet of the same layout and model."""
        return Packet(self.nq, self.nv, self.model_hash)

    def to_bytes(self) -> bytes:
        """The packet as it goes on the wire.

        Raises:
            OutOfRange: if a scalar does not fit its place.
            BadValue: if a scalar is not a whole number.
        """
        try:
            _SCALARS.pack_into(
                self._buffer,
                _SCALARS_AT,
                self.sequence,
                self.time_ns,
                self.echo_time_ns,
                self.echo_age_ns,
                self.flags,
                self.mode,
                self.engagement_id,
                self.buttons,
            )
        except struct.error:
            raise self._scalar_error() from None
        return bytes(self._buffer)

    def load(self, data: bytes, newer_than: int = -1) -> int:
        """Take over a received packet, unless it is malformed or not newer than asked for.

        Args:
            data: what arrived.
            newer_than: sequence number that the packet has to exceed to be taken over.

        Returns:
            The sequence number of the packet that arrived, whether taken over or not.

        Raises:
            LinkError: if the data is not a well-formed packet of this layout, version and model;
                the packet keeps what it held.
        """
        if len(data) != self.size or not data.startswith(self._identity):
            raise self._identity_error(data)
        numbers = _CHECKED.unpack_from(data, _SCALARS_AT)
        (
            sequence,
            time_ns,
            echo_ns,
            held_ns,
            flags,
            mode,
            engagement,
            buttons,
            a,
            b,
            c,
            d,
            x,
            y,
            z,
            w,
        ) = numbers
        if flags & _UNKNOWN:
            raise LinkError(f"packet has flags {flags:#x}, known bits are {Flag.ALL:#x}")
        if held_ns < 0:
            raise LinkError(f"packet has echo_age_ns = {held_ns}, it must be 0 ns or more")
        top = data[_TOP_BYTES]
        # a number beyond 1e303, which may be none; far quicker than asking numpy
        if 0x7F in top or 0xFF in top:
            self._check_finite(data, flags)
        if not _SHORTEST <= a * a + b * b + c * c + d * d <= _LONGEST:
            raise LinkError(f"packet has tool_quaternion = {[a, b, c, d]}, its length must be 1")
        if not _SHORTEST <= x * x + y * y + z * z + w * w <= _LONGEST:
            raise LinkError(f"packet has offset_quaternion = {[x, y, z, w]}, its length must be 1")
        if sequence > newer_than:
            self._view[:] = data
            self.sequence, self.time_ns, self.echo_time_ns, self.echo_age_ns = (
                sequence,
                time_ns,
                echo_ns,
                held_ns,
            )
            self.flags, self.mode, self.engagement_id, self.buttons = (
                flags,
                mode,
                engagement,
                buttons,
            )
        return sequence

    def _check_finite(self, data: bytes, flags: int) -> None:
        for name, field in _views(data, self.nq, self.nv).items():
            valid = name not in _OPTIONAL or flags & _OPTIONAL[name]
            if valid and not np.isfinite(field).all():
                raise LinkError(
                    f"packet has {name} = {field.tolist()}, every number must be finite"
                )

    def _identity_error(self, data: bytes) -> LinkError:
        if len(data) >= _IDENTITY.size:
            magic, *numbers = _IDENTITY.unpack_from(data)
            if magic != MAGIC:
                return LinkError(f"packet starts with {magic!r}, expected {MAGIC!r}")
            names = ("version", "nq", "nv", "model hash")
            expected = (VERSION, self.nq, self.nv, self.model_hash)
            for name, number, right in zip(names, numbers, expected, strict=True):
                if number != right:
                    return LinkError(f"packet has {name} {number}, expected {right}")
        return LinkError(
            f"packet has {len(data)} bytes, expected {self.size} for nq = {self.nq}, nv = {self.nv}"
        )

    def _scalar_error(self) -> FarhandError:
        for name, (low, high) in _SCALAR_LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, SupportsIndex):
                return BadValue(f"packet.{name} = {value!r} is not a whole number")
            if not low <= value.__index__() <= high:
                return OutOfRange(f"packet.{name}", value, low, high)
        raise AssertionError("every scalar fits")
