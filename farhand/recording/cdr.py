"""CDR messages, written and read by the thousand as one array.

All strings of a recorded topic are constant, so every message has the same length and every number
its fixed place. A :class:`Template` is that message; :func:`block` fills many copies of it at once,
each with its MCAP record header.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue

MESSAGE = 0x05
"""Opcode of a message record in an MCAP file."""

PREFIX = 31
"""Bytes of a message record before its content."""

_ENCAPSULATION = b"\x00\x01\x00\x00"  # plain CDR, little-endian
_RECORD: list[tuple[str, str, int]] = [
    ("opcode", "u1", 0),
    ("length", "<u8", 1),
    ("channel", "<u2", 9),
    ("sequence", "<u4", 11),
    ("log_time", "<u8", 15),
    ("publish_time", "<u8", 23),
]


class Template:
    """A message with its constant parts written and places kept for its times and numbers."""

    def __init__(self) -> None:
        self._bytes = bytearray(_ENCAPSULATION)
        #: what varies: (name, number of float64 values, offset in the message [bytes])
        self.places: list[tuple[str, int, int]] = []
        self.stamps: list[int] = []  #: offsets of the times (seconds, then nanoseconds), [bytes]
        self._record: NDArray[Any] | None = None

    @property
    def record(self) -> NDArray[Any]:
        """A whole MCAP message record with its constant parts, shape (1,); made once."""
        if self._record is None or self._record.itemsize != PREFIX + len(self._bytes):
            kind = record_type(len(self._bytes), self.places, self.stamps)
            self._record = np.zeros(1, kind)
            self._record.view(np.uint8)[PREFIX:] = self._bytes
            self._record["opcode"], self._record["length"] = MESSAGE, kind.itemsize - 9
        return self._record

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)

    def integer(self, value: int, kind: str = "I") -> Template:
        """Write a constant: ``I`` four bytes, ``B`` one."""
        self._align(struct.calcsize(kind))
        self._bytes += struct.pack(f"<{kind}", value)
        return self

    def string(self, text: str) -> Template:
        """Write a constant string."""
        encoded = text.encode() + b"\0"
        self.integer(len(encoded))
        self._bytes += encoded
        return self

    def strings(self, texts: list[str] | tuple[str, ...]) -> Template:
        """Write a constant sequence of strings."""
        self.integer(len(texts))
        for text in texts:
            self.string(text)
        return self

    def stamp(self) -> Template:
        """Keep a place for a time."""
        self._align(4)
        self.stamps.append(len(self._bytes))
        self._bytes += bytes(8)
        return self

    def header(self, frame: str) -> Template:
        """Keep a place for a time and write a frame: a ``std_msgs/Header``."""
        return self.stamp().string(frame)

    def numbers(self, name: str, count: int) -> Template:
        """Keep a place for ``count`` float64 values."""
        self._align(8)
        self.places.append((name, count, len(self._bytes)))
        self._bytes += bytes(8 * count)
        return self

    def sequence(self, name: str, count: int) -> Template:
        """Keep a place for a sequence of float64 whose length is always ``count``."""
        self.integer(count)
        return self.numbers(name, count) if count else self

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(_ENCAPSULATION)) % size)


def record_type(size: int, places: list[tuple[str, int, int]], stamps: list[int]) -> np.dtype[Any]:
    """The NumPy type of a whole MCAP message record.

    Args:
        size: of the message, [bytes].
        places: as in :class:`Template`.
        stamps: likewise.
    """
    fields: list[tuple[str, Any, int]] = list(_RECORD)
    for index, offset in enumerate(stamps):
        fields.append((f"sec{index}", "<i4", PREFIX + offset))
        fields.append((f"nanosec{index}", "<u4", PREFIX + offset + 4))
    fields += [(f"value:{name}", ("<f8", (count,)), PREFIX + at) for name, count, at in places]
    names, formats, offsets = zip(*fields, strict=True)
    layout: Any = {"names": names, "formats": formats, "offsets": offsets}
    return np.dtype(layout | {"itemsize": PREFIX + size})


def block(
    template: Template,
    channel: int,
    first: int,
    log_ns: NDArray[np.int64],
    stamp_ns: NDArray[np.int64],
    values: dict[str, NDArray[np.float64]],
) -> bytes:
    """Many message records of one topic, one after the other.

    Args:
        template: the message.
        channel: its MCAP channel.
        first: sequence number of the first.
        log_ns: when each was received, shape (n,), [ns].
        stamp_ns: when each was measured, shape (n,), [ns].
        values: the numbers by the names of their places, shape (n, count).
    """
    count = len(log_ns)
    records = template.record.repeat(count)
    records["channel"] = channel
    records["sequence"] = np.arange(first, first + count, dtype=np.int64) & 0xFFFFFFFF
    records["log_time"], records["publish_time"] = log_ns, stamp_ns
    for index in range(len(template.stamps)):
        records[f"sec{index}"], records[f"nanosec{index}"] = np.divmod(stamp_ns, 1_000_000_000)
    for name, _, _ in template.places:
        records[f"value:{name}"] = values[name]
    return records.tobytes()


def record(channel: int, sequence: int, log_ns: int, content: bytes) -> bytes:
    """One message record."""
    head = (MESSAGE, 22 + len(content), channel, sequence & 0xFFFFFFFF, log_ns, log_ns)
    return struct.pack("<BQHIQQ", *head) + content


def event_content(t_ns: int, kind: str, text: str, data: str) -> bytes:
    """A ``farhand_msgs/Event``."""
    template = Template().stamp().string(kind).string(text).string(data)
    return _stamped(template, t_ns)


def log_content(t_ns: int, level: int, name: str, text: str) -> bytes:
    """A ``rcl_interfaces/Log``; level 20 is information, 30 a warning, 40 an error."""
    template = Template().stamp().integer(level, "B").string(name).string(text)
    return _stamped(template.string("").string("").integer(0), t_ns)


class CdrReader:
    """Reads the fields of one message in their order.

    Raises:
        BadValue: the message ends too early, or is not plain CDR.
    """

    def __init__(self, content: bytes) -> None:
        if len(content) < len(_ENCAPSULATION) or content[0] or content[1] > 1:
            raise BadValue("not a message in plain CDR")
        self._content = content
        self._order = "<" if content[1] else ">"
        self._place = len(_ENCAPSULATION)

    def integer(self, kind: str = "I") -> int:
        """Read a number: ``I`` four bytes, ``B`` one."""
        value: int = self._take(kind, 1)[0]
        return value

    def numbers(self, count: int) -> tuple[float, ...]:
        """Read ``count`` float64 values."""
        return self._take("d", count) if count else ()

    def sequence(self) -> tuple[float, ...]:
        """Read a sequence of float64."""
        return self.numbers(self.integer())

    def string(self) -> str:
        """Read a string."""
        (text,) = self._take("s", self.integer(), size=1)
        return bytes(text).rstrip(b"\0").decode(errors="replace")

    def strings(self) -> list[str]:
        """Read a sequence of strings."""
        return [self.string() for _ in range(self.integer())]

    def header(self) -> str:
        """Read a ``std_msgs/Header``; its frame."""
        self.integer(), self.integer()
        return self.string()

    def _take(self, kind: str, count: int, size: int | None = None) -> tuple[Any, ...]:
        size = struct.calcsize(kind) if size is None else size
        self._place += -(self._place - len(_ENCAPSULATION)) % size
        if self._place + size * count > len(self._content):
            raise BadValue("the message ends too early")
        values = struct.unpack_from(f"{self._order}{count}{kind}", self._content, self._place)
        self._place += size * count
        return values


def read_event(content: bytes) -> tuple[str, str, str]:
    """Kind, text and data of a ``farhand_msgs/Event``."""
    fields = CdrReader(content)
    fields.integer(), fields.integer()
    return fields.string(), fields.string(), fields.string()


def diagnostics_content(
    t_ns: int, statuses: list[tuple[int, str, str, dict[str, str]]], hardware: str
) -> bytes:
    """A ``diagnostic_msgs/DiagnosticArray``.

    Args:
        t_ns: its time, [ns].
        statuses: level (0 well, 1 warning, 2 error), name, message and values of each.
        hardware: that they are about.
    """
    template = Template().header("").integer(len(statuses))
    for level, name, message, values in statuses:
        template.integer(level, "B").string(name).string(message).string(hardware)
        template.integer(len(values))
        for key, value in values.items():
            template.string(key).string(value)
    return _stamped(template, t_ns)


def _stamped(template: Template, t_ns: int) -> bytes:
    content = bytearray(bytes(template))
    struct.pack_into("<iI", content, template.stamps[0], *divmod(t_ns, 1_000_000_000))
    return bytes(content)
