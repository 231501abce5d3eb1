"""The sliding curve of a fit: dry, Stribeck and viscous friction, inertia and offset.

Everything but the Stribeck speed and exponent enters linearly. A grid search finds those two and a
simplex refines them, while the rest is solved exactly for each pair, with its bounds. This avoids
local minima.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.stats import t as student

from farhand.friction.fit.data import MIN_SAMPLES
from farhand.friction.fit.motion import Motion

Array = np.ndarray

SHAPES = (0.6, 1.0, 1.5, 2.0)
"""Stribeck exponents of the grid, [-]."""

SHAPE_BOUNDS = (0.5, 4.0)

GRID_SPEEDS = 14
"""Stribeck speeds of the grid."""

REFINED_POINTS = 2
"""Points of the grid from which the search goes on."""

BLOCKS = 40
"""Stretches of the recording whose residuals count as independent of one another."""

REVERSAL_TICKS = 4.0
"""Twice the ticks that a joint must travel from or to a reversal for its speed to be known."""

REVERSAL_WIDTHS = 1.5
"""Kernel widths within which a joint must not have turned round."""

MAX_REST_WEIGHT = 0.2
"""Share of a kernel's weight that may lie on samples of unknown direction; above it, drop them."""


@dataclass(frozen=True)
class Estimate:
    """One parameter."""

    value: float  #: best estimate
    low: float | None  #: lower end of the 95 % interval; None if the data do not bound it
    high: float | None  #: upper end
    unit: str  #: of all three
    identified: bool  #: whether the data determine it


@dataclass(frozen=True)
class Terms:
    """Terms of a sliding curve."""

    dry: bool = True  #: Coulomb friction
    stribeck: bool = False  #: a Stribeck peak
    shape: float | None = 2.0  #: exponent of the peak; None to estimate it
    rational: bool = False  #: the peak falls as 1/(1 + (v/v_s)²) instead
    viscous: bool = True  #: viscous friction
    inertia: float | None = None  #: [kg·m²] if known; None to estimate it
    offset: bool = True  #: estimate a constant torque
    gravity: bool = False  #: estimate torque that follows sine and cosine of the position

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

    @property
    def nonlinear(self) -> list[str]:
        """Parameters that do not enter linearly."""
        if not self.stribeck:
            return []
        return ["stribeck_velocity"] if self.shape is not None else ["stribeck_velocity", "shape"]

    def peak_left(self, speed: Array, shape: float) -> Array:
        """Share of the peak that is left at a speed, in units of the Stribeck speed."""
        return 1.0 / (1.0 + speed**2) if self.rational else np.exp(-(speed**shape))


@dataclass(frozen=True)
class SlidingCurve:
    """A fitted curve, with inertia and loads."""

    terms: Terms
    #: by name, those of :class:`Terms`; ``peak`` is break-away friction minus Coulomb friction
    values: dict[str, float]
    covariance: Array  #: of ``values`` in their order
    freedom: int  #: degrees of freedom of the covariance
    residual: Array  #: n [N·m], smoothed torque minus model, zero where not used
    used: Array  #: which samples were used
    bounded: tuple[str, ...] = ()  #: names whose value lies on a bound of the search

    @property
    def rms(self) -> float:
        """Root mean square of the residual, [N·m]."""
        return float(np.sqrt(np.mean(self.residual[self.used] ** 2)))

    def half(self, name: str) -> float:
        """Half of the 95 % interval of a value."""
        k = list(self.values).index(name)
        return half_interval(self.covariance[k, k], self.freedom)


def half_interval(variance: float, freedom: int) -> float:
    """Half of the 95 % interval."""
    return float(student.ppf(0.975, max(freedom, 1)) * np.sqrt(max(variance, 0.0)))


def sliding_samples(motion: Motion, settling: float = 0.0) -> Array:
    """Samples whose direction of motion is known over the whole kernel.

    A joint that turns round within a few ticks, or within the kernel, is seen too late or too
    early; so is one at rest. The way ``settling`` [rad] after a rest or a reversal is left out too.
    """
    speed = np.abs(motion.velocity)
    still = speed < motion.min_speed
    pace = np.abs(motion.acceleration)
    turning = speed**2 < REVERSAL_TICKS * pace * motion.tick
    turning |= speed < REVERSAL_WIDTHS * pace * motion.width
    turning |= travelled(motion) < settling
    clear = motion.smooth((still | turning).astype(float)) < MAX_REST_WEIGHT
    rough = motion.smooth(still.astype(float)) < MAX_REST_WEIGHT
    return clear if np.count_nonzero(clear) > 0.5 * np.count_nonzero(rough) else rough


def travelled(motion: Motion) -> Array:
    """How far the joint has come since it last was at rest or turned round, n [rad]."""
    still = np.abs(motion.velocity) < motion.min_speed
    way = np.sign(motion.velocity)
    starts = still | (np.diff(way, prepend=0.0) != 0.0) | (np.diff(motion.piece, prepend=-1) != 0)
    since = np.maximum.accumulate(np.where(starts, np.arange(len(way)), 0))
    return np.abs(motion.position - motion.position[since])


def columns(motion: Motion, terms: Terms, speed: float = 1.0, shape: float = 2.0) -> Array:
    """The regressor at this Stribeck speed and exponent, smoothed like the torque."""
    v = motion.velocity
    made = {
        "coulomb": lambda: motion.smooth(np.sign(v)),
        "peak": lambda: _peak_column(motion, terms, speed, shape),
        "viscous": lambda: v,
        "inertia": lambda: motion.acceleration,
        "offset": lambda: np.ones(len(v)),
        "gravity_sine": lambda: motion.smooth(np.sin(motion.position)),
        "gravity_cosine": lambda: motion.smooth(np.cos(motion.position)),
    }
    return np.column_stack([made[name]() for name in terms.names])


def _peak_column(motion: Motion, terms: Terms, speed: float, shape: float) -> Array:
    v = motion.velocity
    return motion.smooth(np.sign(v) * terms.peak_left(np.abs(v) / speed, shape))


class Regression:
    """Solves for the linear parameters, given the Stribeck speed and exponent."""

    def __init__(self, motion: Motion, terms: Terms, used: Array) -> None:
        self.motion = motion
        self.terms = terms
        self.used = used
        self.target = motion.torque
        if terms.inertia is not None:
            self.target = self.target - terms.inertia * motion.acceleration
        self._A = columns(motion, terms)
        self._peak = terms.names.index("peak") if terms.stribeck else -1
        A, b = self._A[used], self.target[used]
        self._size = np.maximum(np.sqrt((A * A).sum(axis=0)), 1e-12)
        self._scaled = A / self._size
        self._b = b
        self._gram = self._scaled.T @ self._scaled
        self._right = self._scaled.T @ b
        self._square = float(b @ b)

    def matrix(self, nonlinear: Array) -> Array:
        """The regressor at these Stribeck parameters."""
        if self.terms.stribeck:
            self._A[:, self._peak] = self._peak_at(nonlinear)
        return self._A.copy()

    def _peak_at(self, nonlinear: Array) -> Array:
        shape = float(nonlinear[1]) if self.terms.shape is None else self.terms.shape
        return _peak_column(self.motion, self.terms, float(nonlinear[0]), shape)

    def solve(self, nonlinear: Array) -> tuple[Array, float]:
        """Linear parameters and the sum of squares; friction and inertia are never negative."""
        if self.terms.stribeck:
            i, peak = self._peak, self._peak_at(nonlinear)[self.used]
            self._size[i] = max(float(np.sqrt(peak @ peak)), 1e-12)
            self._scaled[:, i] = peak / self._size[i]
            self._gram[i] = self._gram[:, i] = self._scaled.T @ self._scaled[:, i]
            self._right[i] = self._scaled[:, i] @ self._b
        names = self.terms.names
        signed = [i for i, name in enumerate(names) if name.startswith(("offset", "gravity"))]
        p = len(self._size)
        # Non-negative least squares: a parameter that may be negative is a difference of two.
        spread = np.hstack([np.eye(p), -np.eye(p)[:, signed]])
        R = np.linalg.cholesky(self._gram + 1e-11 * np.eye(p)).T
        x = spread @ nnls(R @ spread, np.linalg.solve(R.T, self._right), maxiter=1000)[0]
        left = self._square - 2.0 * x @ self._right + x @ self._gram @ x
        return x / self._size, float(left)


def fit_sliding(motion: Motion, terms: Terms, used: Array) -> SlidingCurve:
    """Fit the curve to the samples ``used``."""
    problem = Regression(motion, terms, used)
    nonlinear, bounded = _search(problem) if terms.stribeck else (np.zeros(0), ())
    linear, _ = problem.solve(nonlinear)
    residual = np.where(used, problem.target - problem.matrix(nonlinear) @ linear, 0.0)
    names = [*terms.names, *terms.nonlinear]
    values = dict(zip(names, [*linear.tolist(), *nonlinear.tolist()], strict=True))
    covariance, freedom = _covariance(problem, linear, nonlinear, residual)
    return SlidingCurve(terms, values, covariance, freedom, residual, used, bounded)


def predicted(motion: Motion, curve: SlidingCurve) -> Array:
    """Torque of the fitted curve and inertia, smoothed like the measured one, n [N·m]."""
    terms, values = curve.terms, curve.values
    shape = values.get("shape", terms.shape or 2.0)
    A = columns(motion, terms, values.get("stribeck_velocity", 1.0), shape)
    known = 0.0 if terms.inertia is None else terms.inertia * motion.acceleration
    return A @ [values[name] for name in terms.names] + known


def speed_bounds(motion: Motion, used: Array) -> tuple[float, float]:
    """Stribeck speeds that this motion could show, [rad/s]."""
    speed = np.abs(motion.velocity[used])
    fastest = float(speed.max())
    low = max(0.5 * float(np.quantile(speed, 0.005)), motion.min_speed, 1e-3 * fastest)
    return min(low, 0.2 * fastest), 0.4 * fastest


def _search(problem: Regression) -> tuple[Array, tuple[str, ...]]:
    """Stribeck speed and exponent: a grid, then a simplex from its best points."""
    low, high = speed_bounds(problem.motion, problem.used)
    free = problem.terms.shape is None
    shapes = SHAPES if free else (problem.terms.shape,)
    grid = [(speed, shape) for speed in np.geomspace(low, high, GRID_SPEEDS) for shape in shapes]
    scores = [problem.solve(np.array(point))[1] for point in grid]
    bounds = [(np.log(low), np.log(high)), SHAPE_BOUNDS][: 2 if free else 1]

    def cost(x: Array) -> float:
        return problem.solve(np.array([np.exp(x[0]), *x[1:]]))[1]

    best = None
    options = {"xatol": 2e-3, "maxiter": 50}
    for index in np.argsort(scores)[:REFINED_POINTS]:
        start = [np.log(grid[index][0]), grid[index][1]][: len(bounds)]
        answer = minimize(cost, start, method="Nelder-Mead", bounds=bounds, options=options)
        best = answer if best is None or answer.fun < best.fun else best
    assert best is not None
    ends = zip(problem.terms.nonlinear, best.x, bounds, strict=True)
    at = [name for name, x, (least, most) in ends if min(x - least, most - x) < 1e-3]
    return np.array([np.exp(best.x[0]), *best.x[1:]]), tuple(at)


def _covariance(
    problem: Regression, linear: Array, nonlinear: Array, residual: Array
) -> tuple[Array, int]:
    J = _jacobian(problem, linear, nonlinear)
    count = J.shape[1]
    # A corrected delay of the torque is itself an estimate: count it as one more parameter.
    if problem.motion.shifted:
        J = np.column_stack([J, np.gradient(problem.motion.torque, problem.motion.step)])
    covariance, freedom = sandwich(J, residual, problem.used, problem.motion)
    return covariance[:count, :count], freedom


def _jacobian(problem: Regression, linear: Array, nonlinear: Array) -> Array:
    A = problem.matrix(nonlinear)
    parts = [A]
    for i, value in enumerate(nonlinear):
        moved = nonlinear.copy()
        moved[i] = value * 1.001
        parts.append(((problem.matrix(moved) - A) @ linear / (0.001 * value))[:, None])
    return np.hstack(parts)


def tangents(motion: Motion, curve: SlidingCurve) -> Array:
    """How the torque changes with each of the fitted values, n × len(values)."""
    terms, values = curve.terms, curve.values
    linear = np.array([values[name] for name in terms.names])
    nonlinear = np.array([values[name] for name in terms.nonlinear])
    return _jacobian(Regression(motion, terms, curve.used), linear, nonlinear)


def sandwich(jacobian: Array, residual: Array, used: Array, motion: Motion) -> tuple[Array, int]:
    """Covariance of least-squares parameters, and its degrees of freedom.

    Residuals of neighbours are alike, so scores are summed over blocks of the recording. The
    result is never below the covariance with as many independent samples as the kernel leaves.
    """
    X, r = jacobian[used], residual[used]
    size = np.maximum(np.sqrt((X * X).sum(axis=0)), 1e-12)
    X = X / size
    X[:, ~np.isfinite(X).all(axis=0)] = 0.0
    blocks = split_blocks(len(r))
    scores = np.array([X[rows].T @ r[rows] for rows in blocks])
    bread = np.linalg.pinv(X.T @ X, rcond=1e-12)
    count, p = len(blocks), X.shape[1]
    robust = bread @ (scores.T @ scores) @ bread * count / max(count - p, 1)
    per_independent_sample = max(1.0, 2.0 * np.sqrt(2.0 * np.pi) * motion.width / motion.step)
    plain = bread * (r @ r) / max(len(r) / per_independent_sample - p, 1.0)
    grow = np.sqrt(np.maximum(np.diag(plain) / np.maximum(np.diag(robust), 1e-30), 1.0))
    scale = grow / size
    return robust * np.outer(scale, scale), max(count - p, 1)


def split_blocks(count: int) -> list[Array]:
    """Rows of the blocks whose residuals count as independent of one another."""
    return np.array_split(np.arange(count), min(BLOCKS, max(count // 8, 2)))


def free_columns(motion: Motion) -> Array:
    """Columns of a curve of any shape, different each way, with inertia, offset and gravity."""
    v, rms = motion.velocity, float(np.sqrt(np.mean(motion.velocity**2)))
    bumps = [np.sign(v) * np.exp(-np.abs(v) / (share * rms)) for share in (0.05, 0.2, 0.6)]
    dry = motion.smooth(np.column_stack([np.sign(v), *bumps]))
    load = (np.sin(motion.position), np.cos(motion.position))
    return np.column_stack([dry, v, motion.acceleration, np.ones(len(v)), np.abs(v), *load])


def free_curve_error(motion: Motion, used: Array) -> float:
    """Root mean square of what a curve of any shape leaves of the torque, [N·m]."""
    return float(np.sqrt(_residual_variance(free_columns(motion)[used], motion.torque[used])))


def uncertainty(motion: Motion, settling: float = 0.0) -> float:
    """How badly this motion separates dry and viscous friction, [(N·m)²]; says how good a band is.

    A wide band lets the noise of the encoder in, a narrow one blurs reversals until dry friction
    looks like viscous friction. The variance of the two torques shows both. The way ``settling``
    [rad] after a rest or a reversal is left out.
    """
    used = sliding_samples(motion, settling)
    if np.count_nonzero(used) < MIN_SAMPLES // 2:
        return np.inf
    v, rms = motion.velocity, float(np.sqrt(np.mean(motion.velocity**2)))
    dry = np.column_stack([np.sign(v), np.sign(v) * np.exp(-np.abs(v) / (0.1 * rms))])
    load = np.column_stack([np.ones(len(v)), np.sin(motion.position), np.cos(motion.position)])
    A = np.column_stack([motion.smooth(dry), v, motion.acceleration, load])[used]
    left = _residual_variance(A, motion.torque[used])
    spread = np.linalg.pinv(A.T @ A / len(A), rcond=1e-12, hermitian=True)
    seconds = len(A) * motion.step
    per_term = left / (seconds * np.sqrt(motion.bandwidth))
    return float(per_term * (spread[0, 0] + rms**2 * spread[2, 2]))


def _residual_variance(A: Array, b: Array) -> float:
    size = np.sqrt((A * A).sum(axis=0)) + 1e-300
    x = np.linalg.lstsq(A / size, b, rcond=1e-9)[0]
    left = b - A / size @ x
    return float(left @ left / len(b))
