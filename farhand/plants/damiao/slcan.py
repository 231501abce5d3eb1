"""CAN through a serial adaptor: frames as lines of text, in the protocol of Lawicel.

A frame is ``tIIILDD…``: three digits of identifier, one of length and two for each byte, all
hexadecimal. FD frames begin with ``d``, or with ``b`` if their data are at the data bit rate.
"""

from __future__ import annotations

import os
import select
import time
from collections import deque

from farhand.errors import BadValue, LinkError, describe_error
from farhand.plants.damiao.line import CanFrame
from farhand.plants.drivers.serial_port import open_serial

FD_LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)
BIT_RATES = {
    10_000: b"S0\r",
    20_000: b"S1\r",
    50_000: b"S2\r",
    100_000: b"S3\r",
    125_000: b"S4\r",
    250_000: b"S5\r",
    500_000: b"S6\r",
    750_000: b"S7\r",
    1_000_000: b"S8\r",
}
"""Commands for bit rates, [bit/s]."""

OPENING_S = 0.1
"""How long an adaptor may need after its port is opened, [s]; assumed."""

MAX_LINE = 256
"""Bytes of a line without an end that are kept."""


def encode_line(frame: CanFrame) -> bytes:
    """A frame as a line, with its end."""
    kind, length = "b" if frame.fd else "t", FD_LENGTHS.index(len(frame.data))
    return f"{kind}{frame.id:03X}{length:X}{frame.data.hex().upper()}\r".encode()


def decode_line(line: bytes) -> CanFrame | None:
    """The frame with a standard identifier and data in a line; None if it is another line.

    Raises:
        BadValue: the line begins like a frame and is none.
    """
    if line[:1] not in (b"t", b"d", b"b"):
        return None
    try:
        length = FD_LENGTHS[int(line[4:5], 16)]
        # some adaptors add the time
        data = bytes.fromhex(line[5 : 5 + 2 * length].decode())
        if len(data) == length:
            return CanFrame(int(line[1:4], 16), data, line[:1] != b"t")
    except ValueError:
        pass
    raise BadValue(f"{line!r} is no frame of a serial CAN adaptor")


def split_lines(text: bytes) -> tuple[list[bytes], bytes]:
    """Whole lines, and the rest; a bell, with which adaptors refuse a command, ends one as well."""
    *lines, rest = text.replace(b"\a", b"\r").split(b"\r")
    return lines, rest[-MAX_LINE:]


class SlcanWire:
    """A serial CAN adaptor.

    python-can reads such a port byte by byte, and asks again and again while there is none; with
    two arms that takes more time than everything else. Here all frames of a cycle are one write,
    and a read takes what there is.

    Args:
        path: of the port; ``@`` and a number after it are its baud rate.
        bit_rate: of the bus, [bit/s].

    Raises:
        BadValue: the adaptor has no such bit rate.
        FileError: the port cannot be opened.
    """

    fd = False

    def __init__(self, path: str, bit_rate: int = 1_000_000) -> None:
        if bit_rate not in BIT_RATES:
            known = ", ".join(str(rate) for rate in BIT_RATES)
            raise BadValue(f"slcan has no bit rate of {bit_rate}; there are {known} bit/s")
        name, _, baud = path.partition("@")
        if baud and not baud.isdecimal():
            raise BadValue(f"{path}: write the port's baud rate after @, such as {name}@2000000")
        what = f"the CAN bus slcan:{path}"
        self._port = open_serial(name, int(baud or 115_200), what, timeout=0, exclusive=True)
        self._file = self._port.fileno()
        self._text, self._frames = b"", deque[CanFrame]()
        time.sleep(OPENING_S)
        self._write(b"C\r" + BIT_RATES[bit_rate] + b"O\r")

    def send(self, *frames: CanFrame) -> None:
        """Send frames, all in one write."""
        self._write(b"".join(map(encode_line, frames)))

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame with a standard identifier and data."""
        end = time.monotonic() + timeout
        while not self._frames:
            left = max(0.0, end - time.monotonic())
            try:
                if not select.select([self._file], [], [], left)[0]:
                    return None
                read = os.read(self._file, 1 << 16)
            except (OSError, ValueError) as error:
                text = f"the CAN interface receives nothing: {describe_error(error)}"
                raise LinkError(text) from None
            if not read:
                raise LinkError("the CAN interface receives nothing: its port is gone")
            lines, self._text = split_lines(self._text + read)
            for line in lines:
                try:
                    frame = decode_line(line)
                except BadValue:
                    continue
                if frame is not None:
                    self._frames.append(frame)
        return self._frames.popleft()

    def now_ns(self) -> int:
        """The monotonic clock, [ns]."""
        return time.monotonic_ns()

    def close(self) -> None:
        """Close the channel and the port."""
        try:
            self._write(b"C\r")
        except LinkError:
            # unplugged: nothing is left to close
            pass
        self._port.close()

    def _write(self, raw: bytes) -> None:
        try:
            sent = 0
            while sent < len(raw):
                sent += os.write(self._file, raw[sent:])
        except (OSError, ValueError) as error:
            raise LinkError(f"the CAN interface sends nothing: {describe_error(error)}") from None
