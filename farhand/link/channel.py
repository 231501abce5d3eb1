"""One-way channels: they carry the bytes of packets from one side to the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import NamedTuple

from farhand.errors import OutOfRange

MAX_CAPACITY = 1_000_000


class Channel(ABC):
    """The base of everything that carries packets one way. No method ever blocks.

    Attributes:
        generation: counts the starts of the sender, for channels whose sender may restart.
    """

    generation = 0

    @abstractmethod
    def send(self, now_ns: int, data: bytes) -> None:
        """Send one packet at the time ``now_ns`` [ns]."""

    @abstractmethod
    def receive(self, now_ns: int) -> list[bytes]:
        """Packets that have arrived since the last call; the list is valid until the next call."""


class MemoryChannel(Channel):
    """A perfect channel inside one process. When nobody receives, it keeps the newest packets.

    Args:
        capacity: how many packets it holds.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._queue: deque[bytes] = deque(maxlen=checked_capacity(capacity))
        self._arrived: list[bytes] = []
        self._capacity = capacity
        self.dropped = 0  #: packets pushed out by newer ones before anyone received them

    def send(self, now_ns: int, data: bytes) -> None:
        """Send a packet, which arrives at once."""
        if len(self._queue) == self._capacity:
            self.dropped += 1
        self._queue.append(data)

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything sent since the last call, oldest first."""
        self._arrived[:] = self._queue
        self._queue.clear()
        return self._arrived


class Duplex(NamedTuple):
    """Two one-way channels that make a link between side a and side b."""

    forward: Channel  # from a to b
    backward: Channel  # from b to a


def checked_capacity(capacity: int) -> int:
    """The capacity of a channel, refused with OutOfRange if no channel can have it."""
    if not 1 <= capacity <= MAX_CAPACITY:
        raise OutOfRange("channel.capacity", capacity, 1, MAX_CAPACITY, "packets")
    return capacity
