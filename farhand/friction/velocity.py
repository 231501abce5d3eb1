"""Velocity from encoder ticks: a state-variable filter, sample by sample or for a recording."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

from farhand.errors import BadValue, OutOfRange
from farhand.friction.models.model import Array
from farhand.parameters import parameter


@dataclass
class StateVariableFilter:
    r"""A second-order model of the position whose own velocity is the estimate.

    .. math:: \dot x_1 = x_2, \qquad \dot x_2 = \omega_c^2 (x - x_1) - 2 \zeta \omega_c x_2

    Stepped by the exact solution for a position that runs straight from sample to sample, so that a
    ramp's velocity is exact (held samples would make it (ω_c dt)²/12 too low). It differentiates
    below the cut-off and rolls off above: ticks are averaged instead of differenced, and a velocity
    that changes is followed with a lag of 2ζ/ω_c.
    """

    cutoff: float = parameter(20.0, "Hz", "cut-off of the velocity estimate", 1e-3, 1e5)
    damping: float = parameter(1.0, "-", "damping ratio of the filter", 0.1, 10.0)
    #: the latest estimate, [rad/s]
    velocity: Array = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def __post_init__(self) -> None:
        self.refresh()
        self.reset()

    def refresh(self) -> None:
        """Forget the discretisation, not the state."""
        self._dt = float("nan")

    def reset(self) -> None:
        """The next position counts as one that has been at rest."""
        self._position: Array | None = None

    def step(self, position: Array, dt: float) -> Array:
        """Velocity after a step of ``dt`` [s] that ends at ``position`` [rad], [rad/s]."""
        if self._position is None:
            self._position = np.array(position, dtype=float)
            self._before, self.velocity = self._position, np.zeros_like(self._position)
        if dt != self._dt:
            self.prepare(dt)
        (a, b), (c, d) = self._transition
        rate = (position - self._before) / dt
        ahead = self._lag * rate
        # Offsets from the steady answer to a ramp.
        offset = self._position - self._before + ahead
        change = self.velocity - rate
        self._position = position - ahead + a * offset + b * change
        self.velocity = rate + c * offset + d * change
        self._before = np.array(position, dtype=float)
        return self.velocity

    def filtered(self, position: Array, dt: float) -> Array:
        """Velocity of a recording at a fixed step [s], along the first axis, [rad/s]; from rest."""
        # scipy.signal takes half a second to import, and no loop needs it
        from scipy.signal import lfilter

        q = np.asarray(position, dtype=float)
        if q.ndim == 0 or len(q) == 0:
            raise BadValue("a recording of positions needs at least one sample")
        self.prepare(dt)
        (a, b), (c, d) = self._transition
        k = self._lag
        # Gains from the last and from the first position of a step.
        new = np.array([(a * k - b - k) / dt + 1.0, (1.0 + c * k - d) / dt])
        old = np.array([-a, -c]) - new + [1.0, 0.0]
        numerator = np.array([new[1], c * new[0] + old[1] - a * new[1], c * old[0] - a * old[1]])
        return lfilter(numerator, [1.0, -(a + d), a * d - b * c], q - q[0], axis=0)

    def prepare(self, dt: float) -> None:
        """Discretise for a step [s]; the first time takes long, so before the first tick."""
        if not dt > 0.0:
            raise OutOfRange("dt", dt, 0.0, np.inf, "s")
        w = 2.0 * np.pi * self.cutoff
        rates = np.array([[0.0, 1.0], [-w * w, -2.0 * self.damping * w]])
        self._transition = expm(rates * dt).tolist()
        self._lag = 2.0 * self.damping / w
        self._dt = dt


def quantised(position: Array, step: float) -> Array:
    """Position as an encoder of that step [rad] reports it; a step of zero is a perfect encoder."""
    return np.floor(position / step + 0.5) * step if step else np.asarray(position, dtype=float)
