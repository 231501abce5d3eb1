"""LuGre friction as a whole: all parameters at once, by running the model along the motion.

A sliding curve fitted to unsteady motion takes frictional lag for a part of the curve. Once the
stiffness is roughly known, the model itself can be run instead: its update is exact, so that every
sample in motion counts, those just after a reversal most of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from farhand.friction.fit.breakaway import damping_rule
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import (
    BANDS_HZ,
    MAX_NOISE_SHARE,
    Motion,
    motion_at,
    split_at_pauses,
)
from farhand.friction.fit.presliding import MIN_TICKS, stiffness_grid
from farhand.friction.fit.sliding import (
    MAX_REST_WEIGHT,
    SHAPE_BOUNDS,
    SlidingCurve,
    half_interval,
    sandwich,
    speed_bounds,
)

Array = np.ndarray

BRISTLE_PARAMETERS = ("coulomb", "peak", "stribeck_velocity", "shape", "stiffness")
"""Parameters that the state of the bristles depends on; all others enter linearly."""

N = len(BRISTLE_PARAMETERS)

GRID_STIFFNESSES = 12
"""Stiffnesses that the fit may begin with."""

MAX_STEPS = 40

DIFFERENCE = 1e-4
"""Share of a parameter by which it is moved for its derivative."""


@dataclass(frozen=True)
class LugreFit:
    """The model fitted as a whole."""

    curve: SlidingCurve  #: with inertia and loads, and their covariance
    stiffness: tuple[float, float]  #: value and half of its 95 % interval, [N·m/rad]
    damping: tuple[float, float]  #: likewise, [N·m·s/rad]


def wide_motion(log: JointLog, motion: Motion) -> Motion:
    """The motion in the widest band that shows acceleration: bristles bend within milliseconds."""
    pieces = split_at_pauses(log, motion.tick)
    wider = [band for band in BANDS_HZ if motion.bandwidth < band <= 0.2 * motion.rate]
    for band in reversed(wider):
        wide = motion_at(pieces, band, motion.tick, motion.source)
        if wide.noise_share < MAX_NOISE_SHARE:
            return wide
    return motion


def moving(motion: Motion) -> Array:
    """Samples in which the joint is not at rest, whether or not it has come far enough to slide."""
    still = np.abs(motion.velocity) < motion.min_speed
    return motion.smooth(still.astype(float)) < MAX_REST_WEIGHT


def _slow_enough(motion: Motion, way: float) -> bool:
    """Whether most reversals take longer over the way before sliding [rad] than the kernel."""
    turns = np.flatnonzero(np.diff(np.sign(motion.velocity)) != 0.0)
    if not len(turns):
        return False
    pace = float(np.median(np.abs(motion.acceleration[turns])))
    return bool(np.sqrt(2.0 * way / max(pace, 1e-12)) > 2.0 * motion.width)


def fit_lugre(
    motion: Motion, first: SlidingCurve, used: Array, start: float | None = None
) -> LugreFit | None:
    """Fit all parameters at once; None if the motion does not show bristles.

    Args:
        motion: in a wide band.
        first: a sliding curve that is nearly right, with a peak whose exponent is free.
        used: samples that count.
        start: stiffness to begin with, [N·m/rad]; None to try all that the encoder could show.
    """
    top = first.values["coulomb"] + first.values["peak"]
    resolution = max(motion.tick, 1e-6 * np.ptp(motion.position))
    stiffest = float(top / (MIN_TICKS * resolution))
    if start is None:
        grid = stiffness_grid(top, motion, GRID_STIFFNESSES)
        tried = [stiffness for stiffness in grid if stiffness < stiffest]
    else:
        tried = [start]
    if not tried or first.values["coulomb"] <= 0.0:
        return None
    problem = LugreProblem(motion, first, used)
    bounds = problem.bounds()
    starts = [np.clip(problem.start(first, one), *bounds) for one in tried]
    costs = [float(np.sum(problem.residual(one) ** 2)) for one in starts]
    best = starts[int(np.argmin(costs))]
    answer = least_squares(
        problem.residual, best, problem.jacobian, bounds, x_scale="jac", max_nfev=MAX_STEPS
    )
    if not answer.success or 2.0 * answer.cost > min(costs):
        return None
    result = problem.result(first, answer.x)
    value, half = result.stiffness
    # The way before sliding is known to half a tick.
    half += 0.5 * motion.tick / (top / value) * value
    shown = value < stiffest and half < 0.5 * value and _slow_enough(motion, top / value)
    return replace(result, stiffness=(value, half)) if shown else None


class LugreProblem:
    """Residual and derivatives over all parameters.

    Their order: :data:`BRISTLE_PARAMETERS`, damping, viscous friction, inertia and loads, a delay.
    """

    def __init__(self, motion: Motion, first: SlidingCurve, used: Array) -> None:
        self.motion = motion
        self.used = used
        self.terms = first.terms
        self.known = 0.0 if self.terms.inertia is None else self.terms.inertia * motion.acceleration
        self.linear = [name for name in self.terms.names if name not in BRISTLE_PARAMETERS]
        self.order = [*BRISTLE_PARAMETERS, "damping", *self.linear]
        made = {
            "viscous": motion.velocity,
            "inertia": motion.acceleration,
            "offset": np.ones(len(motion)),
            "gravity_sine": motion.smooth(np.sin(motion.position)),
            "gravity_cosine": motion.smooth(np.cos(motion.position)),
        }
        self._plain = np.column_stack([made[name] for name in self.linear])
        self._cuts = np.flatnonzero(np.diff(motion.piece)) + 1
        self._floor = 1e-6 * float(np.sqrt(np.mean(motion.torque**2)))

    def start(self, first: SlidingCurve, stiffness: float) -> Array:
        """Where to begin for a stiffness [N·m/rad], with damping by the usual rule."""
        inertia = first.values["inertia"] if self.terms.inertia is None else self.terms.inertia
        damping = float(damping_rule(inertia, stiffness))
        values = {"stiffness": stiffness, "damping": damping, **first.values}
        return np.array([*(values[name] for name in self.order), 0.0])

    def bounds(self) -> tuple[Array, Array]:
        """Nothing that resists is negative; larger delays than a sample were corrected before."""
        slow, fast = speed_bounds(self.motion, self.used)
        least = [self._floor, 0.0, slow, SHAPE_BOUNDS[0], 1e-9, 0.0]
        most = [np.inf, np.inf, fast, SHAPE_BOUNDS[1], np.inf, np.inf]
        free = [name.startswith(("offset", "gravity")) for name in self.linear]
        sample = 1.0 / self.motion.rate
        lower = [*least, *(-np.inf if one else 0.0 for one in free), -sample]
        return np.array(lower), np.array([*most, *(np.inf for _ in free), sample])

    def residual(self, x: Array) -> Array:
        """Model minus torque over the samples that count, [N·m]."""
        whole, rate = self._modelled(x)
        return (whole + x[-1] * rate - self.motion.torque)[self.used]

    def jacobian(self, x: Array) -> Array:
        """Its derivatives."""
        return self.columns(x)[self.used]

    def columns(self, x: Array) -> Array:
        """Derivatives of the modelled torque at all samples."""
        bent, bending = self._bristles(x[:N])
        columns = []
        for i in range(N):
            moved = x[:N].copy()
            moved[i] += (step := DIFFERENCE * max(abs(x[i]), self._floor))
            other, faster = self._bristles(moved)
            columns.append((other - bent + x[N] * (faster - bending)) / step)
        return np.column_stack([*columns, bending, self._plain, self._modelled(x)[1]])

    def result(self, first: SlidingCurve, x: Array) -> LugreFit:
        """The answer with its covariance."""
        residual = np.zeros(len(self.motion))
        residual[self.used] = self.residual(x)
        covariance, freedom = sandwich(self.columns(x), -residual, self.used, self.motion)
        rows = [self.order.index(name) for name in first.values]
        values = {name: float(x[k]) for name, k in zip(first.values, rows, strict=True)}
        slow, fast = speed_bounds(self.motion, self.used)
        ends = {"stribeck_velocity": (slow, fast), "shape": SHAPE_BOUNDS}
        at = [n for n, (low, high) in ends.items() if not 1.001 * low < values[n] < 0.999 * high]
        block = covariance[np.ix_(rows, rows)]
        curve = replace(first, values=values, covariance=block, freedom=freedom, bounded=tuple(at))
        stiffness, damping = (
            (float(x[k]), half_interval(covariance[k, k], freedom))
            for k in map(self.order.index, ("stiffness", "damping"))
        )
        return LugreFit(curve, stiffness, damping)

    def _modelled(self, x: Array) -> tuple[Array, Array]:
        """Torque of the model and its rate, n [N·m], n [N·m/s]."""
        bent, bending = self._bristles(x[:N])
        whole = bent + x[N] * bending + self._plain @ x[N + 1 : -1] + self.known
        return whole, np.gradient(whole, self.motion.step)

    def _bristles(self, parameters: Array) -> tuple[Array, Array]:
        """Torque and rate of the bristles, smoothed like the torque, n [N·m], n [rad/s]."""
        coulomb, peak, speed, shape, stiffness = parameters.tolist()
        v, dt = self.motion.velocity, self.motion.step
        level = coulomb + peak * np.exp(-((np.abs(v) / speed) ** shape))
        share = -np.expm1(-stiffness * np.abs(v) * dt / level)
        steady = level / stiffness * np.sign(v)
        before, after = np.empty(len(v)), np.empty(len(v))
        for rows in np.split(np.arange(len(v)), self._cuts):
            z = float(steady[rows[0]])
            path = [z]
            kept, added = (1.0 - share[rows]).tolist(), (share * steady)[rows].tolist()
            for keep, add in zip(kept, added, strict=True):
                z = keep * z + add
                path.append(z)
            before[rows], after[rows] = path[:-1], path[1:]
        return self.motion.smooth(stiffness * after), self.motion.smooth((after - before) / dt)
