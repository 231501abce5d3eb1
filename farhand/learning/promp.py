"""Probabilistic movement primitive: a Gaussian over weights, conditioned on where the movement must pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.learning.basis import bending, bumps, ridge

Array = np.ndarray

UNSEEN = 0.01
"""Variance left for smooth movements that nobody has shown, as a share of what was seen."""


@dataclass(frozen=True)
class ProbabilisticPrimitive:
    r"""Movements :math:`y(s) = \Psi(s)\,w` with :math:`w \sim N(\mu, \Sigma)`, all dimensions in one w.

    Demonstrated motion and force vary together, so a via-point in position also moves the force by
    what they have in common. With few demonstrations Σ has few directions; a hundredth of the
    variance is kept for smooth bends that nobody showed, so that every via-point can be reached.
    """

    mean: Array  #: μ, shape (count, d)
    covariance: Array  #: Σ over the flattened weights, shape (count·d, count·d)

    @classmethod
    def fit(cls, phase: Array, movements: Array, count: int) -> ProbabilisticPrimitive:
        """From demonstrations at the same phases, shape (m, n, d)."""
        basis = bumps(phase, count)
        weights = np.stack([ridge(basis, one) for one in movements])
        mean = weights.mean(axis=0)
        spread = (weights - mean).reshape(len(weights), -1)
        seen = spread.T @ spread / max(len(weights) - 1, 1)
        W = bending(basis)
        smooth = np.linalg.inv(W + 1e-6 * np.trace(W) * np.eye(count))
        smooth /= np.mean(np.diag(smooth))
        variance = np.square(weights - mean).mean(axis=(0, 1)) + 1e-12
        return cls(mean, seen + UNSEEN * np.kron(smooth, np.diag(variance)))

    def movement(self, phase: Array) -> Array:
        """Mean movement at these phases, shape (n, d)."""
        return bumps(phase, len(self.mean)) @ self.mean

    def deviation(self, phase: Array) -> Array:
        """Standard deviation at these phases, shape (n, d)."""
        basis, d = bumps(phase, len(self.mean)), self.mean.shape[1]
        blocks = self.covariance.reshape(len(self.mean), d, len(self.mean), d)
        return np.sqrt(np.einsum("na,adbd,nb->nd", basis, blocks, basis))

    def conditioned(self, at: float, point: Array, noise: float = 1e-5) -> ProbabilisticPrimitive:
        """What is left of the movements once they pass ``point`` at a phase.

        Args:
            at: phase, 0 to 1.
            point: shape (d,), NaN in dimensions that stay free.
            noise: standard deviation with which the point is passed, in its own unit.
        """
        if not 0.0 <= at <= 1.0:
            raise BadValue(
                f"a via-point at phase {at:g} is not within the movement, which goes from 0 to 1"
            )
        point = np.asarray(point, dtype=float)
        fixed = np.flatnonzero(np.isfinite(point))
        row, d = bumps(np.array([at]), len(self.mean))[0], self.mean.shape[1]
        H = np.zeros((len(fixed), self.mean.size))
        for number, dimension in enumerate(fixed):
            H[number, dimension::d] = row
        cross = self.covariance @ H.T
        gain = np.linalg.solve(H @ cross + noise**2 * np.eye(len(fixed)), cross.T).T
        mean = self.mean.ravel() + gain @ (point[fixed] - H @ self.mean.ravel())
        covariance = self.covariance - gain @ cross.T
        return ProbabilisticPrimitive(
            mean.reshape(self.mean.shape), 0.5 * (covariance + covariance.T)
        )
