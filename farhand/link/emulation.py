"""Emulated link: both directions of a network between two sides in one process, with settings to change live."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.link.channel import Duplex
from farhand.link.network import DISTRIBUTIONS, Conditions, EmulatedNetwork
from farhand.parameters import parameter, validate


@dataclass
class EmulatedLink:
    """A network that treats both directions alike.

    Attributes:
        delay: round-trip delay; each direction has half of it, [ms].
        jitter: largest deviation of the delay of one packet (standard deviation for ``normal``), [ms].
        loss: share of packets lost, [-].
        distribution: of the jitter.
        reorder: whether packets may overtake each other.
        outage_start: when everything begins to be lost, [s].
        outage_length: for how long, [s].
        rng: source of jitter and loss.
        connected: whether anything is sent through it; if not, its settings cannot be changed.
    """

    delay: float = parameter(0.0, "ms", "round-trip delay", 0.0, 10_000.0)
    jitter: float = parameter(0.0, "ms", "deviation of one packet's delay", 0.0, 5_000.0)
    loss: float = parameter(0.0, "-", "share of packets lost", 0.0, 1.0)
    distribution: str = parameter("uniform", "-", "distribution of the jitter", choices=tuple(DISTRIBUTIONS))
    reorder: bool = parameter(False, "-", "whether packets may overtake each other")
    outage_start: float = parameter(0.0, "s", "when an outage begins", 0.0, 1e6)
    outage_length: float = parameter(0.0, "s", "how long it lasts", 0.0, 1e6)
    rng: np.random.Generator | None = None

    def __post_init__(self) -> None:
        """Make the two directions, each with its own stream of random numbers."""
        streams = (self.rng or np.random.default_rng(0)).spawn(2)
        self.networks = tuple(EmulatedNetwork(stream, Conditions()) for stream in streams)
        self.channels = Duplex(*self.networks)
        self.connected = True
        validate(self, "link")

    def refresh(self) -> None:
        """Hand the settings to both directions; packets under way keep theirs."""
        if not self.connected and not self.perfect:
            raise BadValue("this run has no link to change; start it with --delay, --jitter, --loss or --set link.…")
        start, length = round(self.outage_start * 1e9), round(self.outage_length * 1e9)
        one_way = 0.5 * self.delay
        if self.jitter > one_way:
            needed = f"raise link.delay to {2 * self.jitter:g} or more"
            raise BadValue(f"link.jitter = {self.jitter:g} ms exceeds the one-way delay of {one_way:g} ms; {needed}")
        conditions = Conditions(
            delay_ns=round(one_way * 1e6),
            jitter_ns=round(self.jitter * 1e6),
            loss=self.loss,
            distribution=self.distribution,
            reorder=self.reorder,
            outages=((start, start + length),) if length else (),
        )
        for network in self.networks:
            network.conditions = conditions

    @property
    def perfect(self) -> bool:
        """Whether the link does nothing to a packet."""
        return not (self.delay or self.jitter or self.loss or self.outage_length)
