"""Alignment: demonstrations of unlike timing brought to one phase, by dynamic time warping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farhand.learning.demonstration import Demonstration
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

GRID = 200
"""Samples on which demonstrations are compared."""

MISSED = 0.05
"""How much of the force may be missing without a word: of a demonstration that is still compared by
its force, of all
readings before there is a note, and of the phase, measured by nobody, before no force is learnt."""

WAITING_COST = 0.02
"""What it costs to let time pass in one demonstration and not in the other, as a share of the whole
range."""


@dataclass(frozen=True)
class Aligned:
    """Demonstrations at the same phases, m of them with n samples."""

    phase: Array  #: 0 to 1, shape (n,), [-]
    #: position [m], then rotation vector from ``reference`` in world axes [rad], shape (m, n, 6)
    motion: Array
    #: shape (m, n, 3), [N]; what was not measured is what the others measured, see :func:`_filled`
    force: Array
    measured: Array  #: where there is a reading of the force, shape (m, n)
    reference: Array  #: mean orientation of all, rotation matrix
    durations: Array  #: of the demonstrations, shape (m,), [s]

    @property
    def duration(self) -> float:
        """Mean duration, [s]."""
        return float(self.durations.mean())


def align(demonstrations: Sequence[Demonstration], samples: int = 400) -> Aligned:
    """Bring demonstrations to one phase, which runs as it does in their mean.

    Each is warped to the one that the others resemble most. The warps' mean is the timing of the
    skill, so that it is nobody's own. The range of position and of force over all demonstrations
    makes both count alike.
    """
    reference = mean_rotation(
        np.concatenate([d.rotation[:: max(1, len(d.times) // GRID)] for d in demonstrations])
    )
    coarse = [_sampled(d, reference, np.linspace(0.0, 1.0, GRID)) for d in demonstrations]
    features = _features(coarse)
    middle = int(np.argmin([sum(_distance(a, b) for b in features) for a in features]))
    warps = np.stack([warp(features[middle], other) for other in features])
    mean = warps.mean(axis=0)
    phase = np.linspace(0.0, 1.0, samples)
    at = np.interp(phase, mean, np.linspace(0.0, 1.0, GRID))
    own = [np.interp(at, np.linspace(0.0, 1.0, GRID), one) for one in warps]
    fine = [_sampled(d, reference, place) for d, place in zip(demonstrations, own, strict=True)]
    motion, force = np.stack([f[:, :6] for f in fine]), np.stack([f[:, 6:] for f in fine])
    durations = np.array([d.duration for d in demonstrations])
    return Aligned(
        phase, motion, _filled(force), np.isfinite(force).all(axis=2), reference, durations
    )


def mean_rotation(rotations: Array) -> Array:
    """The rotation nearest to the mean of rotation matrices, shape (n, 3, 3)."""
    u, _, vt = np.linalg.svd(rotations.mean(axis=0))
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def _sampled(demonstration: Demonstration, reference: Array, at: Array) -> Array:
    """Position, rotation vector and force at shares of the duration, shape (n, 9); NaN where no force was measured."""
    times = at * demonstration.duration
    own = demonstration.times
    vectors = np.stack([rotation_vector(R @ reference.T) for R in demonstration.rotation])
    known = np.isfinite(demonstration.force).all(axis=1)
    columns = np.concatenate([demonstration.position, _continuous(vectors)], axis=1)
    motion = np.stack([np.interp(times, own, column) for column in columns.T], axis=1)
    if not known.any():
        return np.concatenate([motion, np.full((len(at), 3), np.nan)], axis=1)
    force = np.stack(
        [np.interp(times, own[known], column) for column in demonstration.force[known].T], axis=1
    )
    force[np.interp(times, own, known.astype(float)) < 0.5] = np.nan
    return np.concatenate([motion, force], axis=1)


def _filled(force: Array) -> Array:
    """Forces, shape (m, n, 3), with the mean of the demonstrations that measured at a phase in the place of the rest.

    Phases at which none did are bridged from those at which one did. If none ever did, all is zero.
    """
    known = np.isfinite(force).all(axis=2, keepdims=True)
    mean = np.where(known, force, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, force, _bridged(mean, known.any(axis=0)[:, 0]))


def _bridged(values: Array, known: Array) -> Array:
    """Columns with straight lines where they are not known, and zeros if they never are."""
    if not known.any():
        return np.zeros_like(values)
    places = np.arange(len(values))
    return np.stack(
        [np.interp(places, places[known], column[known]) for column in values.T], axis=1
    )


def _continuous(vectors: Array) -> Array:
    """Rotation vectors without the jump from π to −π."""
    vectors = vectors.copy()
    for i in range(1, len(vectors)):
        angle = float(np.linalg.norm(vectors[i]))
        if angle > 1.0 and vectors[i] @ vectors[i - 1] < 0.0:
            vectors[i] *= 1.0 - 2.0 * np.pi / angle
    return vectors


def rotation_at(vector: Array, reference: Array) -> Array:
    """The rotation matrix that a rotation vector from ``reference`` stands for."""
    return rotation_from_vector(vector) @ reference


def _features(sampled: list[Array]) -> list[Array]:
    """What is compared: position and, if every demonstration measured nearly all of it, force, each over its range."""
    known = [np.isfinite(one[:, 6:]).all(axis=1) for one in sampled]
    counts = all(one.mean() >= 1.0 - MISSED for one in known)
    forces = [
        _bridged(one[:, 6:], there & counts) for one, there in zip(sampled, known, strict=True)
    ]
    sampled = [
        np.concatenate([one[:, :6], force], axis=1)
        for one, force in zip(sampled, forces, strict=True)
    ]
    everything = np.concatenate(sampled)
    position = max(float(np.ptp(everything[:, :3], axis=0).max()), 1e-9)
    force = max(float(np.ptp(everything[:, 6:], axis=0).max()), 1.0)
    return [np.concatenate([one[:, :3] / position, one[:, 6:] / force], axis=1) for one in sampled]


def _distance(a: Array, b: Array) -> float:
    return float(np.square(a - b).sum())


def warp(a: Array, b: Array) -> Array:
    """Where in ``b`` (0 to 1) belongs what is in ``a`` at equal steps; both of shape (n, features), monotone.

    Dynamic time warping with a small price on dawdling, the path's steps smoothed into a line that
    never stands still.
    """
    cost = np.square(a[:, None, :] - b[None, :, :]).sum(axis=2)
    total = _accumulated(cost, WAITING_COST)
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


def _accumulated(cost: Array, dawdle: float) -> Array:
    """Cheapest way to every cell, row by row; within a row the running minimum of a sum makes it one pass."""
    total = np.empty_like(cost)
    total[0] = np.cumsum(cost[0] + dawdle) - dawdle
    for i in range(1, len(cost)):
        above = total[i - 1] + dawdle
        above[1:] = np.minimum(above[1:], total[i - 1, :-1])
        sums = np.cumsum(cost[i] + dawdle)
        total[i] = np.minimum.accumulate(above + cost[i] - sums) + sums
    return total


def _smoothed(warped: Array, width: int = 11) -> Array:
    """A monotone line from 0 to 1, averaged over ``width`` steps, each at least a tenth of the mean step."""
    steps = np.maximum(np.diff(warped), 0.1 / (len(warped) - 1))
    padded = np.pad(steps, width // 2, mode="edge")
    steps = np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
    line = np.concatenate([[0.0], np.cumsum(steps)])
    return line / line[-1]
