"""Wheel compensation: each wheel is helped by what its own friction is thought to be at its own speed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.arm import Arm
from farhand.friction import make
from farhand.friction.compensation import Compensation
from farhand.plants.link_map import LinkMap
from farhand.plants.mecanum import along_chord, turned

Array = np.ndarray


@dataclass
class WheelCompensation:
    r"""Feed forward the friction of four wheels, estimated from the counts of their encoders.

    .. math:: \tau_i = (B^\top W)_i + \hat F_i(\hat v_i)

    The wheels' angles are those that the odometry's pose stands for.

    Attributes:
        wheels: estimate of the four wheels' friction, and how much of it is fed forward.
        link: their geometry.
        period: between ticks, [s].
        added: torque added at the wheels at the last tick, [N·m].
    """

    wheels: Compensation = field(default_factory=lambda: Compensation(make("youbot-wheels", 4)))
    link: LinkMap = field(default_factory=LinkMap)
    period: float = 1e-3

    def __post_init__(self) -> None:
        """Not moved yet."""
        self.added, self._angle = np.zeros(4), np.zeros(4)
        self._pose: Array | None = None

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """Force to add on the base's three joints, world axes, [N] and [N·m]."""
        pose, turn, force = arm.q[:3], turned(-arm.q[2]), np.zeros(arm.nv)
        before = pose if self._pose is None else self._pose
        self._angle = self._angle + self.link.speeds(along_chord(pose - before, pose[2]))
        self._pose = pose.copy()
        self.added = self.wheels.measured(self._angle, self.period, self.link.torques(turn @ commanded[:3]))
        force[:3] = turn.T @ self.link.wrench(self.added)
        return force
