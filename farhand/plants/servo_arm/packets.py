"""Packets of the two servo buses: Feetech's SCS protocol and Dynamixel protocol 2.0.

=========  ==========================================================================
Feetech    ``FF FF id length instruction parameters… checksum``
Dynamixel  ``FF FF FD 00 id length(2) instruction parameters… CRC-16(2)``, with FD after
           each ``FF FF FD`` inside, so that no header appears there
=========  ==========================================================================

A servo answers with a status packet: its error in the place of the instruction (Feetech), or after
the instruction 0x55 (Dynamixel). Both are published in the makers' manuals. Numbers have the low
byte first, as in the Feetech STS and HLS series; its SCS series has the high byte first and is not
served here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

BROADCAST = 0xFE
PING, READ, WRITE, REG_WRITE, ACTION, RESET, REBOOT = 1, 2, 3, 4, 5, 6, 8
BACKUP, CLEAR_TURNS, CALIBRATE = 9, 10, 11
CLEAR, CONTROL_BACKUP, STATUS = 0x10, 0x20, 0x55
SYNC_READ, SYNC_WRITE, FAST_SYNC_READ = 0x82, 0x83, 0x8A
BULK_READ, BULK_WRITE, FAST_BULK_READ = 0x92, 0x93, 0x9A

BITS = 10
"""Bits of one byte on the line: start, eight, one stop."""


class ServoPacket(NamedTuple):
    """What one packet says.

    ``code`` is the instruction of a host, or the error of a servo.
    """

    id: int
    code: int
    data: bytes = b""


class Protocol(ABC):
    """How packets are framed; the instructions are common to both families."""

    name: str
    header: bytes
    address_bytes: int  #: size of an address, and of a length, in parameters
    overhead: int  #: bytes of a status packet without data
    longest: int  #: bytes of a packet; what claims to be longer is noise

    @abstractmethod
    def instruction(self, id_: int, code: int, data: bytes = b"") -> bytes:
        """The bytes of a host's packet."""

    @abstractmethod
    def status(self, id_: int, error: int, data: bytes = b"") -> bytes:
        """The bytes of a servo's answer."""

    @abstractmethod
    def _length(self, raw: bytes | bytearray) -> int | None:
        """Bytes of the packet at the start of ``raw``, None until that is known; 0 for noise."""

    @abstractmethod
    def _unpack(self, raw: bytes, statuses: bool) -> ServoPacket | None:
        """The content of a whole packet; None if its checksum is wrong."""

    def answers(self, raw: bytes, ids: Sequence[int], size: int) -> list[ServoPacket] | None:
        """What these servos answered, if ``raw`` is exactly their answers of ``size`` bytes.

        None for anything else, which a :class:`PacketSplitter` looks into.
        """
        length = self.overhead + size
        if len(raw) != length * len(ids):
            return None
        found = []
        for start, id_ in zip(range(0, len(raw), length), ids, strict=True):
            frame = raw[start : start + length]
            if not frame.startswith(self.header) or self._length(frame) != length:
                return None
            packet = self._unpack(frame, True)
            if packet is None or packet.id != id_:
                return None
            found.append(packet)
        return found

    def word(self, value: int, size: int = 0) -> bytes:
        """A number in ``size`` bytes, by default those of an address."""
        return value.to_bytes(size or self.address_bytes, "little")

    def ping(self, id_: int = BROADCAST) -> bytes:
        """Ask one servo, or all, whether it is there."""
        return self.instruction(id_, PING)

    def read(self, id_: int, address: int, size: int) -> bytes:
        """Ask one servo for registers."""
        return self.instruction(id_, READ, self.word(address) + self.word(size))

    def write(self, id_: int, address: int, data: bytes, code: int = WRITE) -> bytes:
        """Set registers of one servo, or of all with :data:`BROADCAST`."""
        return self.instruction(id_, code, self.word(address) + data)

    def sync_read(self, ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several servos for the same registers; they answer one after the other."""
        area = self.word(address) + self.word(size)
        return self.instruction(BROADCAST, SYNC_READ, area + bytes(ids))

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> bytes:
        """Set the same registers of several servos, by id; nobody answers."""
        size = len(next(iter(data.values())))
        rows = b"".join(bytes((id_,)) + row for id_, row in data.items())
        area = self.word(address) + self.word(size)
        return self.instruction(BROADCAST, SYNC_WRITE, area + rows)


class Feetech(Protocol):
    """Feetech's SCS protocol with a checksum of one byte."""

    name = "feetech"
    header = b"\xff\xff"
    address_bytes = 1
    overhead = 6
    longest = 254

    def instruction(self, id_: int, code: int, data: bytes = b"") -> bytes:
        """The bytes of a host's packet."""
        body = bytes((id_, len(data) + 2, code)) + data
        return self.header + body + bytes((checksum(body),))

    def status(self, id_: int, error: int, data: bytes = b"") -> bytes:
        """The bytes of a servo's answer."""
        return self.instruction(id_, error, data)

    def _length(self, raw: bytes | bytearray) -> int | None:
        # more than two FF in a row: the header is the last two
        if len(raw) > 2 and raw[2] == 0xFF:
            return 0
        if len(raw) < 4:
            return None
        return raw[3] + 4 if 2 <= raw[3] <= self.longest - 4 else 0

    def _unpack(self, raw: bytes, statuses: bool) -> ServoPacket | None:
        if checksum(raw[2:-1]) != raw[-1]:
            return None
        return ServoPacket(raw[2], raw[4], raw[5:-1])


class Dynamixel(Protocol):
    """Dynamixel protocol 2.0 with a CRC of two bytes."""

    name = "dynamixel"
    header = b"\xff\xff\xfd"
    address_bytes = 2
    overhead = 11
    longest = 1024

    def instruction(self, id_: int, code: int, data: bytes = b"") -> bytes:
        """The bytes of a host's packet."""
        body = (bytes((code,)) + data).replace(self.header, self.header + b"\xfd")
        raw = self.header + bytes((0, id_)) + self.word(len(body) + 2) + body
        return raw + self.word(crc16(raw))

    def status(self, id_: int, error: int, data: bytes = b"") -> bytes:
        """The bytes of a servo's answer."""
        return self.instruction(id_, STATUS, bytes((error,)) + data)

    def fast_status(self, answers: Iterable[ServoPacket]) -> bytes:
        """One packet of all servos; each adds its part and a CRC of all bytes up to there."""
        parts = list(answers)
        size = sum(len(part.data) + 4 for part in parts)
        raw = self.header + bytes((0, BROADCAST)) + self.word(size + 1) + bytes((STATUS,))
        for part in parts:
            raw += bytes((part.code, part.id)) + part.data
            raw += self.word(crc16(raw))
        return raw

    def _length(self, raw: bytes | bytearray) -> int | None:
        if len(raw) < 7:
            return None
        length = raw[5] | raw[6] << 8
        return length + 7 if raw[3] == 0 and 3 <= length <= self.longest - 7 else 0

    def _unpack(self, raw: bytes, statuses: bool) -> ServoPacket | None:
        if crc16(raw[:-2]) != raw[-2] | raw[-1] << 8:
            return None
        body = raw[7:-2].replace(self.header + b"\xfd", self.header)
        if not statuses:
            return ServoPacket(raw[4], body[0], body[1:])
        return (
            ServoPacket(raw[4], body[1], body[2:]) if body[0] == STATUS and len(body) > 1 else None
        )


FEETECH, DYNAMIXEL = Feetech(), Dynamixel()


class PacketSplitter:
    """Finds whole packets in a stream of bytes, and skips what is none.

    Args:
        protocol: how they are framed.
        statuses: whether servos sent them, or the host.
    """

    def __init__(self, protocol: Protocol, statuses: bool) -> None:
        self._protocol, self._statuses = protocol, statuses
        self._left = bytearray()
        self.corrupt = 0  #: packets whose checksum was wrong

    @property
    def left(self) -> bytes:
        """The bytes of a packet that is not whole yet."""
        return bytes(self._left)

    def clear(self) -> None:
        """Forget the bytes that are left."""
        self._left.clear()

    def feed(self, raw: bytes) -> list[ServoPacket]:
        """Take more bytes and return every whole packet."""
        left, protocol = self._left, self._protocol
        left += raw
        whole: list[ServoPacket] = []
        while True:
            start = left.find(protocol.header)
            # the end may be the beginning of a header
            keep = len(protocol.header) - 1
            del left[: max(0, len(left) - keep) if start < 0 else start]
            length = protocol._length(left) if start >= 0 else None
            if length is None or len(left) < length:
                return whole
            packet = protocol._unpack(bytes(left[:length]), self._statuses) if length else None
            if packet is None:
                self.corrupt += length > 0
                del left[:1]
            else:
                whole.append(packet)
                del left[:length]


def checksum(body: bytes) -> int:
    """Feetech's: the complement of the sum of all bytes after the header."""
    return ~sum(body) & 0xFF


def crc16(raw: bytes) -> int:
    """Dynamixel's: polynomial 0x8005, high bit first, from 0."""
    crc = 0
    for byte in raw:
        crc = (crc << 8 & 0xFFFF) ^ CRC_TABLE[crc >> 8 ^ byte]
    return crc


def _crc_of(byte: int) -> int:
    crc = byte << 8
    for _ in range(8):
        crc = (crc << 1 ^ (0x8005 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


CRC_TABLE = tuple(_crc_of(byte) for byte in range(256))


def sign_magnitude(value: int, bit: int) -> int:
    """Feetech's signed numbers: the magnitude, and a sign in this bit."""
    return min(abs(value), (1 << bit) - 1) | (value < 0) << bit


def from_sign_magnitude(raw: int, bit: int) -> int:
    """The number that :func:`sign_magnitude` made."""
    magnitude = raw & (1 << bit) - 1
    return -magnitude if raw >> bit & 1 else magnitude
