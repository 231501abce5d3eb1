"""Compiled kernels: pose, Jacobian and a Levenberg–Marquardt descent inside joint limits."""

from __future__ import annotations

import math

import numpy as np

from farhand.compiled import compiled
from farhand.kernels import rotation_log

LIMIT_AVOIDANCE = 1.0
"""How strongly joints near their limit are spared, [-]; found by counting jumps on random paths."""


@compiled
def forward(steps, hinge, q, axes, origins, R, p):
    """Pose of the tool, and each joint's axis and origin, all in base axes.

    Args:
        steps: see :class:`~farhand.mapping.ik.chain.Chain`.
        hinge: hinge or slide.
        q: joint positions, [rad or m].
        axes: result, n × 3.
        origins: result, n × 3, [m].
        R: result, 3 × 3.
        p: result, [m].
    """
    n = len(q)
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    x, y, z = 0.0, 0.0, 0.0
    for i in range(n + 1):
        S = steps[i]
        x += r00 * S[0, 3] + r01 * S[1, 3] + r02 * S[2, 3]
        y += r10 * S[0, 3] + r11 * S[1, 3] + r12 * S[2, 3]
        z += r20 * S[0, 3] + r21 * S[1, 3] + r22 * S[2, 3]
        a00 = r00 * S[0, 0] + r01 * S[1, 0] + r02 * S[2, 0]
        a01 = r00 * S[0, 1] + r01 * S[1, 1] + r02 * S[2, 1]
        a02 = r00 * S[0, 2] + r01 * S[1, 2] + r02 * S[2, 2]
        a10 = r10 * S[0, 0] + r11 * S[1, 0] + r12 * S[2, 0]
        a11 = r10 * S[0, 1] + r11 * S[1, 1] + r12 * S[2, 1]
        a12 = r10 * S[0, 2] + r11 * S[1, 2] + r12 * S[2, 2]
        a20 = r20 * S[0, 0] + r21 * S[1, 0] + r22 * S[2, 0]
        a21 = r20 * S[0, 1] + r21 * S[1, 1] + r22 * S[2, 1]
        a22 = r20 * S[0, 2] + r21 * S[1, 2] + r22 * S[2, 2]
        c, s = 1.0, 0.0
        if i < n:
            axes[i, 0], axes[i, 1], axes[i, 2] = a02, a12, a22
            origins[i, 0], origins[i, 1], origins[i, 2] = x, y, z
            if hinge[i]:
                c, s = math.cos(q[i]), math.sin(q[i])
            else:
                x, y, z = x + q[i] * a02, y + q[i] * a12, z + q[i] * a22
        r00, r01, r02 = c * a00 + s * a01, c * a01 - s * a00, a02
        r10, r11, r12 = c * a10 + s * a11, c * a11 - s * a10, a12
        r20, r21, r22 = c * a20 + s * a21, c * a21 - s * a20, a22
    R[0, 0], R[0, 1], R[0, 2] = r00, r01, r02
    R[1, 0], R[1, 1], R[1, 2] = r10, r11, r12
    R[2, 0], R[2, 1], R[2, 2] = r20, r21, r22
    p[0], p[1], p[2] = x, y, z


@compiled
def pose_error(steps, hinge, q, target_p, target_R, axes, origins, e):
    """Pose error [p_d − p; log(R_d Rᵀ)] in base axes into ``e``; returns its sizes, [m] and [rad].

    ``origins`` come back as lever arms p − p_i.
    """
    R, p, D = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
    forward(steps, hinge, q, axes, origins, R, p)
    for i in range(3):
        e[i] = target_p[i] - p[i]
        for j in range(3):
            D[i, j] = target_R[i, 0] * R[j, 0] + target_R[i, 1] * R[j, 1] + target_R[i, 2] * R[j, 2]
    rotation_log(D, e[3:])
    for i in range(len(q)):
        for j in range(3):
            origins[i, j] = p[j] - origins[i, j]
    linear = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    return linear, math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])


@compiled
def jacobian(hinge, axes, levers, weight, J):
    """Rows of J are tool twists per joint velocity, the angular part times ``weight`` [m/rad]."""
    for i in range(len(hinge)):
        a, r = axes[i], levers[i]
        if hinge[i]:
            J[i, 0] = a[1] * r[2] - a[2] * r[1]
            J[i, 1] = a[2] * r[0] - a[0] * r[2]
            J[i, 2] = a[0] * r[1] - a[1] * r[0]
            for j in range(3):
                J[i, 3 + j] = weight * a[j]
        else:
            for j in range(3):
                J[i, j], J[i, 3 + j] = a[j], 0.0


@compiled
def _limit_cost(q, lower, upper):
    """Cost of moving a joint, high near a limit: a redundant arm moves its other joints, [-]."""
    # 1 in the middle, 0 at a limit
    room = 2.0 * min(q - lower, upper - q) / (upper - lower)
    return 1.0 + LIMIT_AVOIDANCE / max(room * room, 1e-6) if upper - lower < 1e6 else 1.0


@compiled
def _step(J, e, weight, damping, q, lower, upper, A, g, dq):
    """Step (J Jᵀ + λ I)⁻¹ J e of the joints that are free to move; ``g`` is J e."""
    n = len(q)
    for i in range(n):
        g[i] = J[i, 0] * e[0] + J[i, 1] * e[1] + J[i, 2] * e[2]
        g[i] += weight * (J[i, 3] * e[3] + J[i, 4] * e[4] + J[i, 5] * e[5])
        if (q[i] <= lower[i] and g[i] < 0.0) or (q[i] >= upper[i] and g[i] > 0.0):
            g[i] = 0.0
            # held at its limit
            for j in range(6):
                J[i, j] = 0.0
    for i in range(n):
        for j in range(i + 1):
            total = damping * _limit_cost(q[i], lower[i], upper[i]) if i == j else 0.0
            for k in range(6):
                total += J[i, k] * J[j, k]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(max(total, 1e-30)) if i == j else total / A[j, j]
    for i in range(n):
        dq[i] = g[i]
        for k in range(i):
            dq[i] -= A[i, k] * dq[k]
        dq[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            dq[i] -= A[k, i] * dq[k]
        dq[i] /= A[i, i]


@compiled
def descend(chain, target_p, target_R, q, weight, most, stall, stalled_steps, tolerance, within):
    """Reduce the pose error of ``q`` in place, inside the limits, until it is met or stalls.

    Args:
        chain: (steps, hinge, lower, upper).
        target_p: position of the target, [m].
        target_R: rotation of the target.
        q: start, inside the limits; result, [rad or m].
        weight: of a radian against a metre, [m/rad].
        most: most steps, taken or not.
        stall: relative decrease of the cost below which a step counts as stalled.
        stalled_steps: how many of them in a row end the search.
        tolerance: (position [m], rotation [rad]).
        within: (position [m], rotation [rad]); a start with a larger error is not tried at all.

    Returns:
        Position error [m], rotation error [rad], steps.
    """
    steps, hinge, lower, upper = chain
    n = len(q)
    axes, levers, J, A = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 6)), np.empty((n, n))
    g, dq, trial, e, e_new = np.empty(n), np.empty(n), np.empty(n), np.empty(6), np.empty(6)
    linear, angular = pose_error(steps, hinge, q, target_p, target_R, axes, levers, e)
    if linear > within[0] or angular > within[1]:
        return linear, angular, 0
    cost = linear * linear + weight * weight * angular * angular
    share, growth, stalled, done = 1e-2, 2.0, 0, 0
    fresh = True
    while done < most and stalled < stalled_steps:
        if not (linear > tolerance[0] or angular > tolerance[1]):
            break
        done += 1
        if not fresh:
            pose_error(steps, hinge, q, target_p, target_R, axes, levers, e)
        jacobian(hinge, axes, levers, weight, J)
        damping = share * cost + 1e-12
        _step(J, e, weight, damping, q, lower, upper, A, g, dq)
        predicted = 0.0
        for i in range(n):
            trial[i] = min(max(q[i] + dq[i], lower[i]), upper[i])
            predicted += (trial[i] - q[i]) * (damping * dq[i] + g[i])
        new_linear, new_angular = pose_error(
            steps, hinge, trial, target_p, target_R, axes, levers, e_new
        )
        left = new_linear * new_linear + weight * weight * new_angular * new_angular
        # "not <" also rejects NaN
        if not left < cost:
            share, growth, fresh = share * growth, 2.0 * growth, False
            if share > 1e12:
                break
            continue
        stalled = stalled + 1 if cost - left < stall * cost else 0
        ratio = (cost - left) / max(predicted, 1e-300)
        share = max(share * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-6)
        cost, linear, angular, growth, fresh = left, new_linear, new_angular, 2.0, True
        for i in range(n):
            q[i] = trial[i]
        for i in range(6):
            e[i] = e_new[i]
    return linear, angular, done
