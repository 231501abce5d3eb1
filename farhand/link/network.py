"""An emulated network: delay, jitter, loss, bursts, reordering, copies, a narrow line, outages; the same every time."""

from __future__ import annotations

import heapq
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.link.channel import Channel, checked_capacity
from farhand.link.jitter import DISTRIBUTIONS
from farhand.link.trace import Trace

MAX_DELAY_NS = 10_000_000_000


@dataclass(frozen=True)
class Conditions:
    r"""What the network does to a packet.

    A packet sent at :math:`t` arrives at :math:`t + q + d + j`: d is the delay, j is drawn from one
    of the
    :data:`farhand.link.jitter.DISTRIBUTIONS`, never below −d, and q is the time it waits for a line
    that is busy.

    Losses are independent, or come in bursts (Gilbert, Elliott): before every packet a burst begins
    with probability ``burst_chance`` and ends with probability one over ``burst_length``; inside
    one, ``burst_loss`` counts instead of ``loss``.

    Attributes:
        delay_ns: d, one way, 0 to 10 s, [ns].
        jitter_ns: size of the jitter, from 0 to the delay, [ns].
        loss: probability that a packet is lost, 0 to 1, [-].
        distribution: of the jitter, by name.
        reorder: whether packets may overtake each other; otherwise one that would waits for those
            before it.
        outages: periods, start included and end not, in which everything sent is lost, [ns].
        burst_chance: probability per packet that a burst of losses begins, [-].
        burst_length: mean length of a burst, [packets].
        burst_loss: probability that a packet is lost inside one, [-].
        duplicate: probability that a packet arrives twice, the second time with a jitter of its
            own, [-].
        bandwidth: of the line, [bit/s]; 0 for as wide as one likes.
        queue_ns: longest a packet waits for the line; one that would wait longer is dropped, [ns].
        trace: recorded round trips to replay in place of d and the losses, half of each one way;
            None for none.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    distribution: str = "uniform"
    reorder: bool = False
    outages: Sequence[tuple[int, int]] = ()
    burst_chance: float = 0.0
    burst_length: float = 10.0
    burst_loss: float = 1.0
    duplicate: float = 0.0
    bandwidth: float = 0.0
    queue_ns: int = 100_000_000
    trace: Trace | None = None

    def __post_init__(self) -> None:
        """Refuse what no network does.

        Raises:
            OutOfRange: for a delay, jitter or loss outside its limits.
            UnknownName: for an unknown distribution.
            BadValue: for something that is not a number, or an outage that ends before it starts.
        """
        for name, value, kind, high, unit in (
            ("delay_ns", self.delay_ns, numbers.Integral, MAX_DELAY_NS, "ns"),
            (
                "jitter_ns",
                self.jitter_ns,
                numbers.Integral,
                self.delay_ns,
                "ns (from 0 to the delay)",
            ),
            ("loss", self.loss, numbers.Real, 1, ""),
            ("burst_chance", self.burst_chance, numbers.Real, 1, ""),
            ("burst_length", self.burst_length, numbers.Real, 1e9, "packets"),
            ("burst_loss", self.burst_loss, numbers.Real, 1, ""),
            ("duplicate", self.duplicate, numbers.Real, 1, ""),
            ("bandwidth", self.bandwidth, numbers.Real, 1e15, "bit/s"),
            ("queue_ns", self.queue_ns, numbers.Integral, MAX_DELAY_NS, "ns"),
        ):
            if not isinstance(value, kind):
                wanted = "whole number" if kind is numbers.Integral else "number"
                raise BadValue(f"network.{name} = {value!r} is not a {wanted}")
            if not 0 <= value <= high:
                raise OutOfRange(f"network.{name}", value, 0, high, unit)
        if self.distribution not in DISTRIBUTIONS:
            raise UnknownName("jitter distribution", self.distribution, DISTRIBUTIONS)
        for start_ns, end_ns in self.outages:
            if not start_ns < end_ns:
                raise BadValue(
                    f"network.outages has ({start_ns}, {end_ns}), the end must come after the start"
                )
        object.__setattr__(self, "outages", tuple(self.outages))

    def jitter(self, chance: float) -> int:
        """The jitter that a uniformly distributed number in [0, 1) stands for, [ns]."""
        if self.jitter_ns == 0:
            return 0
        drawn = DISTRIBUTIONS[self.distribution](chance, self.jitter_ns, self.delay_ns)
        return max(round(drawn), -self.delay_ns)

    def delay_at(self, now_ns: int) -> int | None:
        """The delay of a packet sent now, without jitter, [ns]; None if the trace has lost it."""
        if self.trace is None:
            return self.delay_ns
        round_trip = self.trace.at(now_ns)
        return None if round_trip is None else round_trip // 2

    def out_at(self, now_ns: int) -> bool:
        """Whether an outage covers this moment."""
        return any(start_ns <= now_ns < end_ns for start_ns, end_ns in self.outages)


@dataclass(slots=True)
class Counters:
    """What became of the packets.

    ``sent`` and ``duplicated`` together are ``delivered``, ``lost``, ``dropped_full`` and those in
    flight.

    Attributes:
        sent: packets handed to the network.
        delivered: packets received on the far side.
        lost: packets lost at random or in an outage.
        reordered: packets delivered after one that was sent later.
        dropped_full: packets refused because too many were in flight or waiting for the line.
        duplicated: copies made on the way.
    """

    sent: int = 0
    delivered: int = 0
    lost: int = 0
    reordered: int = 0
    dropped_full: int = 0
    duplicated: int = 0


def _live(name: str) -> Any:
    """One of the conditions as an attribute of the network; assigning checks it and replaces the conditions."""

    def read(network: EmulatedNetwork) -> Any:
        return getattr(network.conditions, name)

    def write(network: EmulatedNetwork, value: Any) -> None:
        network.conditions = replace(network.conditions, **{name: value})

    return property(read, write, doc=f"See :attr:`Conditions.{name}`.")


class EmulatedNetwork(Channel):
    """One direction of a network with given conditions.

    Every packet draws two random numbers, one for its loss and one for its jitter, whatever the
    conditions: raising the loss does not change the jitter of the packets that get through. Bursts
    and copies draw from streams of their own. A change of conditions acts on packets sent
    afterwards. Without reordering, a packet sent after the delay was lowered still waits for those
    before it. Each condition is also an attribute (``network.delay_ns = 20_000_000``); to change
    several that only fit together, assign ``conditions``.

    Attributes:
        conditions: what the network does to packets sent from now on.
        counters: what became of the packets so far.
    """

    delay_ns: int = _live("delay_ns")
    jitter_ns: int = _live("jitter_ns")
    loss: float = _live("loss")
    distribution: str = _live("distribution")
    reorder: bool = _live("reorder")
    outages: Sequence[tuple[int, int]] = _live("outages")

    def __init__(
        self, rng: np.random.Generator, conditions: Conditions, capacity: int = 20_000
    ) -> None:
        """Make an empty network.

        Args:
            rng: source of loss and jitter.
            conditions: what it does to packets.
            capacity: how many packets may be in flight; the default holds 10 s ± 10 s at 1 kHz.

        Raises:
            OutOfRange: for a capacity of less than one packet.
        """
        self._random = rng.random
        self._burst_random, self._copy_random = (stream.random for stream in rng.spawn(2))
        self._in_burst, self._busy_until_ns = False, -(2**63)
        self.conditions = conditions
        self._capacity = checked_capacity(capacity)
        # heap of arrival [ns], order of sending, packet
        self._in_flight: list[tuple[int, int, bytes]] = []
        self._arrived: list[bytes] = []
        self._latest_arrival_ns = -(2**63)
        self._newest_delivered = -1
        self.counters = Counters()

    @property
    def in_flight(self) -> int:
        """How many packets are on their way."""
        return len(self._in_flight)

    def send(self, now_ns: int, data: bytes) -> None:
        """Send a packet into the network, where it may be lost; ``now_ns`` is the time now, [ns]."""
        conditions, counters = self.conditions, self.counters
        order = counters.sent
        counters.sent += 1
        loss_chance, jitter_chance = self._random(), self._random()
        delay_ns = conditions.delay_at(now_ns)
        lost = loss_chance < (conditions.burst_loss if self._burst() else conditions.loss)
        if lost or delay_ns is None or conditions.out_at(now_ns):
            counters.lost += 1
            return
        leaves_ns = self._through_the_line(now_ns, 8 * len(data))
        if leaves_ns is None or len(self._in_flight) >= self._capacity:
            counters.dropped_full += 1
            return
        self._dispatch(leaves_ns + delay_ns + conditions.jitter(jitter_chance), order, data)
        if conditions.duplicate and self._copy_random() < conditions.duplicate:
            counters.duplicated += 1
            self._dispatch(
                leaves_ns + delay_ns + conditions.jitter(self._copy_random()), order, data
            )

    def _burst(self) -> bool:
        """Whether the packet at hand falls into a burst of losses."""
        conditions = self.conditions
        if conditions.burst_chance:
            ends = 1.0 / max(conditions.burst_length, 1.0)
            chance = self._burst_random()
            self._in_burst = chance >= ends if self._in_burst else chance < conditions.burst_chance
        return self._in_burst and conditions.burst_chance > 0.0

    def _through_the_line(self, now_ns: int, bits: int) -> int | None:
        """When the last bit has left, [ns]; None if the queue before the line is too long."""
        conditions = self.conditions
        if not conditions.bandwidth:
            return now_ns
        starts_ns = max(now_ns, self._busy_until_ns)
        if starts_ns - now_ns > conditions.queue_ns:
            return None
        self._busy_until_ns = starts_ns + round(1e9 * bits / conditions.bandwidth)
        return self._busy_until_ns

    def _dispatch(self, arrival_ns: int, order: int, data: bytes) -> None:
        """Put a packet on its way, behind those before it if none may be overtaken."""
        if arrival_ns > self._latest_arrival_ns:
            self._latest_arrival_ns = arrival_ns
        elif not self.conditions.reorder:
            arrival_ns = self._latest_arrival_ns
        heapq.heappush(self._in_flight, (arrival_ns, order, data))

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything that has arrived by now [ns], in order of arrival; the list is valid until the next call."""
        arrived, in_flight, counters = self._arrived, self._in_flight, self.counters
        arrived.clear()
        while in_flight and in_flight[0][0] <= now_ns:
            _, order, data = heapq.heappop(in_flight)
            arrived.append(data)
            counters.delivered += 1
            if order < self._newest_delivered:
                counters.reordered += 1
            else:
                self._newest_delivered = order
        return arrived
