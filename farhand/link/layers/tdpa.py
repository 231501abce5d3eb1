"""Time-domain passivity: an observer at each end, and just as much damping or holding back as it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from farhand.link.layers.layer import FollowerPort, LeaderPort
from farhand.parameters import parameter


@dataclass
class TimeDomainPassivity:
    """Watch the energy at both ends and intervene only where more would come out than was put in.

    At the leader the intervention is damping, at the follower the reference is held back (and comes back later: drift
    compensation). In free motion with a law that reflects measured force nothing happens at all. It does badly at the
    first contact over a long delay: the follower may press only with energy that the leader has already put in, so the
    force builds up as late as the hand feels it.

    Attributes:
        lent: energy that each end may take out before anything was put in, [J].
        damping_limit: largest damping added at the leader, [N·s/m].
        recovery: how quickly the follower's reference comes back, [1/s].
    """

    name: ClassVar[str] = "tdpa"

    lent: float = parameter(0.01, "J", "energy lent to each end", 0.0, 10.0)
    damping_limit: float = parameter(300.0, "N·s/m", "largest damping added at the leader", 0.0, 1e4)
    recovery: float = parameter(5.0, "1/s", "how quickly the follower's reference comes back", 0.0, 1e3)

    level = 0.0
    fill = 0.0

    def ports(self) -> tuple[LeaderPort, FollowerPort]:
        """The two ends."""
        return LeaderPort(self), FollowerPort(self)
