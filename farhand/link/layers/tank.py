"""Energy tank: a reserve at either end, filled by a little damping of the hand, for the moment of contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from farhand.link.layers.tdpa import TimeDomainPassivity
from farhand.parameters import parameter


@dataclass
class EnergyTank(TimeDomainPassivity):
    """Two layers (Franken): above, any law; below, a tank at each end that may not run dry.

    The ends account as in time-domain passivity, but the level of the tanks is the same however
    long the link. The hand pays for it with a light drag when it begins to move; in return the
    follower can press at once, with what is in the tank, and a link that becomes slow is no
    surprise.
    """

    name: ClassVar[str] = "tank"

    level: float = parameter(1.5, "J", "energy in reserve at either end", 0.01, 100.0)
    blind: float = parameter(
        0.0, "J/s", "energy in reserve beside it, per second of round trip", 0.0, 100.0
    )
