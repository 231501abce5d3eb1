"""Endpoint: one side's end of a link, with the offset of the peer's clock and live numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from farhand.errors import LinkError
from farhand.link.channel import Channel
from farhand.link.packet import Flag, Packet

_ECHO = Flag.ECHO
WINDOW = 1024  # packets that a late one is distinguished from a duplicate in

BUCKETS, BUCKET_NS = 8, 1_000_000_000
"""Echoes are compared over this many periods of this length, [-] and [ns]."""

LOSS_WINDOW_NS = 1_000_000_000
"""Time over which :class:`LinkMonitor` counts losses, [ns]."""


@dataclass(slots=True)
class Statistics:
    """What an endpoint has received so far."""

    received: int = 0  #: packets newer than all before them
    #: packets missing from the sequence; one that arrives less than :data:`WINDOW` packets late no
    #: longer counts
    lost: int = 0
    late: int = 0  #: packets that arrived after a newer one
    duplicates: int = 0  #: packets that had arrived before
    malformed: int = 0  #: packets refused
    last_refusal: str | None = None  #: why the last of those was refused, or None
    age_sum_ns: int = 0  #: sum of the ages at arrival of the received packets, [ns]
    age_max_ns: int | None = None  #: the largest of them, None before the first packet, [ns]

    @property
    def loss(self) -> float | None:
        """Share of packets that never arrived, not even late; None before the first, [-]."""
        sent = self.received + self.late + self.lost
        return self.lost / sent if sent else None

    @property
    def age_mean_ns(self) -> float | None:
        """Mean age at arrival, None before the first packet, [ns]."""
        return self.age_sum_ns / self.received if self.received else None


class ClockOffset:
    r"""Offset of the peer's clock, from the fastest echo of the last seconds, as in NTP.

    A packet sent here at :math:`t_1` arrives there at :math:`t_2`. One sent there at :math:`t_3`
    arrives here at :math:`t_4`:

    .. math:: \delta = (t_4 - t_1) - (t_3 - t_2), \qquad
              \theta = \tfrac12\bigl((t_2 - t_1) + (t_3 - t_4)\bigr)

    θ is wrong by at most δ/2, whatever the two directions take, so the echo with the smallest δ is
    used. Directions that always take unequal times cannot be distinguished from an offset; what
    must not be taken for younger than it is uses θ + δ/2, as if all of δ were on the way here.

    Attributes:
        offset_ns: θ, the peer's clock minus this one's; None until an echo has arrived, [ns].
        shortest_ns: δ of the echo it is from, [ns].
        least_ns: δ below which an echo of the present period adds information, [ns].
        began_ns: when the present period began, by this side's clock, [ns].
        ends_ns: when it ends, [ns].
    """

    def __init__(self) -> None:
        self.offset_ns: int | None = None
        self.shortest_ns = 0
        self.least_ns = self.began_ns = self.ends_ns = 0
        self._delays: list[int | None] = [None] * BUCKETS
        self._offsets = [0] * BUCKETS
        self._bucket = 0

    def take(self, sent_ns: int, arrived_ns: int, answered_ns: int, now_ns: int) -> None:
        """Learn from an echo.

        Args:
            sent_ns: when this side sent, by its own clock, [ns].
            arrived_ns: when that arrived at the peer, by the peer's clock, [ns].
            answered_ns: when the peer sent its answer, by the peer's clock, [ns].
            now_ns: when the answer arrived here, [ns].
        """
        delay = (now_ns - sent_ns) - (answered_ns - arrived_ns)
        if delay < 0 or sent_ns > now_ns:
            return
        bucket = now_ns // BUCKET_NS
        if bucket != self._bucket:
            ahead = bucket - self._bucket
            for passed in range(min(ahead, BUCKETS) if ahead > 0 else BUCKETS):
                self._delays[(bucket - passed) % BUCKETS] = None
            self._bucket = bucket
        self.began_ns, self.ends_ns = bucket * BUCKET_NS, (bucket + 1) * BUCKET_NS
        at = bucket % BUCKETS
        least = self._delays[at]
        if least is None or delay < least:
            self._delays[at] = self.least_ns = delay
            self._offsets[at] = ((arrived_ns - sent_ns) + (answered_ns - now_ns)) // 2
            best = min((delay, k) for k, delay in enumerate(self._delays) if delay is not None)
            self.shortest_ns, self.offset_ns = best[0], self._offsets[best[1]]


class Endpoint:
    """One side's end of a link: it stamps what goes out and keeps the newest of what comes in.

    Ages compare the clocks of the two sides. In one process or in virtual time both share a clock;
    otherwise a :class:`ClockOffset` is needed. Silence and round trip use this side's clock alone.

    Args:
        outgoing: packet in the layout that this side sends.
        incoming: packet in the layout that the other side sends.
        outbound: channel to the other side.
        inbound: channel from the other side.

    Attributes:
        outgoing: the packet to fill before :meth:`send`.
        incoming: the newest packet received; without meaning before the first.
        statistics: what has been received so far.
        round_trip_ns: from sending a packet to receiving an answer, less the time the peer held it,
            by the newest packet. It includes the wait for the next :meth:`receive` on both sides;
            None until known, [ns].
        offset: of the other side's clock; None where both share one.
        generation: which start of the other side is received; it numbers its packets from one.
    """

    def __init__(
        self, outgoing: Packet, incoming: Packet, outbound: Channel, inbound: Channel
    ) -> None:
        self.outgoing, self.incoming = outgoing, incoming
        self.statistics = Statistics()
        self.offset: ClockOffset | None = None
        self.connect(outbound, inbound)

    def connect(
        self,
        outbound: Channel,
        inbound: Channel,
        shared_clock: bool = True,
        clock: Callable[[], int] | None = None,
    ) -> None:
        """Use these channels from now on, as if nothing had been received before.

        Args:
            outbound: to the other side.
            inbound: from it.
            shared_clock: whether both sides read the same clock.
            clock: the true time, [ns], where it is not the time of the ticks.
        """
        self._outbound, self._inbound = outbound, inbound
        self._shared_clock, self._clock = shared_clock, clock
        self._forget(inbound.generation)

    def _forget(self, generation: int) -> None:
        """Begin again with another start of the other side: new numbers, another clock."""
        self.generation = generation
        self.round_trip_ns: int | None = None
        self.offset = None if self._shared_clock else ClockOffset()
        self._arrival_ns: int | None = None
        self._first = self._newest = -1
        # By number modulo WINDOW, the last number that arrived.
        self._seen = [-1] * WINDOW

    def local_ns(self, now_ns: int) -> int:
        """The time with which packets are stamped here, in the tick of ``now_ns``, [ns]."""
        return now_ns if self._clock is None else self._clock()

    def send(self, now_ns: int) -> None:
        """Stamp the outgoing packet with number, time and echo, and send it; ``now_ns`` [ns]."""
        packet = self.outgoing
        packet.sequence += 1
        packet.time_ns = now_ns
        if self._arrival_ns is None:
            packet.echo_valid = False
            packet.echo_time_ns = packet.echo_age_ns = 0
        else:
            packet.flags |= _ECHO
            packet.echo_time_ns = self.incoming.time_ns
            packet.echo_age_ns = now_ns - self._arrival_ns
        self._outbound.send(now_ns, packet.to_bytes())

    def receive(self, now_ns: int) -> bool:
        """Keep the newest packet that has arrived; whether ``incoming`` is newer than before."""
        arrived = self._inbound.receive(now_ns)
        generation = self._inbound.generation
        if generation != self.generation:
            self._forget(generation)
        newest = before = self._newest
        for data in arrived:
            try:
                sequence = self.incoming.load(data, newest)
            except LinkError as error:
                self.statistics.malformed += 1
                self.statistics.last_refusal = str(error)
                continue
            if sequence > newest:
                self._take(sequence, now_ns)
                newest = sequence
            else:
                self._count_old(sequence)
        return newest > before

    def _take(self, sequence: int, now_ns: int) -> None:
        statistics, packet = self.statistics, self.incoming
        if self._arrival_ns is None:
            self._first = sequence
        elif sequence != self._newest + 1:
            statistics.lost += sequence - self._newest - 1
        self._seen[sequence % WINDOW] = self._newest = sequence
        self._arrival_ns = now_ns
        offset, sent_ns = self.offset, packet.time_ns
        if packet.flags & _ECHO:
            round_trip_ns = now_ns - packet.echo_time_ns - packet.echo_age_ns
            if round_trip_ns >= 0:
                self.round_trip_ns = round_trip_ns
                # Most echoes add nothing, and this comparison is cheaper than the call.
                if offset is not None and (
                    round_trip_ns < offset.least_ns
                    or not offset.began_ns <= now_ns < offset.ends_ns
                ):
                    offset.take(packet.echo_time_ns, sent_ns - packet.echo_age_ns, sent_ns, now_ns)
        if offset is None:
            age_ns = now_ns - sent_ns
        else:
            age_ns = 0 if offset.offset_ns is None else now_ns - sent_ns + offset.offset_ns
        statistics.received += 1
        statistics.age_sum_ns += age_ns
        if statistics.age_max_ns is None or age_ns > statistics.age_max_ns:
            statistics.age_max_ns = age_ns

    def _count_old(self, sequence: int) -> None:
        recent = self._newest - sequence < WINDOW
        if recent and self._seen[sequence % WINDOW] == sequence:
            self.statistics.duplicates += 1
            return
        self.statistics.late += 1
        if recent:
            self._seen[sequence % WINDOW] = sequence
            if sequence > self._first:
                self.statistics.lost -= 1

    @property
    def offset_ns(self) -> int:
        """The other side's clock minus this one's; 0 where it is shared or unknown, [ns]."""
        return 0 if self.offset is None or self.offset.offset_ns is None else self.offset.offset_ns

    def age_ns(self, now_ns: int) -> int | None:
        """Most time since the newest packet was sent; None while that is unknown, [ns].

        Exact where both sides share a clock. Otherwise the estimate and half of the shortest round
        trip: the true offset is at most θ + δ/2 (= t2 − t1, a way there that took no time), so
        that no packet is older than this, however unequal the two ways are.
        """
        if self._arrival_ns is None:
            return None
        offset, since_ns = self.offset, now_ns - self.incoming.time_ns
        if offset is None:
            return since_ns
        if offset.offset_ns is None:
            return None
        return since_ns + offset.offset_ns + (offset.shortest_ns + 1) // 2

    def silence_ns(self, now_ns: int) -> int | None:
        """Time since a newer packet last arrived; None before the first packet, [ns]."""
        return None if self._arrival_ns is None else now_ns - self._arrival_ns


def connect(
    packet_a: Packet, packet_b: Packet, forward: Channel, backward: Channel
) -> tuple[Endpoint, Endpoint]:
    """The two ends of a link inside one process.

    Args:
        packet_a: what side a sends; its layout is what side b expects.
        packet_b: what side b sends; its layout is what side a expects.
        forward: channel from a to b.
        backward: channel from b to a.
    """
    return (
        Endpoint(packet_a, packet_b.blank(), outbound=forward, inbound=backward),
        Endpoint(packet_b, packet_a.blank(), outbound=backward, inbound=forward),
    )


class LinkMonitor:
    """Live numbers of one end's link; NaN while unknown.

    Args:
        endpoint: of the link.

    Attributes:
        round_trip: there and back, with the wait for a tick at both ends, [s].
        loss: share of packets lost in the last whole second, [-].
        age: most, of what is known of the other side, [s].
        offset: the other side's clock minus this one's, [s].
        silence: since a packet last arrived, [s].
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.round_trip = self.loss = self.age = self.offset = self.silence = math.nan
        self._next_ns, self._lost, self._received = LOSS_WINDOW_NS, 0, 0

    def update(self, now_ns: int) -> None:
        """Take the numbers of the endpoint at ``now_ns`` [ns]."""
        endpoint, statistics = self._endpoint, self._endpoint.statistics
        self.round_trip = _seconds(endpoint.round_trip_ns)
        self.age = _seconds(endpoint.age_ns(now_ns))
        self.silence = _seconds(endpoint.silence_ns(now_ns))
        self.offset = math.nan if endpoint.offset is None else _seconds(endpoint.offset.offset_ns)
        if now_ns >= self._next_ns:
            arrived = statistics.received + statistics.late
            lost, received = max(statistics.lost - self._lost, 0), arrived - self._received
            self.loss = lost / (lost + received) if lost + received else math.nan
            self._lost, self._received = statistics.lost, arrived
            self._next_ns = now_ns + LOSS_WINDOW_NS

    def summary(self) -> str:
        """The numbers on one line."""
        loss = "–" if math.isnan(self.loss) else f"{100.0 * self.loss:.1f} %"
        clock = "–" if math.isnan(self.offset) else f"{1e3 * self.offset:+.2f} ms"
        return f"round trip {_ms(self.round_trip)}, lost {loss}, age {_ms(self.age)}, clock {clock}"


def _seconds(time_ns: int | None) -> float:
    return math.nan if time_ns is None else time_ns * 1e-9


def _ms(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{1e3 * seconds:.2f} ms"
