"""One client of the RTDE port, as the controller sees it: bytes in, bytes out, no sockets."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from farhand.errors import LinkError
from farhand.plants.ur_sim import packets
from farhand.plants.ur_sim.exchange import Exchange
from farhand.plants.ur_sim.packets import Recipe, RtdePacket

VERSIONS = (1, 2)
RATE = 500.0
"""Highest frequency of outputs, [Hz]."""

DEFAULT_RATE = {1: 125.0, 2: RATE}
MOST_RECIPES = 255


class RtdeClient:
    """What one client has agreed on with the controller, and the answers it gets.

    The public guide leaves open what follows a malformed packet. Here: an unknown type, a payload
    of the wrong size or an unknown recipe is answered with a text message (warning) and otherwise
    left alone; a size that cannot be is answered with a text message (error) and the end of the
    connection.

    Args:
        exchange: the values it may see and set.
        control_version: of the controller, such as (5, 26, 0, 0).

    Attributes:
        version: of the protocol.
        started: whether outputs are being sent.
        closed: whether the connection has to end.
    """

    def __init__(self, exchange: Exchange, control_version: tuple[int, int, int, int]) -> None:
        self._exchange, self._control_version = exchange, control_version
        self._reader = packets.ByteReader()
        self.version, self.started, self.closed = 1, False, False
        self._outputs: Recipe | None = None
        self._inputs: dict[int, Recipe] = {}
        self._rate, self._owed = RATE, 0.0
        self._answers: dict[int, Callable[[bytes], bytes]] = {
            packets.REQUEST_VERSION: self._agree,
            packets.CONTROL_VERSION: self._tell_version,
            packets.SETUP_OUTPUTS: self._set_up_outputs,
            packets.SETUP_INPUTS: self._set_up_inputs,
            packets.START: self._start,
            packets.PAUSE: self._pause,
            packets.DATA: self._take,
            packets.TEXT_MESSAGE: lambda payload: b"",
        }

    def feed(self, data: bytes) -> bytes:
        """The answers to what has arrived."""
        said = bytearray()
        try:
            for packet in self._reader.feed(data):
                said += self._answer(packet)
        except LinkError as error:
            said += packets.text_message(self.version, str(error), packets.ERROR)
            self.closed = True
        return bytes(said)

    def package(self) -> bytes:
        """The data package of this control cycle; nothing when none is due."""
        if not self.started or self._outputs is None:
            return b""
        self._owed += self._rate / RATE
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
        return packets.pack(packets.DATA, packed if self.version == 1 else b"\x01" + packed)

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
            return packets.text_message(self.version, str(error), packets.WARNING)

    def _agree(self, payload: bytes) -> bytes:
        wanted = _read(">H", payload)[0]
        if wanted in VERSIONS:
            self.version = wanted
        return packets.pack(packets.REQUEST_VERSION, bytes([wanted in VERSIONS]))

    def _tell_version(self, payload: bytes) -> bytes:
        return packets.pack(packets.CONTROL_VERSION, struct.pack(">4I", *self._control_version))

    def _set_up_outputs(self, payload: bytes) -> bytes:
        rate, names = DEFAULT_RATE[self.version], payload
        if self.version > 1:
            if len(payload) < 8:
                raise LinkError(f"{len(payload)} bytes hold no frequency and no names")
            (rate,), names = _read(">d", payload[:8]), payload[8:]
        if not (math.isfinite(rate) and 1.0 <= rate <= RATE):
            raise LinkError(f"output frequency {rate:g} Hz is outside [1, {RATE:g}]")
        wanted = packets.names_in(names)
        types = self._exchange.types_of_outputs(wanted)
        right = bool(types) and "NOT_FOUND" not in types
        self._outputs = Recipe(wanted, types) if right else None
        self._rate, self._owed = rate, 0.0
        listed = ",".join(types).encode()
        return packets.pack(
            packets.SETUP_OUTPUTS, listed if self.version == 1 else bytes([right]) + listed
        )

    def _set_up_inputs(self, payload: bytes) -> bytes:
        wanted = packets.names_in(payload)
        types = self._exchange.types_of_inputs(wanted, self)
        right = (
            bool(types)
            and not {"NOT_FOUND", "IN_USE"} & set(types)
            and len(self._inputs) < MOST_RECIPES
        )
        number = len(self._inputs) + 1 if right else 0
        if right:
            self._inputs[number] = Recipe(wanted, types)
            self._exchange.claim(wanted, self)
        return packets.pack(packets.SETUP_INPUTS, bytes([number]) + ",".join(types).encode())

    def _start(self, payload: bytes) -> bytes:
        self.started = self._outputs is not None
        return packets.pack(packets.START, bytes([self.started]))

    def _pause(self, payload: bytes) -> bytes:
        self.started = False
        return packets.pack(packets.PAUSE, b"\x01")

    def _take(self, payload: bytes) -> bytes:
        recipe = self._inputs.get(payload[0]) if payload else None
        if recipe is None:
            raise LinkError(f"no input recipe {payload[0] if payload else 'named'}")
        self._exchange.set(recipe.unpack(payload[1:]))
        return b""


def _read(form: str, payload: bytes) -> tuple:
    if len(payload) != struct.calcsize(form):
        raise LinkError(f"a payload of {len(payload)} bytes where {struct.calcsize(form)} belong")
    return struct.unpack(form, payload)
