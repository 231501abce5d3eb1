"""Engaging a haptic device: a spring that brings the pen home, and a gate that waits until nothing pulls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class HomingSpring:
    """Force that leads a pen to its origin before it is engaged.

    The damping is ours: with the device's own 0.5 N·s/m alone the pen swings for almost five
    seconds.
    """

    stiffness: float = parameter(40.0, "N/m", "stiffness of the homing spring", 0.0, 1000.0)
    damping: float = parameter(4.0, "N·s/m", "damping of the homing spring", 0.0, 100.0)  # assumed

    def force(self, position: Array, velocity: Array | float = 0.0) -> Array:
        """On the pen, device axes, [N]."""
        return -self.stiffness * position - self.damping * velocity


@dataclass
class EngageGate:
    """Opens once, when the force that the operator is about to feel is small.

    ``norm`` asks for the whole force to stay small for a while. ``axis`` is the published gate: one
    sample of one axis, which a passing swing opens too (erratum ER-14). A force of exactly zero, or
    none, is a controller that has not begun and opens nothing.

    Attributes:
        open: whether the gate has opened.
    """

    kind: str = parameter("norm", "-", "what must be small", choices=("norm", "axis"))
    force: float = parameter(0.1, "N", "force that counts as small", 0.0, 100.0)
    hold: float = parameter(0.2, "s", "how long it must stay small", 0.0, 10.0)

    def __post_init__(self) -> None:
        """Closed."""
        self.close()

    def close(self) -> None:
        """Wait again."""
        self.open, self._lasted = False, 0.0

    def step(self, force: Array | None, dt: float) -> bool:
        """Look at a force [N], ``dt`` [s] after the last; whether the gate is open."""
        if self.open:
            return True
        if self.kind == "axis":
            self.open = force is not None and 0.0 < abs(float(force[2])) < self.force
            return self.open
        size = 0.0 if force is None else math.sqrt(float(force.dot(force)))
        self._lasted = self._lasted + dt if 0.0 < size < self.force else 0.0
        self.open = self._lasted > 0.0 and self._lasted >= self.hold - 0.5 * dt
        return self.open
