"""Live numbers of a link: what is not known is none, losses are those of the last second."""

from __future__ import annotations

import math

import pytest

from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import LinkMonitor, connect
from farhand.link.packet import Packet

MS = 1_000_000  # [ns]


def test_before_anything_is_heard_nothing_is_known():
    """And the line says so with dashes, not zeros."""
    end, _ = connect(Packet(1, 1), Packet(1, 1), MemoryChannel(), MemoryChannel())
    live = LinkMonitor(end)
    live.update(5000 * MS)
    assert all(
        math.isnan(value)
        for value in (live.round_trip, live.loss, live.age, live.offset, live.silence)
    )
    assert live.summary() == "round trip –, lost –, age –, clock –"


def test_losses_are_those_of_the_last_second_and_silence_grows():
    """Every fourth packet lost in the first second, none in the next."""
    a, b = connect(Packet(1, 1), Packet(1, 1), MemoryChannel(), back := MemoryChannel())
    live = LinkMonitor(b)
    shares = []
    for tick in range(2002):
        a.send(tick * MS)
        if tick < 1000 and tick % 4 == 3:
            a._outbound.receive(0)  # lost
        b.receive(tick * MS)
        b.send(tick * MS)
        a.receive(tick * MS)
        live.update(tick * MS)
        shares.append(live.loss)
    assert shares[1000] == pytest.approx(0.25, abs=0.01)
    assert shares[2001] == 0.0
    live.update(2101 * MS)
    assert live.silence == pytest.approx(0.1)
    assert live.age == pytest.approx(0.1)
    assert "lost 0.0 %" in live.summary()
    assert back.dropped == 0
