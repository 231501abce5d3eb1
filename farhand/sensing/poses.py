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
"""Share of a recording that must be still for the rest to be left out: a sweep also rests where it
turns round."""

FLAT = 0.02
"""Variance of the up directions, of 1/3 for an even spread, below which a set counts as nearly
coplanar."""

WORST_CONDITION = 100.0
"""Condition number of the set beyond which nothing is identified. Gravity along ±x, ±y, ±z has
1.2."""

MOST = 250
"""Poses of a sweep above which neighbours are put together: the work grows with the cube of their
number."""

TIMES = 8
"""How many correlation times between two poses and the whole recording are tried."""

RATIOS = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 65)])
"""Common variance over the own variance of a pose that is tried, [-]: steps of a third, narrower
than it is known."""

SURE = 2.71
"""Twice the log-likelihood by which common errors must explain more: 5 % of recordings without them
get there."""

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
        time: P mean times, [s].
        swept: whether most follow one another without a step: a slow sweep, cut into poses.
    """

    up: Array
    wrench: Array
    count: Array
    temperature: Array | None
    member: Array
    time: Array
    swept: bool

    def __len__(self) -> int:
        return len(self.count)

    @property
    def distinct(self) -> Array:
        """Up directions that differ by more than twice :data:`SAME`, D × 3."""
        return self._directions()[0]

    def _directions(self) -> tuple[Array, Array]:
        """Them, and which of them each pose belongs to."""
        found, label = np.zeros((0, 3)), np.zeros(len(self), dtype=int)
        for k, up in enumerate(self.up / np.linalg.norm(self.up, axis=1)[:, None]):
            near = found @ up >= np.cos(2.0 * SAME)
            if not near.any():
                found, near = np.vstack([found, up]), np.append(near, True)
            label[k] = np.argmax(near)
        return found, label

    def alike(self) -> tuple[Array, list[Array]]:
        """How errors of poses may be correlated: alike in one direction, or near in time along a sweep.

        A cable or hysteresis spoils every visit of a direction in the same way, and a wandering
        zero spoils neighbours in a sweep alike.

        Returns:
            The group of each pose, one for each unless they are more than :data:`MOST`; and G × G
                correlations of the
            groups that are possible, none if every pose has a direction of its own, or so many
                have.
        """
        every = np.arange(len(self))
        if self.swept:
            apart = np.abs(np.subtract.outer(self.time, self.time))
            times = np.geomspace(
                max(float(np.median(np.diff(self.time))), 1e-9),
                max(float(apart.max()), 2e-9),
                TIMES,
            )
            return every, [np.exp(-apart / tau) for tau in times]
        distinct, label = self._directions()
        if len(distinct) == len(self) or len(distinct) > MOST:
            return every, []
        if len(self) > MOST:
            each = MOST // len(distinct)
            group, of = np.unique(label * each + every % each, return_inverse=True)
            return of, [np.equal.outer(group // each, group // each).astype(float)]
        return every, [np.equal.outer(label, label).astype(float)]

    @property
    def condition(self) -> float:
        """Condition number of the set, 1 at best, infinite if something cannot be found; see :func:`condition_of`."""
        return condition_of(self.up)


def poses_of(readings: Readings) -> Poses:
    """Put consecutive readings of one orientation together; a slow sweep becomes steps of :data:`SAME` or longer."""
    up = readings.up
    member = np.zeros(len(up), dtype=int)
    start, pose = 0, 0
    while start < len(up):
        stop = _end(up, start)
        member[start:stop] = pose
        start, pose = stop, pose + 1
    first = up[np.searchsorted(member, np.arange(pose))]
    swept = pose > 1 and bool(
        np.mean((first[1:] * first[:-1]).sum(axis=1) > np.cos(2.0 * SAME)) > 0.5
    )
    if swept and pose > MOST:
        member = member // -(-pose // MOST)
    return _means(readings, member, swept)


def _means(readings: Readings, member: Array, swept: bool) -> Poses:
    count = np.bincount(member)

    def mean(values: Array) -> Array:
        total = np.zeros((len(count), *values.shape[1:]))
        np.add.at(total, member, values)
        return total / count.reshape(-1, *[1] * (values.ndim - 1))

    temperature = None if readings.temperature is None else mean(readings.temperature)
    return Poses(
        mean(readings.up),
        mean(readings.wrench),
        count,
        temperature,
        member,
        mean(readings.time),
        swept,
    )


@dataclass(frozen=True)
class Common:
    r"""How the errors of poses go together: :math:`V = s_1 D + s_2 K`, alike on three axes.

    Attributes:
        parts: D and K, 2 × P × P.
        variances: s₁ and s₂, [N²] or [N²·m²].
        rows: P × 3 × q, the regressor that the errors are known through.
    """

    parts: Array
    variances: Array
    rows: Array

    @property
    def covariance(self) -> Array:
        """V, P × P."""
        return np.tensordot(self.variances, self.parts, axes=1)

    def freedom(self, rows: Array) -> list[float]:
        """Satterthwaite's degrees of freedom of estimates that weigh the poses' errors so.

        Args:
            rows: P × 3 × m, weights of the errors in m estimates.
        """
        inverse = np.linalg.inv(self.covariance)
        X = self.rows.reshape(-1, self.rows.shape[2])
        VX = np.tensordot(inverse, self.rows, axes=1).reshape(X.shape)
        left = np.kron(inverse, np.eye(3)) - VX @ np.linalg.solve(X.T @ VX, VX.T)
        turned = [left @ np.kron(part, np.eye(3)) for part in self.parts]
        information = 0.5 * np.array([[(a * b.T).sum() for b in turned] for a in turned])
        slopes = np.einsum("pam,kpq,qam->mk", rows, self.parts, rows, optimize=True)
        spread = np.einsum("mk,kl,ml->m", slopes, np.linalg.pinv(information), slopes)
        return (2.0 * (slopes @ self.variances) ** 2 / np.maximum(spread, 1e-300)).tolist()


def common(kernels: list[Array], own: Array, rows: Array, left: Array) -> Common | None:
    """The kernel K and the two variances that explain best what a fit leaves, by restricted maximum likelihood.

    None if own errors alone explain it nearly as well, by :data:`SURE`.

    Args:
        kernels: P × P, those that are tried.
        own: P variances of the poses' own errors to a common factor, the diagonal of D.
        rows: P × 3 × q, regressor of three axes.
        left: P × 3, what is left.
    """
    q, n, root = rows.shape[2], left.size, np.sqrt(own)
    best, found = np.inf, None
    white = np.concatenate([rows, left[..., None]], axis=2) / root[:, None, None]
    for kernel in kernels:
        values, vectors = np.linalg.eigh(kernel / np.outer(root, root))
        turned = np.tensordot(vectors.T, white, axes=1)
        gram = np.einsum("pai,paj->pij", turned, turned).reshape(len(own), -1)
        spread = 1.0 + np.multiply.outer(RATIOS, np.maximum(values, 0.0))
        products = ((1.0 / spread) @ gram).reshape(-1, q + 1, q + 1)
        X, Xy, yy = products[:, :q, :q], products[:, :q, q], products[:, q, q]
        rest = yy - (Xy * np.linalg.solve(X, Xy[..., None])[..., 0]).sum(axis=1)
        cost = (
            (n - q) * np.log(np.maximum(rest, 1e-300))
            + 3.0 * np.log(spread).sum(axis=1)
            + np.linalg.slogdet(X)[1]
        )
        k = int(np.argmin(cost))
        if cost[k] < min(best, cost[0] - SURE):
            best, parts = cost[k], np.stack([np.diag(own), kernel])
            found = Common(parts, rest[k] / (n - q) * np.array([1.0, RATIOS[k]]), rows)
    return found


def at_rest(readings: Readings) -> Array:
    """Which readings to use, n: those during which the tool was held still, if these are enough; all of them otherwise.

    The way from pose to pose is left out then: vibration and inertia spoil it. A reading counts as
    still if gravity moved by less than :data:`STILL_ANGLE` during the tenth of a second before it
    or after it.
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
    return (
        float(singular[0] / singular[-1])
        if len(up) > 1 and singular[-1] > 1e-12 * singular[0]
        else np.inf
    )


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
        found.append(
            f"{len(distinct)} directions of gravity leave little to check the fit with; take 6 to 12"
        )
    return found


def _across(distinct: Array, axis: Array) -> str:
    """The pose along this axis, on the side that has been visited less."""
    i = int(np.argmax(np.abs(axis)))
    return f"the sensor's {'xyz'[i]} axis {'up' if distinct[:, i].mean() <= 1e-9 else 'down'}"


def _best(up: Array) -> str:
    """The pose that brings the condition number down most."""
    spread = [
        np.linalg.eigvalsh(np.cov(np.vstack([up, d]).T, bias=True))[:2].sum()
        for d in DIRECTIONS.values()
    ]
    return list(DIRECTIONS)[int(np.argmax(spread))]
