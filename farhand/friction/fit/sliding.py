"""The sliding part of a fit: dry, Stribeck and viscous friction, inertia and offset from any motion, by least squares.

Everything but the Stribeck speed and exponent enters linearly, so those two are searched over a
grid and polished, while the rest is solved exactly for each of them, with its bounds. That leaves
no local minimum to fall into.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.stats import t as student

from farhand.friction.fit.data import FEWEST
from farhand.friction.fit.motion import Motion

Array = np.ndarray

SHAPES = (0.6, 1.0, 1.5, 2.0)
"""Stribeck exponents that the search starts from, [-]."""

SHAPE_BOUNDS = (0.5, 4.0)
SPEEDS = 14
"""Stribeck speeds that the search starts from."""

STARTS = 2
"""Points of the grid that are polished."""

BLOCKS = 40
"""Stretches of the recording whose residuals count as independent of one another."""

TURN = 4.0
"""Ticks that a joint must travel from or to a reversal, times two, for its speed to be known."""

BLUR = 1.5
"""Kernel widths within which a joint must not have turned round."""

AT_REST = 0.2
"""Share of a kernel's weight that may lie on samples of unknown sign before a sample is left
out."""


@dataclass(frozen=True)
class Terms:
    """What a curve is made of.

    Attributes:
        dry: has Coulomb friction.
        stribeck: has a Stribeck peak.
        shape: exponent of the peak, or None if it is to be found.
        rational: the peak falls as 1/(1 + (v/v_s)²) instead.
        viscous: has viscous friction.
        inertia: [kg·m²] if known, or None if it is to be found.
        offset: whether a constant torque is to be found.
        gravity: whether torque that goes with sine and cosine of the position is to be found.
    """

    dry: bool = True
    stribeck: bool = False
    shape: float | None = 2.0
    rational: bool = False
    viscous: bool = True
    inertia: float | None = None
    offset: bool = True
    gravity: bool = False

    @property
    def names(self) -> list[str]:
        """Linear parameters, in the order of the columns."""
        present = {
            "coulomb": self.dry,
            "peak": self.stribeck,
            "viscous": self.viscous,
            "inertia": self.inertia is None,
            "offset": self.offset,
            "gravity_sine": self.gravity,
            "gravity_cosine": self.gravity,
        }
        return [name for name, there in present.items() if there]

    def fall(self, speed: Array, shape: float) -> Array:
        """How much of the peak is left at a speed, in units of the Stribeck speed."""
        return 1.0 / (1.0 + speed**2) if self.rational else np.exp(-(speed**shape))

    @property
    def curved(self) -> list[str]:
        """Parameters that do not enter linearly."""
        if not self.stribeck:
            return []
        return ["stribeck_velocity"] if self.shape is not None else ["stribeck_velocity", "shape"]


@dataclass(frozen=True)
class Sliding:
    """A fitted curve.

    Attributes:
        terms: what it is made of.
        values: by name: those of :class:`Terms`; ``peak`` is how far break-away friction is above
            Coulomb friction.
        covariance: of ``values`` in their order.
        freedom: degrees of freedom of the covariance.
        residual: n [N·m], smoothed torque minus model, zero where not used.
        used: which samples were used.
        bounded: names whose value lies on a bound of the search.
    """

    terms: Terms
    values: dict[str, float]
    covariance: Array
    freedom: int
    residual: Array
    used: Array
    bounded: tuple[str, ...] = ()

    @property
    def rms(self) -> float:
        """Root mean square of the residual, [N·m]."""
        return float(np.sqrt(np.mean(self.residual[self.used] ** 2)))

    def half(self, name: str) -> float:
        """Half of the 95 % interval of a value."""
        order = list(self.values)
        return half_interval(self.covariance[order.index(name), order.index(name)], self.freedom)


def half_interval(variance: float, freedom: int) -> float:
    """Half of the 95 % interval."""
    return float(student.ppf(0.975, max(freedom, 1)) * np.sqrt(max(variance, 0.0)))


def sliding_samples(motion: Motion, settling: float = 0.0) -> Array:
    """Samples of which the direction of motion is known over the whole kernel.

    A joint that turns round within a few ticks, or within the kernel, is seen too late or too
    early; so is one at rest.

    Args:
        motion: what the joint did.
        settling: way after a rest or a reversal that is left out too, [rad].
    """
    speed = np.abs(motion.velocity)
    still = speed < motion.slowest
    pace = np.abs(motion.acceleration)
    turning = (speed**2 < TURN * pace * motion.tick) | (speed < BLUR * pace * motion.width)
    turning |= travelled(motion) < settling
    clear = motion.smooth((still | turning).astype(float)) < AT_REST
    rough = motion.smooth(still.astype(float)) < AT_REST
    return clear if np.count_nonzero(clear) > 0.5 * np.count_nonzero(rough) else rough


def travelled(motion: Motion) -> Array:
    """How far the joint has come since it last was at rest or turned round, n [rad]."""
    still = np.abs(motion.velocity) < motion.slowest
    way = np.sign(motion.velocity)
    fresh = still | (np.diff(way, prepend=0.0) != 0.0) | (np.diff(motion.piece, prepend=-1) != 0)
    since = np.maximum.accumulate(np.where(fresh, np.arange(len(way)), 0))
    return np.abs(motion.position - motion.position[since])


def columns(
    motion: Motion, terms: Terms, stribeck_velocity: float = 1.0, shape: float = 2.0
) -> Array:
    """The regressor, smoothed like the torque, n × len(terms.names)."""
    v = motion.velocity
    sign = np.sign(v)
    made = {
        "coulomb": lambda: motion.smooth(sign),
        "peak": lambda: motion.smooth(sign * terms.fall(np.abs(v) / stribeck_velocity, shape)),
        "viscous": lambda: v,
        "inertia": lambda: motion.acceleration,
        "offset": lambda: np.ones(len(v)),
        "gravity_sine": lambda: motion.smooth(np.sin(motion.position)),
        "gravity_cosine": lambda: motion.smooth(np.cos(motion.position)),
    }
    return np.column_stack([made[name]() for name in terms.names])


class Regression:
    """Solves for the linear parameters, given those that are not."""

    def __init__(self, motion: Motion, terms: Terms, used: Array) -> None:
        self.motion, self.terms, self.used = motion, terms, used
        self.target = motion.torque
        if terms.inertia is not None:
            self.target = self.target - terms.inertia * motion.acceleration
        self._A = columns(motion, terms)
        self._peak = terms.names.index("peak") if terms.stribeck else -1
        A, b = self._A[used], self.target[used]
        self._size = np.maximum(np.sqrt((A * A).sum(axis=0)), 1e-12)
        self._scaled, self._b = A / self._size, b
        self._gram, self._right, self._square = (
            self._scaled.T @ self._scaled,
            self._scaled.T @ b,
            float(b @ b),
        )

    def matrix(self, curved: Array) -> Array:
        """The regressor at these Stribeck parameters."""
        if self.terms.stribeck:
            self._A[:, self._peak] = self._hump(curved)
        return self._A.copy()

    def _hump(self, curved: Array) -> Array:
        speed, shape = (
            float(curved[0]),
            float(curved[1]) if self.terms.shape is None else self.terms.shape,
        )
        v = self.motion.velocity
        return self.motion.smooth(np.sign(v) * self.terms.fall(np.abs(v) / speed, shape))

    def solve(self, curved: Array) -> tuple[Array, float]:
        """Linear parameters and the sum of squares; friction and inertia are never negative."""
        if self.terms.stribeck:
            i, hump = self._peak, self._hump(curved)[self.used]
            self._size[i] = max(float(np.sqrt(hump @ hump)), 1e-12)
            self._scaled[:, i] = hump / self._size[i]
            self._gram[i] = self._gram[:, i] = self._scaled.T @ self._scaled[:, i]
            self._right[i] = self._scaled[:, i] @ self._b
        signed = [
            i for i, name in enumerate(self.terms.names) if name.startswith(("offset", "gravity"))
        ]
        p = len(self._size)
        # what may be negative is a difference
        spread = np.hstack([np.eye(p), -np.eye(p)[:, signed]])
        R = np.linalg.cholesky(self._gram + 1e-11 * np.eye(p)).T
        x = spread @ nnls(R @ spread, np.linalg.solve(R.T, self._right), maxiter=1000)[0]
        left = self._square - 2.0 * x @ self._right + x @ self._gram @ x
        return x / self._size, float(left)


def fit_sliding(motion: Motion, terms: Terms, used: Array) -> Sliding:
    """Fit the curve to the samples ``used``."""
    problem = Regression(motion, terms, used)
    curved, bounded = _search(problem) if terms.stribeck else (np.zeros(0), ())
    linear, _ = problem.solve(curved)
    residual = np.where(used, problem.target - problem.matrix(curved) @ linear, 0.0)
    values = dict(
        zip([*terms.names, *terms.curved], [*linear.tolist(), *curved.tolist()], strict=True)
    )
    covariance, freedom = _covariance(problem, linear, curved, residual)
    return Sliding(terms, values, covariance, freedom, residual, used, bounded)


def predicted(motion: Motion, fitted: Sliding) -> Array:
    """Torque that the fitted curve and inertia ask for, smoothed like the measured one, n [N·m]."""
    terms, values = fitted.terms, fitted.values
    shape = values.get("shape", terms.shape or 2.0)
    A = columns(motion, terms, values.get("stribeck_velocity", 1.0), shape)
    known = 0.0 if terms.inertia is None else terms.inertia * motion.acceleration
    return A @ [values[name] for name in terms.names] + known


def speed_bounds(motion: Motion, used: Array) -> tuple[float, float]:
    """Stribeck speeds that this motion could show, [rad/s]."""
    speed = np.abs(motion.velocity[used])
    fastest = float(speed.max())
    low = max(0.5 * float(np.quantile(speed, 0.005)), motion.slowest, 1e-3 * fastest)
    return min(low, 0.2 * fastest), 0.4 * fastest


def _search(problem: Regression) -> tuple[Array, tuple[str, ...]]:
    """Stribeck speed and exponent: a grid, then the best few polished."""
    low, high = speed_bounds(problem.motion, problem.used)
    free = problem.terms.shape is None
    shapes = SHAPES if free else (problem.terms.shape,)
    grid = [(speed, shape) for speed in np.geomspace(low, high, SPEEDS) for shape in shapes]
    scores = [problem.solve(np.array(point))[1] for point in grid]
    bounds = [(np.log(low), np.log(high)), SHAPE_BOUNDS][: 2 if free else 1]

    def cost(x: Array) -> float:
        return problem.solve(np.array([np.exp(x[0]), *x[1:]]))[1]

    best = None
    for index in np.argsort(scores)[:STARTS]:
        start = [np.log(grid[index][0]), grid[index][1]][: len(bounds)]
        answer = minimize(
            cost, start, method="Nelder-Mead", bounds=bounds, options={"xatol": 2e-3, "maxiter": 50}
        )
        best = answer if best is None or answer.fun < best.fun else best
    assert best is not None
    ends = zip(problem.terms.curved, best.x, bounds, strict=True)
    at = [name for name, x, (least, most) in ends if min(x - least, most - x) < 1e-3]
    return np.array([np.exp(best.x[0]), *best.x[1:]]), tuple(at)


def _covariance(
    problem: Regression, linear: Array, curved: Array, residual: Array
) -> tuple[Array, int]:
    """Covariance that allows for residuals which hang together: scores are summed over stretches of the recording."""
    J = _jacobian(problem, linear, curved)
    count = J.shape[1]
    if problem.motion.shifted:  # the delay that was put right is known only so well
        J = np.column_stack([J, np.gradient(problem.motion.torque, problem.motion.step)])
    covariance, freedom = sandwich(J, residual, problem.used, problem.motion)
    return covariance[:count, :count], freedom


def _jacobian(problem: Regression, linear: Array, curved: Array) -> Array:
    A = problem.matrix(curved)
    parts = [A]
    for i, value in enumerate(curved):
        moved = curved.copy()
        moved[i] = value * 1.001
        parts.append(((problem.matrix(moved) - A) @ linear / (0.001 * value))[:, None])
    return np.hstack(parts)


def tangents(motion: Motion, fitted: Sliding) -> Array:
    """How the torque changes with each of the fitted values, n × len(values)."""
    terms = fitted.terms
    linear, curved = (
        np.array([fitted.values[name] for name in names]) for names in (terms.names, terms.curved)
    )
    return _jacobian(Regression(motion, terms, fitted.used), linear, curved)


def sandwich(jacobian: Array, residual: Array, used: Array, motion: Motion) -> tuple[Array, int]:
    """Covariance of least-squares parameters from scores summed over blocks, and its degrees of freedom.

    Args:
        jacobian: n × p.
        residual: n.
        used: which rows count.
        motion: says how much neighbours share.
    """
    X, r = jacobian[used], residual[used]
    size = np.maximum(np.sqrt((X * X).sum(axis=0)), 1e-12)
    X = X / size
    X[:, ~np.isfinite(X).all(axis=0)] = 0.0
    blocks = stretches(len(r))
    scores = np.array([X[rows].T @ r[rows] for rows in blocks])
    bread = np.linalg.pinv(X.T @ X, rcond=1e-12)
    count, p = len(blocks), X.shape[1]
    robust = bread @ (scores.T @ scores) @ bread * count / max(count - p, 1)
    # samples per independent one
    shared = max(1.0, 2.0 * np.sqrt(2.0 * np.pi) * motion.width / motion.step)
    plain = bread * (r @ r) / max(len(r) / shared - p, 1.0) * 1.0
    grow = np.sqrt(np.maximum(np.diag(plain) / np.maximum(np.diag(robust), 1e-30), 1.0))
    scale = grow / size
    return robust * np.outer(scale, scale), max(count - p, 1)


def stretches(count: int) -> list[Array]:
    """Rows of the stretches whose residuals count as independent of one another."""
    return np.array_split(np.arange(count), min(BLOCKS, max(count // 8, 2)))


def flexible(v: Array, a: Array, rms: float) -> Array:
    """Columns of a curve that can take any shape, with inertia and offset."""
    bumps = [np.sign(v) * np.exp(-np.abs(v) / (share * rms)) for share in (0.05, 0.2, 0.6)]
    return np.column_stack([np.sign(v), *bumps, v, a, np.ones(len(v))])


def free_columns(motion: Motion) -> Array:
    """Columns of a curve of any shape, different each way, with inertia, offset and a load that goes with position."""
    v, rms = motion.velocity, float(np.sqrt(np.mean(motion.velocity**2)))
    A = flexible(v, motion.acceleration, rms)
    A[:, :4] = motion.smooth(A[:, :4])
    return np.column_stack([A, np.abs(v), np.sin(motion.position), np.cos(motion.position)])


def freer_error(motion: Motion, used: Array) -> float:
    """Root mean square of what a curve of any shape, different each way, leaves of the torque, [N·m]."""
    left, _ = _left(free_columns(motion)[used], motion.torque[used])
    return float(np.sqrt(left))


def uncertainty(motion: Motion, settling: float = 0.0) -> float:
    """How badly this motion tells dry and viscous friction apart, [(N·m)²]; says how good a band is.

    A wide band lets the noise of the encoder in, a narrow one blurs reversals until dry friction
    looks like viscous friction. The variance of the two torques shows both.

    Args:
        motion: what the joint did.
        settling: way after a rest or a reversal that is left out, [rad].
    """
    used = sliding_samples(motion, settling)
    if np.count_nonzero(used) < FEWEST // 2:
        return np.inf
    v, rms = motion.velocity, float(np.sqrt(np.mean(motion.velocity**2)))
    dry = np.column_stack([np.sign(v), np.sign(v) * np.exp(-np.abs(v) / (0.1 * rms))])
    load = np.column_stack([np.ones(len(v)), np.sin(motion.position), np.cos(motion.position)])
    A = np.column_stack([motion.smooth(dry), v, motion.acceleration, load])[used]
    left, _ = _left(A, motion.torque[used])
    spread = np.linalg.pinv(A.T @ A / len(A), rcond=1e-12, hermitian=True)
    seconds = len(A) * motion.step
    return float(
        left / (seconds * np.sqrt(motion.bandwidth)) * (spread[0, 0] + rms**2 * spread[2, 2])
    )


def _left(A: Array, b: Array) -> tuple[float, Array]:
    """Residual variance and solution of a least-squares problem."""
    size = np.sqrt((A * A).sum(axis=0)) + 1e-300
    x = np.linalg.lstsq(A / size, b, rcond=1e-9)[0]
    left = b - A / size @ x
    return float(left @ left / len(b)), x / size
