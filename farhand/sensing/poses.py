"""Poses: readings at rest grouped by orientation, how well they cover the sphere, what to add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

SAME_POSE = np.deg2rad(2.0)
"""Readings whose up direction is this near to the first of a pose belong to it, [rad]."""

MIN_DIRECTIONS = 3
"""Different directions of gravity below which the centre of mass cannot be found."""

STILL_TIME_S = 0.1
STILL_ANGLE = np.deg2rad(0.1)
"""A tool is held still if gravity moves by less than this angle [rad] in this time."""

STILL_SHARE = 0.2
"""Share of a recording that must be still to drop the rest: a sweep also rests at its turns."""

FLAT_VARIANCE = 0.02
"""Variance of the up directions below which a set is nearly coplanar; an even spread has 1/3."""

MAX_CONDITION = 100.0
"""Condition number of the set above which nothing is identified. Gravity along ±x, ±y, ±z: 1.2."""

MAX_SWEEP_POSES = 250
"""Above it neighbours of a sweep are joined: the work grows with the cube of their number."""

CORRELATION_TIMES = 8
"""Correlation times that are tried, between two poses and the whole recording."""

RATIOS = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 65)])
"""Common over own variance of a pose that is tried, [-]: steps of a third, finer than the data."""

MIN_LIKELIHOOD_GAIN = 2.71
"""Gain in twice the log-likelihood that shows common errors; 5 % of recordings without reach it."""

DIRECTIONS = {
    f"the sensor's {axis} axis {way}": sign * np.eye(3)[i]
    for i, axis in enumerate("xyz")
    for way, sign in (("up", 1.0), ("down", -1.0))
}
"""Poses that advice can name, by the up direction in sensor axes."""


@dataclass(frozen=True)
class Poses:
    """Means over readings of one orientation; the model is linear in ``up``, so means are exact."""

    up: Array  #: P × 3, mean of the base's z axis in sensor axes
    wrench: Array  #: P × 6 mean readings, [N] and [N·m]
    count: Array  #: P readings each
    temperature: Array | None  #: P mean temperatures [°C], or None
    member: Array  #: n, the pose of each reading
    time: Array  #: P mean times, [s]
    swept: bool  #: whether they are a slow sweep, cut into poses

    def __len__(self) -> int:
        return len(self.count)

    def mean(self, values: Array) -> Array:
        """P means of n values or rows of values."""
        return _means(values, self.member, self.count)

    @property
    def distinct(self) -> Array:
        """Up directions that differ by more than twice :data:`SAME_POSE`, D × 3."""
        return self._directions()[0]

    def _directions(self) -> tuple[Array, Array]:
        """Distinct directions, and the one of each pose."""
        distinct, label = np.zeros((0, 3)), np.zeros(len(self), dtype=int)
        for k, up in enumerate(self.up / np.linalg.norm(self.up, axis=1)[:, None]):
            near = distinct @ up >= np.cos(2.0 * SAME_POSE)
            if not near.any():
                distinct, near = np.vstack([distinct, up]), np.append(near, True)
            label[k] = np.argmax(near)
        return distinct, label

    def correlations(self) -> tuple[Array, list[Array]]:
        """How errors of poses may be correlated: within a direction, or in time along a sweep.

        A cable or hysteresis affects every visit of a direction in the same way, and a drifting
        zero affects neighbours in a sweep alike.

        Returns:
            The group of each pose, one each unless they are more than :data:`MAX_SWEEP_POSES`; and
            possible G × G correlations of the groups, none if every pose has its own direction.
        """
        every = np.arange(len(self))
        if self.swept:
            apart = np.abs(np.subtract.outer(self.time, self.time))
            shortest = max(float(np.median(np.diff(self.time))), 1e-9)
            times = np.geomspace(shortest, max(float(apart.max()), 2e-9), CORRELATION_TIMES)
            return every, [np.exp(-apart / tau) for tau in times]
        distinct, label = self._directions()
        if len(distinct) == len(self) or len(distinct) > MAX_SWEEP_POSES:
            return every, []
        if len(self) > MAX_SWEEP_POSES:
            each = MAX_SWEEP_POSES // len(distinct)
            group, of = np.unique(label * each + every % each, return_inverse=True)
            return of, [np.equal.outer(group // each, group // each).astype(float)]
        return every, [np.equal.outer(label, label).astype(float)]

    @property
    def condition(self) -> float:
        """Condition number, 1 at best, infinite if not determined; :func:`condition_of`."""
        return condition_of(self.up)


def poses_of(readings: Readings) -> Poses:
    """Group readings by orientation; a slow sweep becomes steps of :data:`SAME_POSE`."""
    up = readings.up
    member = np.zeros(len(up), dtype=int)
    start, pose = 0, 0
    while start < len(up):
        stop = _end(up, start)
        member[start:stop] = pose
        start, pose = stop, pose + 1
    first = up[np.searchsorted(member, np.arange(pose))]
    near = (first[1:] * first[:-1]).sum(axis=1) > np.cos(2.0 * SAME_POSE)
    swept = pose > 1 and bool(np.mean(near) > 0.5)
    if swept and pose > MAX_SWEEP_POSES:
        member = member // -(-pose // MAX_SWEEP_POSES)
    count = np.bincount(member)
    temperature = readings.temperature
    return Poses(
        up=_means(up, member, count),
        wrench=_means(readings.wrench, member, count),
        count=count,
        temperature=None if temperature is None else _means(temperature, member, count),
        member=member,
        time=_means(readings.time, member, count),
        swept=swept,
    )


def _means(values: Array, member: Array, count: Array) -> Array:
    total = np.zeros((len(count), *values.shape[1:]))
    np.add.at(total, member, values)
    return total / count.reshape(-1, *[1] * (values.ndim - 1))


@dataclass(frozen=True)
class CommonErrors:
    r"""Covariance of the errors of poses, :math:`V = s_1 D + s_2 K`, the same on three axes."""

    parts: Array  #: D and K, 2 × P × P
    variances: Array  #: s₁ and s₂, [N²] or [N²·m²]
    rows: Array  #: P × 3 × q, regressor of the fit

    @property
    def covariance(self) -> Array:
        """V, P × P."""
        return np.tensordot(self.variances, self.parts, axes=1)

    def freedom(self, rows: Array) -> list[float]:
        """Satterthwaite's degrees of freedom of m estimates with these weights, P × 3 × m."""
        inverse = np.linalg.inv(self.covariance)
        X = self.rows.reshape(-1, self.rows.shape[2])
        VX = np.tensordot(inverse, self.rows, axes=1).reshape(X.shape)
        left = np.kron(inverse, np.eye(3)) - VX @ np.linalg.solve(X.T @ VX, VX.T)
        turned = [left @ np.kron(part, np.eye(3)) for part in self.parts]
        information = 0.5 * np.array([[(a * b.T).sum() for b in turned] for a in turned])
        slopes = np.einsum("pam,kpq,qam->mk", rows, self.parts, rows, optimize=True)
        spread = np.einsum("mk,kl,ml->m", slopes, np.linalg.pinv(information), slopes)
        return (2.0 * (slopes @ self.variances) ** 2 / np.maximum(spread, 1e-300)).tolist()


def find_common_errors(
    kernels: list[Array], own: Array, rows: Array, left: Array
) -> CommonErrors | None:
    """Kernel K and variances that explain a fit's residual best, by restricted maximum likelihood.

    None if own errors alone explain it nearly as well, by :data:`MIN_LIKELIHOOD_GAIN`.

    Args:
        kernels: P × P, those that are tried.
        own: P variances of the poses' own errors to a common factor, the diagonal of D.
        rows: P × 3 × q, regressor of three axes.
        left: P × 3, the residual.
    """
    q, n, root = rows.shape[2], left.size, np.sqrt(own)
    best, result = np.inf, None
    white = np.concatenate([rows, left[..., None]], axis=2) / root[:, None, None]
    for kernel in kernels:
        values, vectors = np.linalg.eigh(kernel / np.outer(root, root))
        turned = np.tensordot(vectors.T, white, axes=1)
        gram = np.einsum("pai,paj->pij", turned, turned).reshape(len(own), -1)
        spread = 1.0 + np.multiply.outer(RATIOS, np.maximum(values, 0.0))
        products = ((1.0 / spread) @ gram).reshape(-1, q + 1, q + 1)
        X, Xy, yy = products[:, :q, :q], products[:, :q, q], products[:, q, q]
        rest = yy - (Xy * np.linalg.solve(X, Xy[..., None])[..., 0]).sum(axis=1)
        cost = (n - q) * np.log(np.maximum(rest, 1e-300)) + 3.0 * np.log(spread).sum(axis=1)
        cost = cost + np.linalg.slogdet(X)[1]
        k = int(np.argmin(cost))
        if cost[k] < min(best, cost[0] - MIN_LIKELIHOOD_GAIN):
            best, parts = cost[k], np.stack([np.diag(own), kernel])
            result = CommonErrors(parts, rest[k] / (n - q) * np.array([1.0, RATIOS[k]]), rows)
    return result


def at_rest(readings: Readings) -> Array:
    """Which readings to use, n: those at which the tool was held still if they are enough, or all.

    Vibration and inertia disturb readings between poses. A reading counts as still if gravity moved
    by less than :data:`STILL_ANGLE` during :data:`STILL_TIME_S` before it or after it.
    """
    up, n = readings.up, len(readings)
    steps = np.diff(readings.time)
    dt = float(np.median(steps)) if n > 1 else 0.0
    window = min(max(2, round(STILL_TIME_S / dt)), n) if dt > 0.0 else 2
    near = (up[window:] * up[:-window]).sum(axis=1) > np.cos(STILL_ANGLE)
    still = np.zeros(n, dtype=bool)
    still[window:] |= near
    still[: n - window] |= near
    if still.mean() >= STILL_SHARE:
        kept = poses_of(readings.where(still))
        if len(kept.distinct) >= MIN_DIRECTIONS and kept.condition <= MAX_CONDITION:
            return still
    return np.ones(n, dtype=bool)


def _end(up: Array, start: int) -> int:
    length = 64
    while True:
        stretch = up[start : start + length]
        away = np.flatnonzero(stretch @ up[start] < np.cos(SAME_POSE))
        if len(away):
            return start + int(away[0])
        if start + length >= len(up):
            return len(up)
        length *= 4


def condition_of(up: Array) -> float:
    """Condition number of the torque's regressor, the harder of the two, with gravity as 1, [-]."""
    regressor = np.concatenate([np.column_stack([skew(g), np.eye(3)]) for g in up])
    singular = np.linalg.svd(regressor, compute_uv=False)
    determined = len(up) > 1 and singular[-1] > 1e-12 * singular[0]
    return float(singular[0] / singular[-1]) if determined else np.inf


def check_poses(poses: Poses) -> None:
    """Refuse a set that does not determine mass, centre of mass and bias.

    Raises:
        BadValue: too few directions, or too similar.
    """
    distinct = poses.distinct
    if len(distinct) < MIN_DIRECTIONS:
        words = "1 pose is" if len(distinct) == 1 else f"{len(distinct)} poses are"
        also = " (turning about the vertical does not count)" if len(distinct) == 1 else ""
        raise BadValue(
            f"{words} too few: bias, mass and centre of mass need at least {MIN_DIRECTIONS} "
            f"directions of gravity, better 6 or more{also}; add a pose with {_best_pose(poses.up)}"
        )
    if not poses.condition <= MAX_CONDITION:
        raise BadValue(
            f"the poses are too similar: condition number {poses.condition:.3g} (limit "
            f"{MAX_CONDITION:g}); add a pose with {_best_pose(poses.up)}"
        )


def advice_on(poses: Poses) -> list[str]:
    """How to improve the set, one line each; empty if it is good."""
    lines = []
    distinct = poses.distinct
    spread, axes = np.linalg.eigh(np.cov(distinct.T, bias=True))
    if spread[0] < FLAT_VARIANCE:
        # The pose along the flat axis, on the side that has been visited less.
        i = int(np.argmax(np.abs(axes[:, 0])))
        pose = f"the sensor's {'xyz'[i]} axis {'up' if distinct[:, i].mean() <= 1e-9 else 'down'}"
        better = condition_of(np.vstack([poses.up, DIRECTIONS[pose]]))
        lines.append(
            f"your poses are nearly coplanar: gravity hardly moves along the sensor's {'xyz'[i]} "
            f"axis; add a pose with {pose} (condition number {poses.condition:.2g}, then "
            f"{better:.2g})"
        )
    elif poses.condition > 5.0:
        lines.append(
            f"your poses are similar (condition number {poses.condition:.2g}); "
            f"add one with {_best_pose(distinct)}"
        )
    if len(distinct) < 6:
        lines.append(
            f"{len(distinct)} directions of gravity are few to check the fit with; take 6 to 12"
        )
    return lines


def _best_pose(up: Array) -> str:

    def spread(name: str) -> float:
        points = np.vstack([up, DIRECTIONS[name]])
        return float(np.linalg.eigvalsh(np.cov(points.T, bias=True))[:2].sum())

    return max(DIRECTIONS, key=spread)
