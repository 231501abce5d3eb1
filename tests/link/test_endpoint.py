"""The ends of a link: the newest packet is kept, the others are counted, and time is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.link.channel import Channel, Duplex, MemoryChannel
from farhand.link.endpoint import WINDOW, Endpoint, connect
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.link.packet import Packet

MS = 1_000_000  # [ns]


@dataclass
class Mailbox(Channel):
    """A channel whose contents the test puts in by hand."""

    arriving: list[bytes] = field(default_factory=list)

    def send(self, now_ns: int, data: bytes) -> None:
        """Leave data for the next receive."""
        self.arriving.append(data)

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything left so far."""
        arrived, self.arriving = self.arriving, []
        return arrived


def make_receiver() -> tuple[Endpoint, Mailbox]:
    """An endpoint and the box its packets come from."""
    inbox = Mailbox()
    return Endpoint(Packet(1, 1), Packet(1, 1), outbound=Mailbox(), inbound=inbox), inbox


def numbered(sequence: int, time_ns: int = 0) -> bytes:
    """A packet that carries its own number in q."""
    packet = Packet(1, 1)
    packet.sequence, packet.time_ns = sequence, time_ns
    packet.q = float(sequence)  # type: ignore[assignment]
    return packet.to_bytes()


def network(seed: int, **conditions: object) -> EmulatedNetwork:
    """A network with its own generator."""
    return EmulatedNetwork(np.random.default_rng(seed), Conditions(**conditions))  # type: ignore[arg-type]


def test_what_one_side_fills_the_other_side_reads() -> None:
    """Sides with unlike arms are connected both ways, each reading the other's layout."""
    a, b = connect(Packet(6, 6, 1), Packet(9, 8, 2), *Duplex(MemoryChannel(), MemoryChannel()))
    a.outgoing.q, b.outgoing.v = np.arange(6.0), np.arange(8.0)
    a.send(MS)
    b.send(MS)
    assert a.receive(MS)
    assert b.receive(MS)
    assert b.incoming.q.tolist() == a.outgoing.q.tolist()
    assert a.incoming.v.tolist() == b.outgoing.v.tolist()
    assert (b.incoming.sequence, b.incoming.time_ns) == (1, MS)
    assert b.round_trip_ns is None  # no echo yet


def test_before_the_first_packet_nothing_is_known() -> None:
    """Age, silence, round trip and statistics of no packet are None, not zero."""
    endpoint, _ = make_receiver()
    assert endpoint.receive(MS) is False
    assert endpoint.age_ns(MS) is endpoint.silence_ns(MS) is endpoint.round_trip_ns is None
    assert endpoint.statistics.age_mean_ns is endpoint.statistics.age_max_ns is None
    endpoint.send(MS)
    assert endpoint.outgoing.echo_valid is False


def test_age_counts_from_sending_and_silence_from_arrival() -> None:
    """Over a constant delay the two differ by the delay."""
    a, b = connect(Packet(1, 1), Packet(1, 1), network(1, delay_ns=7 * MS), MemoryChannel())
    a.send(100 * MS)
    assert b.receive(106 * MS) is False
    assert b.age_ns(106 * MS) is None
    assert b.receive(107 * MS) is True
    assert (b.age_ns(107 * MS), b.silence_ns(107 * MS)) == (7 * MS, 0)
    assert b.receive(110 * MS) is False
    assert (b.age_ns(110 * MS), b.silence_ns(110 * MS)) == (10 * MS, 3 * MS)


@pytest.mark.parametrize(
    ("there_ms", "back_ms", "offset_ms"), [(0, 0, 0), (20, 20, 0), (3, 41, 0), (20, 5, 123_456)]
)
def test_the_round_trip_is_true_for_a_constant_delay(
    there_ms: int, back_ms: int, offset_ms: int
) -> None:
    """The estimate equals the sum of both delays, whatever the clocks say and however long a reply
    waits.
    """
    a, b = connect(
        Packet(1, 1),
        Packet(1, 1),
        network(1, delay_ns=there_ms * MS),
        network(2, delay_ns=back_ms * MS),
    )
    b._outbound = Shifted(b._outbound, -offset_ms * MS)  # type: ignore[arg-type]
    b._inbound = Shifted(b._inbound, -offset_ms * MS)  # type: ignore[arg-type]
    for tick in range(200):
        now_ns = tick * MS
        if tick % 7 == 0:
            a.send(now_ns)
        b.receive(now_ns + offset_ms * MS)
        if tick % 5 == 0:
            b.send(now_ns + offset_ms * MS)
        if a.receive(now_ns) and a.incoming.echo_valid:
            assert a.round_trip_ns == (there_ms + back_ms) * MS
    assert a.round_trip_ns == (there_ms + back_ms) * MS


@dataclass
class Shifted(Channel):
    """A channel as seen by a side whose clock is ahead of true time."""

    channel: EmulatedNetwork
    shift_ns: int

    def send(self, now_ns: int, data: bytes) -> None:
        """Send at the true time."""
        self.channel.send(now_ns + self.shift_ns, data)

    def receive(self, now_ns: int) -> list[bytes]:
        """Receive at the true time."""
        return self.channel.receive(now_ns + self.shift_ns)


def test_a_round_trip_that_ends_before_it_starts_is_not_believed() -> None:
    """An echo of a time still to come leaves the estimate unknown."""
    endpoint, inbox = make_receiver()
    packet = Packet(1, 1)
    packet.sequence, packet.echo_valid, packet.echo_time_ns = 1, True, 9 * MS
    inbox.send(0, packet.to_bytes())
    assert endpoint.receive(MS)
    assert endpoint.round_trip_ns is None


def test_the_newest_of_several_is_kept_and_the_others_counted() -> None:
    """Late packets and duplicates change nothing but the statistics, in one call or in several."""
    endpoint, inbox = make_receiver()
    statistics = endpoint.statistics
    inbox.arriving = [numbered(1), numbered(4), numbered(2), numbered(4), numbered(2)]
    assert endpoint.receive(0) is True
    assert endpoint.incoming.q[0] == 4.0
    assert (statistics.received, statistics.lost, statistics.late, statistics.duplicates) == (
        2,
        1,
        1,
        2,
    )
    inbox.arriving = [numbered(3)]
    assert endpoint.receive(0) is False
    assert endpoint.incoming.q[0] == 4.0
    assert (statistics.received, statistics.lost, statistics.late, statistics.duplicates) == (
        2,
        0,
        2,
        2,
    )


def test_joining_late_is_not_a_loss() -> None:
    """Packets before the first one received do not count as lost, nor as found when they come
    late.
    """
    endpoint, inbox = make_receiver()
    inbox.arriving = [numbered(1000), numbered(999), numbered(999)]
    endpoint.receive(0)
    statistics = endpoint.statistics
    assert (statistics.received, statistics.lost, statistics.late, statistics.duplicates) == (
        1,
        0,
        1,
        1,
    )


def test_packets_older_than_the_window_are_late() -> None:
    """So far back, a duplicate is no longer told from a late packet."""
    endpoint, inbox = make_receiver()
    inbox.arriving = [
        numbered(1),
        numbered(WINDOW + 1),
        numbered(1),
        numbered(2),
        numbered(2),
        numbered(2**64 - 1),
    ]
    endpoint.receive(0)
    statistics = endpoint.statistics
    assert (statistics.received, statistics.late, statistics.duplicates) == (3, 2, 1)
    assert statistics.lost == (WINDOW - 1) - 1 + (2**64 - 1 - (WINDOW + 1) - 1)


def test_a_jump_over_the_window_forgets_what_was_before_it() -> None:
    """After a long outage, packets around the newest are judged afresh."""
    endpoint, inbox = make_receiver()
    inbox.arriving = [numbered(1), numbered(2), numbered(3 * WINDOW), numbered(3 * WINDOW - 1)]
    endpoint.receive(0)
    assert (endpoint.statistics.late, endpoint.statistics.duplicates) == (1, 0)
    assert endpoint.statistics.lost == 3 * WINDOW - 4


@settings(max_examples=200)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=120), st.data())
def test_the_counts_are_those_of_a_full_memory(order: list[int], data: st.DataObject) -> None:
    """The endpoint, which remembers a bit per packet, counts what a reader with a list of
    everything would count.
    """
    endpoint, inbox = make_receiver()
    seen: list[int] = []
    late = duplicates = 0
    for sequence in order:
        if sequence in seen:
            duplicates += 1
        elif seen and sequence < max(seen):
            late += 1
        seen.append(sequence)
        inbox.send(0, numbered(sequence))
        if data.draw(st.booleans()):
            endpoint.receive(0)
    endpoint.receive(0)
    statistics = endpoint.statistics
    assert endpoint.incoming.sequence == max(order)
    assert (statistics.late, statistics.duplicates) == (late, duplicates)
    assert statistics.received == len(order) - late - duplicates
    assert statistics.lost == len(set(range(order[0], max(order) + 1)) - set(order))


def test_incoming_never_goes_back_in_time_over_a_bad_network() -> None:
    """Under jitter, loss and reordering the kept packet only gets newer, and the books agree with
    the network's.
    """
    forward = network(3, delay_ns=40 * MS, jitter_ns=40 * MS, loss=0.05, reorder=True)
    a, b = connect(Packet(1, 1), Packet(1, 1), forward, MemoryChannel())
    newest = 0
    for tick in range(3000):
        a.send(tick * MS)
        if b.receive(tick * MS):
            assert b.incoming.sequence > newest
            newest = b.incoming.sequence
        assert newest == 0 or b.incoming.sequence == newest
    b.receive(2**60)
    counters, statistics = forward.counters, b.statistics
    assert statistics.late == counters.reordered > 1000
    assert statistics.received + statistics.late == counters.delivered
    # losses at either end leave no gap
    assert counters.lost - 5 <= statistics.lost <= counters.lost


def test_the_age_statistics_are_those_of_the_arrivals() -> None:
    """Mean and maximum of the ages at arrival, over the packets taken."""
    endpoint, inbox = make_receiver()
    for sequence, (sent_ns, now_ns) in enumerate([(0, 5), (10, 11), (20, 29)], start=1):
        inbox.send(0, numbered(sequence, sent_ns))
        endpoint.receive(now_ns)
    assert endpoint.statistics.age_mean_ns == 5.0
    assert endpoint.statistics.age_max_ns == 9


def test_a_malformed_packet_is_counted_with_its_reason_and_ignored() -> None:
    """The good packets around it are received as if it were not there."""
    endpoint, inbox = make_receiver()
    inbox.arriving = [numbered(1), b"rubbish", Packet(2, 2).to_bytes(), numbered(2)]
    assert endpoint.receive(0) is True
    assert endpoint.incoming.sequence == 2
    assert (
        endpoint.statistics.received,
        endpoint.statistics.lost,
        endpoint.statistics.malformed,
    ) == (2, 0, 2)
    assert endpoint.statistics.last_refusal == "packet has nq 2, expected 1"


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=500),
            st.tuples(st.integers(0, 455), st.binary(min_size=1, max_size=60)).map(
                lambda change: (
                    numbered(7)[: change[0]] + change[1] + numbered(7)[change[0] + len(change[1]) :]
                )[:456]
            ),
            st.integers(0, 2**64 - 1).map(numbered),
        ),
        max_size=20,
    )
)
def test_an_endpoint_never_raises_whatever_arrives(arriving: list[bytes]) -> None:
    """Random bytes, tampered packets and absurd numbers are all counted, and it can still
    answer.
    """
    endpoint, inbox = make_receiver()
    inbox.arriving = list(arriving)
    endpoint.receive(MS)
    endpoint.send(2 * MS)
    statistics = endpoint.statistics
    total = statistics.received + statistics.late + statistics.duplicates + statistics.malformed
    assert total == len(arriving)
    assert statistics.lost >= 0
    Packet(1, 1).load(endpoint._outbound.receive(2 * MS)[0])


def test_an_answer_says_how_long_the_packet_was_held() -> None:
    """By the answering side's clock, and which packet it was."""
    endpoint, inbox = make_receiver()
    inbox.send(0, numbered(1, time_ns=40))
    endpoint.receive(100)
    endpoint.send(130)
    sent = endpoint.outgoing
    assert (sent.echo_valid, sent.echo_time_ns, sent.echo_age_ns) == (True, 40, 30)
    assert (sent.sequence, sent.time_ns) == (1, 130)


def test_another_start_of_the_other_side_begins_with_new_numbers() -> None:
    """Its first packet is neither late nor a loss; time is counted from it."""
    endpoint, inbox = make_receiver()
    inbox.arriving = [numbered(500)]
    endpoint.receive(0)
    inbox.generation = 1
    inbox.arriving = [numbered(1), numbered(3)]
    assert endpoint.receive(7)
    assert (endpoint.generation, endpoint.incoming.sequence) == (1, 3)
    assert (endpoint.statistics.received, endpoint.statistics.late) == (3, 0)
    assert endpoint.statistics.lost == 1


def test_the_time_of_a_stamp_is_that_of_the_true_clock_where_there_is_one() -> None:
    """Otherwise that of the tick."""
    endpoint, inbox = make_receiver()
    assert endpoint.local_ns(5) == 5
    endpoint.connect(Mailbox(), inbox, clock=lambda: 77)
    assert endpoint.local_ns(5) == 77
