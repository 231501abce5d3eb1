"""One side's end of a link: stamps what goes out, keeps the newest of what comes in, and counts the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from farhand.errors import LinkError
from farhand.link.channel import Channel
from farhand.link.clock_offset import ClockOffset
from farhand.link.packet import Flag, Packet

_ECHO = Flag.ECHO
WINDOW = 1024  # how far back a late packet is told from a duplicate [packets]


@dataclass(slots=True)
class Statistics:
    """What an endpoint has received so far.

    Attributes:
        received: packets newer than all before them.
        lost: packets missing from the sequence; one that arrives less than ``WINDOW`` packets late
            is taken off again.
        late: packets that arrived after a newer one.
        duplicates: packets that had arrived before.
        malformed: packets refused.
        last_refusal: why the last of those was refused; None if none was.
        age_sum_ns: sum of the ages at arrival of the received packets, [ns].
        age_max_ns: the largest of them, None before the first packet, [ns].
    """

    received: int = 0
    lost: int = 0
    late: int = 0
    duplicates: int = 0
    malformed: int = 0
    last_refusal: str | None = None
    age_sum_ns: int = 0
    age_max_ns: int | None = None

    @property
    def loss(self) -> float | None:
        """Share of packets that never came; one that came late has come. None before the first, [-]."""
        sent = self.received + self.late + self.lost
        return self.lost / sent if sent else None

    @property
    def age_mean_ns(self) -> float | None:
        """Mean age at arrival, None before the first packet, [ns]."""
        return self.age_sum_ns / self.received if self.received else None


class Endpoint:
    """One side's end of a link.

    Ages compare the two sides' clocks: where these are not shared, as in one process or in virtual
    time they are, they take a :class:`ClockOffset`. Silence and round trip use this side's clock
    alone.

    Attributes:
        outgoing: the packet to fill before :meth:`send`.
        incoming: the newest packet received; without meaning before the first.
        statistics: what has been received so far.
        round_trip_ns: from sending a packet to receiving an answer, less the time the peer held it,
            as told by the newest packet; includes the wait for the next :meth:`receive` on both
            sides; None until known, [ns].
        offset: of the other side's clock; None where both share one.
        generation: which start of the other side is heard; one that starts again counts its packets
            anew.
    """

    def __init__(
        self, outgoing: Packet, incoming: Packet, outbound: Channel, inbound: Channel
    ) -> None:
        """Make an endpoint that has sent and received nothing.

        Args:
            outgoing: packet in the layout this side sends.
            incoming: packet in the layout the other side sends.
            outbound: channel to the other side.
            inbound: channel from the other side.
        """
        self.outgoing = outgoing
        self.incoming = incoming
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
        """Send and receive over these channels from now on, as if nothing had been received before.

        Args:
            outbound: to the other side.
            inbound: from it.
            shared_clock: whether both sides read the same clock.
            clock: that tells the true time, [ns], where the times of ticks do not; None where they
                do.
        """
        self._outbound, self._inbound = outbound, inbound
        self._shared_clock, self._clock = shared_clock, clock
        self._forget(getattr(inbound, "generation", 0))

    def _forget(self, generation: int) -> None:
        """Another start of the other side: its packets are counted from the first again, by another clock."""
        self.generation = generation
        self.round_trip_ns: int | None = None
        self.offset = None if self._shared_clock else ClockOffset()
        self._arrival_ns: int | None = None
        self._first = -1
        self._newest = -1
        self._seen = [-1] * WINDOW  # the last number that arrived of all that share a place

    def local_ns(self, now_ns: int) -> int:
        """The time by which packets are stamped here, at a tick whose time is ``now_ns``, [ns]."""
        return now_ns if self._clock is None else self._clock()

    def send(self, now_ns: int) -> None:
        """Stamp the outgoing packet with its number, the time and the echo, and send it.

        Args:
            now_ns: the time now, by this side's clock, [ns].
        """
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
        """Take everything that has arrived and keep the newest.

        Args:
            now_ns: the time now, by this side's clock, [ns].

        Returns:
            Whether ``incoming`` is newer than before.
        """
        arrived = self._inbound.receive(now_ns)
        generation = getattr(self._inbound, "generation", 0)
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
        """By how much the other side's clock is ahead of this one's; 0 where it is shared or not known yet, [ns]."""
        return 0 if self.offset is None or self.offset.offset_ns is None else self.offset.offset_ns

    def age_ns(self, now_ns: int) -> int | None:
        """Time since the newest packet was sent; None before the first, or before the clocks are compared, [ns]."""
        if self._arrival_ns is None:
            return None
        if self.offset is None:
            return now_ns - self.incoming.time_ns
        ahead_ns = self.offset.offset_ns
        return None if ahead_ns is None else now_ns - self.incoming.time_ns + ahead_ns

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

    Returns:
        The endpoints of side a and side b.
    """
    return (
        Endpoint(packet_a, packet_b.blank(), outbound=forward, inbound=backward),
        Endpoint(packet_b, packet_a.blank(), outbound=backward, inbound=forward),
    )
