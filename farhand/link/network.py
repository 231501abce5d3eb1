"""Emulated network: delay, jitter, loss and more between two sides, the same in every run."""

from __future__ import annotations

import heapq
import math
import numbers
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.files import read_csv
from farhand.link.channel import Channel, Duplex, checked_capacity
from farhand.parameters import parameter, validate

MAX_DELAY_NS = 10_000_000_000
MAX_TRACE_DELAY_MS = 10_000.0
MAX_TRACE_BYTES = 100_000_000

LOST_WORDS = frozenset({"", "lost", "nan"})
"""Words of a trace for a packet that did not arrive."""

NORMAL = NormalDist()
NORMAL_CUT = 3.0  # standard deviations at which the normal distribution is cut [-]
BELOW_NORMAL_CUT = NORMAL.cdf(NORMAL_CUT)

TAIL_CUT = 20.0
"""Where the long tails are cut, as a multiple of the jitter, [-]."""

PARETO_EXPONENT = 2.5
"""Of the heavy tail, [-]: mean and variance exist, higher moments do not."""

SPIKE_SHARE = 0.02
"""Share of packets that a link with spikes delays, [-]."""


def uniform(chance: float, size: float, room: float) -> float:
    """Anywhere within ± J."""
    return size * (2.0 * chance - 1.0)


def normal(chance: float, size: float, room: float) -> float:
    """Normal with standard deviation J, cut at ± 3 J and at the time the packet was sent."""
    lowest = NORMAL.cdf(-min(NORMAL_CUT, room / size))
    return size * NORMAL.inv_cdf(lowest + chance * (BELOW_NORMAL_CUT - lowest))


def exponential(chance: float, size: float, room: float) -> float:
    """Later by J on average, often hardly and seldom much: queues along the way."""
    return size * min(-math.log1p(-chance), TAIL_CUT)


def pareto(chance: float, size: float, room: float) -> float:
    """A heavy tail: most packets in time, a few later by many times J."""
    return size * min((1.0 - chance) ** (-1.0 / PARETO_EXPONENT) - 1.0, TAIL_CUT)


def spikes(chance: float, size: float, room: float) -> float:
    """One packet in fifty is late by J, the others by nothing: a radio that sends again."""
    return size if chance >= 1.0 - SPIKE_SHARE else 0.0


DISTRIBUTIONS: dict[str, Callable[[float, float, float], float]] = {
    made.__name__: made for made in (uniform, normal, exponential, pareto, spikes)
}
"""By name: from a number in [0, 1), the jitter J and the delay that it may shorten to the deviation
of one packet's delay, all in one unit."""


class Trace:
    """Recorded round-trip delays over time, repeated from the start when they end.

    Args:
        times: that grow, [s].
        delays_ms: round trips, NaN for a loss, [ms].
    """

    def __init__(self, times: np.ndarray, delays_ms: np.ndarray) -> None:
        if len(times) < 2 or not (np.diff(times) > 0.0).all():
            raise BadValue("a trace of delays needs two rows or more, with times that grow")
        delays_ns = np.where(np.isnan(delays_ms), -1, np.round(1e6 * np.nan_to_num(delays_ms)))
        self.times_ns = np.round(1e9 * (times - times[0])).astype(int).tolist()
        self.delays_ns = delays_ns.astype(int).tolist()
        # The last delay holds for a mean step.
        self.length_ns = self.times_ns[-1] + self.times_ns[-1] // (len(times) - 1)

    def at(self, now_ns: int) -> int | None:
        """The round trip of a packet sent now, [ns]; None if it is lost."""
        delay = self.delays_ns[bisect_right(self.times_ns, now_ns % self.length_ns) - 1]
        return None if delay < 0 else delay


def read_trace(path: Path) -> Trace:
    """Read a CSV file with the columns ``t`` [s] and ``delay_ms``, a round trip or ``lost``.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is no such table, or a delay is below 0 or above 10 s; the message names the
            line.
    """
    size = path.stat().st_size if path.is_file() else 0
    if size > MAX_TRACE_BYTES or (path.exists() and not path.is_file()):
        most = f"{MAX_TRACE_BYTES // 1_000_000} MB"
        raise BadValue(f"{path.name} is not a trace of delays: those are files of at most {most}")
    # A visitor of the page may set this; messages must not show what is in any other file.
    table = read_csv(path, ("t", "delay_ms"), "delays", private=True)
    delays = np.full(len(table.rows), np.nan)
    for k, word in enumerate(table.column("delay_ms")):
        if word.strip().lower() in LOST_WORDS:
            continue
        try:
            delays[k] = float(word)
        except ValueError:
            delays[k] = -1.0
        if not 0.0 <= delays[k] <= MAX_TRACE_DELAY_MS:
            limits = f"not within 0 to {MAX_TRACE_DELAY_MS:g}, empty or lost"
            raise BadValue(f"{table.name} line {table.lines[k]}: delay_ms is {limits}")
    return Trace(table.numbers("t")[:, 0], delays)


@dataclass(frozen=True)
class Conditions:
    r"""What the network does to a packet.

    A packet sent at :math:`t` arrives at :math:`t + q + d + j`: d is the delay, j is drawn from one
    of the :data:`DISTRIBUTIONS`, never below −d, and q is the wait for a busy line.

    Losses are independent, or come in bursts (Gilbert, Elliott): before every packet a burst begins
    with probability ``burst_chance`` and ends with probability one over ``burst_length``. Inside
    one, ``burst_loss`` counts instead of ``loss``.
    """

    delay_ns: int = 0  #: d, one way, 0 to 10 s, [ns]
    jitter_ns: int = 0  #: size of the jitter, from 0 to the delay, [ns]
    loss: float = 0.0  #: probability that a packet is lost, 0 to 1, [-]
    distribution: str = "uniform"  #: of the jitter, by name
    #: whether packets may overtake each other; otherwise they wait for those before
    reorder: bool = False
    #: periods, start included and end not, in which everything sent is lost, [ns]
    outages: Sequence[tuple[int, int]] = ()
    burst_chance: float = 0.0  #: probability per packet that a burst of losses begins, [-]
    burst_length: float = 10.0  #: mean length of a burst, [packets]
    burst_loss: float = 1.0  #: probability that a packet is lost inside one, [-]
    #: probability that a packet arrives twice, each with its own jitter, [-]
    duplicate: float = 0.0
    bandwidth: float = 0.0  #: of the line, [bit/s]; 0 for no limit
    queue_ns: int = 100_000_000  #: longest wait for the line before a packet is dropped, [ns]
    #: recorded round trips to replay in place of d and the losses, half of each one way
    trace: Trace | None = None

    def __post_init__(self) -> None:
        """Refuse a value outside its limits, of a wrong type, or an outage that ends too early."""
        whole, real = (numbers.Integral, "whole number"), (numbers.Real, "number")
        for name, (kind, noun), high, unit in (
            ("delay_ns", whole, MAX_DELAY_NS, "ns"),
            ("jitter_ns", whole, self.delay_ns, "ns (from 0 to the delay)"),
            ("loss", real, 1, ""),
            ("burst_chance", real, 1, ""),
            ("burst_length", real, 1e9, "packets"),
            ("burst_loss", real, 1, ""),
            ("duplicate", real, 1, ""),
            ("bandwidth", real, 1e15, "bit/s"),
            ("queue_ns", whole, MAX_DELAY_NS, "ns"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise BadValue(f"network.{name} = {value!r} is not a {noun}")
            if not 0 <= float(value) <= high:
                raise OutOfRange(f"network.{name}", value, 0, high, unit)
        if self.distribution not in DISTRIBUTIONS:
            raise UnknownName("jitter distribution", self.distribution, DISTRIBUTIONS)
        for start_ns, end_ns in self.outages:
            if not start_ns < end_ns:
                outage = f"({start_ns}, {end_ns})"
                raise BadValue(f"network.outages has {outage}, the end must come after the start")
        object.__setattr__(self, "outages", tuple(self.outages))

    def jitter(self, chance: float) -> int:
        """The jitter for a uniformly distributed number in [0, 1), [ns]."""
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
    """What happened to the packets: sent + duplicated = delivered + lost + dropped + in flight."""

    sent: int = 0
    delivered: int = 0
    lost: int = 0  # at random or in an outage
    reordered: int = 0  # delivered after one that was sent later
    dropped_full: int = 0  # too many were in flight or waiting for the line
    duplicated: int = 0


def _live(name: str) -> Any:
    """One of the conditions as an attribute of the network; assigning checks it."""

    def read(network: EmulatedNetwork) -> Any:
        return getattr(network.conditions, name)

    def write(network: EmulatedNetwork, value: Any) -> None:
        network.conditions = replace(network.conditions, **{name: value})

    return property(read, write, doc=f"See :attr:`Conditions.{name}`.")


class EmulatedNetwork(Channel):
    """One direction of a network with given conditions.

    Under all conditions every packet draws two random numbers, for its loss and its jitter: raising
    the loss does not change the jitter of the packets that get through. Bursts and copies draw from
    their own streams. New conditions act on packets sent afterwards. Without reordering, a packet
    sent after the delay was lowered still waits for those before it. Each condition is also an
    attribute (``network.delay_ns = 20_000_000``); assign ``conditions`` to change several at once.

    Args:
        rng: source of loss and jitter.
        conditions: what the network does to packets sent from now on; also an attribute.
        capacity: how many packets may be in flight; the default holds 10 s ± 10 s at 1 kHz.
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
        self._random = rng.random
        self._burst_random, self._copy_random = (stream.random for stream in rng.spawn(2))
        self._in_burst, self._busy_until_ns = False, -(2**63)
        self.conditions = conditions
        self._capacity = checked_capacity(capacity)
        # A heap of arrival [ns], order of sending, packet.
        self._in_flight: list[tuple[int, int, bytes]] = []
        self._arrived: list[bytes] = []
        self._latest_arrival_ns = -(2**63)
        self._newest_delivered = -1
        self.counters = Counters()  #: what happened to the packets so far

    @property
    def in_flight(self) -> int:
        """How many packets are under way."""
        return len(self._in_flight)

    def send(self, now_ns: int, data: bytes) -> None:
        """Send a packet into the network, where it may be lost; ``now_ns`` [ns]."""
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
        due_ns = leaves_ns + delay_ns
        self._dispatch(due_ns + conditions.jitter(jitter_chance), order, data)
        if conditions.duplicate and self._copy_random() < conditions.duplicate:
            counters.duplicated += 1
            self._dispatch(due_ns + conditions.jitter(self._copy_random()), order, data)

    def _burst(self) -> bool:
        """Whether this packet falls into a burst of losses."""
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
        """Put a packet under way, behind those before it if none may be overtaken."""
        if arrival_ns > self._latest_arrival_ns:
            self._latest_arrival_ns = arrival_ns
        elif not self.conditions.reorder:
            arrival_ns = self._latest_arrival_ns
        heapq.heappush(self._in_flight, (arrival_ns, order, data))

    def receive(self, now_ns: int) -> list[bytes]:
        """Everything that has arrived by now [ns], in order of arrival."""
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


@dataclass
class EmulatedLink:
    """Both directions of an emulated network, with settings that change live.

    Attributes:
        rng: source of jitter and loss.
        connected: whether anything is sent through it; if not, its settings cannot be changed.
    """

    delay: float = parameter(0.0, "ms", "round-trip delay", 0.0, 10_000.0)
    jitter: float = parameter(0.0, "ms", "deviation of one packet's delay", 0.0, 5_000.0)
    loss: float = parameter(0.0, "-", "share of packets lost", 0.0, 1.0)
    distribution: str = parameter(
        "uniform", "-", "distribution of the jitter", choices=tuple(DISTRIBUTIONS)
    )
    reorder: bool = parameter(False, "-", "whether packets may overtake each other")
    burst_chance: float = parameter(
        0.0, "-", "probability per packet that a burst of losses begins", 0.0, 1.0
    )
    burst_length: float = parameter(10.0, "packets", "mean length of a burst", 1.0, 1e6)
    burst_loss: float = parameter(1.0, "-", "share of packets lost inside a burst", 0.0, 1.0)
    duplicate: float = parameter(0.0, "-", "share of packets that arrive twice", 0.0, 1.0)
    bandwidth: float = parameter(
        0.0, "kbit/s", "width of the line each way, 0 for no limit", 0.0, 1e9
    )
    queue: float = parameter(
        100.0, "ms", "longest wait for the line before a packet is dropped", 0.0, 10_000.0
    )
    trace: str = parameter("", "-", "CSV file of recorded round trips to replay (t,delay_ms)")
    outage_start: float = parameter(0.0, "s", "when an outage begins", 0.0, 1e6)
    outage_length: float = parameter(0.0, "s", "how long it lasts", 0.0, 1e6)
    rng: np.random.Generator | None = None

    def __post_init__(self) -> None:
        """Make the two directions, each with its own random numbers."""
        streams = (self.rng or np.random.default_rng(0)).spawn(2)
        self.networks = tuple(EmulatedNetwork(stream, Conditions()) for stream in streams)
        self.channels = Duplex(*self.networks)
        self.connected = True
        self._read: tuple[str, Trace | None] = ("", None)
        validate(self, "link")

    def refresh(self) -> None:
        """Apply the settings to both directions; packets under way keep theirs."""
        if not self.connected and not self.perfect:
            start_with = "start it with --delay, --jitter, --loss or --set link.…"
            raise BadValue(f"this run has no link to change; {start_with}")
        start, length = round(self.outage_start * 1e9), round(self.outage_length * 1e9)
        one_way = 0.5 * self.delay
        if self.jitter > one_way:
            raise BadValue(
                f"link.jitter = {self.jitter:g} ms exceeds the one-way delay of {one_way:g} ms; "
                f"raise link.delay to {2 * self.jitter:g} or more"
            )
        conditions = Conditions(
            delay_ns=round(one_way * 1e6),
            jitter_ns=round(self.jitter * 1e6),
            loss=self.loss,
            distribution=self.distribution,
            reorder=self.reorder,
            outages=((start, start + length),) if length else (),
            burst_chance=self.burst_chance,
            burst_length=self.burst_length,
            burst_loss=self.burst_loss,
            duplicate=self.duplicate,
            bandwidth=1e3 * self.bandwidth,
            queue_ns=round(self.queue * 1e6),
            trace=self._trace(),
        )
        for network in self.networks:
            network.conditions = conditions

    def _trace(self) -> Trace | None:
        """The trace of that name, read once."""
        if self._read[0] != self.trace:
            self._read = self.trace, read_trace(Path(self.trace)) if self.trace else None
        return self._read[1]

    @property
    def perfect(self) -> bool:
        """Whether the link does nothing to a packet."""
        timing = self.delay or self.jitter or self.bandwidth or self.trace
        losses = self.loss or self.burst_chance or self.duplicate or self.outage_length
        return not (timing or losses)
