"""Seven gear terms of an arm with a coupled wrist, from its joints' friction at steady speeds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from farhand.errors import BadValue
from farhand.friction.models.waiboer import Gears, Waiboer

Array = np.ndarray

WRIST = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
"""How terms a, b and c turn with joints 5 and 6."""

FEWEST = 6
"""Speeds that a term of five parameters needs, and one to spare."""

LOW = np.array([1e-3, 1e-3, 0.2, 1e-3, -0.6])
HIGH = np.array([1e3, 3.0, 2.0, 1e3, 0.9])
START = np.array([1.0, 0.08, 0.7, 1.0, 0.3])
"""Bounds and start of a term's dry part and drag as shares of the friction, speed [rad/s] and both
exponents."""


def there_and_back(there: Array, back: Array) -> Array:
    """Friction of joints that pass one posture at the same speeds both ways: half the torques' difference, [N·m].

    Weight, springs and centrifugal terms are the same both ways, and drop out; half the sum is
    theirs.
    """
    return 0.5 * (np.asarray(there, dtype=float) - np.asarray(back, dtype=float))


def fit_gears(velocity: Array, friction: Array) -> Gears:
    """Gears whose terms explain the friction of all joints at steady speeds.

    Joints 1 to 4 have a term each. Joints 5 and 6 have one each and share one that turns with the
    sum of their speeds; the three can be told apart only if the ratio of the two speeds changes.
    The term of joint 6 is fitted in the form of the others: up to a few rad/s its film cannot be
    told from a drag.

    Args:
        velocity: n × 6, [rad/s].
        friction: n × 6, resisting torque, [N·m].
    """
    v, F = np.asarray(velocity, dtype=float), np.asarray(friction, dtype=float)
    if v.shape != F.shape or v.ndim != 2 or v.shape[1] != 6 or len(v) < FEWEST:
        raise BadValue(
            f"gears need n × 6 speeds and torques with n ≥ {FEWEST}, not {v.shape} and {F.shape}"
        )
    rows = [_fit(v[:, [j]], F[:, [j]], np.eye(1)) for j in range(4)]
    rows.append(_fit(v[:, 4:], F[:, 4:], WRIST))
    gears = Gears()
    gears.terms = terms_of(np.vstack(rows))
    return gears


def terms_of(rows: Array) -> Waiboer:
    """Terms from rows of dry part, its speed and shape, drag and its shape."""
    names = ("asperity", "asperity_speed", "asperity_shape", "viscous", "viscous_shape")
    return Waiboer(joints=len(rows), **{name: rows[:, k] for k, name in enumerate(names)})


def _fit(v: Array, F: Array, directions: Array) -> Array:
    """Terms that turn with ``directions`` @ v, one row of five parameters each."""
    u, scale, count = v @ directions.T, np.abs(F).max(axis=0), len(directions)
    size = float(scale.max())

    def unpacked(x: Array) -> Array:
        rows = x.reshape(count, 5).copy()
        rows[:, [0, 3]] *= size
        return rows

    def residual(x: Array) -> Array:
        return ((terms_of(unpacked(x)).curve(u) @ directions - F) / scale).ravel()

    start = np.tile(START * [1.0 / count, 1.0, 1.0, 1.0 / count, 1.0], count)
    bounds = np.tile(LOW * [1.0 / size, 1, 1, 1.0 / size, 1], count), np.tile(HIGH, count)
    return unpacked(least_squares(residual, start, bounds=bounds, x_scale="jac", max_nfev=400).x)
