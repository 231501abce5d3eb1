"""Live numbers of a link: what is not known is none, losses are those of the last second."""

from __future__ import annotations

import math

import pytest

from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import Endpoint, LinkMonitor, Statistics, connect
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
    assert len(set(shares[1000:2000])) == 1 and shares[2001] == 0.0
    live.update(2101 * MS)
    assert live.silence == pytest.approx(0.1)
    assert live.age == pytest.approx(0.1)
    assert "lost 0.0 %" in live.summary()
    assert back.dropped == 0


def test_the_numbers_are_those_of_the_endpoint_in_seconds():
    """A packet held for 3 ms over a clock two seconds ahead, and one in three lost."""
    inbox = MemoryChannel()
    end = Endpoint(Packet(1, 1), Packet(1, 1), MemoryChannel(), inbox)
    end.connect(MemoryChannel(), inbox, shared_clock=False)
    live = LinkMonitor(end)
    for number in (1, 2, 4):
        packet = Packet(1, 1)
        packet.sequence, packet.echo_valid = number, True
        packet.time_ns, packet.echo_time_ns, packet.echo_age_ns = 2950 * MS, 923 * MS, 3 * MS
        inbox.send(0, packet.to_bytes())
    end.receive(950 * MS)
    live.update(999 * MS)
    assert math.isnan(live.loss)
    live.update(1000 * MS)
    # t1 = 923, t2 = 2947, t3 = 2950, t4 = 950: 24 ms there and back, 2012 ms ahead
    assert live.round_trip == pytest.approx(0.024)
    assert live.offset == pytest.approx(2.012)
    assert live.silence == pytest.approx(0.05)
    assert live.age == pytest.approx(0.05 + 0.024)
    assert live.loss == pytest.approx(0.25)
    expected = "round trip 24.00 ms, lost 25.0 %, age 74.00 ms, clock +2012.00 ms"
    assert live.summary() == expected


def test_a_packet_that_comes_late_after_all_is_no_longer_lost():
    """Neither in all nor in the second in which it comes."""
    inbox = MemoryChannel()
    end = Endpoint(Packet(1, 1), Packet(1, 1), MemoryChannel(), inbox)
    live = LinkMonitor(end)
    shares = []
    for second, numbers in enumerate(((1, 3, 4), (2, 5), (), (7, 8, 10), (9, 13)), start=1):
        for number in numbers:
            packet = Packet(1, 1)
            packet.sequence = number
            inbox.send(0, packet.to_bytes())
        end.receive(second * 1000 * MS)
        live.update(second * 1000 * MS)
        shares.append(live.loss)
    assert shares[:2] == [0.25, 0.0] and math.isnan(shares[2]) and shares[3] == 0.4
    # 11 and 12 are new losses, 9 is none any more; 9 and 13 came
    assert shares[4] == pytest.approx(1 / 3)
    assert end.statistics.loss == pytest.approx(3 / 13)
    assert Statistics().loss is None
