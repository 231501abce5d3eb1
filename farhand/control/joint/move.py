"""Joint move: hold still, and on request lead every joint to a target at bounded speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.still import Still
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class JointMove(Still):
    r"""A held posture that moves: the reference goes to ``target`` and the arm follows it by computed torque.

    Every joint speeds up and slows down at no more than ``deceleration``, so that it arrives at
    rest. Without a target it is :class:`~farhand.control.joint.still.Still`.

    Attributes:
        target: where to, [rad]; None to hold.
    """

    # assumed
    speed: float = parameter(0.5, "rad/s", "speed of a joint that is led to a target", 0.001, 10.0)

    def __post_init__(self) -> None:
        """Nowhere to go."""
        super().__post_init__()
        self.target: Array | None = None

    def step(self, arm: Arm, dt: float) -> Array:
        """Joint torque without gravity, [N·m], and the reference moved on by ``dt`` [s]."""
        if self.target is None:
            return super().step(arm, dt)
        left = arm.difference(self.q, self.target)
        slowing = np.sqrt(2.0 * self.deceleration * np.abs(left))
        wanted = np.sign(left) * np.minimum(
            np.minimum(self.speed, 0.9 * slowing), np.abs(left) / dt
        )
        change = np.clip((wanted - self.v) / dt, -self.deceleration, self.deceleration)
        self._move(arm, change, dt)
        w = self.bandwidth
        pull = change + 2.0 * w * (self.v - arm.v) + w * w * arm.difference(arm.q, self.q)
        return arm.M.dot(pull) + arm.coriolis + arm.viscous * self.v
