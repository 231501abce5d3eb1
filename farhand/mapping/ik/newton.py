"""Newton–Raphson inverse kinematics, as published: the pseudo-inverse step until the error is small."""

from __future__ import annotations

import numpy as np

from farhand.mapping.ik.chain import Array, Model, Pose, split
from farhand.mapping.ik.solution import Solution, solution_of
from farhand.robots import Robot


class Newton:
    r"""Follow the Jacobian's pseudo-inverse.

    .. math:: q_{i+1} = q_i + J^\dagger(q_i)\, e(q_i), \qquad e = [p_d - p;\ \log(R_d R^\top)^\vee]

    Quadratic near a solution; divides by small singular values near a singularity and then throws
    the joints tens of thousands of radians away. It knows no limits. For
    :class:`~farhand.mapping.ik.solver.Solver` to be compared with.

    Args:
        robot: a single chain.
        tolerance: every component of e must be smaller, [m] and [rad].
        iterations: most steps.
        cut_off: singular values below it count as zero, [m] and [-].
    """

    def __init__(
        self, robot: Robot, tolerance: float = 1e-5, iterations: int = 500, cut_off: float = 1e-5
    ) -> None:
        self.model = Model(robot)
        self.tolerance, self.iterations, self.cut_off = tolerance, iterations, cut_off

    def solve(self, pose: Array | Pose, q_start: Array) -> Solution:
        """Solve from ``q_start``; status ``solved``, ``limited`` (met, but outside the limits) or ``failed``."""
        target, q = split(pose), np.array(q_start, dtype=float)
        error = self.model.error(target, q)
        for done in range(self.iterations):
            if np.abs(error).max() < self.tolerance:
                return solution_of(self.model, q, error, done)
            q += self._inverse(self.model.jacobian(q)) @ error
            error = self.model.error(target, q)
        return solution_of(
            self.model, q, error, self.iterations, met=bool(np.abs(error).max() < self.tolerance)
        )

    def _inverse(self, J: Array) -> Array:
        U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
        kept = sigma > self.cut_off
        return (Vt[kept].T / sigma[kept]) @ U[:, kept].T
