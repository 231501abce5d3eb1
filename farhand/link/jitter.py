"""Jitter: how far one packet's delay is from the link's, drawn from one of several distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_STANDARD_NORMAL = NormalDist()
_CUT = 3.0  # the normal distribution is cut at this many σ [-]
_BELOW_CUT = _STANDARD_NORMAL.cdf(_CUT)  # share of a normal distribution below the upper cut [-]

LONGEST = 20.0
"""Where the long tails are cut, as a multiple of the jitter, [-]."""

PARETO = 2.5
"""Exponent of the heavy tail, [-]: mean and variance exist, higher moments do not."""

SPIKES = 0.02
"""Share of packets that a link with spikes delays, [-]."""


def uniform(chance: float, size: float, room: float) -> float:
    """Anywhere within ± J."""
    return size * (2.0 * chance - 1.0)


def normal(chance: float, size: float, room: float) -> float:
    """Normally distributed with standard deviation J, cut at ± 3 J and where the packet would arrive before it left."""
    lowest = _STANDARD_NORMAL.cdf(-min(_CUT, room / size))
    return size * _STANDARD_NORMAL.inv_cdf(lowest + chance * (_BELOW_CUT - lowest))


def exponential(chance: float, size: float, room: float) -> float:
    """Later by J on average, often hardly and seldom much: queues along the way."""
    return size * min(-math.log1p(-chance), LONGEST)


def pareto(chance: float, size: float, room: float) -> float:
    """A heavy tail: most packets in time, a few later by many times J."""
    return size * min((1.0 - chance) ** (-1.0 / PARETO) - 1.0, LONGEST)


def spikes(chance: float, size: float, room: float) -> float:
    """One packet in fifty is late by J, the others by nothing: a radio that sends again."""
    return size if chance >= 1.0 - SPIKES else 0.0


DISTRIBUTIONS: dict[str, Callable[[float, float, float], float]] = {
    made.__name__: made for made in (uniform, normal, exponential, pareto, spikes)
}
"""By name: from a number in [0, 1), the jitter J and the delay it may shorten, the deviation; all
in one unit."""
