"""Small compiled functions that larger ones share: triples, rotations, few equations."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dposv

from farhand.compiled import compiled, enabled
from farhand.spatial import Array

Triple = tuple[float, float, float]


@compiled
def cross(a: Triple, b: Triple) -> Triple:
    """A × b of two triples."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def triple(row: Array, k: int) -> Triple:
    """Three numbers of a row, from column ``k``."""
    return row[k], row[k + 1], row[k + 2]


@compiled
def put(row: Array, k: int, a: Triple) -> None:
    """Write a triple into a row, at column ``k``."""
    row[k], row[k + 1], row[k + 2] = a


@compiled
def turn_row(row: Triple, axis: Triple, sine: float, versine: float) -> Triple:
    """A row of a rotation matrix R, of R times the rotation about a unit axis.

    Args:
        row: a triple.
        axis: a triple.
        sine: of the angle.
        versine: one minus its cosine.
    """
    across = cross(row, axis)
    along = row[0] * axis[0] + row[1] * axis[1] + row[2] * axis[2]
    return (
        row[0] + sine * across[0] + versine * (along * axis[0] - row[0]),
        row[1] + sine * across[1] + versine * (along * axis[1] - row[1]),
        row[2] + sine * across[2] + versine * (along * axis[2] - row[2]),
    )


def products(A: Array, B: Array) -> Array:
    """Bᵀ A⁻¹ B for a symmetric positive definite matrix A; ``B`` may be overwritten."""
    return B.T @ dposv(A, B)[1]


def solve(A: Array, B: Array) -> Array:
    """A⁻¹ B for a symmetric positive definite matrix A; both may be overwritten."""
    return dposv(A, B)[1]


def multiply(A: Array, B: Array) -> Array:
    """A B."""
    return A @ B


if enabled():
    # BLAS and LAPACK take longer to call than six equations take to solve
    @compiled
    def multiply(A: Array, B: Array) -> Array:  # noqa: F811
        """See above."""
        found = np.zeros((len(A), B.shape[1]))
        for i in range(found.shape[0]):
            for k in range(A.shape[1]):
                for j in range(found.shape[1]):
                    found[i, j] += A[i, k] * B[k, j]
        return found

    @compiled
    def forward(L: Array, X: Array) -> None:
        """Cholesky's factor of L into L, and L⁻¹ X into X."""
        n, m = X.shape
        for j in range(n):
            for k in range(j):
                L[j, j] -= L[j, k] * L[j, k]
            L[j, j] = math.sqrt(max(L[j, j], 1e-300))
            for i in range(j + 1, n):
                for k in range(j):
                    L[i, j] -= L[i, k] * L[j, k]
                L[i, j] /= L[j, j]
            for k in range(j):
                for c in range(m):
                    X[j, c] -= L[j, k] * X[k, c]
            for c in range(m):
                X[j, c] /= L[j, j]

    @compiled
    def products(A: Array, B: Array) -> Array:  # noqa: F811
        """See above: with A = L Lᵀ and B ← L⁻¹ B it is Bᵀ B."""
        forward(A.copy(), B)
        n, m = B.shape
        found = np.zeros((m, m))
        for k in range(n):
            for i in range(m):
                for j in range(m):
                    found[i, j] += B[k, i] * B[k, j]
        return found

    @compiled
    def solve(A: Array, B: Array) -> Array:  # noqa: F811
        """See above."""
        forward(A, B)
        n, m = B.shape
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                for c in range(m):
                    B[i, c] -= A[k, i] * B[k, c]
            for c in range(m):
                B[i, c] /= A[i, i]
        return B


@compiled
def rotation_log(D: Array, out: Array) -> None:
    """Axis times angle of a rotation matrix, exact also near a half turn, [rad]."""
    x, y, z = 0.5 * (D[2, 1] - D[1, 2]), 0.5 * (D[0, 2] - D[2, 0]), 0.5 * (D[1, 0] - D[0, 1])
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (D[0, 0] + D[1, 1] + D[2, 2] - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-4 or cosine > 0.0:
        scale = angle / sine if sine > 1e-12 else 1.0
        out[0], out[1], out[2] = scale * x, scale * y, scale * z
        return
    # near a half turn the axis is the largest column of (D + Dᵀ)/2 + 1
    best = 0
    for i in range(1, 3):
        if D[i, i] > D[best, best]:
            best = i
    size = 0.0
    for i in range(3):
        out[i] = 0.5 * (D[i, best] + D[best, i]) + (-cosine if i == best else 0.0)
        size += out[i] * out[i]
    sign = 1.0 if x * out[0] + y * out[1] + z * out[2] >= 0.0 else -1.0
    for i in range(3):
        out[i] *= sign * angle / math.sqrt(size)


@compiled
def scaled_square(scale: Array, values: Array) -> float:
    """Sum of the squares of values, each times its scale; not a number if one of them is not."""
    total = 0.0
    for i in range(len(values)):
        share = values[i] * scale[i]
        total += share * share
    return total


@compiled
def join(q: Array, v: Array, wrench: Array, values: Array, noise: Array) -> None:
    """Positions, velocities and a wrench with noise, one after the other, into ``values``."""
    n, m = len(q), len(v)
    for i in range(n):
        values[i] = q[i]
    for i in range(m):
        values[n + i] = v[i]
    for i in range(6):
        values[n + m + i] = wrench[i] + noise[i]
