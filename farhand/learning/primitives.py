"""Movement primitives, dynamic and probabilistic, on Gaussian basis functions along the phase."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import expm

from farhand.errors import BadValue
from farhand.learning.alignment import interpolated

Array = np.ndarray

FADING = np.log(1000.0)
"""Decay exponent of the canonical system: at the end the forcing term has a thousandth left."""

STEPS = 1000
"""Steps in which a movement is integrated."""

SPRING = 25.0
"""Natural frequency of the critically damped spring, in radians per duration, [-]."""

UNSEEN_VARIANCE = 0.01
"""Variance of smooth movements that nobody showed, as a share of the demonstrated variance."""

BEND_REACH = 0.05
"""ℓ: how far along the phase a bend reaches, [-]."""


def bumps(phase: Array, count: int) -> Array:
    """Normalised Gaussian bumps at equal distances, shape (n, count), two beyond either end."""
    width = 1.0 / (count - 5)
    centres = width * (np.arange(count) - 2.0)
    values = np.exp(-0.5 * np.square((np.asarray(phase)[:, None] - centres) / width))
    return values / values.sum(axis=1, keepdims=True)


def bending(basis: Array) -> Array:
    r"""The matrix W with :math:`w^\top W w = \int y^2 + \ell^4 \int y''^2` for the curve y of w.

    A curve that is bent at one place at least cost returns to zero within a few ℓ on either side.
    """
    bent = np.diff(basis, n=2, axis=0) * (len(basis) - 1) ** 2
    return basis.T @ basis / len(basis) + BEND_REACH**4 * bent.T @ bent / len(bent)


def ridge(basis: Array, values: Array, amount: float = 1e-9) -> Array:
    """Weights, (count, d), of the curve nearest to ``values``; ``amount`` keeps them small."""
    square = basis.T @ basis
    damped = square + amount * np.trace(square) * np.eye(len(square))
    return np.linalg.solve(damped, basis.T @ values)


@dataclass(frozen=True)
class MovementPrimitive:
    r"""A movement from a start to a goal, in time made dimensionless by its duration.

    .. math:: y'' = \omega^2 (g - y) - 2\omega y' - \omega^2 (g - y_0)\,x
              + \omega^2 x \sum_i \psi_i(s)\,w_i, \qquad x = e^{-a s}

    s is the phase from 0 to 1. The third term starts the motion softly for any goal, so a goal
    equal to the start is no special case. y is linear in start, goal and weights: weights are
    fitted to the movement itself, not to its accelerations, and a via-point is a linear constraint
    on them.
    """

    start: Array  #: y₀, shape (d,)
    goal: Array  #: g, shape (d,)
    weights: Array  #: w, shape (bumps, d)

    @classmethod
    def fit(cls, phase: Array, movements: Array, count: int) -> MovementPrimitive:
        """From demonstrations at the same phases, shape (m, n, d), by least squares."""
        start, goal = movements[:, 0].mean(axis=0), movements[:, -1].mean(axis=0)
        free, response = _at(phase, count)
        rest = movements.mean(axis=0) - free @ np.stack([start, goal])
        return cls(start, goal, ridge(response, rest))

    def movement(self, phase: Array) -> Array:
        """The movement at phases from 0 to 1, shape (n, d)."""
        free, response = _at(phase, len(self.weights))
        return free @ np.stack([self.start, self.goal]) + response @ self.weights

    def towards(self, goal: Array, start: Array | None = None) -> MovementPrimitive:
        """The same movement to another goal, and from another start."""
        start = self.start if start is None else np.asarray(start)
        return MovementPrimitive(start, np.asarray(goal), self.weights)

    def through(self, at: float, point: Array) -> MovementPrimitive:
        """The movement bent as little as possible (:func:`bending`) through a via-point."""
        if not 0.0 < at < 1.0:
            raise BadValue(f"a via-point at phase {at:g} is outside the movement, from 0 to 1")
        place = np.array([at])
        row, now = _at(place, len(self.weights))[1], self.movement(place)[0]
        _, response = _responses(len(self.weights))
        W = bending(response)
        W += 1e-9 * np.trace(W) * np.eye(len(W))
        # The end stays where it is.
        A = np.vstack([row, response[[-1]]])
        gap = np.stack([np.asarray(point) - now, np.zeros(len(now))])
        smooth = np.linalg.solve(W, A.T)
        weights = self.weights + smooth @ np.linalg.solve(A @ smooth, gap)
        return MovementPrimitive(self.start, self.goal, weights)


def _at(phase: Array, count: int) -> tuple[Array, Array]:
    grid = np.linspace(0.0, 1.0, STEPS + 1)
    free, response = (interpolated(phase, grid, table) for table in _responses(count))
    return free, response


@lru_cache(maxsize=8)
def _responses(count: int) -> tuple[Array, Array]:
    """Responses of y to start and goal, (n, 2), and to each weight, (n, count), exact if held."""
    phase, h = np.linspace(0.0, 1.0, STEPS + 1), 1.0 / STEPS
    x = np.exp(-FADING * phase)
    inputs = (x[:, None], (1.0 - x)[:, None], x[:, None] * bumps(phase, count))
    driven = np.concatenate(inputs, axis=1)
    driven = 0.5 * (driven[:-1] + driven[1:]) * SPRING**2
    system = np.zeros((3, 3))
    system[0, 1] = h
    system[1] = [-(SPRING**2) * h, -2.0 * SPRING * h, h]
    step = expm(system)
    state = np.zeros((2, driven.shape[1]))
    state[0, 0] = 1.0  # y begins at the start
    rows = [state[0]]
    for row in driven:
        state = step[:2, :2] @ state + np.outer(step[:2, 2], row)
        rows.append(state[0])
    everything = np.stack(rows)
    return everything[:, :2], everything[:, 2:]


@dataclass(frozen=True)
class ProbabilisticPrimitive:
    r"""Movements :math:`y(s) = \Psi(s)\,w` with :math:`w \sim N(\mu, \Sigma)`, all dimensions in w.

    Demonstrated motion and force are correlated, so a via-point in position also changes the force.
    With few demonstrations Σ has few directions; a hundredth of the variance is added for smooth
    bends that nobody showed, so that every via-point can be reached.
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
        return cls(mean, seen + UNSEEN_VARIANCE * np.kron(smooth, np.diag(variance)))

    def movement(self, phase: Array) -> Array:
        """Mean movement at these phases, shape (n, d)."""
        return bumps(phase, len(self.mean)) @ self.mean

    def deviation(self, phase: Array) -> Array:
        """Standard deviation at these phases, shape (n, d)."""
        basis, d = bumps(phase, len(self.mean)), self.mean.shape[1]
        blocks = self.covariance.reshape(len(self.mean), d, len(self.mean), d)
        return np.sqrt(np.einsum("na,adbd,nb->nd", basis, blocks, basis))

    def conditioned(self, at: float, point: Array, noise: float = 1e-5) -> ProbabilisticPrimitive:
        """The movements given that they pass ``point`` at a phase.

        Args:
            at: phase, 0 to 1.
            point: shape (d,), NaN in dimensions that stay free.
            noise: standard deviation with which the point is passed, in its own unit.
        """
        if not 0.0 <= at <= 1.0:
            raise BadValue(f"a via-point at phase {at:g} is outside the movement, from 0 to 1")
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
        symmetric = 0.5 * (covariance + covariance.T)
        return ProbabilisticPrimitive(mean.reshape(self.mean.shape), symmetric)
