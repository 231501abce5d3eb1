"""Energy tank: the leader keeps a reserve at the follower, filled by a little damping, for the moment of contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from farhand.link.layers.tdpa import TimeDomainPassivity
from farhand.parameters import parameter


@dataclass
class EnergyTank(TimeDomainPassivity):
    """Two layers (Franken): above, any law; below, a tank at each end that may not run dry.

    The ends account as in time-domain passivity. Beside that, the leader is damped in proportion to what is missing
    from the level wanted at the follower's end. The hand pays for the reserve with a light drag when it begins to
    move; in return the follower can press at once, with what is in the tank.

    Attributes:
        level: energy to have in reserve at the follower's end, [J].
        fill: damping at the leader per missing joule, [N·s/m/J].
    """

    name: ClassVar[str] = "tank"

    level: float = parameter(1.0, "J", "energy in reserve at the follower's end", 0.0, 100.0)
    fill: float = parameter(40.0, "N·s/m/J", "damping at the leader per missing joule", 0.0, 1e4)
