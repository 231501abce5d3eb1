"""Time-domain passivity: an observer at each end, and just as much damping or holding back as it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from farhand.link.layers.layer import FollowerPort, LeaderPort
from farhand.parameters import parameter


@dataclass
class TimeDomainPassivity:
    """Watch the energy at both ends and intervene only where more would come out than was put in.

    At the leader the intervention is damping, at the follower the reference is held back (and comes
    back later: drift compensation). The energy that the follower spends must have been put in by
    the hand, its own motion included, so over a long link a hand that moves feels a drag: it
    presses on for a whole round trip before it feels a contact, and pays beforehand for what it
    does meanwhile. It does badly where the hand has not paid enough: the follower presses with less
    than it should, and the hand feels less than there is.
    """

    name: ClassVar[str] = "tdpa"
    needs: ClassVar[frozenset[str]] = frozenset()

    lent: float = parameter(0.02, "J", "energy lent to each end", 0.0, 10.0)
    damping_limit: float = parameter(
        300.0, "N·s/m", "largest damping added at either end", 0.0, 1e4
    )
    recovery: float = parameter(
        10.0, "1/s", "how quickly the follower's reference comes back", 0.0, 1e3
    )
    level: float = parameter(0.05, "J", "energy in reserve at either end", 0.01, 100.0)
    blind: float = parameter(
        2.0, "J/s", "energy in reserve beside it, per second of round trip", 0.0, 100.0
    )
    fill: float = parameter(40.0, "N·s/m/J", "damping at the leader per missing joule", 0.0, 1e4)

    def ports(self) -> tuple[LeaderPort, FollowerPort]:
        """The two ends."""
        return LeaderPort(self), FollowerPort(self)
