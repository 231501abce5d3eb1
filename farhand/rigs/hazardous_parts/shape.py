"""What shapes the hazardous-environment rig, with the source of every value."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.mapping.robot_pair import IIWA_POWERBALL, RobotPair
from farhand.parameters import parameter

MAPPINGS = ("cartesian", "joint", "position-only")
BASES = ("fixed", "mobile")

PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (0.0, 1.2, 0.0)}
"""Where the robots stand, side by side to be seen together; assumed, [m]."""


@dataclass
class Hazardous:
    """What shapes the rig's parts.

    Attributes:
        rate: of plants, law and link, [Hz].
        gravity: downward acceleration, [m/s²].
        pd_rate: of the follower's position loop and its bus, [Hz].
        leader_shoulder: height of the leader's shoulder, about which motion is scaled, [m].
        follower_shoulder: of the follower's, [m].
        leader_viscous: viscous friction of every joint of the leader, [N·m·s/rad].
        mapping: ``cartesian`` (scaled about the shoulders), ``joint`` (joint to joint, joint 3 of the leader locked) or
            ``position-only`` (the follower's tool keeps its orientation).
        base: ``fixed``, or ``mobile``: the follower rides on a base with a crane, driven in rate mode.
        force_map: whether the position–force law bends forces into the operator's range.
        operator: whose range, ``mean`` or one of the published people.
    """

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    pd_rate: float = parameter(120.0, "Hz", "rate of the follower's position loop", 10.0, 1000.0)  # spec 003 §1.3 [D]
    leader_shoulder: float = parameter(0.350, "m", "height of the leader's shoulder", 0.0, 2.0)  # implied by Table 2.2
    follower_shoulder: float = parameter(0.205, "m", "height of the follower's shoulder", 0.0, 2.0)  # published
    leader_viscous: float = parameter(1.0, "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0)  # assumed
    mapping: str = parameter("cartesian", "-", "how motion is mapped", choices=MAPPINGS)  # published
    base: str = parameter("fixed", "-", "what the follower stands on", choices=BASES)
    force_map: bool = parameter(True, "-", "bend forces into the operator's range")  # published
    operator: str = parameter("mean", "-", "whose range of forces")  # published, Tables 4.1 and 4.2

    @property
    def period_ns(self) -> int:
        """Time between ticks, [ns]."""
        return round(1e9 / self.rate)

    @property
    def pair(self) -> RobotPair:
        """Scale and centres of the two workspaces."""
        centres = [(0.0, 0.0, height) for height in (self.leader_shoulder, self.follower_shoulder)]
        return RobotPair(IIWA_POWERBALL.motion_scale, *centres)
