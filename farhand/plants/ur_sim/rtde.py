"""RTDE as the public guide describes it: packets, fields, values, and one client of port 30004.

No sockets: bytes in, bytes out. A packet is ``size`` (16 bit, the whole packet), ``type`` (8 bit, a
letter) and a payload; everything is big-endian.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from farhand.errors import LinkError
from farhand.robots.description import load_toml

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
"""Levels of a text message."""

TYPES = {"BOOL": "?", "UINT8": "B", "UINT32": "I", "UINT64": "Q", "INT32": "i", "DOUBLE": "d"}
TYPES |= {"VECTOR3D": "3d", "VECTOR6D": "6d", "VECTOR6INT32": "6i", "VECTOR6UINT32": "6I"}
"""Data types of fields, and their :mod:`struct` formats."""

_RANGE = re.compile(r"(.*)\{(\d+)\.\.(\d+)\}")

_ZEROS: dict[str, object] = {"BOOL": False, "DOUBLE": 0.0}
_ZEROS |= {"VECTOR3D": (0.0,) * 3, "VECTOR6D": (0.0,) * 6}

VERSIONS = (1, 2)
MAX_RATE_HZ = 500.0
"""Highest frequency of outputs, [Hz]."""

DEFAULT_RATE_HZ = {1: 125.0, 2: MAX_RATE_HZ}
MAX_RECIPES = 255


class RtdePacket(NamedTuple):
    """One packet: its type and its payload."""

    kind: int
    payload: bytes


class ByteReader:
    """Cuts a byte stream into packets; an incomplete packet waits."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[RtdePacket]:
        """The packets that are complete now.

        Raises:
            LinkError: a size smaller than a header, after which packets cannot be separated.
        """
        waiting = self._waiting
        waiting += data
        while len(waiting) >= HEADER.size:
            size, kind = HEADER.unpack_from(waiting)
            if size < HEADER.size:
                waiting.clear()
                header = f"its header of {HEADER.size}"
                raise LinkError(f"a packet of {size} bytes is shorter than {header}")
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
    message, source = text.encode("ascii", "replace")[:255], b"RTDE"
    if version == 1:
        return pack(TEXT_MESSAGE, bytes([level]) + message)
    sized = [bytes([len(part)]) + part for part in (message, source)]
    return pack(TEXT_MESSAGE, b"".join(sized) + bytes([level]))


class Recipe:
    """The fields of one kind of data package, in order, each of one of the :data:`TYPES`."""

    def __init__(self, names: Sequence[str], types: Sequence[str]) -> None:
        self.names, self.types = tuple(names), tuple(types)
        self.form = struct.Struct(">" + "".join(TYPES[kind] for kind in types))
        self._lengths = [int(TYPES[kind][:-1] or 1) for kind in types]

    def unpack(self, payload: bytes) -> dict[str, object]:
        """Values by name, vectors as tuples; LinkError for a payload of another size."""
        if len(payload) != self.form.size:
            raise LinkError(f"{len(payload)} bytes of data for a recipe of {self.form.size}")
        flat, values, at = self.form.unpack(payload), {}, 0
        for name, length in zip(self.names, self._lengths, strict=True):
            values[name] = flat[at] if length == 1 else flat[at : at + length]
            at += length
        return values


def names_in(payload: bytes) -> list[str]:
    """The names in a comma-separated list, which may end with a comma."""
    names = payload.decode("ascii", "replace").split(",")
    return names[:-1] if names and not names[-1] else names


@cache
def _table() -> dict[str, dict[str, str]]:
    table = load_toml(Path(__file__).with_name("fields.toml"))
    return {side: dict(_spread(table[side])) for side in ("outputs", "inputs")}


def _spread(fields: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, kind in fields.items():
        numbered = _RANGE.fullmatch(name)
        if numbered is None:
            yield name, kind
            continue
        stem, first, last = numbered.groups()
        for number in range(int(first), int(last) + 1):
            yield f"{stem}{number}", kind


def outputs() -> dict[str, str]:
    """Type of every field the controller can send."""
    return _table()["outputs"]


def inputs() -> dict[str, str]:
    """Type of every field a client can set."""
    return _table()["inputs"]


def zero(kind: str) -> object:
    """The initial value of a field of that type."""
    if kind in _ZEROS:
        return _ZEROS[kind]
    return (0,) * 6 if TYPES[kind].startswith("6") else 0


class Exchange:
    """All output and input fields of the controller by name, and who may set what."""

    def __init__(self) -> None:
        known = {**inputs(), **outputs()}
        #: every field's value; inputs that are also outputs have one value
        self.values: dict[str, object] = {name: zero(kind) for name, kind in known.items()}
        #: called with the value when a client sets that input
        self.listeners: dict[str, Callable[[object], None]] = {}
        self.writes: dict[str, int] = {}  #: how often each input was set
        self.asked: set[str] = set()  #: outputs that some client has requested
        self._owners: dict[str, object] = {}

    def types_of_outputs(self, names: Iterable[str]) -> list[str]:
        """Type of every output, ``NOT_FOUND`` where there is none of that name."""
        asked = list(names)
        self.asked |= set(asked) & outputs().keys()
        return [outputs().get(name, "NOT_FOUND") for name in asked]

    def types_of_inputs(self, names: Iterable[str], client: object) -> list[str]:
        """Type of every input; ``NOT_FOUND``, or ``IN_USE`` where another client sets it."""
        return [self._type_for(name, client) for name in names]

    def _type_for(self, name: str, client: object) -> str:
        kind = inputs().get(name, "NOT_FOUND")
        return "IN_USE" if self._owners.get(name, client) is not client else kind

    def claim(self, names: Iterable[str], client: object) -> None:
        """Reserve these inputs for a client."""
        for name in names:
            self._owners[name] = client

    def release(self, client: object) -> None:
        """Release the inputs of a client; they keep their values."""
        self._owners = {name: owner for name, owner in self._owners.items() if owner is not client}

    def set(self, values: dict[str, object]) -> None:
        """Set the values that a client sends."""
        for name, value in values.items():
            self.values[name] = value
            self.writes[name] = self.writes.get(name, 0) + 1
        for name, value in values.items():
            if name in self.listeners:
                self.listeners[name](value)


class RtdeClient:
    """What one client has agreed on with the controller, and the answers to it.

    The public guide leaves open what follows a malformed packet. Here an unknown type, a payload of
    the wrong size or an unknown recipe is answered with a text message (warning). An impossible
    size is answered with a text message (error) and ends the connection.

    Args:
        exchange: the values it may see and set.
        control_version: of the controller, such as (5, 26, 0, 0).

    Attributes:
        version: of the protocol.
        started: whether outputs are being sent.
        closed: whether the connection must end.
    """

    def __init__(self, exchange: Exchange, control_version: tuple[int, int, int, int]) -> None:
        self._exchange, self._control_version = exchange, control_version
        self._reader = ByteReader()
        self.version, self.started, self.closed = 1, False, False
        self._outputs: Recipe | None = None
        self._inputs: dict[int, Recipe] = {}
        self._rate, self._owed = MAX_RATE_HZ, 0.0
        self._answers: dict[int, Callable[[bytes], bytes]] = {
            REQUEST_VERSION: self._agree,
            CONTROL_VERSION: self._send_version,
            SETUP_OUTPUTS: self._set_up_outputs,
            SETUP_INPUTS: self._set_up_inputs,
            START: self._start,
            PAUSE: self._pause,
            DATA: self._take,
            TEXT_MESSAGE: lambda payload: b"",
        }

    def feed(self, data: bytes) -> bytes:
        """The answers to what has arrived."""
        answers = bytearray()
        try:
            for packet in self._reader.feed(data):
                answers += self._answer(packet)
        except LinkError as error:
            answers += text_message(self.version, str(error), ERROR)
            self.closed = True
        return bytes(answers)

    def package(self) -> bytes:
        """The data package of this control cycle; nothing when none is due."""
        if not self.started or self._outputs is None:
            return b""
        self._owed += self._rate / MAX_RATE_HZ
        if self._owed < 1.0 - 1e-9:
            return b""
        self._owed -= 1.0
        values = self._exchange.values
        flat: list[object] = []
        for name in self._outputs.names:
            value = values[name]
            if isinstance(value, tuple):
                flat += value
            else:
                flat.append(value)
        packed = self._outputs.form.pack(*flat)
        return pack(DATA, packed if self.version == 1 else b"\x01" + packed)

    def leave(self) -> None:
        """The connection is gone."""
        self._exchange.release(self)

    def _answer(self, packet: RtdePacket) -> bytes:
        answer = self._answers.get(packet.kind)
        try:
            if answer is None:
                raise LinkError(f"unknown package type {packet.kind}")
            return answer(packet.payload)
        except LinkError as error:
            return text_message(self.version, str(error), WARNING)

    def _agree(self, payload: bytes) -> bytes:
        version = _read(">H", payload)[0]
        if version in VERSIONS:
            self.version = version
        return pack(REQUEST_VERSION, bytes([version in VERSIONS]))

    def _send_version(self, payload: bytes) -> bytes:
        return pack(CONTROL_VERSION, struct.pack(">4I", *self._control_version))

    def _set_up_outputs(self, payload: bytes) -> bytes:
        rate, names = DEFAULT_RATE_HZ[self.version], payload
        if self.version > 1:
            if len(payload) < 8:
                raise LinkError(f"{len(payload)} bytes are too few for frequency and names")
            (rate,), names = _read(">d", payload[:8]), payload[8:]
        if not (math.isfinite(rate) and 1.0 <= rate <= MAX_RATE_HZ):
            raise LinkError(f"output frequency {rate:g} Hz is outside [1, {MAX_RATE_HZ:g}]")
        fields = names_in(names)
        types = self._exchange.types_of_outputs(fields)
        valid = bool(types) and "NOT_FOUND" not in types
        self._outputs = Recipe(fields, types) if valid else None
        self._rate, self._owed = rate, 0.0
        listed = ",".join(types).encode()
        return pack(SETUP_OUTPUTS, listed if self.version == 1 else bytes([valid]) + listed)

    def _set_up_inputs(self, payload: bytes) -> bytes:
        fields = names_in(payload)
        types = self._exchange.types_of_inputs(fields, self)
        valid = bool(types) and not {"NOT_FOUND", "IN_USE"} & set(types)
        number = len(self._inputs) + 1 if valid and len(self._inputs) < MAX_RECIPES else 0
        if number:
            self._inputs[number] = Recipe(fields, types)
            self._exchange.claim(fields, self)
        return pack(SETUP_INPUTS, bytes([number]) + ",".join(types).encode())

    def _start(self, payload: bytes) -> bytes:
        self.started = self._outputs is not None
        return pack(START, bytes([self.started]))

    def _pause(self, payload: bytes) -> bytes:
        self.started = False
        return pack(PAUSE, b"\x01")

    def _take(self, payload: bytes) -> bytes:
        recipe = self._inputs.get(payload[0]) if payload else None
        if recipe is None:
            raise LinkError(f"no input recipe {payload[0] if payload else 'given'}")
        self._exchange.set(recipe.unpack(payload[1:]))
        return b""


def _read(form: str, payload: bytes) -> tuple[Any, ...]:
    if len(payload) != struct.calcsize(form):
        expected = struct.calcsize(form)
        raise LinkError(f"a payload of {len(payload)} bytes, expected {expected}")
    return struct.unpack(form, payload)
