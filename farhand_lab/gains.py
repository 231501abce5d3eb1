r"""Gain design for an error that obeys :math:`\ddot e + K_d \dot e + K_p e = 0`.

Settling times belong to the true response from an offset at rest, not to its envelope. Margins are
those of the loop :math:`(K_d s + K_p)/s^2`; sampling limits those of the same feedback on a double
integrator whose input is held between samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

from farhand.errors import OutOfRange
from farhand.spatial import Array

MAX_PHASE = 200.0
"""The search for the settling time ends at this ω_n t, [rad]."""


@dataclass(frozen=True)
class Gains:
    """A proportional and a derivative gain on an acceleration, and their consequences."""

    proportional: float  #: K_p, [1/s²]
    derivative: float  #: K_d, [1/s]

    def __post_init__(self) -> None:
        """Refuse gains that do not make the error vanish."""
        for name, value in (("proportional", self.proportional), ("derivative", self.derivative)):
            if not 0.0 < value < math.inf:
                raise OutOfRange(f"{name} gain", value, 0.0, math.inf)

    @classmethod
    def design(cls, settling_time: float, damping_ratio: float = 0.8, band: float = 0.02) -> Gains:
        """Gains with this settling time [s] into ± ``band`` [-] of the offset, and ratio ζ [-]."""
        if not 0.0 < settling_time < math.inf:
            raise OutOfRange("settling time", settling_time, 0.0, math.inf, "s")
        if not 0.05 <= damping_ratio <= 10.0:
            raise OutOfRange("damping ratio", damping_ratio, 0.05, 10.0)
        if not 0.0 < band < 1.0:
            raise OutOfRange("settling band", band, 0.0, 1.0)
        frequency = _settling(damping_ratio, band) / settling_time
        return cls(frequency * frequency, 2.0 * damping_ratio * frequency)

    @property
    def frequency(self) -> float:
        """ω_n = √K_p, [rad/s]."""
        return math.sqrt(self.proportional)

    @property
    def damping_ratio(self) -> float:
        """ζ = K_d / (2 ω_n), [-]."""
        return 0.5 * self.derivative / self.frequency

    @property
    def overshoot(self) -> float:
        """How far the error goes past zero, as a share of the offset, [-]."""
        z = self.damping_ratio
        return math.exp(-math.pi * z / math.sqrt(1.0 - z * z)) if z < 1.0 else 0.0

    def settling_time(self, band: float = 0.02) -> float:
        """Time until the error stays within ± ``band`` of the offset, [s]."""
        return _settling(self.damping_ratio, band) / self.frequency

    def response(self, t: Array) -> Array:
        """Error over the offset it started from at rest, at times ``t`` [s]."""
        return _response(self.damping_ratio, self.frequency * np.asarray(t, dtype=float))

    @property
    def crossover(self) -> float:
        """Where the loop's gain is 1, [rad/s]: ω⁴ = K_d² ω² + K_p²."""
        half = 0.5 * self.derivative**2
        return math.sqrt(half + math.hypot(half, self.proportional))

    @property
    def phase_margin(self) -> float:
        """[rad]."""
        return math.atan2(self.derivative * self.crossover, self.proportional)

    @property
    def delay_margin(self) -> float:
        """Longest pure delay in the continuous loop that leaves it stable, [s]."""
        return self.phase_margin / self.crossover

    def longest_period(self, latency: int = 0) -> float:
        """Longest stable sampling period, with the input ``latency`` samples late, [s]."""
        # The limit without latency; a later input is never better
        edge = 2.0 / self.derivative
        low, high = 1e-3 * edge, 1.5 * edge
        return float(brentq(lambda T: self._radius(T, latency) - 1.0, low, high, xtol=1e-12))

    def _radius(self, period: float, latency: int) -> float:
        """Spectral radius of the sampled loop: state (e, ė) and pending inputs, oldest first."""
        held = expm(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]) * period)
        step = np.zeros((2 + latency, 2 + latency))
        step[:2, :2] = held[:2, :2]
        feedback = np.array([-self.proportional, -self.derivative])
        if latency:
            step[:2, 2] = held[:2, 2]
            step[2:-1, 3:] = np.eye(latency - 1)
            step[-1, :2] = feedback
        else:
            step += np.outer(held[:2, 2], feedback)
        return float(np.abs(np.linalg.eigvals(step)).max())


def _response(z: float, phase: Array) -> Array:
    """Free response from 1 at rest after ω_n t = ``phase``."""
    # Equal poles are the limit of unequal ones
    apart = np.sqrt(complex(z * z - 1.0)) or 1e-4
    fast, slow = -z - apart, -z + apart
    return ((slow * np.exp(fast * phase) - fast * np.exp(slow * phase)) / (slow - fast)).real


@cache
def _settling(z: float, band: float) -> float:
    """ω_n times the settling time: the last crossing of the band, refined between samples."""
    phase = np.linspace(0.0, MAX_PHASE, 200_001)
    outside = np.flatnonzero(np.abs(_response(z, phase)) > band)
    last = int(outside[-1])
    if last == len(phase) - 1:
        raise OutOfRange("damping ratio", z, 0.05, 10.0)
    sign = math.copysign(1.0, float(_response(z, phase[last])))
    low, high = phase[last : last + 2]
    return float(brentq(lambda x: sign * float(_response(z, x)) - band, low, high))
