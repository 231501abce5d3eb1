"""Playout: joints that go to a goal, however it jumps, within limits of speed and acceleration."""

from __future__ import annotations

import numpy as np

from farhand.spatial import Array


class BoundedPlayout:
    r"""Joints on their way to a goal, all together and never faster than allowed.

    With the way d to the goal, every joint has a speed from which it can still stop there,

    .. math::
        c_i = \min\Bigl(V_i,\ \omega |d_i|,\ \sqrt{a_i\,(2 |d_i| - a_i/\omega^2)}\Bigr),
        \qquad \dot q \to d \min_i \frac{c_i}{|d_i|}

    (the root counts where :math:`|d_i| > a_i/\omega^2`), and the velocity changes by no more than
    the acceleration allows. The joints arrive together at a goal that stands still, and stop there
    without overshoot. Behind a goal that moves evenly they are late by 1/ω, or by
    :math:`v/2a + a/2\omega^2 v` if it is faster than a/ω, so that they can stop when it does.

    Args:
        speed: V, largest speed of every joint, [rad/s] or [m/s].
        acceleration: a, their largest acceleration, [rad/s²] or [m/s²].
        rate: ω, [1/s].

    Attributes:
        q: where the joints are, [rad] or [m].
        v: how fast they go, [rad/s] or [m/s].
    """

    def __init__(self, speed: Array, acceleration: Array, rate: float = 20.0) -> None:
        self.speed, self.acceleration, self.rate = speed, acceleration, rate
        self.q, self.v = np.zeros(len(speed)), np.zeros(len(speed))

    def begin(self, q: Array, v: Array) -> None:
        """Start from this state, [rad] and [rad/s]."""
        self.q[:] = q
        np.clip(v, -self.speed, self.speed, out=self.v)

    def along(self, way: Array) -> Array:
        """The fastest velocity along a way [rad], [rad/s]."""
        share = float(np.min(self.speed / np.maximum(np.abs(way), 1e-9)))
        fastest: Array = share * way
        return fastest

    def step(self, way: Array, dt: float, pace: float = 1.0) -> None:
        """Go on for ``dt`` [s] along a way [rad], at this share of the largest speeds."""
        # A joint that is there already must not hold up the others
        left, a = np.maximum(np.abs(way), 1e-9), self.acceleration
        near = a / self.rate**2
        stopping = np.sqrt(a * np.maximum(2.0 * left - near, near))
        cap = np.minimum(np.minimum(self.rate * left, stopping), pace * self.speed)
        share = float(np.min(cap / left))
        most = a * dt
        self.v += np.clip(way * share - self.v, -most, most)
        self.q += self.v * dt
