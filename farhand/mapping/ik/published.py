"""Published inverse kinematics, to compare :class:`~farhand.mapping.ik.Solver` with."""

from __future__ import annotations

import numpy as np

from farhand.mapping.ik.chain import Model, Pose, Solution, split
from farhand.robots import Robot
from farhand.spatial import Array

WEIGHTS = (1.0, 1.0, 1.0, 0.01, 0.01, 0.01)
"""Diagonal of W, [1] and [m/rad]: a radian counts as a centimetre."""


class Newton:
    r"""Newton–Raphson: follow the Jacobian's pseudo-inverse until the error is small.

    .. math:: q_{i+1} = q_i + J^\dagger(q_i)\, e(q_i), \qquad e = [p_d - p;\ \log(R_d R^\top)^\vee]

    It converges quadratically near a solution. Near a singularity it divides by small singular
    values and throws the joints tens of thousands of radians away. It ignores joint limits.

    Args:
        tolerance: every component of e must be smaller, [m] and [rad].
        cut_off: singular values below it count as zero, [m] and [-].
    """

    def __init__(
        self, robot: Robot, tolerance: float = 1e-5, iterations: int = 500, cut_off: float = 1e-5
    ) -> None:
        self.model = Model(robot)
        self.tolerance, self.iterations, self.cut_off = tolerance, iterations, cut_off

    def solve(self, pose: Array | Pose, q_start: Array) -> Solution:
        """Status ``solved``, ``limited`` (met, but outside the limits) or ``failed``."""
        target, q = split(pose), np.array(q_start, dtype=float)
        error = self.model.error(target, q)
        for done in range(self.iterations):
            if np.abs(error).max() < self.tolerance:
                return self.model.solution(q, error, done)
            q += self._inverse(self.model.jacobian(q)) @ error
            error = self.model.error(target, q)
        met = bool(np.abs(error).max() < self.tolerance)
        return self.model.solution(q, error, self.iterations, met)

    def _inverse(self, J: Array) -> Array:
        U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
        kept = sigma > self.cut_off
        return (Vt[kept].T / sigma[kept]) @ U[:, kept].T


class Levenberg:
    r"""Levenberg–Marquardt: blend Gauss–Newton with gradient descent.

    .. math:: \Delta q = (J^\top W^2 J + \lambda I)^{-1} J^\top W^2 e

    A step is taken only if it reduces :math:`|We|`; λ then shrinks with the gain ratio, otherwise
    it grows. Without a solution the closest pose comes back. It ignores joint limits.

    Args:
        tolerance: ε; solved when \|We\| < ε, so 1e-5 allows 1e-3 rad, [m].
        iterations: most steps, taken or not.
        stall: relative decrease of the cost below which a step counts as stalled; 0 never stops
            early.
        stalled_steps: how many of them in a row stop it.
    """

    def __init__(
        self,
        robot: Robot,
        tolerance: float = 1e-5,
        iterations: int = 500,
        damping: float = 10.0,
        weights: tuple[float, ...] = WEIGHTS,
        stall: float = 1e-5,
        stalled_steps: int = 5,
    ) -> None:
        self.model = Model(robot)
        self.tolerance, self.iterations, self.damping = tolerance, iterations, damping
        self.weights = np.array(weights)
        self.stall, self.stalled_steps = stall, stalled_steps

    def solve(self, pose: Array | Pose, q_start: Array) -> Solution:
        """Status ``solved``, ``limited`` (met, but outside the limits) or ``unreachable``."""
        target, q = split(pose), np.array(q_start, dtype=float)
        identity = np.eye(len(q))
        error = self.model.error(target, q)
        weighted = self.weights * error
        J = self.weights[:, None] * self.model.jacobian(q)
        cost, damping, growth, stalled, done = float(weighted @ weighted), self.damping, 2.0, 0, 0
        while done < self.iterations and cost >= self.tolerance**2 and stalled < self.stalled_steps:
            done += 1
            gradient = J.T @ weighted
            step = np.linalg.solve(J.T @ J + damping * identity, gradient)
            if step @ step < 1e-30:
                break
            candidate = self.model.error(target, q + step)
            left = float(((self.weights * candidate) ** 2).sum())
            ratio = (cost - left) / float(step @ (damping * step + gradient))
            if ratio <= 0.0:
                damping, growth = damping * growth, 2.0 * growth
                continue
            # the first steps are short because λ is large, not because progress ends
            short = damping > 0.01 * self.damping
            stalled = stalled + 1 if not short and cost - left < self.stall * cost else 0
            q, error, cost = q + step, candidate, left
            damping, growth = damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 2.0
            weighted = self.weights * error
            J = self.weights[:, None] * self.model.jacobian(q)
        return self.model.solution(q, error, done, cost < self.tolerance**2, "unreachable")
