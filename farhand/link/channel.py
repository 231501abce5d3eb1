"""One-way channels: what carries the bytes of a packet from one side to the other."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from farhand.errors import OutOfRange

MAX_CAPACITY = 1_000_000


class Channel(Protocol):
    """Carries bytes one way. Neither verb ever blocks."""

    def send(self, now_ns: int, data: bytes) -> None:
        """Hand over data for the other side.

        Args:
            now_ns: the time now, [ns].
            data: one packet.
        """

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything that has arrived since the last call, in order of arrival.

        Args:
            now_ns: the time now, [ns].

        Returns:
            The packets, in a list that is valid until the next call.
        """


class MemoryChannel(Channel):
    """A perfect channel inside one process: no delay, no loss. When nobody receives, the newest packets are kept.

    Attributes:
        dropped: how many packets were pushed out by newer ones before anyone received them.
    """

    def __init__(self, capacity: int = 64) -> None:
        """Make an empty channel.

        Args:
            capacity: how many packets it holds.

        Raises:
            OutOfRange: for a capacity of less than one packet.
        """
        self._queue: deque[bytes] = deque(maxlen=checked_capacity(capacity))
        self._arrived: list[bytes] = []
        self._capacity = capacity
        self.dropped = 0

    def send(self, now_ns: int, data: bytes) -> None:
        """Hand over a packet; it has arrived at once, whatever the time ``now_ns`` [ns]."""
        if len(self._queue) == self._capacity:
            self.dropped += 1
        self._queue.append(data)

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything sent since the last call, oldest first; the list is valid until the next call."""
        self._arrived[:] = self._queue
        self._queue.clear()
        return self._arrived


class Duplex(NamedTuple):
    """Two one-way channels that make a link between side a and side b."""

    forward: Channel  # from a to b
    backward: Channel  # from b to a


def checked_capacity(capacity: int) -> int:
    """The capacity, if a channel can have it.

    Raises:
        OutOfRange: if it cannot.
    """
    if not 1 <= capacity <= MAX_CAPACITY:
        raise OutOfRange("channel.capacity", capacity, 1, MAX_CAPACITY, "packets")
    return capacity
