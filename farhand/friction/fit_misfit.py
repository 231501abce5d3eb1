"""Whether a freer curve explains more of the torque than chance and the model's own intervals allow."""

from __future__ import annotations

import numpy as np
from scipy.stats import f as fisher

from farhand.friction.fit_motion import Motion
from farhand.friction.fit_static import Sliding, free_columns, half_interval, stretches, tangents

Array = np.ndarray

CHANCE = 1e-3
"""Probability by which chance alone may call a model unfit; chosen, beside intervals of 95 %."""


def unexplained(motion: Motion, fitted: Sliding, residual: Array) -> float:
    """Mean square of what a freer curve would explain of a residual, [(N·m)²]; 0 unless it stands out and matters.

    Two things must hold. What a freer curve would explain of the residual is more than chance allows: its scores,
    summed over stretches of the recording that count as independent, are away from zero by Hotelling's test. And it is
    larger than the band of the fitted curve that the intervals stand for: if not, the intervals allow for it, and the
    data are only good enough to see it.

    Args:
        motion: what the joint did.
        fitted: the sliding curve.
        residual: n [N·m], smoothed torque minus model.
    """
    used = fitted.used
    J, r = tangents(motion, fitted)[used], residual[used]
    Z = _apart(free_columns(motion)[used], J)
    blocks = stretches(len(r))
    count, q = len(blocks), Z.shape[1]
    if q == 0 or count <= q + 1:
        return 0.0
    explained = float(np.sum((Z.T @ r) ** 2)) / len(r)  # Z is orthonormal
    if explained < _band(J, fitted):
        return 0.0
    scores = np.array([Z[rows].T @ r[rows] for rows in blocks])
    mean, spread = scores.mean(axis=0), np.cov(scores.T).reshape(q, q)
    squared = count * mean @ np.linalg.pinv(spread, hermitian=True) @ mean
    sure = squared * (count - q) / (q * (count - 1)) > fisher.ppf(1.0 - CHANCE, q, count - q)
    return explained if sure else 0.0


def _apart(columns: Array, J: Array) -> Array:
    """An orthonormal basis of what the columns have beside those of J."""
    size = [np.sqrt((A * A).sum(axis=0)) + 1e-300 for A in (columns, J)]
    U, strength, _ = np.linalg.svd(J / size[1], full_matrices=False)
    U = U[:, strength > 1e-9 * strength[0]]
    rest = columns / size[0]
    rest = rest - U @ (U.T @ rest)
    Z, strength, _ = np.linalg.svd(rest, full_matrices=False)
    return Z[:, strength > 1e-3]  # of columns of length 1


def _band(J: Array, fitted: Sliding) -> float:
    """Mean square of half the 95 % band of the fitted torque, [(N·m)²]."""
    variance = float(np.mean(np.sum((J @ fitted.covariance) * J, axis=1)))
    return half_interval(variance, fitted.freedom) ** 2
