"""Limit forces: how hard a haptic object pushes at a distance, for limits that warn and for surfaces that are touched.

Both laws take the distance to the surface, positive on the free side, and give a push away from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter

Array = np.ndarray

MM = 1e3
"""Millimetres in a metre: the contact law's steepness is fixed at 1 per millimetre."""


class Push(Protocol):
    """A force that depends on the distance to a surface.

    Attributes:
        zone: from which distance on nothing pushes, [m].
    """

    zone: float

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""


@dataclass
class LimitForce:
    r"""A limit that is felt before it is reached: a cubic over an approach zone, then a spring.

    .. math::
        F = \begin{cases} 0 & x > d \\
            F_{max}\,(2 (x/d)^3 - 3 (x/d)^2 + 1) & 0 < x \le d \\
            F_{max} - k_2 x & x \le 0 \end{cases}

    Its slope is zero at both ends of the zone and at most 1.5 F_max/d, halfway through it.
    """

    zone: float = parameter(0.030, "m", "approach zone", 1e-5, 1.0)  # stated: the plotted example
    peak: float = parameter(2.5, "N", "push at the limit", 0.0, 100.0)  # sources/humanoid E-20
    # sources/humanoid E-19 [A]
    wall: float = parameter(1000.0, "N/m", "stiffness beyond the limit", 0.0, 1e6)

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""
        s = np.asarray(s, dtype=float)
        u = np.clip(s / self.zone, 0.0, 1.0)
        return self.peak * (1.0 + u * u * (2.0 * u - 3.0)) + self.wall * np.maximum(-s, 0.0)


@dataclass
class ContactForce:
    r"""A surface that is touched: a weak slope on approach, then a steep rise within the last quarter, then a spring.

    .. math::
        F = \begin{cases} 0 & s \ge d \\ \gamma k (d - s) & d_l \le s < d \\
            \alpha \tanh(\beta - s) + \theta & 0 < s < d_l \\ F_{max} - k_2 s & s \le 0 \end{cases}

    with s in millimetres inside the tanh. The three constants make it continuous at 0 and d_l with
    a slope of −1 N/mm halfway between (sources/humanoid E-02, E-04):

    .. math:: w = \frac{G \cosh d_l - \sinh d_l}{\sinh d_l - G}, \quad \beta = \tfrac12 (d_l + \mathrm{acosh}\,w),
              \quad \alpha = \cosh^2(\beta - d_l/2), \quad \theta = F_{max} - \alpha \tanh \beta

    where :math:`G = F_{max} - \gamma k (d - d_l)`. They exist for :math:`2 \tanh(d_l/2) \le G <
    \sinh d_l` only.
    """

    zone: float = parameter(0.030, "m", "approach zone", 1e-4, 1.0)  # stated
    # published code of the author
    peak: float = parameter(2.5, "N", "push at the surface", 0.01, 100.0)
    # published code; 10 is stated
    approach: float = parameter(0.2, "-", "share of the slope felt on approach", 0.0, 10.0)
    wall: float = parameter(1000.0, "N/m", "stiffness beyond the surface", 0.0, 1e6)  # assumed
    # stated
    margin: float = parameter(0.25, "-", "share of the zone in which the force rises", 0.01, 0.99)

    def __post_init__(self) -> None:
        """Find the constants."""
        self.refresh()

    def refresh(self) -> None:
        """Find the constants again.

        Raises:
            BadValue: there are none; the range of G says what would do.
        """
        self.slope = self.approach * self.peak / self.zone  # γk [N/m]
        dl = MM * self.margin * self.zone  # [mm]
        G = self.peak - self.slope * self.zone * (1.0 - self.margin)  # [N]
        far = min(dl, 300.0)  # beyond, sinh and cosh are the same and soon too large to write down
        least, most = 2.0 * math.tanh(0.5 * dl), math.sinh(far)
        if not least <= G < most:
            raise BadValue(
                f"no contact force rises by {G:.4g} N within {dl:g} mm; it must be {least:.4g} N or more and below "
                f"{most:.4g} N: change peak, approach or zone"
            )
        w = (G * math.cosh(far) - math.sinh(far)) / (math.sinh(far) - G)
        self.beta = 0.5 * (dl + math.acosh(max(w, 1.0)))
        self.alpha = math.cosh(self.beta - 0.5 * dl) ** 2
        self.theta = self.peak - self.alpha * math.tanh(self.beta)

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""
        s = np.asarray(s, dtype=float)
        inside = self.alpha * np.tanh(self.beta - MM * np.clip(s, 0.0, self.zone)) + self.theta
        outside = self.slope * np.maximum(self.zone - s, 0.0)
        return np.where(s < self.margin * self.zone, inside, outside) + self.wall * np.maximum(
            -s, 0.0
        )
