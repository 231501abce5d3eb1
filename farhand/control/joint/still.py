"""Still: bring an arm to rest along a bounded ramp and keep it there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class Still:
    r"""Slow every joint down at a bounded rate to rest, then hold the posture.

    The reference starts at the arm's state and its velocity goes to zero no faster than
    ``deceleration``; the arm follows it by computed torque,

    .. math:: \tau = M\,\bigl(\dot v_r + 2\omega\,(v_r - v) + \omega^2 (q_r - q)\bigr) + c + D\,v_r,

    which starts at zero error, so there is no jump. Gravity is added by whoever adds it always. Fed
    with its own reference in place of a measurement, it is the model's prediction of how to stop:
    the best left without a sensor.

    Attributes:
        q: reference configuration, [rad].
        v: reference velocity, [rad/s].
    """

    deceleration: float = parameter(
        8.0, "rad/s²", "how fast a stopping joint slows down", 0.1, 100.0
    )
    bandwidth: float = parameter(
        25.0, "rad/s", "stiffness of holding still, as a natural frequency", 1.0, 200.0
    )

    def __post_init__(self) -> None:
        """Nothing to hold yet."""
        self.q, self.v = np.zeros(0), np.zeros(0)

    def begin(self, arm: Arm) -> None:
        """Start from the arm's present state."""
        self.q, self.v = arm.q.copy(), arm.v.copy()

    def step(self, arm: Arm, dt: float) -> Array:
        """Joint torque without gravity, [N·m], and the reference moved on by ``dt`` [s]."""
        brake = np.clip(-self.v / dt, -self.deceleration, self.deceleration)
        self._move(arm, brake, dt)
        w = self.bandwidth
        wanted = brake + 2.0 * w * (self.v - arm.v) + w * w * arm.difference(arm.q, self.q)
        return arm.M.dot(wanted) + arm.coriolis + arm.viscous * self.v

    def _move(self, arm: Arm, acceleration: Array, dt: float) -> None:
        self.q = arm.integrate(self.q, dt * self.v + 0.5 * dt * dt * acceleration)
        self.v = self.v + dt * acceleration
