"""Rate mode: how far a handle is from where it rests says how fast something moves, for bases, cranes and gamepads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class RateMode:
    r"""Velocity from an offset, with a dead band, a smooth onset, saturation and a bounded change.

    Each offset is a share :math:`u_i = x_i / x_{i,full}` of what gives full speed. Axes that belong
    together, such as the two of a plane, form a group with one length :math:`r = |u|`, so the
    direction is kept:

    .. math:: v_i = v_{i,top}\,\phi\!\left(\frac{r - d}{1 - d}\right)\frac{u_i}{r}, \qquad
              \phi(s) = s^2 (3 - 2 s) \ \text{for}\ 0 \le s \le 1

    φ and its slope are zero at the edge of the dead band d, so nothing jumps when a hand crosses
    it. The velocity moves no faster than from rest to the top within ``rise``; letting go (an
    offset of zero) stops within the same time.

    Attributes:
        groups: numbers of the axes that belong together; axes that are in none stand alone.
        v: the last velocity, [m/s] or [rad/s].
    """

    full: Array = parameter(
        (0.2, 0.2, 0.2, 0.6), "m, rad", "offset that gives full speed", 1e-6, 1e6
    )
    top: Array = parameter((0.2, 0.2, 0.1, 0.4), "m/s, rad/s", "full speed", -100.0, 100.0)
    dead_band: float = parameter(0.5, "-", "share of the full offset that moves nothing", 0.0, 0.99)
    rise: float = parameter(0.5, "s", "shortest time from rest to full speed", 1e-3, 100.0)
    groups: tuple[tuple[int, ...], ...] = ((0, 1),)

    def __post_init__(self) -> None:
        """At rest."""
        if len(self.full) != len(self.top):
            raise BadValue(
                f"rate mode has {len(self.full)} full offsets for {len(self.top)} top speeds"
            )
        together = [axis for group in self.groups for axis in group]
        if len(set(together)) != len(together) or not set(together) <= set(range(len(self.top))):
            raise BadValue(
                f"groups of rate mode must hold each axis of 0 … {len(self.top) - 1} at most once"
            )
        alone = [(axis,) for axis in range(len(self.top)) if axis not in together]
        self._groups = [np.array(group) for group in (*self.groups, *alone)]
        self.v = np.zeros(len(self.top))

    def velocity(self, offset: Array) -> Array:
        """The velocity that an offset asks for, without the bound on its change, [m/s] or [rad/s]."""
        u = np.asarray(offset, dtype=float) / self.full
        v = np.zeros(len(u))
        for group in self._groups:
            r = float(np.linalg.norm(u[group]))
            s = min((r - self.dead_band) / (1.0 - self.dead_band), 1.0)
            if s > 0.0:
                v[group] = self.top[group] * (s * s * (3.0 - 2.0 * s) / r) * u[group]
        return v

    def step(self, offset: Array | None, dt: float) -> Array:
        """Move the velocity on by ``dt`` [s] towards what the offset asks for; None asks for rest."""
        wanted = np.zeros(len(self.v)) if offset is None else self.velocity(offset)
        most = np.abs(self.top) * (dt / self.rise)
        self.v = self.v + np.clip(wanted - self.v, -most, most)
        return self.v
