"""Drift: follow the zero of a force sensor while nothing touches the tool, and only then."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray

TORQUE_PER_FORCE = 0.03
"""Torque drift over force drift, [m]: a typical ratio of a wrist sensor's ranges."""

UNLIKELY_DEVIATIONS = 3.0
"""Deviations beyond which a drift is in doubt: 0.3 % of drifts go there, axis by axis."""


@dataclass
class DriftTracker:
    r"""A Kalman filter per axis for drift and its rate; it learns from readings without contact.

    .. math:: d_{k+1} = d_k + \dot d_k\,\Delta t + w_d, \qquad
              \dot d_{k+1} = \dot d_k + w_r, \qquad z_k = d_k + n_k

    A reading counts as contact if it, or its short mean, is further from the expected drift than
    noise and the filter's own uncertainty explain. During contact the drift goes on at its last
    rate and its variance grows, so a pause of a second is enough to catch up. After a gap so long
    that the drift may have gone further than ``most``, the filter starts again where it was.

    One sensor cannot distinguish a lasting or slowly growing push from drift. The filter takes as
    drift: at the first readings a push up to ``gate * start + least``, later one that grows by less
    than some tenths of a newton per second, and any push up to ``most`` that lasts long enough.
    :meth:`expected` is the drift that the model considers likely from the start, :meth:`ahead` from
    any later reading.

    Attributes:
        noise: standard deviation of one reading, six numbers, [N] and [N·m].
        drift: present estimate, [N] and [N·m].
        contact: whether the last reading was contact.
        restarted: whether it came after such a gap.
    """

    noise: Array
    least: float = parameter(0.3, "N", "smallest push that counts as contact", 0.0, 1000.0)
    most: float = parameter(3.0, "N", "largest departure that can still be drift", 0.0, 1000.0)
    start: float = parameter(0.3, "N", "deviation of the drift at the first reading", 0.0, 1000.0)
    rate: float = parameter(0.02, "N/s", "deviation of its rate at first", 0.0, 100.0)
    wander: float = parameter(0.005, "N/√s", "random walk of the drift", 0.0, 100.0)
    rate_wander: float = parameter(3e-4, "N/s/√s", "random walk of the drift's rate", 0.0, 100.0)
    window: float = parameter(0.1, "s", "time constant of the mean for contact", 0.0, 100.0)
    gate: float = parameter(5.0, "-", "deviations that count as contact", 1.0, 100.0)

    def __post_init__(self) -> None:
        self.noise = np.asarray(self.noise, dtype=float)
        scale = np.repeat([1.0, TORQUE_PER_FORCE], 3)
        self.drift, self._rate, self._mean = np.zeros(6), np.zeros(6), np.zeros(6)
        self._R = self.noise**2
        self._least, self._most = self.least * scale, self.most * scale
        self._q_d, self._q_r = (self.wander * scale) ** 2, (self.rate_wander * scale) ** 2
        self._first = (self.start * scale) ** 2, np.zeros(6), (self.rate * scale) ** 2
        self._p, self._c, self._r = self._first
        self.contact = self.restarted = False
        self._primed = False
        self._long = (
            self.most / (UNLIKELY_DEVIATIONS * self.rate) if self.rate > 0.0 else math.inf
        )  # [s]

    @property
    def variance(self) -> Array:
        """Of the drift's estimate, [N²] and [N²·m²]."""
        return self._p

    @property
    def state(self) -> Array:
        """5 × 6: drift, its rate, and variance of the drift, covariance, variance of the rate."""
        return np.stack([self.drift, self._rate, self._p, self._c, self._r])

    def expected(self, time: Array) -> Array:
        """Standard deviation, n × 6, of the drift ``time`` [s] after the start."""
        p, c, r = self._first
        return self.ahead(np.stack([c, c, p, c, r])[None], time)[1]

    def ahead(self, state: Array, dt: Array) -> tuple[Array, Array]:
        """Drift and its standard deviation, n × 6 each, ``dt`` [s] after n states, n × 5 × 6."""
        dt = np.asarray(dt)[:, None]
        drift, rate, p, c, r = np.moveaxis(state, 1, 0)
        variance = p + (2.0 * c + r * dt) * dt + (self._q_d + self._q_r * (dt * dt / 3.0)) * dt
        return drift + rate * dt, np.sqrt(variance)

    def reach(self, deviation: Array) -> Array:
        """Distance from a drift of this standard deviation beyond which there is contact."""
        return self._least + self.gate * deviation

    def update(self, wrench: Array, dt: float) -> Array:
        """Take a reading without bias and weight, ``dt`` [s] after the one before; the drift."""
        self.restarted = dt > self._long and self._lost(dt)
        if self.restarted:
            self._restart()
        else:
            self._predict(dt)
        gap = wrench - self.drift
        share = 1.0 if not self._primed or self.window <= 0.0 else -math.expm1(-dt / self.window)
        self._mean += share * (gap - self._mean)
        self._primed = True
        self.contact = self._touched(gap, share)
        if not self.contact:
            self._learn(gap)
        return self.drift

    def _lost(self, dt: float) -> bool:
        """Whether the drift may have gone further in this step than ``most``."""
        growth = (self._r * dt + self._q_d + self._q_r * (dt * dt / 3.0)) * dt
        return bool((UNLIKELY_DEVIATIONS * np.sqrt(growth) > self._most).any())

    def _restart(self) -> None:
        self._p, self._c, self._r = self._first
        self._rate, self._mean = np.zeros(6), np.zeros(6)
        self._primed = False

    def _predict(self, dt: float) -> None:
        step = self._rate * dt
        self.drift += step
        self._mean -= step
        wander = (self._q_d + self._q_r * (dt * dt / 3.0)) * dt
        self._p = self._p + (2.0 * self._c + self._r * dt) * dt + wander
        self._c = self._c + self._r * dt + self._q_r * (0.5 * dt * dt)
        self._r = self._r + self._q_r * dt

    def _touched(self, gap: Array, share: float) -> bool:
        """Whether one reading, or the short mean, is further away than drift and noise explain."""
        known = np.minimum(self.gate * np.sqrt(self._p), self._most)
        limit = self._least + known + self.gate * np.sqrt(self._R * (share / (2.0 - share)))
        if (np.abs(self._mean) > limit).any():
            return True
        return bool((np.abs(gap) > self._least + known + self.gate * self.noise).any())

    def _learn(self, gap: Array) -> None:
        sum_ = self._p + self._R
        k, k_r = np.divide(self._p, sum_, where=sum_ > 0.0, out=np.zeros(6)), np.zeros(6)
        np.divide(self._c, sum_, where=sum_ > 0.0, out=k_r)
        step = k * gap
        self.drift += step
        self._mean -= step
        self._rate += k_r * gap
        self._r = self._r - k_r * self._c
        self._c = (1.0 - k) * self._c
        self._p = (1.0 - k) * self._p
