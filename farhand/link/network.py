"""An emulated network: delay, jitter, loss, reordering and outages on request, the same every time."""

from __future__ import annotations

import heapq
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.link.channel import Channel, checked_capacity

MAX_DELAY_NS = 10_000_000_000
DISTRIBUTIONS = ("uniform", "normal")

_STANDARD_NORMAL = NormalDist()
_CUT = 3.0  # the normal distribution is cut at this many σ [-]
_BELOW_CUT = _STANDARD_NORMAL.cdf(_CUT)  # share of a normal distribution below the upper cut [-]


@dataclass(frozen=True)
class Conditions:
    r"""What the network does to a packet.

    A packet sent at :math:`t` arrives at :math:`t + d + j`, where :math:`d` is the delay and :math:`j` is drawn from
    :math:`[-J, J]` (``uniform``), or from a normal distribution of standard deviation :math:`J`, cut off at
    :math:`\pm 3 J` and at :math:`-d` (``normal``). A cut at :math:`-d`, which needs :math:`3 J > d`, makes the mean
    delay longer than :math:`d`.

    Attributes:
        delay_ns: d, one way, 0 to 10 s, [ns].
        jitter_ns: J, from 0 to the delay, [ns].
        loss: probability that a packet is lost, 0 to 1, [-].
        distribution: ``"uniform"`` or ``"normal"``.
        reorder: whether packets may overtake each other; otherwise one that would waits for those before it.
        outages: periods, start included and end not, in which everything sent is lost, [ns].
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    distribution: str = "uniform"
    reorder: bool = False
    outages: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        """Refuse what no network does.

        Raises:
            OutOfRange: for a delay, jitter or loss outside its limits.
            UnknownName: for an unknown distribution.
            BadValue: for something that is not a number, or an outage that ends before it starts.
        """
        for name, value, kind, high, unit in (
            ("delay_ns", self.delay_ns, numbers.Integral, MAX_DELAY_NS, "ns"),
            ("jitter_ns", self.jitter_ns, numbers.Integral, self.delay_ns, "ns (from 0 to the delay)"),
            ("loss", self.loss, numbers.Real, 1, ""),
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
                raise BadValue(f"network.outages has ({start_ns}, {end_ns}), the end must come after the start")
        object.__setattr__(self, "outages", tuple(self.outages))

    def jitter(self, chance: float) -> int:
        """The jitter that a uniformly distributed number in [0, 1) stands for, [ns]."""
        if self.jitter_ns == 0:
            return 0
        if self.distribution == "uniform":
            return round(self.jitter_ns * (2.0 * chance - 1.0))
        lowest = _STANDARD_NORMAL.cdf(-min(_CUT, self.delay_ns / self.jitter_ns))
        deviations = _STANDARD_NORMAL.inv_cdf(lowest + chance * (_BELOW_CUT - lowest))
        return max(round(self.jitter_ns * deviations), -self.delay_ns)

    def out_at(self, now_ns: int) -> bool:
        """Whether an outage covers this moment."""
        return any(start_ns <= now_ns < end_ns for start_ns, end_ns in self.outages)


@dataclass(slots=True)
class Counters:
    """What became of the packets. ``sent`` is the sum of ``delivered``, ``lost``, ``dropped_full`` and those in flight.

    Attributes:
        sent: packets handed to the network.
        delivered: packets received on the far side.
        lost: packets lost at random or in an outage.
        reordered: packets delivered after one that was sent later.
        dropped_full: packets refused because too many were in flight.
    """

    sent: int = 0
    delivered: int = 0
    lost: int = 0
    reordered: int = 0
    dropped_full: int = 0


def _live(name: str) -> Any:
    """One of the conditions as an attribute of the network; assigning checks it and replaces the conditions."""

    def read(network: EmulatedNetwork) -> Any:
        return getattr(network.conditions, name)

    def write(network: EmulatedNetwork, value: Any) -> None:
        network.conditions = replace(network.conditions, **{name: value})

    return property(read, write, doc=f"See :attr:`Conditions.{name}`.")


class EmulatedNetwork(Channel):
    """One direction of a network with given conditions.

    Every packet draws two random numbers, one for its loss and one for its jitter, whatever the conditions: raising
    the loss does not change the jitter of the packets that get through. A change of conditions acts on packets sent
    afterwards. Without reordering, a packet sent after the delay was lowered still waits for those before it.
    Each condition is also an attribute (``network.delay_ns = 20_000_000``); to change several that only fit together,
    assign ``conditions``.

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

    def __init__(self, rng: np.random.Generator, conditions: Conditions, capacity: int = 20_000) -> None:
        """Make an empty network.

        Args:
            rng: source of loss and jitter.
            conditions: what it does to packets.
            capacity: how many packets may be in flight; the default holds 10 s ± 10 s at 1 kHz.

        Raises:
            OutOfRange: for a capacity of less than one packet.
        """
        self._random = rng.random
        self.conditions = conditions
        self._capacity = checked_capacity(capacity)
        self._in_flight: list[tuple[int, int, bytes]] = []  # heap of arrival [ns], order of sending, packet
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
        if loss_chance < conditions.loss or conditions.out_at(now_ns):
            counters.lost += 1
            return
        if len(self._in_flight) == self._capacity:
            counters.dropped_full += 1
            return
        arrival_ns = now_ns + conditions.delay_ns + conditions.jitter(jitter_chance)
        if arrival_ns > self._latest_arrival_ns:
            self._latest_arrival_ns = arrival_ns
        elif not conditions.reorder:
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
