"""Clock offset: found from echoes, whatever the delays, to within half the shortest round trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from farhand.link.channel import Channel, MemoryChannel
from farhand.link.endpoint import BUCKET_NS, BUCKETS, ClockOffset, Endpoint
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.link.packet import Packet

MS = 1_000_000  # [ns]


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), min_size=1),
)
@settings(max_examples=60)
def test_the_offset_is_right_to_half_the_shortest_round_trip(truth, ways):
    """For any clocks and any delays of the two ways."""
    found, now = ClockOffset(), 0
    for there, back in ways:
        found.take(now, now + there + truth, now + there + truth + MS, now + there + MS + back)
        now += MS
    assert found.offset_ns is not None
    assert abs(found.offset_ns - truth) <= min(a + b for a, b in ways) / 2 + 1


def test_before_an_echo_nothing_is_known():
    """None is not zero."""
    assert ClockOffset().offset_ns is None


def test_an_echo_from_the_future_is_not_believed():
    """Nor one that took less than no time."""
    found = ClockOffset()
    found.take(100, 0, 0, 50)
    found.take(0, 0, 200, 100)
    assert found.offset_ns is None


def test_a_clock_that_drifts_is_followed():
    """Old echoes are forgotten after some seconds, however good they were."""
    found, drift = ClockOffset(), 50e-6
    for k in range(20 * 100):
        now = k * 10 * MS
        truth, way = round(drift * now), 10 * MS if k else 1 * MS
        found.take(now, now + way + truth, now + way + truth, now + 2 * way)
    assert found.offset_ns == pytest.approx(drift * now, abs=drift * BUCKETS * BUCKET_NS * 1.2)


@pytest.mark.parametrize(
    ("forward_ms", "backward_ms", "jitter_ms"), [(20, 20, 10), (900, 0, 0), (0, 900, 0)]
)
def test_no_packet_is_taken_for_younger_than_it_is(forward_ms, backward_ms, jitter_ms):
    """Two endpoints, clocks an hour apart: the age of what arrives from the other side is at least
    the true one, and at most a round trip, however unequal the two ways are.
    """
    rng = np.random.default_rng(3)
    ways = (backward_ms, forward_ms)
    there, back = (
        EmulatedNetwork(r, Conditions(way * MS, jitter_ms * MS))
        for r, way in zip(rng.spawn(2), ways, strict=True)
    )
    ends = [
        Endpoint(Packet(1, 1), Packet(1, 1), MemoryChannel(), MemoryChannel()) for _ in range(2)
    ]
    ends[0].connect(there, back, shared_clock=False)
    ends[1].connect(back, there, shared_clock=False)
    hour = 3600 * 1000 * MS
    surplus = []
    for tick in range(4000):
        for end, out, back_, ahead in ((ends[0], there, back, 0), (ends[1], back, there, hour)):
            end._inbound, end._outbound = _At(back_, tick * MS), _At(out, tick * MS)
            end.receive(tick * MS + ahead)
            end.send(tick * MS + ahead)
        if tick > 2000:
            truly = tick * MS - (ends[0].incoming.time_ns - hour)
            surplus.append(ends[0].age_ns(tick * MS) - truly)
    round_trip = (forward_ms + backward_ms + 2) * MS
    assert min(surplus) >= 0
    assert max(surplus) <= round_trip
    assert ends[0].offset_ns == pytest.approx(hour, abs=round_trip / 2)


class _At(Channel):
    """A channel that goes by the network's time, whatever the end's clock says."""

    def __init__(self, channel: EmulatedNetwork, now_ns: int) -> None:
        self._channel, self._now_ns = channel, now_ns

    def receive(self, now_ns: int) -> list[bytes]:
        """What has arrived by the network's time."""
        return self._channel.receive(self._now_ns)

    def send(self, now_ns: int, data: bytes) -> None:
        """At the network's time."""
        self._channel.send(self._now_ns, data)


@given(st.lists(st.tuples(st.integers(0, 3 * BUCKET_NS), st.integers(1, 10**8)), min_size=1))
@example([(k * BUCKET_NS, w) for k, w in ((0, 5), (1, 90), (2, 95), (6, 99), (1, 97), (20, 7))])
@settings(max_examples=60)
def test_the_fastest_echo_of_the_last_periods_counts(echoes):
    """The present one and those before it, eight in all, however long nothing came in between.

    An echo whose way back takes no time shows the clock ahead by half of what the way there took.
    """
    found, now, heard = ClockOffset(), 100 * BUCKET_NS, []
    for pause, way in echoes:
        now += pause
        found.take(now - way, now, now, now)
        heard = [(t, w) for t, w in heard if now // BUCKET_NS - t // BUCKET_NS < BUCKETS]
        heard.append((now, way))
        assert found.shortest_ns == min(w for _, w in heard)
        assert found.offset_ns == found.shortest_ns // 2


def test_a_clock_that_was_set_back_forgets_everything():
    """What it was compared with is of another time."""
    found = ClockOffset()
    found.take(100 * BUCKET_NS, 100 * BUCKET_NS, 100 * BUCKET_NS, 100 * BUCKET_NS)
    assert (found.offset_ns, found.began_ns) == (0, 100 * BUCKET_NS)
    assert found.ends_ns == 101 * BUCKET_NS
    found.take(3 * BUCKET_NS, 3 * BUCKET_NS + 8, 3 * BUCKET_NS + 8, 3 * BUCKET_NS + 8)
    assert (found.shortest_ns, found.offset_ns) == (8, 4)


@given(
    st.lists(
        st.tuples(st.integers(1, BUCKET_NS), st.integers(0, 99), st.integers(0, 99)), min_size=1
    )
)
@settings(max_examples=60)
def test_an_endpoint_learns_from_its_packets_what_their_echoes_say(echoes):
    """Though it passes over those that add nothing; and the age is the most that it can be."""
    inbox, hour, now, known = MemoryChannel(), 3600 * BUCKET_NS, BUCKET_NS, ClockOffset()
    end = Endpoint(Packet(1, 1), Packet(1, 1), MemoryChannel(), inbox)
    end.connect(MemoryChannel(), inbox, shared_clock=False)
    ages = []
    for number, (pause, there, held) in enumerate(echoes, start=1):
        now += pause
        packet = Packet(1, 1)
        packet.sequence, packet.time_ns, packet.echo_valid = number, now + hour, True
        packet.echo_time_ns, packet.echo_age_ns = now - there - held, held
        known.take(now - there - held, now + hour - held, now + hour, now)
        inbox.send(now, packet.to_bytes())
        assert end.receive(now)
        assert end.offset_ns == known.offset_ns == hour + known.shortest_ns // 2
        assert end.round_trip_ns == there
        assert end.age_ns(now) == known.offset_ns - hour + (known.shortest_ns + 1) // 2
        ages.append(known.offset_ns - hour)
    assert end.statistics.age_sum_ns == sum(ages) and end.statistics.age_max_ns == max(ages)
