"""Frames of the HITEC serial interface: seven bytes at 19 200 baud, 8N2, half duplex.

=====  ====  =======  ======  ======  ========  =======  =======
byte   1     2        3       4       5         6        7
=====  ====  =======  ======  ======  ========  =======  =======
host   0x80  command  first   second  checksum  0x00     0x00
servo  –     –        –       –       –         answer   answer
=====  ====  =======  ======  ======  ========  =======  =======

Layout, settings and checksum are published (sources/humanoid §2.3); the commands are those of the
published driver.
"""

from __future__ import annotations

from typing import NamedTuple

from farhand.errors import LinkError, OutOfRange

START = 0x80
BAUD = 19_200
BITS = 11
"""Bits of one byte on the line: start, eight, two stops."""

LENGTH, HEARD = 7, 5
"""Bytes of a frame, and bytes of it that the host fills."""

BYTE_NS = round(1e9 * BITS / BAUD)
FRAME_NS = round(1e9 * LENGTH * BITS / BAUD)
"""Time of a whole frame, 4.010 ms."""

LOWEST, HIGHEST, CENTRE = 600, 2400, 1500
"""Positions of a servo, [counts] of 0.1° at its shaft."""

READABLE = (595, 2405)
"""Positions that are accepted when read back, [counts]."""

FAILED = 0xFFFF
"""Answer that means failure."""

DONE = 3
"""First byte of an answer that means success."""

SET_SPEED, MOVE_ALL, VERSION, GO, RELEASE, WRITE = 0xE9, 0xE6, 0xE7, 0xEB, 0xEF, 0xE2
"""Commands; the number of a servo as a command moves it."""

ID_ADDRESS = 0x29
"""Address at which a servo stores its number."""


class Frame(NamedTuple):
    """What the host sends: a command, or a servo's number to move it, and two parameters."""

    command: int
    first: int = 0
    second: int = 0

    def encode(self) -> bytes:
        """The seven bytes; those of the servo are zero."""
        for value in self:
            if not 0 <= value <= 0xFF:
                raise OutOfRange("byte of a bus frame", value, 0, 0xFF)
        return bytes((START, *self, checksum(*self), 0, 0))

    @property
    def value(self) -> int:
        """Both parameters as one number, high byte first."""
        return self.first << 8 | self.second


def checksum(command: int, first: int, second: int) -> int:
    """The byte that makes five bytes sum to zero; 0 where the printed formula has 256 (E-15)."""
    return -(START + command + first + second) & 0xFF


def decode(raw: bytes) -> Frame:
    """The frame in seven bytes; LinkError for another length, start or checksum."""
    if len(raw) != LENGTH:
        raise LinkError(f"a bus frame has {LENGTH} bytes, not {len(raw)}")
    if raw[0] != START:
        raise LinkError(f"a bus frame starts with 0x{START:02x}, not 0x{raw[0]:02x}")
    if sum(raw[:HEARD]) & 0xFF:
        right = checksum(*raw[1:4])
        raise LinkError(f"checksum of a bus frame is 0x{raw[4]:02x}, not 0x{right:02x}")
    return Frame(*raw[1:4])


def move(servo: int, position: int) -> Frame:
    """Send a servo to a position, [counts]."""
    if not 0 <= servo < START:
        raise OutOfRange("servo number", servo, 0, START - 1)
    return Frame(servo, *_position(position))


def move_all(position: int) -> Frame:
    """Send every servo to one position, [counts]."""
    return Frame(MOVE_ALL, *_position(position))


def read(servo: int, speed: int = 0xFF) -> Frame:
    """Set a servo's speed, 0 to 255 of its top speed, which also reads its position."""
    return Frame(SET_SPEED, servo, speed)


def number(answer: bytes | None) -> int | None:
    """Both bytes of an answer as one number; None where there is none or it means failure."""
    value = FAILED if answer is None or len(answer) != 2 else answer[0] << 8 | answer[1]
    return None if value == FAILED else value


def position(answer: bytes | None) -> int | None:
    """The position in an answer, [counts]; None without a valid one."""
    value = number(answer)
    return value if value is not None and READABLE[0] <= value <= READABLE[1] else None


class Splitter:
    """Finds frames in a stream of bytes, and skips what is not a frame."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, raw: bytes) -> list[Frame]:
        """Take more bytes and return every whole frame."""
        self._left += raw
        whole: list[Frame] = []
        while True:
            start = self._left.find(START)
            del self._left[: len(self._left) if start < 0 else start]
            if len(self._left) < LENGTH:
                return whole
            try:
                whole.append(decode(bytes(self._left[:LENGTH])))
                del self._left[:LENGTH]
            except LinkError:
                del self._left[:1]


def _position(counts: int) -> tuple[int, int]:
    if not LOWEST <= counts <= HIGHEST:
        raise OutOfRange("servo position", counts, LOWEST, HIGHEST, "counts")
    return counts >> 8, counts & 0xFF
