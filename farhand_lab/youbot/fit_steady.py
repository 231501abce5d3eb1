"""The Stribeck curve from steady points: many noisy copies of one measurement fitted at once."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

NAMES = ("coulomb", "breakaway", "stribeck_velocity", "shape", "viscous")
"""Parameters of the curve, in the order of the answers."""

LEAST = np.array([1e-6, 1e-6, 1e-4, 0.2, 0.0])
MOST = np.array([1e3, 1e3, 1e3, 6.0, 1e3])


def kfm_curve(parameters: Array, speed: Array) -> Array:
    """Torque at these speeds, m × n [N·m].

    Args:
        parameters: m × 5, see :data:`NAMES`.
        speed: n, positive [rad/s].
    """
    coulomb, top, vs, shape, viscous = parameters.T[:, :, None]
    return coulomb + (top - coulomb) * np.exp(-((speed / vs) ** shape)) + viscous * speed


def fit_kfm(velocity: Array, torque: Array, rounds: int = 25) -> Array:
    """Fit the curve to one or many sets of steady points by damped least squares, several starts each.

    Args:
        velocity: n [rad/s]; both signs count alike.
        torque: m × n [N·m].
        rounds: most steps.

    Returns:
        m × 5, see :data:`NAMES`.
    """
    speed, values = np.abs(velocity), np.atleast_2d(torque) * np.sign(velocity)
    best, least = np.zeros((len(values), 5)), np.full(len(values), np.inf)
    for share in (0.05, 0.15, 0.4):
        found, cost = _damped(speed, values, _start(speed, values, share), rounds)
        better = cost < least
        best[better], least[better] = found[better], cost[better]
    return best


def _start(speed: Array, values: Array, share: float) -> Array:
    """A guess for every set: the slope of the fast half, what it leaves at rest, and the slowest points."""
    order = np.argsort(speed)
    fast, slow = order[len(order) // 2 :], order[: max(3, len(order) // 20)]
    slope = np.array([np.polyfit(speed[fast], row[fast], 1)[0] for row in values])
    slope = np.maximum(slope, 0.0)
    level = values[:, fast].mean(axis=1) - slope * speed[fast].mean()
    level = np.maximum(level, 0.1 * values.mean(axis=1))
    top = np.maximum(1.2 * values[:, slow].mean(axis=1), 1.05 * level)
    ones = np.ones(len(values))
    return np.stack([level, top, share * speed.max() * ones, 1.0 * ones, slope], axis=1)


def _damped(speed: Array, values: Array, start: Array, rounds: int) -> tuple[Array, Array]:
    """Levenberg–Marquardt on all sets side by side."""
    at, damping = start.copy(), np.full(len(values), 1e-2)
    left = values - kfm_curve(at, speed)
    cost = (left**2).sum(axis=1)
    for _ in range(rounds):
        J = _jacobian(at, speed)
        gram = np.einsum("mnp,mnq->mpq", J, J)
        right = np.einsum("mnp,mn->mp", J, left)
        bump = np.einsum("mpp->mp", gram) * damping[:, None] + 1e-300
        step = np.linalg.solve(gram + bump[:, :, None] * np.eye(5), right[:, :, None])[:, :, 0]
        trial = np.clip(at + step, LEAST, MOST)
        fresh = values - kfm_curve(trial, speed)
        gain = (fresh**2).sum(axis=1)
        good = gain < cost
        at[good], left[good], cost[good] = trial[good], fresh[good], gain[good]
        damping = np.where(good, damping / 5.0, damping * 4.0)
        if np.all(np.abs(step) < 1e-7 * np.abs(at) + 1e-12):
            break
    return at, cost


def _jacobian(at: Array, speed: Array) -> Array:
    coulomb, top, vs, shape, _ = at.T[:, :, None]
    ratio = speed / vs
    power = ratio**shape
    fall = np.exp(-power)
    hump = (top - coulomb) * fall * power
    columns = (
        1.0 - fall,
        fall,
        hump * shape / vs,
        -hump * np.log(ratio),
        np.broadcast_to(speed, fall.shape),
    )
    return np.stack(columns, axis=2)
