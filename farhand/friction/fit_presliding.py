"""The sticking part of a fit: bristle stiffness and damping, by running the model along the recorded motion.

Many values are tried at once, as joints of one model. How much worse each one is than the best, stretch by stretch of
the recording, says which of them the data can tell apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.friction.fit_motion import Motion
from farhand.friction.model import Friction, make

Array = np.ndarray

LONGEST = 4000
"""Samples along which the model is run."""

STRETCHES = 20
"""Pieces of the run whose squared errors count as independent."""

SEEN = 3.0
"""Ticks that the displacement before sliding must cover to be seen."""


@dataclass(frozen=True)
class Search:
    """What the data say about one parameter.

    Attributes:
        value: best one.
        low: smallest one that cannot be told from it; 0 if none is small enough.
        high: largest one; infinite if none is large enough.
    """

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether the data limit it to both sides, to within a factor of two."""
        return self.low > 0.5 * self.value and self.high < 2.0 * self.value


def friction_along(friction: Friction, motion: Motion, rows: slice, applied: Array) -> Array:
    """Torque of the model, all its joints moved alike, n × joints [N·m], smoothed like the measured torque."""
    friction.reset()
    lanes = np.ones(friction.joints)
    velocity, pushed, dt = motion.velocity[rows].tolist(), applied[rows].tolist(), motion.step
    out = np.empty((len(velocity), friction.joints))
    for k, (v, push) in enumerate(zip(velocity, pushed, strict=True)):
        out[k] = friction.step(v * lanes, dt, push * lanes)
    return gaussian_filter1d(out, motion.width / motion.step, axis=0, mode="nearest")


def busiest(motion: Motion) -> slice:
    """The stretch of at most :data:`LONGEST` samples with the most time near rest and reversals."""
    count = len(motion)
    if count <= LONGEST:
        return slice(0, count)
    slow = np.abs(motion.velocity) < 0.1 * np.sqrt(np.mean(motion.velocity**2))
    turns = np.diff(np.sign(motion.velocity), prepend=0.0) != 0.0
    total = np.cumsum(slow + 20.0 * turns)
    start = int(np.argmax(total[LONGEST:] - total[:-LONGEST]))
    return slice(start, start + LONGEST)


def search(model: str, name: str, values: Array, fixed: dict[str, Any], motion: Motion, target: Array) -> Search:
    """Try these values of one parameter.

    Args:
        model: name of the friction model.
        name: of the parameter.
        values: in increasing order.
        fixed: the other parameters.
        motion: what the joint did.
        target: torque left to friction, n [N·m].
    """
    rows = busiest(motion)
    friction = make(model, joints=len(values), **{**fixed, name: values})
    error = target[rows, None] - friction_along(friction, motion, rows, target)
    parts = np.array([(part**2).sum(axis=0) for part in np.array_split(error, STRETCHES)])
    best = int(np.argmin(parts.sum(axis=0)))
    worse = parts - parts[:, [best]]
    score = worse.mean(axis=0) / (worse.std(axis=0) / np.sqrt(len(parts)) + 1e-300)
    alike = np.flatnonzero((score < 2.0) & np.isfinite(score) | (np.arange(len(values)) == best))
    low = 0.0 if alike[0] == 0 else float(np.sqrt(values[alike[0]] * values[alike[0] - 1]))
    last = alike[-1]
    high = np.inf if last == len(values) - 1 else float(np.sqrt(values[last] * values[last + 1]))
    return Search(float(values[best]), low, high)


def stiffness_grid(breakaway: float, motion: Motion, count: int = 24) -> Array:
    """Stiffnesses to try, [N·m/rad]."""
    travel = float(np.ptp(motion.position))
    smallest = max(motion.tick, 1e-6 * travel)
    return np.geomspace(0.3 * breakaway / (0.1 * travel + 10.0 * smallest), 30.0 * breakaway / smallest, count)
