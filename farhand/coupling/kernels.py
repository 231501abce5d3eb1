"""What laws compute in every tick, as compiled functions."""

from __future__ import annotations

import numpy as np

from farhand.compiled import compiled
from farhand.kernels import multiply, products, rotation_log, solve
from farhand.spatial import Array


@compiled
def pose_error(target: Array, twist: Array, pose: Array, motion: Array) -> None:
    """How far a tool is from its target, [p_t − p; log(R_t Rᵀ)], and the difference of the twists.

    Args:
        target: position, [m], and rotation (row by row) of the target.
        twist: of the target, [m/s] and [rad/s].
        pose: of the tool: position, rotation (column by column) and twist.
        motion: result: error, [m] and [rad], and its rate, [m/s] and [rad/s].
    """
    D = np.empty((3, 3))
    for i in range(3):
        motion[i] = target[i] - pose[i]
        a, b, c = target[3 + 3 * i], target[4 + 3 * i], target[5 + 3 * i]
        for j in range(3):
            D[i, j] = a * pose[3 + j] + b * pose[6 + j] + c * pose[9 + j]
    rotation_log(D, motion[3:])
    for i in range(6):
        motion[6 + i] = twist[i] - pose[12 + i]


@compiled
def follow(leader: Array, offsets: Array, follower: Array, target: Array, motion: Array) -> None:
    """The follower's target p_a + Δp, R_a ΔR in a workspace that is neither turned nor scaled.

    Args:
        leader: position, rotation (column by column) and twist of its tool.
        offsets: Δp, and ΔR row by row.
        follower: position, rotation and twist of its tool.
        target: result: position, [m], and rotation (row by row) of the target.
        motion: result, as of :func:`pose_error`.
    """
    for i in range(3):
        target[i] = leader[i] + offsets[i]
        a, b, c = leader[3 + i], leader[6 + i], leader[9 + i]
        for j in range(3):
            target[3 + 3 * i + j] = a * offsets[3 + j] + b * offsets[6 + j] + c * offsets[9 + j]
    pose_error(target, leader[12:], follower, motion)


@compiled
def spring_force(gains: Array, motion: Array, wrench: Array) -> None:
    """K e + D ė.

    Args:
        gains: diagonals of K and D, one below the other.
        motion: e and ė, likewise.
        wrench: result, [N] and [N·m].
    """
    for i in range(len(wrench)):
        wrench[i] = gains[0, i] * motion[0, i] + gains[1, i] * motion[1, i]


@compiled
def tool_terms(
    state: Array,
    nq: int,
    wrench: Array,
    external: Array,
    turned: bool,
    scale: Array,
    gamma: Array,
    A: Array,
) -> None:
    """Γ = J B⁻¹ Jᵀ and A = J B⁻¹ b − J̇ q̇ of one arm.

    Args:
        state: of the arm, as :class:`farhand.arm.Arm` lays it out.
        nq: how many numbers its configuration has.
        wrench: measured at its tool, [N] and [N·m].
        external: joint torque known to act beside it, [N·m].
        turned: whether the twist is scaled.
        scale: 6 × 6, the twist in another workspace per twist of the tool.
        gamma: result, 6 × 6, [1/kg] and [1/(kg·m²)].
        A: result, [m/s²] and [rad/s²].
    """
    n = len(external)
    v, rest = state[nq : nq + n], state[nq + n + 18 :]
    M, J, rest = rest[: n * n].reshape(n, n), rest[n * n :], rest[n * n + 6 * n :]
    bias, gravity, drift, viscous = rest[:n], rest[n : 2 * n], rest[2 * n :], rest[2 * n + 6 :]
    B, moved = np.zeros((n, 7)), drift[:6].copy()
    for i in range(n):
        total = bias[i] - gravity[i] + viscous[i] * v[i] - external[i]
        for r in range(6):
            B[i, r] = J[r * n + i]
            total -= wrench[r] * B[i, r]
        B[i, 6] = total
    if turned:
        for r in range(6):
            moved[r] = 0.0
            for c in range(6):
                moved[r] += scale[r, c] * drift[c]
            for i in range(n):
                B[i, r] = 0.0
                for c in range(6):
                    B[i, r] += scale[r, c] * J[c * n + i]
    X = products(M, B)
    for r in range(6):
        for c in range(6):
            gamma[r, c] = X[r, c]
        A[r] = X[r, 6] - moved[r]


@compiled
def damped(gamma: Array, wanted: Array, damping: float) -> Array:
    """Γ (Γ² + ρ² I)⁻¹ times accelerations, one per column: wrenches that cause them.

    Without damping Γ⁻¹, unbounded where the arms lose a direction.
    """
    if damping == 0.0:
        return np.linalg.solve(gamma, wanted)
    squared = multiply(gamma, gamma)
    for i in range(len(gamma)):
        squared[i, i] += damping * damping
    return multiply(gamma, solve(squared, wanted.copy()))


@compiled
def constraint_force(
    state_a: Array,
    nq_a: int,
    wrench_a: Array,
    external_a: Array,
    turned: bool,
    scale: Array,
    state_b: Array,
    nq_b: int,
    wrench_b: Array,
    external_b: Array,
    straight: bool,
    offsets: Array,
    target: Array,
    motion: Array,
    gains: Array,
    gamma: Array,
    back: float,
    efforts: Array,
) -> None:
    """The force u = Γ (Γ² + ρ² I)⁻¹ (A_b − A_a + K_d rate + K_p error) with Γ = Γ_a + Γ_b.

    Args:
        state_a: of the leader, and so on: see :func:`tool_terms`.
        nq_a: of the leader.
        wrench_a: of the leader.
        external_a: of the leader.
        turned: whether the leader's workspace is turned or scaled.
        scale: by what.
        state_b: of the follower, and so on.
        nq_b: of the follower.
        wrench_b: of the follower.
        external_b: of the follower.
        straight: whether to find the error first, as :func:`follow` does.
        offsets: as :func:`follow` takes them.
        target: result, if so.
        motion: error, mapped leader minus follower, [m] and [rad], and its rate.
        gains: diagonals of K_p and K_d, and ρ.
        gamma: result: Γ, 6 × 6.
        back: how strongly the hand feels it.
        efforts: result: u, then −u times ``back``, which is of use where the workspace is not
            turned, [N] and [N·m].
    """
    if straight:
        n_a, n_b = len(external_a), len(external_b)
        pose_a, pose_b = state_a[nq_a + n_a :], state_b[nq_b + n_b :]
        follow(pose_a[:18], offsets, pose_b[:18], target, motion)
    gamma_b, A_a, A_b = np.empty((6, 6)), np.empty(6), np.empty(6)
    tool_terms(state_a, nq_a, wrench_a, external_a, turned, scale, gamma, A_a)
    tool_terms(state_b, nq_b, wrench_b, external_b, False, scale, gamma_b, A_b)
    wanted = np.empty((6, 1))
    for i in range(6):
        wanted[i, 0] = A_b[i] - A_a[i] + gains[6 + i] * motion[6 + i] + gains[i] * motion[i]
        for j in range(6):
            gamma[i, j] += gamma_b[i, j]
    found = damped(gamma, wanted, gains[12])
    for i in range(6):
        efforts[i] = found[i, 0]
        efforts[6 + i] = -back * efforts[i]
