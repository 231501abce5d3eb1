"""Packet: the one format that serves every coupling law."""

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
VERSION = 4
MAX_COORDINATES = 2700  # keeps the largest packet, sealed, inside one UDP datagram

_IDENTITY = struct.Struct("<4sIIIQ")  # magic, version, nq, nv, model hash
_SCALARS = struct.Struct("<QqqqIIII")
_CHECKED = struct.Struct(_SCALARS.format + "8d")  # scalars and both quaternions, which follow them
_SCALAR_LIMITS = {
    "sequence": (0, 2**64 - 1),
    **dict.fromkeys(("time_ns", "echo_time_ns", "echo_age_ns"), (-(2**63), 2**63 - 1)),
    **dict.fromkeys(("flags", "mode", "engagement_id", "buttons"), (0, 2**32 - 1)),
}
_SCALARS_AT = _IDENTITY.size
_FLOATS_AT = _SCALARS_AT + _SCALARS.size

QUATERNION_TOLERANCE = 1e-3  # largest | |quaternion|² - 1 | that load accepts [-]
_SHORTEST, _LONGEST = 1.0 - QUATERNION_TOLERANCE, 1.0 + QUATERNION_TOLERANCE
# Of every float: its sign and the upper seven bits of its exponent.
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


def _sizes(nq: int, nv: int, joints: int, axes: int) -> dict[str, int]:
    """Length of every array field in the order of the layout, those of fixed length first."""
    pose = dict(tool_quaternion=4, offset_quaternion=4, offset_position=3, map_shape=5)
    pose["tool_position"] = 3
    # what a coupling of joints exchanges has one number per joint
    n = nv if joints else 6
    port = dict(tool_twist=6, port_energy_in=axes, port_energy_out=axes)
    optional = dict(measured_wrench=6, commanded_wrench=n, gripper=2)
    state = {"q": nq, "v": nv, "external_torque": nv}
    return pose | port | optional | state | {"joint_map": 2 * joints + 1 if joints else 0}


def model_hash(*parts: str | bytes | ArrayLike) -> int:
    """Hash of what must be the same on both sides, as an unsigned 64-bit number.

    Numbers are hashed to the last bit, with their shape. Hash sources (names, file text,
    parameters) rather than compiled matrices when the two sides run on different machines.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, str):
            kind, content = "text", part.encode()
        elif isinstance(part, bytes):
            kind, content = "bytes", part
        else:
            # Adding zero makes -0 the same as 0.
            numbers = np.asarray(part, dtype="<f8") + 0.0
            kind, content = f"array{numbers.shape}", numbers.tobytes()
        digest.update(f"{kind}:{len(content)}:".encode())
        digest.update(content)
    return int.from_bytes(digest.digest(), "little")


def _views(buffer: bytes | bytearray, nq: int, nv: int, joints: int, axes: int) -> dict[str, Array]:
    """The array fields in a packet's buffer, by name."""
    views, start = {}, _FLOATS_AT
    for name, count in _sizes(nq, nv, joints, axes).items():
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
    """Array field that reads as None unless its flag is set; assigning sets or clears the flag."""
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

    Assigning to an array field copies into the packet's buffer. Reading one gives a view that stays
    valid, and changes, for the life of the packet. All quantities are in SI units, twists and
    wrenches linear part first.

    =======  ======================================================================================
    offset   content
    =======  ======================================================================================
    0        magic ``FARH``, version, nq, nv (u32 each), model hash (u64)
    24       sequence (u64), time_ns, echo_time_ns, echo_age_ns (i64 each)
    56       flags, mode, engagement_id, buttons (u32 each)
    72       f64: tool_quaternion (4), offset_quaternion (4), offset_position (3), map_shape (5),
             tool_position (3), tool_twist (6), port_energy_in (6), port_energy_out (6),
             measured_wrench (6), commanded_wrench (6), gripper (2), q (nq), v (nv),
             external_torque (nv); where joints are coupled, commanded_wrench has nv numbers, port
             energies as many as the arm with more joints, and joint_map (2 joints + 1) follows
    =======  ======================================================================================

    Args:
        nq: number of configuration coordinates, [-].
        nv: number of velocity coordinates, [-].
        model_hash: what both sides must agree on, from :func:`model_hash`.
        joints: of the follower, where joints are coupled; 0 for a coupling of tools.
        axes: how many numbers each of the port energies has.

    Attributes:
        size: length of the packet, [bytes].
        sequence: number of the packet, counted by its sender from 1; 0 before the first.
        time_ns: when it was sent, by the sender's clock, [ns].
        echo_time_ns: ``time_ns`` of the newest packet the sender had received; without meaning
            unless ``echo_valid``, [ns].
        echo_age_ns: how long before ``time_ns`` that packet had arrived, by the sender's clock,
            [ns].
        flags: bits of :class:`Flag`.
        mode: the sender's mode of operation, as the session numbers them.
        engagement_id: counts engagements, so that offsets match the engagement they belong to.
        buttons: one bit per button, set while pressed.
        map: the sender's map as one view: offset_quaternion, offset_position and map_shape (12), or
            the map of joints: offsets, scales and force scale.

    Raises:
        OutOfRange: for a negative or too large number of coordinates.
    """

    __slots__ = (
        *("nq", "nv", "joints", "axes", "model_hash", "size", "map"),
        *("_buffer", "_view", "_identity"),
        *_SCALAR_LIMITS,
        *(f"_{name}" for name in _sizes(0, 0, 0, 0)),
    )

    q: Array = _array("q", "Configuration (nq) in Pinocchio's order, [rad] or [m].")
    v: Array = _array("v", "Velocity (nv), [rad/s] or [m/s].")
    tool_position: Array = _array("tool_position", "Of the tool in the base frame (3), [m].")
    tool_quaternion: Array = _array("tool_quaternion", "Tool in base axes (4), x y z w, [-].")
    tool_twist: Array = _array("tool_twist", "Of the tool in base axes (6), [m/s] and [rad/s].")
    offset_position: Array = _array("offset_position", "Offset from engagement (3), [m].")
    offset_quaternion: Array = _array(
        "offset_quaternion", "Rotation offset from engagement (4), x y z w, [-]."
    )
    map_shape: Array = _array(
        "map_shape", "Motion scale, force scale and axes of the sender's map (5), [-] and [rad]."
    )
    port_energy_in: Array = _array("port_energy_in", "Put into the port, per axis, [J].")
    port_energy_out: Array = _array("port_energy_out", "Taken from the port, per axis, [J].")
    measured_wrench: Array | None = _optional(
        "measured_wrench", "Measured on the arm (6), [N] and [N·m]; None without a measurement."
    )
    commanded_wrench: Array | None = _optional(
        "commanded_wrench", "Of the coupling on the arm (6), [N] and [N·m]; None without one."
    )
    gripper: Array | None = _optional(
        "gripper", "Gripper position [m] and force [N] (2); None without a gripper."
    )
    external_torque: Array | None = _optional(
        "external_torque", "Joint torque beside the tool's wrench (nv), [N·m]; None if unknown."
    )
    joint_map: Array = _array("joint_map", "Offsets, scales, force scale of a map of joints.")
    engaged: bool = _flag(Flag.ENGAGED, "The sender takes part in the coupling.")
    clutch_pressed: bool = _flag(Flag.CLUTCH_PRESSED, "Its motion is not to be followed.")
    tripped: bool = _flag(Flag.TRIPPED, "The sender's guard has tripped.")
    deadman_held: bool = _flag(Flag.DEADMAN_HELD, "The sender's dead-man switch is held.")
    leaving: bool = _flag(Flag.LEAVING, "The sender ends in order and will send no more.")
    echo_valid: bool = _flag(Flag.ECHO, "The sender echoes the time of a packet.")

    def __init__(
        self, nq: int, nv: int, model_hash: int = 0, joints: int = 0, axes: int = 6
    ) -> None:
        most = MAX_COORDINATES
        limits = (("nq", nq, most), ("nv", nv, most), ("model_hash", model_hash, 2**64 - 1))
        for name, number, limit in limits:
            if not 0 <= number <= limit:
                raise OutOfRange(f"packet.{name}", number, 0, limit)
        self.nq, self.nv, self.model_hash = nq, nv, model_hash
        self.joints, self.axes = joints, axes
        for name in _SCALAR_LIMITS:
            setattr(self, name, 0)
        self._identity = _IDENTITY.pack(MAGIC, VERSION, nq, nv, model_hash)
        self.size = _FLOATS_AT + 8 * sum(_sizes(nq, nv, joints, axes).values())  # [bytes]
        self._buffer = bytearray(self.size)
        self._buffer[: _IDENTITY.size] = self._identity
        # A memoryview copies in faster than the buffer itself.
        self._view = memoryview(self._buffer)
        for name, view in _views(self._buffer, nq, nv, joints, axes).items():
            setattr(self, f"_{name}", view)
        # the fields of the tool's map lie side by side
        tool = np.frombuffer(self._buffer, "<f8", 12, _FLOATS_AT + 8 * 4)
        self.map = self.joint_map if joints else tool
        self.tool_quaternion[3] = self.offset_quaternion[3] = 1.0
        self.map_shape[:2] = 1.0

    def blank(self) -> Packet:
        """An empty packet of the same layout and model."""
        return Packet(self.nq, self.nv, self.model_hash, self.joints, self.axes)

    def to_bytes(self) -> bytes:
        """The packet as it goes on the wire; a scalar that does not fit its place is refused."""
        try:
            # One argument per line: unpacking a tuple here would triple the time.
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
        """Take over a received packet if its number exceeds ``newer_than``.

        Returns:
            The sequence number of the received packet, whether taken over or not.

        Raises:
            LinkError: the data is not a well-formed packet of this layout, version and model; the
                packet keeps its content.
        """
        if len(data) != self.size or not data.startswith(self._identity):
            raise self._identity_error(data)
        numbers = _CHECKED.unpack_from(data, _SCALARS_AT)
        sequence, time_ns, echo_ns, held_ns, flags, mode, engagement, buttons = numbers[:8]
        a, b, c, d, x, y, z, w = numbers[8:]
        if flags & _UNKNOWN:
            raise LinkError(f"packet has flags {flags:#x}, known bits are {Flag.ALL:#x}")
        if held_ns < 0:
            raise LinkError(f"packet has echo_age_ns = {held_ns}, it must be 0 ns or more")
        top = data[_TOP_BYTES]
        # A number beyond 1e303, which may be infinite or NaN; far faster than numpy.
        if 0x7F in top or 0xFF in top:
            self._check_finite(data, flags)
        if not _SHORTEST <= a * a + b * b + c * c + d * d <= _LONGEST:
            raise LinkError(f"packet has tool_quaternion = {[a, b, c, d]}, its length must be 1")
        if not _SHORTEST <= x * x + y * y + z * z + w * w <= _LONGEST:
            raise LinkError(f"packet has offset_quaternion = {[x, y, z, w]}, its length must be 1")
        if sequence > newer_than:
            self._view[:] = data
            self.sequence, self.time_ns = sequence, time_ns
            self.echo_time_ns, self.echo_age_ns = echo_ns, held_ns
            self.flags, self.mode = flags, mode
            self.engagement_id, self.buttons = engagement, buttons
        return sequence

    def _check_finite(self, data: bytes, flags: int) -> None:
        for name, field in _views(data, self.nq, self.nv, self.joints, self.axes).items():
            valid = name not in _OPTIONAL or flags & _OPTIONAL[name]
            if valid and not np.isfinite(field).all():
                values = field.tolist()
                raise LinkError(f"packet has {name} = {values}, every number must be finite")

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
        expected_size = f"{self.size} for nq = {self.nq}, nv = {self.nv}"
        return LinkError(f"packet has {len(data)} bytes, expected {expected_size}")

    def _scalar_error(self) -> FarhandError:
        for name, (low, high) in _SCALAR_LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, SupportsIndex):
                return BadValue(f"packet.{name} = {value!r} is not a whole number")
            if not low <= value.__index__() <= high:
                return OutOfRange(f"packet.{name}", value, low, high)
        raise AssertionError("every scalar fits")
