"""Drift: follow the wandering zero of a force sensor while nothing touches the tool, and only then."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray

LEVER = 0.03
"""How many N·m of torque drift go with one N of force drift, [m]: a typical ratio of a wrist sensor's ranges."""


@dataclass
class DriftTracker:
    r"""A Kalman filter per axis for the drift and its rate, which learns only from readings without contact.

    .. math:: d_{k+1} = d_k + \dot d_k\,\Delta t + w_d, \qquad \dot d_{k+1} = \dot d_k + w_r, \qquad z_k = d_k + n_k

    A reading counts as contact if it, or its short mean, lies further from the expected drift than what noise and the
    filter's own uncertainty explain. During contact the drift goes on at its last rate and its variance grows, so a
    pause of a second is enough to catch up. A push that is smaller than ``least`` and lasts is taken for drift: nothing
    in a single sensor tells the two apart.

    Attributes:
        noise: standard deviation of one reading, six numbers, [N] and [N·m].
        least: smallest push that counts as contact, [N]; torques by :data:`LEVER`.
        most: largest departure that can still be drift, however long the contact before it lasted, [N].
        start: standard deviation of the drift since the calibration, at the first reading, [N].
        rate: standard deviation of the drift's rate at the first reading, [N/s].
        wander: random walk of the drift, [N/√s].
        rate_wander: random walk of its rate, [N/s/√s].
        window: time constant of the short mean that contact is judged by, [s].
        gate: how many standard deviations count as contact, [-].
        drift: present estimate, [N] and [N·m].
        contact: whether the last reading was contact.
    """

    noise: Array
    least: float = parameter(0.3, "N", "smallest push that counts as contact", 0.0, 1000.0)
    most: float = parameter(3.0, "N", "largest departure that can still be drift", 0.0, 1000.0)
    start: float = parameter(0.3, "N", "deviation of the drift at the first reading", 0.0, 1000.0)
    rate: float = parameter(0.02, "N/s", "deviation of the drift's rate at the first reading", 0.0, 100.0)
    wander: float = parameter(0.005, "N/√s", "random walk of the drift", 0.0, 100.0)
    rate_wander: float = parameter(3e-4, "N/s/√s", "random walk of the drift's rate", 0.0, 100.0)
    window: float = parameter(0.1, "s", "time constant of the mean that contact is judged by", 0.0, 100.0)
    gate: float = parameter(5.0, "-", "deviations that count as contact", 1.0, 100.0)

    def __post_init__(self) -> None:
        """Begin without drift."""
        self.noise = np.asarray(self.noise, dtype=float)
        scale = np.repeat([1.0, LEVER], 3)
        self.drift, self._rate, self._mean = np.zeros(6), np.zeros(6), np.zeros(6)
        self._R = self.noise**2
        self._least, self._most = self.least * scale, self.most * scale
        self._q_d, self._q_r = (self.wander * scale) ** 2, (self.rate_wander * scale) ** 2
        self._p, self._c, self._r = (self.start * scale) ** 2, np.zeros(6), (self.rate * scale) ** 2
        self.contact = False
        self._primed = False

    @property
    def variance(self) -> Array:
        """Of the drift's estimate, [N²] and [N²·m²]."""
        return self._p

    def update(self, wrench: Array, dt: float) -> Array:
        """Take a reading without bias and weight, and give the drift's estimate.

        Args:
            wrench: six numbers, [N] and [N·m].
            dt: time since the reading before, [s].
        """
        self._predict(dt)
        gap = wrench - self.drift
        share = 1.0 if not self._primed or self.window <= 0.0 else -math.expm1(-dt / self.window)
        self._mean += share * (gap - self._mean)
        self._primed = True
        self.contact = self._touched(gap, share)
        if not self.contact:
            self._learn(gap)
        return self.drift

    def _predict(self, dt: float) -> None:
        step = self._rate * dt
        self.drift += step
        self._mean -= step
        self._p = self._p + (2.0 * self._c + self._r * dt) * dt + (self._q_d + self._q_r * (dt * dt / 3.0)) * dt
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
