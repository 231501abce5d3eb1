"""The perfect channel inside one process."""

from __future__ import annotations

import pytest

from farhand.errors import OutOfRange
from farhand.link.channel import Duplex, MemoryChannel


def test_everything_arrives_at_once_and_in_order() -> None:
    """A perfect channel delivers each packet exactly once, without delay."""
    channel = MemoryChannel()
    assert channel.receive(0) == []
    channel.send(5, b"one")
    channel.send(5, b"two")
    assert channel.receive(5) == [b"one", b"two"]
    assert channel.receive(5) == []


def test_the_newest_are_kept_when_nobody_receives() -> None:
    """A full channel pushes out the oldest packets and counts them."""
    channel = MemoryChannel(capacity=3)
    for number in range(10):
        channel.send(0, bytes([number]))
    assert channel.receive(0) == [b"\x07", b"\x08", b"\x09"]
    assert channel.dropped == 7


def test_a_channel_that_holds_nothing_is_refused() -> None:
    """The limits of the capacity are named."""
    for capacity in (0, 1_000_001):
        with pytest.raises(OutOfRange, match=rf"channel.capacity = {capacity} is outside \[1, "):
            MemoryChannel(capacity=capacity)
    MemoryChannel(capacity=1_000_000)
    one = MemoryChannel(capacity=1)
    one.send(0, b"old")
    one.send(0, b"new")
    assert one.receive(0) == [b"new"] and one.dropped == 1


def test_the_two_directions_of_a_link_are_separate() -> None:
    """What goes forward does not come back."""
    link = Duplex(forward=MemoryChannel(), backward=MemoryChannel())
    link.forward.send(0, b"there")
    assert link.backward.receive(0) == []
    assert link.forward.receive(0) == [b"there"]
