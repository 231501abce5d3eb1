"""The leader as the hand feels it: six independent masses with viscous friction, moved exactly under a held wrench."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

MASS = np.array([4.0, 4.0, 4.0, 0.05, 0.05, 0.05])
"""[kg] and [kg·m²]; assumed, sources/hazardous §3.23."""

FRICTION = np.array([8.0, 8.0, 8.0, 0.3, 0.3, 0.3])
"""D_0, [N·s/m] and [N·m·s/rad]; assumed, sources/hazardous §3.23."""

TICK = 1.0 / 4200.0
"""A common divisor of the two published update periods, 1/350 and 1/150 s, [s]."""


class SimulatedHandle:
    """Six axes, M ẍ + D_0 ẋ = wrench; leading axes are independent handles.

    Attributes:
        x: displacement, [m] ×3 then [rad] ×3.
        v: rate, [m/s] and [rad/s].
    """

    def __init__(self, *handles: int) -> None:
        self.x, self.v = np.zeros((*handles, 6)), np.zeros((*handles, 6))
        self._kept = np.exp(-FRICTION / MASS * TICK)

    def step(self, wrench: Array) -> None:
        """One tick under a constant wrench, [N] and [N·m]."""
        final = wrench / FRICTION
        gained = (self.v - final) * (1.0 - self._kept) * MASS / FRICTION
        self.x = self.x + final * TICK + gained
        self.v = final + (self.v - final) * self._kept
