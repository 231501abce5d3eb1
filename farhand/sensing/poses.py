"""Poses: readings at rest put together by orientation, how well the set covers the sphere, and what to add to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

SAME = np.deg2rad(2.0)
"""Readings whose up direction is this near to the first of a pose belong to it, [rad]."""

FEWEST = 3
"""Different directions of gravity below which the centre of mass cannot be found."""

STILL_TIME, STILL_ANGLE = 0.1, np.deg2rad(0.1)
"""A tool is held still if gravity moves by less than this angle [rad] in this time [s]."""

STILL_SHARE = 0.2
"""Share of a recording that must be still for the rest to be left out: a sweep also rests where it turns round."""

FLAT = 0.02
"""Variance of the up directions, of 1/3 for an even spread, below which a set counts as nearly coplanar."""

WORST_CONDITION = 100.0
"""Condition number of the set beyond which nothing is identified. Gravity along ±x, ±y, ±z has 1.2."""

DIRECTIONS = {
    f"the sensor's {axis} axis {way}": sign * np.eye(3)[i]
    for i, axis in enumerate("xyz")
    for way, sign in (("up", 1.0), ("down", -1.0))
}
"""Poses that advice can name, by the up direction in sensor axes."""


@dataclass(frozen=True)
class Poses:
    """Means over stretches of readings of one orientation; the model is linear in ``up``, so the mean is exact.

    Attributes:
        up: P × 3, mean of the base's z axis in sensor axes.
        wrench: P × 6 mean readings, [N] and [N·m].
        count: P readings each.
        temperature: P mean temperatures [°C], or None.
        member: n, the pose of each reading.
    """

    up: Array
    wrench: Array
    count: Array
    temperature: Array | None
    member: Array

    def __len__(self) -> int:
        return len(self.count)

    @property
    def distinct(self) -> Array:
        """Up directions that differ by more than twice :data:`SAME`, D × 3."""
        found: list[Array] = []
        for up in self.up / np.linalg.norm(self.up, axis=1)[:, None]:
            if all(up @ other < np.cos(2.0 * SAME) for other in found):
                found.append(up)
        return np.array(found)

    @property
    def condition(self) -> float:
        """Condition number of the set, 1 at best, infinite if something cannot be found; see :func:`condition_of`."""
        return condition_of(self.up)


def poses_of(readings: Readings) -> Poses:
    """Put consecutive readings of one orientation together; a slow sweep becomes steps of :data:`SAME`."""
    up = readings.up
    member = np.zeros(len(up), dtype=int)
    start, pose = 0, 0
    while start < len(up):
        stop = _end(up, start)
        member[start:stop] = pose
        start, pose = stop, pose + 1
    count = np.bincount(member)

    def mean(values: Array) -> Array:
        total = np.zeros((pose, *values.shape[1:]))
        np.add.at(total, member, values)
        return total / count.reshape(-1, *[1] * (values.ndim - 1))

    temperature = None if readings.temperature is None else mean(readings.temperature)
    return Poses(mean(up), mean(readings.wrench), count, temperature, member)


def at_rest(readings: Readings) -> Array:
    """Which readings to use, n: those during which the tool was held still, if these are enough; all of them otherwise.

    The way from pose to pose is left out then: vibration and inertia spoil it. A reading counts as still if gravity
    moved by less than :data:`STILL_ANGLE` during the tenth of a second before it or after it.
    """
    up, n = readings.up, len(readings)
    steps = np.diff(readings.time)
    dt = float(np.median(steps)) if n > 1 else 0.0
    window = min(max(2, round(STILL_TIME / dt)), n) if dt > 0.0 else 2
    near = (up[window:] * up[:-window]).sum(axis=1) > np.cos(STILL_ANGLE)
    still = np.zeros(n, dtype=bool)
    still[window:] |= near
    still[: n - window] |= near
    if still.mean() >= STILL_SHARE:
        kept = poses_of(readings.where(still))
        if len(kept.distinct) >= FEWEST and kept.condition <= WORST_CONDITION:
            return still
    return np.ones(n, dtype=bool)


def _end(up: Array, start: int) -> int:
    """Where the pose that begins at ``start`` ends."""
    length = 64
    while True:
        stretch = up[start : start + length]
        away = np.flatnonzero(stretch @ up[start] < np.cos(SAME))
        if len(away):
            return start + int(away[0])
        if start + length >= len(up):
            return len(up)
        length *= 4


def condition_of(up: Array) -> float:
    """Condition number of the torque's regressor, the harder of the two, with gravity as 1, [-]."""
    regressor = np.concatenate([np.column_stack([skew(g), np.eye(3)]) for g in up])
    singular = np.linalg.svd(regressor, compute_uv=False)
    return float(singular[0] / singular[-1]) if len(up) > 1 and singular[-1] > 1e-12 * singular[0] else np.inf


def check_poses(poses: Poses) -> None:
    """Refuse a set from which mass, centre of mass and bias cannot be told apart.

    Raises:
        BadValue: too few directions, or too much alike.
    """
    distinct = poses.distinct
    if len(distinct) < FEWEST:
        words = "1 pose is" if len(distinct) == 1 else f"{len(distinct)} poses are"
        also = " (turning about the vertical does not count)" if len(distinct) == 1 else ""
        raise BadValue(
            f"{words} too few: bias, mass and centre of mass need at least {FEWEST} directions of gravity, better 6 "
            f"or more{also}; add a pose with {_best(poses.up)}"
        )
    if not poses.condition <= WORST_CONDITION:
        raise BadValue(
            f"the poses are too much alike: condition number {poses.condition:.3g} (limit {WORST_CONDITION:g}); "
            f"add a pose with {_best(poses.up)}"
        )


def advice_on(poses: Poses) -> list[str]:
    """What would make the set better, in plain words; empty if it is good."""
    found = []
    distinct = poses.distinct
    spread, axes = np.linalg.eigh(np.cov(distinct.T, bias=True))
    if spread[0] < FLAT:
        flat = "xyz"[int(np.argmax(np.abs(axes[:, 0])))]
        better = condition_of(np.vstack([poses.up, DIRECTIONS[_across(distinct, axes[:, 0])]]))
        found.append(
            f"your poses are nearly coplanar: gravity hardly moves along the sensor's {flat} axis; add a pose with "
            f"{_across(distinct, axes[:, 0])} (condition number {poses.condition:.2g}, then {better:.2g})"
        )
    elif poses.condition > 5.0:
        found.append(
            f"your poses are much alike (condition number {poses.condition:.2g}); add one with {_best(distinct)}"
        )
    if len(distinct) < 6:
        found.append(f"{len(distinct)} directions of gravity leave little to check the fit with; take 6 to 12")
    return found


def _across(distinct: Array, axis: Array) -> str:
    """The pose along this axis, on the side that has been visited less."""
    i = int(np.argmax(np.abs(axis)))
    return f"the sensor's {'xyz'[i]} axis {'up' if distinct[:, i].mean() <= 1e-9 else 'down'}"


def _best(up: Array) -> str:
    """The pose that brings the condition number down most."""
    spread = [np.linalg.eigvalsh(np.cov(np.vstack([up, d]).T, bias=True))[:2].sum() for d in DIRECTIONS.values()]
    return list(DIRECTIONS)[int(np.argmax(spread))]
