"""Balance force: a push that grows as the centre of gravity nears the edge of the sole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class BalanceForce:
    r"""A warning on each axis, towards the middle of the sole, from the side of the nearer edge.

    .. math:: F_i = \pm e^{1 - x_i/\ell}\,\mathrm{N}

    x is the distance of the centre of gravity's projection to the nearer edge, ℓ one millimetre
    (unit and sign: sources/humanoid E-17). At the edge each axis pushes with 2.718 N. It is a
    projection at rest, not a centre of pressure (E-26); ``height`` and the acceleration turn it
    into the zero-moment point :math:`x - z \ddot x/g`.
    """

    length: float = parameter(1e-3, "m", "distance over which the force falls by e", 1e-5, 0.1)
    peak: float = parameter(3.3, "N", "largest resultant", 0.0, 100.0)
    low: Array = parameter((-0.060, -0.025), "m", "rear right corner of the sole", -1.0, 1.0)
    high: Array = parameter((0.090, 0.025), "m", "front left corner of the sole", -1.0, 1.0)
    warning: float = parameter(5e-3, "m", "distance at which to warn", 0.0, 0.1)

    def margins(self, centre: Array) -> Array:
        """Distance of the projection to the nearer edge along each axis, [m]; negative outside."""
        return np.minimum(centre[..., :2] - self.low, self.high - centre[..., :2])

    def warns(self, centre: Array) -> bool:
        """Whether an edge is near."""
        return bool((self.margins(centre) < self.warning).any())

    def force(self, centre: Array) -> Array:
        """Push for a centre of gravity [m] in the sole's axes, [N]; nothing upward."""
        margin = self.margins(centre)
        inward = np.where(centre[:2] - self.low < self.high - centre[:2], 1.0, -1.0)
        force = np.zeros(3)
        force[:2] = inward * np.exp(np.minimum(1.0 - margin / self.length, 50.0))
        size = float(np.linalg.norm(force))
        return force * (self.peak / size) if size > self.peak else force

    def zero_moment(self, centre: Array, acceleration: Array, gravity: float = 9.81) -> Array:
        """Zero-moment point for a centre of gravity [m] that accelerates [m/s²], in the sole's axes, [m]."""
        return centre[:2] - centre[2] / gravity * acceleration[:2]
