"""Nodes: processes that exchange typed messages over UDP, each keeping the latest of every type it takes."""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from farhand.errors import FarhandError, LinkError
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.link.port import Message

M = TypeVar("M", bound=Message)

HEADER = struct.Struct("<4sIIq")
"""Mark, type, number and time of sending [ns]."""

MARK = b"fhn1"
MOST_AT_ONCE = 1000
"""Datagrams taken in by one call, so that a flood does not hold it up."""


class Received(NamedTuple):
    """A message as it arrived.

    Attributes:
        message: what was said.
        number: counts the messages of that type its sender has sent, from 1.
        sent_ns: when it was sent, on the sender's clock, [ns].
    """

    message: Message
    number: int
    sent_ns: int


def type_number(kind: type[Message]) -> int:
    """The number a type goes by on the wire: another name, field, unit or size is another type."""
    return zlib.crc32(repr((kind.__name__, kind.FIELDS, kind.UNIT, kind.SIZE)).encode())


class Node:
    """One process's place on a network of typed messages. Nothing waits, and only the latest of each type is kept.

    A datagram that is not of a type this node takes, has another size, holds something that is no
    number, or is older than the latest of its type is left out and counted. Arrivals can be
    delayed, jittered and lost on purpose, for a network that is not there.

    Args:
        name: of the node.
        takes: types it takes.
        conditions: of the emulated network in front of it.
        host: address it listens at, on a free port.
        seed: of the emulated network.

    Attributes:
        refused: datagrams that were left out because they were wrong.
        late: messages that were left out because a newer one was there.
    """

    def __init__(
        self,
        name: str,
        takes: Sequence[type[Message]] = (),
        conditions: Conditions | None = None,
        host: str = "127.0.0.1",
        seed: int = 0,
    ) -> None:
        self.name, self.refused, self.late = name, 0, 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind((host, 0))
        self._takes = {type_number(kind): kind for kind in takes}
        self._network = EmulatedNetwork(np.random.default_rng(seed), conditions or Conditions())
        self._latest: dict[type[Message], Received] = {}
        self._numbers: dict[type[Message], int] = {}

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self._socket.getsockname()

    def send(self, message: Message, *places: tuple[str, int]) -> int:
        """Send a message to other nodes; its number."""
        kind = type(message)
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        values = np.asarray(message.pack(), dtype="<f8")
        datagram = (
            HEADER.pack(MARK, type_number(kind), number, time.monotonic_ns()) + values.tobytes()
        )
        for place in places:
            with contextlib.suppress(OSError):  # gone, as any datagram may be on its way
                self._socket.sendto(datagram, place)
        return number

    def receive(self, now_ns: int) -> None:
        """Take in what has arrived by now, [ns]."""
        for _ in range(MOST_AT_ONCE):
            try:
                self._network.send(now_ns, self._socket.recv(65_535))
            except OSError:  # none there, or news of one that did not arrive
                break
        for data in self._network.receive(now_ns):
            try:
                self._keep(self._read(data))
            except FarhandError:
                self.refused += 1

    def latest(self, kind: type[M]) -> Received | None:
        """The latest message of a type; None if there was none."""
        return self._latest.get(kind)

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def _keep(self, received: Received) -> None:
        kind = type(received.message)
        last = self._latest.get(kind)
        if last is not None and received.number <= last.number:
            self.late += 1
            return
        self._latest[kind] = received

    def _read(self, data: bytes) -> Received:
        if len(data) < HEADER.size:
            raise LinkError(
                f"a datagram of {len(data)} bytes is shorter than its header of {HEADER.size}"
            )
        mark, number_of_type, number, sent_ns = HEADER.unpack_from(data)
        kind = self._takes.get(number_of_type)
        if mark != MARK or kind is None:
            raise LinkError(
                f"node {self.name!r} does not take messages of type {number_of_type:#x}"
            )
        if len(data) != HEADER.size + 8 * kind.SIZE:
            raise LinkError(
                f"{kind.__name__} has {kind.SIZE} numbers, {len(data) - HEADER.size} bytes came"
            )
        values = np.frombuffer(data, dtype="<f8", offset=HEADER.size)
        if not math.isfinite(float(values.sum())):
            raise LinkError(f"{kind.__name__} holds something that is not a number")
        return Received(kind.unpack(values), number, sent_ns)
