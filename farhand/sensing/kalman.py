"""Kalman filters for force readings: one per channel, or one for a state of several numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue, OutOfRange

Array = np.ndarray


@dataclass
class ScalarKalman:
    r"""Independent filters for a slowly changing constant, one per channel.

    .. math:: P^- = P + Q, \quad K = P^- / (P^- + R), \quad
              x \leftarrow x + K (z - x), \quad P = (1 - K) P^-

    A larger Q means less trust in the model: faster, noisier. ``q`` and ``r`` may be changed
    between samples. A missing sample (None, or NaN in one channel) leaves x as it is and lets P
    grow by Q.
    """

    q: Array  #: variance that the state gains per sample, per channel, [N²] or [N²·m²]
    r: Array  #: variance of a reading, likewise
    x: Array | None = None  #: the estimate, [N] or [N·m]; the first reading if it is not given
    p: Array | None = None  #: its variance

    def __post_init__(self) -> None:
        both = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (self.q, self.r)))
        self.q, self.r = (value.copy() for value in both)
        for name, value, low in (("q", self.q, 0.0), ("r", self.r, np.nextafter(0.0, 1.0))):
            if not ((value >= low) & np.isfinite(value)).all():
                raise OutOfRange(f"Kalman {name}", value.tolist(), low, math.inf)
        if self.x is not None:
            self.x = np.array(np.broadcast_to(self.x, self.q.shape), dtype=float)
        p = self.r if self.p is None else self.p
        self.p = np.array(np.broadcast_to(p, self.q.shape), dtype=float)

    def retune(self, q: Array, r: Array) -> None:
        """Change the variances; the gain moves to its new value without a jump."""
        assert self.p is not None
        self.p *= r / self.r
        self.q[:], self.r[:] = q, r

    def predict(self) -> None:
        """Let one sample time pass."""
        assert self.p is not None
        self.p += self.q

    def correct(self, z: Array) -> Array:
        """Take a reading; may be called several times per prediction, or not at all."""
        z = np.atleast_1d(np.asarray(z, dtype=float))
        assert self.p is not None
        if self.x is None:
            self.x = np.where(np.isfinite(z), z, 0.0)
        gain = self.p / (self.p + self.r)
        seen = np.isfinite(z)
        gain = np.where(seen, gain, 0.0)
        self.x += gain * (np.where(seen, z, self.x) - self.x)
        self.p *= 1.0 - gain
        return self.x

    def step(self, z: Array | None) -> Array | None:
        """One sample time with its reading, or with None where it is missing."""
        self.predict()
        return self.x if z is None else self.correct(z)


class VectorKalman:
    r"""The general filter of :math:`x_k = A x_{k-1} + B u_{k-1} + w`, :math:`z_k = C x_k + v`.

    .. math:: P^- = A P A^\top + Q, \quad K = P^- C^\top (C P^- C^\top + R)^{-1}, \quad
              x \leftarrow x + K (z - C x), \quad P = (I - K C) P^-

    Args:
        A: n × n, transition of the state.
        C: m × n, from state to reading.
        Q: n × n, covariance of w; may be changed between samples.
        R: m × m, covariance of v; likewise.
        x: initial state.
        P: its covariance.
        B: n × k, effect of an input; none by default.
    """

    def __init__(
        self, A: Array, C: Array, Q: Array, R: Array, x: Array, P: Array, B: Array | None = None
    ) -> None:
        matrices = (np.atleast_2d(np.asarray(one, dtype=float)) for one in (A, C, Q, R))
        self.A, self.C, self.Q, self.R = matrices
        self.x = np.array(x, dtype=float)
        self.P = np.array(np.atleast_2d(P), dtype=float)
        self.B = None if B is None else np.atleast_2d(np.asarray(B, dtype=float))
        n, m = len(self.x), len(self.C)
        shapes = self.A.shape, self.C.shape, self.Q.shape, self.R.shape, self.P.shape
        if shapes != ((n, n), (m, n), (n, n), (m, m), (n, n)):
            size = f"a filter with {n} states and {m} readings"
            raise BadValue(f"A, C, Q, R, P of {size} cannot have shapes {shapes}")

    def predict(self, u: Array | None = None) -> None:
        """Let one sample time pass, with an optional input."""
        self.x = self.A @ self.x
        if u is not None and self.B is not None:
            self.x += self.B @ np.atleast_1d(u)
        self.P = self.A @ self.P @ self.A.T + self.Q

    def correct(self, z: Array) -> Array:
        """Take a reading."""
        S = self.C @ self.P @ self.C.T + self.R
        K = np.linalg.solve(S, self.C @ self.P).T
        self.x = self.x + K @ (np.atleast_1d(z) - self.C @ self.x)
        self.P = self.P - K @ self.C @ self.P
        self.P = 0.5 * (self.P + self.P.T)
        return self.x

    def step(self, z: Array | None, u: Array | None = None) -> Array:
        """One sample time with its reading, or with None where it is missing."""
        self.predict(u)
        return self.x if z is None else self.correct(z)


def steady_gain(q: float, r: float) -> float:
    r"""Gain that :class:`ScalarKalman` settles at.

    .. math:: P^- = (Q + \sqrt{Q^2 + 4 Q R}) / 2, \qquad K = P^- / (P^- + R)
    """
    p = 0.5 * (q + math.sqrt(q * q + 4.0 * q * r))
    return p / (p + r)


def time_constant(gain: float, dt: float) -> float:
    """How long a settled filter takes to 63 % of a step, [s], with one sample per ``dt``."""
    return -dt / math.log1p(-gain)


def smooth(z: Array, q: Array, r: Array) -> Array:
    """Run a settled :class:`ScalarKalman` over n × c readings, from the first reading on."""
    from scipy.signal import lfilter

    z, out = np.asarray(z, dtype=float), np.empty(np.shape(z))
    q, r = np.broadcast_to(q, z.shape[1:]), np.broadcast_to(r, z.shape[1:])
    for c in range(z.shape[1]):
        gain = steady_gain(float(q[c]), float(r[c]))
        out[:, c] = lfilter([gain], [1.0, gain - 1.0], z[:, c], zi=[(1.0 - gain) * z[0, c]])[0]
    return out
