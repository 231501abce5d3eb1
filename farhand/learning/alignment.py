"""Alignment: bring demonstrations of different timing to one phase, by dynamic time warping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farhand.learning.demonstration import Demonstration
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

GRID_SAMPLES = 200
"""Samples on which demonstrations are compared."""

MAX_MISSING_SHARE = 0.05
"""Share of the force that may be missing: in a demonstration that is compared by its force, of all
readings before there is a note, and of the phase, without any reading, before none is learnt."""

WAITING_COST = 0.02
"""Cost of letting time pass in one demonstration only, as a share of the whole range."""


@dataclass(frozen=True)
class Aligned:
    """Demonstrations at the same phases, m of them with n samples."""

    phase: Array  #: 0 to 1, shape (n,), [-]
    motion: Array  #: (m, n, 6): position [m], rotation vector from ``reference`` in world [rad]
    force: Array  #: shape (m, n, 3), [N]; gaps are filled from the others, see :func:`_filled`
    measured: Array  #: where there is a reading of the force, shape (m, n)
    reference: Array  #: mean orientation of all, rotation matrix
    durations: Array  #: of the demonstrations, shape (m,), [s]

    @property
    def duration(self) -> float:
        """Mean duration, [s]."""
        return float(self.durations.mean())


def align(demonstrations: Sequence[Demonstration], samples: int = 400) -> Aligned:
    """Bring demonstrations to one phase with the mean of their timing.

    Each is warped to the one that resembles the others most; the mean of the warps is the timing of
    the skill. Position and force count equally, relative to their ranges over all demonstrations.
    """
    strides = [max(1, len(d.times) // GRID_SAMPLES) for d in demonstrations]
    some = [d.rotation[::stride] for d, stride in zip(demonstrations, strides, strict=True)]
    reference = mean_rotation(np.concatenate(some))
    coarse = [_sampled(d, reference, np.linspace(0.0, 1.0, GRID_SAMPLES)) for d in demonstrations]
    features = _features(coarse)
    middle = int(np.argmin([sum(_distance(a, b) for b in features) for a in features]))
    warps = np.stack([warp(features[middle], other) for other in features])
    mean = warps.mean(axis=0)
    phase = np.linspace(0.0, 1.0, samples)
    at = np.interp(phase, mean, np.linspace(0.0, 1.0, GRID_SAMPLES))
    own = [np.interp(at, np.linspace(0.0, 1.0, GRID_SAMPLES), one) for one in warps]
    fine = [_sampled(d, reference, place) for d, place in zip(demonstrations, own, strict=True)]
    motion, force = np.stack([f[:, :6] for f in fine]), np.stack([f[:, 6:] for f in fine])
    durations = np.array([d.duration for d in demonstrations])
    measured = np.isfinite(force).all(axis=2)
    return Aligned(phase, motion, _filled(force), measured, reference, durations)


def mean_rotation(rotations: Array) -> Array:
    """The rotation nearest to the mean of rotation matrices, shape (n, 3, 3)."""
    u, _, vt = np.linalg.svd(rotations.mean(axis=0))
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def _sampled(demonstration: Demonstration, reference: Array, at: Array) -> Array:
    """Position, rotation vector and force at shares of the duration, (n, 9); NaN for no force."""
    times = at * demonstration.duration
    own = demonstration.times
    vectors = np.stack([rotation_vector(R @ reference.T) for R in demonstration.rotation])
    known = np.isfinite(demonstration.force).all(axis=1)
    motion = interpolated(
        times, own, np.concatenate([demonstration.position, _continuous(vectors)], axis=1)
    )
    if not known.any():
        return np.concatenate([motion, np.full((len(at), 3), np.nan)], axis=1)
    force = interpolated(times, own[known], demonstration.force[known])
    force[np.interp(times, own, known.astype(float)) < 0.5] = np.nan
    return np.concatenate([motion, force], axis=1)


def _filled(force: Array) -> Array:
    """Forces, shape (m, n, 3), with gaps filled by the mean of the others at the same phase.

    Phases without any reading are interpolated. Without any reading at all, everything is zero.
    """
    known = np.isfinite(force).all(axis=2, keepdims=True)
    mean = np.where(known, force, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, force, _bridged(mean, known.any(axis=0)[:, 0]))


def _bridged(values: Array, known: Array) -> Array:
    """Columns interpolated where they are not known; zeros if they never are."""
    if not known.any():
        return np.zeros_like(values)
    places = np.arange(len(values))
    return interpolated(places, places[known], values[known])


def interpolated(at: Array, times: Array, columns: Array) -> Array:
    """Columns, shape (n, d), interpolated at other times."""
    return np.stack([np.interp(at, times, column) for column in columns.T], axis=1)


def _continuous(vectors: Array) -> Array:
    vectors = vectors.copy()
    for i in range(1, len(vectors)):
        angle = float(np.linalg.norm(vectors[i]))
        if angle > 1.0 and vectors[i] @ vectors[i - 1] < 0.0:
            vectors[i] *= 1.0 - 2.0 * np.pi / angle
    return vectors


def rotation_at(vector: Array, reference: Array) -> Array:
    """The rotation matrix of a rotation vector from ``reference``."""
    return rotation_from_vector(vector) @ reference


def _features(sampled: list[Array]) -> list[Array]:
    """Position and, if all demonstrations measured nearly all of it, force, over their ranges."""
    known = [np.isfinite(one[:, 6:]).all(axis=1) for one in sampled]
    counts = all(one.mean() >= 1.0 - MAX_MISSING_SHARE for one in known)
    pairs = zip(sampled, known, strict=True)
    forces = [_bridged(one[:, 6:], there & counts) for one, there in pairs]
    position = max(float(np.ptp(np.concatenate(sampled)[:, :3], axis=0).max()), 1e-9)
    force = max(float(np.ptp(np.concatenate(forces), axis=0).max()), 1.0)
    pairs = zip(sampled, forces, strict=True)
    return [np.concatenate([one[:, :3] / position, f / force], axis=1) for one, f in pairs]


def _distance(a: Array, b: Array) -> float:
    return float(np.square(a - b).sum())


def warp(a: Array, b: Array) -> Array:
    """Phases of ``b`` (0 to 1) that match equal steps of ``a``, monotone; shapes (n, features).

    Dynamic time warping with a small cost of waiting; the steps of the path are smoothed into a
    line that never stands still.
    """
    cost = np.square(a[:, None, :] - b[None, :, :]).sum(axis=2)
    total = _accumulated(cost)
    n, m = cost.shape
    sums, counts = np.zeros(n), np.zeros(n)
    i, j = n - 1, m - 1
    while True:
        sums[i] += j
        counts[i] += 1
        if i == 0 and j == 0:
            break
        steps = [(total[i - 1, j - 1], i - 1, j - 1)] if i and j else []
        steps += [(total[i - 1, j] + WAITING_COST, i - 1, j)] if i else []
        steps += [(total[i, j - 1] + WAITING_COST, i, j - 1)] if j else []
        _, i, j = min(steps)
    return _smoothed(sums / counts / (m - 1))


def _accumulated(cost: Array) -> Array:
    """Cheapest way to every cell; within a row, the running minimum of a sum needs one pass."""
    total = np.empty_like(cost)
    total[0] = np.cumsum(cost[0] + WAITING_COST) - WAITING_COST
    for i in range(1, len(cost)):
        above = total[i - 1] + WAITING_COST
        above[1:] = np.minimum(above[1:], total[i - 1, :-1])
        sums = np.cumsum(cost[i] + WAITING_COST)
        total[i] = np.minimum.accumulate(above + cost[i] - sums) + sums
    return total


def _smoothed(warped: Array, width: int = 11) -> Array:
    """A monotone line from 0 to 1, averaged over ``width`` steps of a tenth of the mean or more."""
    steps = np.maximum(np.diff(warped), 0.1 / (len(warped) - 1))
    padded = np.pad(steps, width // 2, mode="edge")
    steps = np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
    line = np.concatenate([[0.0], np.cumsum(steps)])
    return line / line[-1]
