"""RTDE packets: what crosses port 30004, byte for byte, as the public guide describes it. No sockets, no state.

A packet is ``size`` (16 bit, the whole packet), ``type`` (8 bit, a letter) and a payload;
everything is big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from farhand.errors import LinkError

HEADER = struct.Struct(">HB")

REQUEST_VERSION = ord("V")
CONTROL_VERSION = ord("v")
TEXT_MESSAGE = ord("M")
DATA = ord("U")
SETUP_OUTPUTS = ord("O")
SETUP_INPUTS = ord("I")
START = ord("S")
PAUSE = ord("P")

EXCEPTION, ERROR, WARNING, INFO = range(4)
"""How bad a text message is."""

TYPES = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT32": "I",
    "UINT64": "Q",
    "INT32": "i",
    "DOUBLE": "d",
    "VECTOR3D": "3d",
    "VECTOR6D": "6d",
    "VECTOR6INT32": "6i",
    "VECTOR6UINT32": "6I",
}
"""Data types of fields, and how :mod:`struct` calls them."""


class RtdePacket(NamedTuple):
    """One packet: its type and its payload."""

    kind: int
    payload: bytes


class ByteReader:
    """Cuts a byte stream into packets; what has not arrived whole waits."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[RtdePacket]:
        """The packets that are whole now.

        Raises:
            LinkError: a size smaller than a header: nothing after it can be told apart any more.
        """
        waiting = self._waiting
        waiting += data
        while len(waiting) >= HEADER.size:
            size, kind = HEADER.unpack_from(waiting)
            if size < HEADER.size:
                waiting.clear()
                raise LinkError(
                    f"a packet of {size} bytes is shorter than its header of {HEADER.size}"
                )
            if len(waiting) < size:
                return
            payload = bytes(waiting[HEADER.size : size])
            del waiting[:size]
            yield RtdePacket(kind, payload)


def pack(kind: int, payload: bytes = b"") -> bytes:
    """A whole packet."""
    return HEADER.pack(HEADER.size + len(payload), kind) + payload


def text_message(version: int, text: str, level: int) -> bytes:
    """A message to the client, in the form of its protocol version."""
    said = text.encode("ascii", "replace")[:255]
    if version == 1:
        return pack(TEXT_MESSAGE, bytes([level]) + said)
    source = b"RTDE"
    return pack(
        TEXT_MESSAGE, bytes([len(said)]) + said + bytes([len(source)]) + source + bytes([level])
    )


class Recipe:
    """The fields of one kind of data package, in order.

    Args:
        names: of the fields.
        types: of the fields, each one of :data:`TYPES`.
    """

    def __init__(self, names: Sequence[str], types: Sequence[str]) -> None:
        self.names, self.types = tuple(names), tuple(types)
        self.form = struct.Struct(">" + "".join(TYPES[kind] for kind in types))
        self._lengths = [int(TYPES[kind][:-1] or 1) for kind in types]

    def unpack(self, payload: bytes) -> dict[str, object]:
        """Values by name, vectors as tuples.

        Raises:
            LinkError: a payload of another size.
        """
        if len(payload) != self.form.size:
            raise LinkError(f"{len(payload)} bytes of data for a recipe of {self.form.size}")
        flat, values, at = self.form.unpack(payload), {}, 0
        for name, length in zip(self.names, self._lengths, strict=True):
            values[name] = flat[at] if length == 1 else flat[at : at + length]
            at += length
        return values


def names_in(payload: bytes) -> list[str]:
    """The names in a comma-separated list; a comma at the end, which clients send, names nothing."""
    names = payload.decode("ascii", "replace").split(",")
    return names[:-1] if names and not names[-1] else names
