"""The linear algebra of virtual constraints as one compiled function; the law has the plain one.

Importing this module imports numba (about a second, and a few more the first time, when it compiles
and caches), so only a law that is set to use it does.
"""

from __future__ import annotations

import numpy as np
from numba import njit

Array = np.ndarray


@njit(cache=True)
def _factor(A: Array, n: int) -> None:
    """Cholesky factor L of a symmetric positive definite matrix, in place in its lower triangle."""
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        A[j, j] = np.sqrt(max(A[j, j], 1e-300))
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]


@njit(cache=True)
def _forward(L: Array, x: Array, n: int) -> None:
    """Solve L y = x in place."""
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@njit(cache=True)
def _add_arm(arm: tuple[Array, ...], sign: float, gamma: Array, rhs: Array) -> None:
    """Add one arm's Γ_i to ``gamma`` and sign × A_i to ``rhs``.

    With B = L Lᵀ and Y = L⁻¹ Jᵀ, Γ_i = Yᵀ Y and J B⁻¹ b = Yᵀ (L⁻¹ b): only forward substitutions
    are needed. ``external`` is the known joint torque, that of the measured wrench included.
    """
    M, J, bias, gravity, viscous, v, external, drift = arm
    n = len(v)
    L = M.copy()
    _factor(L, n)
    b = np.empty(n)
    for i in range(n):
        b[i] = bias[i] - gravity[i] + viscous[i] * v[i] - external[i]
    _forward(L, b, n)
    Y = np.empty((6, n))
    for r in range(6):
        for i in range(n):
            Y[r, i] = J[r, i]
        _forward(L, Y[r], n)
    for r in range(6):
        total = -drift[r]
        for i in range(n):
            total += Y[r, i] * b[i]
        rhs[r] += sign * total
        for c in range(r + 1):
            dot = 0.0
            for i in range(n):
                dot += Y[r, i] * Y[c, i]
            gamma[r, c] += dot
            if c != r:
                gamma[c, r] += dot


@njit(cache=True)
def constraint_force(
    arm_a: tuple[Array, ...],
    arm_b: tuple[Array, ...],
    error: Array,
    rate: Array,
    proportional: Array,
    derivative: Array,
    damping: float,
    u: Array,
) -> None:
    """Write the multiplier u = Γ (Γ² + ρ² I)⁻¹ (A_2 − A_1 + K_d rate + K_p error).

    Args:
        arm_a: (M, J, bias, gravity, viscous, v, external torque, drift) of the leader.
        arm_b: the same of the follower.
        error: mapped leader minus follower, [m] and [rad].
        rate: its rate, [m/s] and [rad/s].
        proportional: diagonal of K_p, [1/s²].
        derivative: diagonal of K_d, [1/s].
        damping: ρ.
        u: result, [N] and [N·m].
    """
    gamma, rhs = np.zeros((6, 6)), np.empty(6)
    for r in range(6):
        rhs[r] = derivative[r] * rate[r] + proportional[r] * error[r]
    _add_arm(arm_a, -1.0, gamma, rhs)
    _add_arm(arm_b, 1.0, gamma, rhs)
    squared = gamma @ gamma
    for r in range(6):
        squared[r, r] += damping * damping
    _factor(squared, 6)
    _forward(squared, rhs, 6)
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            rhs[i] -= squared[k, i] * rhs[k]
        rhs[i] /= squared[i, i]
    for r in range(6):
        total = 0.0
        for c in range(6):
            total += gamma[r, c] * rhs[c]
        u[r] = total
