"""Pose limiter: a target that jumps is followed along a straight line and the shortest turn, at bounded speed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray

ALIGNED = 1.0 - 1e-12
"""Cosine of half the angle from which two orientations count as one (2.8e-6 rad)."""


@dataclass
class PoseLimiter:
    r"""Follow a pose by at most one step per tick in translation and one in rotation.

    .. math::
        p \leftarrow p + \frac{v\,dt}{\max_i |e_i|}\, e, \qquad
        q \leftarrow \frac{q\,\sin((1-t)\theta/2) + q_t\,\sin(t\,\theta/2)}{\sin(\theta/2)}, \quad
        t = \frac{\omega\,dt}{\theta}

    with e = p_t − p. The published law lets the *largest component* go at v, so the speed along a
    diagonal is up to √3 v (erratum ER-09); ``euclidean`` makes it v in every direction. What is
    nearer than the bands is passed on in one tick: the published code held back the last 0.05° for
    ever (ER-07), this one does not. The passed-on rest may be up to two steps (0.5 mm) and five
    (0.05°) long.

    Attributes:
        position: p, [m].
        quaternion: q, (x, y, z, w).
        limited: whether the last step held anything back.
    """

    speed: float = parameter(0.25, "m/s", "speed of the largest component", 1e-4, 10.0)
    turn_speed: float = parameter(math.radians(10.0), "rad/s", "turning speed", 1e-4, 100.0)
    band: float = parameter(5.0e-4, "m", "distance passed on at once", 0.0, 0.1)
    turn_band: float = parameter(math.radians(0.05), "rad", "angle passed on at once", 0.0, 1.0)
    euclidean: bool = parameter(False, "-", "whether the speed is that along the path")

    def __post_init__(self) -> None:
        """At the origin, as published; :meth:`reset` starts from the measured tool (ER-10)."""
        self.position, self.quaternion = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        self.limited = False
        self._error, self._goal = np.zeros(3), np.zeros(4)

    def reset(self, position: Array, quaternion: Array) -> None:
        """Start from this pose, [m] and (x, y, z, w)."""
        self.position[:], self.quaternion[:] = position, quaternion
        self.limited = False

    def step(self, position: Array, quaternion: Array, dt: float) -> None:
        """Move on towards a target pose by one tick of ``dt`` [s]."""
        self.limited = self._translate(position, self.speed * dt)
        self.limited |= self._turn(quaternion, self.turn_speed * dt)

    def _translate(self, target: Array, step: float) -> bool:
        error = np.subtract(target, self.position, out=self._error)
        distance = math.sqrt(float(error.dot(error)))
        if distance <= self.band:
            self.position[:] = target
            return False
        length = distance if self.euclidean else float(np.abs(error).max())
        error *= min(step / length, 1.0)
        self.position += error
        return True

    def _turn(self, target: Array, step: float) -> bool:
        q, goal = self.quaternion, self._goal
        cosine = float(q.dot(target))
        np.multiply(target, -1.0 if cosine < 0.0 else 1.0, out=goal)  # the shorter way round
        cosine = abs(cosine)
        half = math.acos(cosine) if cosine < ALIGNED else 0.0
        if 2.0 * half <= self.turn_band:
            q[:] = goal
            return False
        share = min(step / (2.0 * half), 1.0)
        q *= math.sin((1.0 - share) * half)
        goal *= math.sin(share * half)
        q += goal
        q *= 1.0 / math.sqrt(float(q.dot(q)))
        return True
