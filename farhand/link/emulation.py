"""Emulated link: both directions of a network between two sides in one process, with settings to change live."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.link.channel import Duplex
from farhand.link.jitter import DISTRIBUTIONS
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.link.trace import Trace, read_trace
from farhand.parameters import parameter, validate


@dataclass
class EmulatedLink:
    """A network that treats both directions alike.

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
        """Make the two directions, each with its own stream of random numbers."""
        streams = (self.rng or np.random.default_rng(0)).spawn(2)
        self.networks = tuple(EmulatedNetwork(stream, Conditions()) for stream in streams)
        self.channels = Duplex(*self.networks)
        self.connected = True
        self._read: tuple[str, Trace | None] = ("", None)
        validate(self, "link")

    def refresh(self) -> None:
        """Hand the settings to both directions; packets under way keep theirs."""
        if not self.connected and not self.perfect:
            raise BadValue(
                "this run has no link to change; start it with --delay, --jitter, --loss or --set link.…"
            )
        start, length = round(self.outage_start * 1e9), round(self.outage_length * 1e9)
        one_way = 0.5 * self.delay
        if self.jitter > one_way:
            needed = f"raise link.delay to {2 * self.jitter:g} or more"
            raise BadValue(
                f"link.jitter = {self.jitter:g} ms exceeds the one-way delay of {one_way:g} ms; {needed}"
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
        times = self.delay or self.jitter or self.bandwidth or self.trace
        fates = self.loss or self.burst_chance or self.duplicate or self.outage_length
        return not (times or fates)
