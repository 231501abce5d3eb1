"""Position and rate in one: a pen moves the target one to one in its middle, and drives it on when pushed out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class Region:
    r"""Where a pen controls position: a spheroid cut by two planes, in robot axes at the device's origin.

    .. math::
        m(h)^2 = \sum_i \Bigl(\frac{h_i - c_i}{a_i}\Bigr)^2 < 1, \qquad h_x < x_{max}, \qquad h_z > z_{min}
    """

    centre: Array = parameter(
        (0.08, 0.0, 0.008), "m", "centre of the spheroid, robot axes", -1.0, 1.0
    )
    axes: Array = parameter((0.14, 0.10, 0.10), "m", "semi-axes of the spheroid", 1e-3, 1.0)
    front: float = parameter(0.042, "m", "plane in front of the pen", 0.0, 1.0)
    floor: float = parameter(-0.066, "m", "plane below the pen", -1.0, 0.0)

    def level(self, h: Array) -> float:
        """m(h): 1 on the spheroid, [-]."""
        offset = (h - self.centre) / self.axes
        return math.sqrt(float(offset.dot(offset)))

    def inside(self, h: Array, shrunk: float = 0.0) -> bool:
        """Whether h [m] lies inside the region, made smaller by the share ``shrunk``."""
        left = 1.0 - shrunk
        return (
            self.level(h) < left
            and float(h[0]) < self.front * left
            and float(h[2]) > self.floor * left
        )


@dataclass
class HybridPosition:
    r"""A target that follows the pen in the middle of its workspace and moves on at constant speed outside it.

    .. math::
        p = h + d \ \ \text{(inside)}, \qquad \dot p = v\,h/|h|, \quad \dot d = \dot p - \dot h \ \ \text{(outside)}

    The drift d is kept up to date in both modes, so that p = h + d always holds and a change of
    mode moves nothing (the exact form of erratum ER-06; the published one left one tick of pen
    motion). Outside, the pen's place gives the direction alone: moving it changes neither speed nor
    flow. No button is needed to reach any place.

    Attributes:
        region: where the pen controls position.
        drift: d, [m].
        position: p, [m].
        velocity: of p in rate mode, [m/s].
        rate: whether the target is driven on.
        clutched: whether the pen is free to move without the target.
    """

    region: Region = field(default_factory=Region)
    speed: float = parameter(0.1, "m/s", "speed of rate control", 0.0, 0.25)
    hysteresis: float = parameter(
        0.0, "-", "share by which the region shrinks for coming back", 0.0, 0.5
    )

    def __post_init__(self) -> None:
        """At the device's origin, without drift."""
        self.drift, self.position, self.velocity = np.zeros(3), np.zeros(3), np.zeros(3)
        self.rate, self.clutched = False, False

    def step(self, h: Array, dt: float) -> Array:
        """Where the target is now, [m]; the array is reused.

        Args:
            h: pen in robot axes, [m].
            dt: since the last step, measured, not assumed, [s].
        """
        if self.clutched:
            self.velocity[:] = 0.0
            np.subtract(self.position, h, out=self.drift)
            return self.position
        was_rate = self.rate
        self.rate = not self.region.inside(h, self.hysteresis if was_rate else 0.0)
        if not (self.rate or was_rate):
            np.add(h, self.drift, out=self.position)
            return self.position
        away = math.sqrt(float(h.dot(h))) if self.rate else 0.0
        np.multiply(h, self.speed / away if away > 0.0 else 0.0, out=self.velocity)
        self.position += dt * self.velocity
        # also at the tick of return, which moves nothing (ER-06)
        np.subtract(self.position, h, out=self.drift)
        return self.position

    def place(self, h: Array, position: Array) -> None:
        """Make ``position`` [m] the target that belongs to the pen at ``h`` [m]: at the start, and to recentre."""
        self.rate = False
        self.position[:] = position
        np.subtract(self.position, h, out=self.drift)

    def clutch(self) -> None:
        """Hold the target while the pen moves to a better place."""
        self.clutched = True

    def declutch(self) -> None:
        """Follow the pen again, from where both are."""
        self.clutched = False
