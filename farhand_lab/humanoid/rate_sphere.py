"""Rate-control sphere: the pen's offset from an anchor says how fast the limb moves, and a pull says so to the hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class RateSphere:
    r"""Velocity and pull proportional to the pen's offset from an anchor, up to the surface of a sphere.

    .. math::
        v = v_{max}\,\frac{\min(r, R)}{R}\,\hat r, \qquad f = -\bigl(k\,\min(r, R) + k_2 \max(r - R, 0)\bigr)\,\hat r

    Named as future work (sources/humanoid §5). It stays in the pen's workspace, and letting
    go stops the limb.
    """

    # assumed: fits the Omni's depth
    radius: float = parameter(0.025, "m", "radius of the sphere", 1e-3, 1.0)
    speed: float = parameter(0.1, "m/s", "speed at the surface", 0.0, 10.0)  # assumed
    # assumed: 1.5 N at the surface
    stiffness: float = parameter(60.0, "N/m", "pull to the anchor", 0.0, 1e4)
    wall: float = parameter(1000.0, "N/m", "stiffness of the surface", 0.0, 1e5)  # assumed
    anchor: Array = parameter((0.0, 0.0, 0.0), "m", "centre of the sphere", -10.0, 10.0)

    def velocity(self, pen: Array) -> Array:
        """Velocity of the limb's end for a place of the pen [m], [m/s]."""
        offset, r = self._offset(pen)
        return offset * (self.speed / max(self.radius, r))

    def force(self, pen: Array) -> Array:
        """Pull on the pen at its place [m], [N]."""
        offset, r = self._offset(pen)
        if r == 0.0:
            return np.zeros(3)
        size = self.stiffness * min(r, self.radius) + self.wall * max(r - self.radius, 0.0)
        return offset * (-size / r)

    def _offset(self, pen: Array) -> tuple[Array, float]:
        offset = np.asarray(pen, dtype=float) - self.anchor
        return offset, math.sqrt(float(offset @ offset))
