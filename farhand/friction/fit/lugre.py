"""LuGre friction as a whole: all its parameters at once, by running the model along the recorded motion.

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
from farhand.friction.fit.motion import BANDS, MAX_VELOCITY_BLUR, Motion, motion_at, pieces_of
from farhand.friction.fit.presliding import SEEN, stiffness_grid
from farhand.friction.fit.static import (
    AT_REST,
    SHAPE_BOUNDS,
    Sliding,
    half_interval,
    sandwich,
    speed_bounds,
)

Array = np.ndarray

CURVED = ("coulomb", "peak", "stribeck_velocity", "shape", "stiffness")
"""Parameters that the state of the bristles depends on; all others enter linearly."""

TRIED = 12
"""Stiffnesses that the fit may begin with."""

ROUNDS = 40
"""Most steps of the fit."""

NUDGE = 1e-4
"""Share of a parameter by which it is moved for its derivative."""


@dataclass(frozen=True)
class LugreFit:
    """The model fitted as a whole.

    Attributes:
        sliding: the sliding curve, inertia and loads, with their covariance.
        stiffness: value and half of its 95 % interval, [N·m/rad].
        damping: likewise, [N·m·s/rad].
    """

    sliding: Sliding
    stiffness: tuple[float, float]
    damping: tuple[float, float]


def wide_motion(found: JointLog, motion: Motion) -> Motion:
    """The motion in the widest band in which the encoder shows acceleration: bristles bend within milliseconds."""
    pieces = pieces_of(found, motion.tick)
    wider = [band for band in BANDS if motion.bandwidth < band <= 0.2 * motion.rate]
    for band in reversed(wider):
        wide = motion_at(pieces, band, motion.tick, motion.source)
        if wide.haze < MAX_VELOCITY_BLUR:
            return wide
    return motion


def moving(motion: Motion) -> Array:
    """Samples in which the joint is not at rest, whether or not it has come far enough to slide."""
    return motion.smooth((np.abs(motion.velocity) < motion.slowest).astype(float)) < AT_REST


def _slow_enough(motion: Motion, way: float) -> bool:
    """Whether the joint takes longer over its way before sliding [rad] than the kernel is wide, at most reversals."""
    turns = np.flatnonzero(np.diff(np.sign(motion.velocity)) != 0.0)
    if not len(turns):
        return False
    pace = float(np.median(np.abs(motion.acceleration[turns])))
    return bool(np.sqrt(2.0 * way / max(pace, 1e-12)) > 2.0 * motion.width)


def fit_lugre(
    motion: Motion, first: Sliding, used: Array, start: float | None = None
) -> LugreFit | None:
    """All parameters at once, from a sliding curve that is nearly right; None if the motion does not show bristles.

    Args:
        motion: what the joint did, in a wide band.
        first: a fitted sliding curve with a peak whose exponent is free.
        used: samples that count.
        start: stiffness to begin with, [N·m/rad]; otherwise all those are tried that the encoder
            could show.
    """
    top, resolution = (
        first.values["coulomb"] + first.values["peak"],
        max(motion.tick, 1e-6 * np.ptp(motion.position)),
    )
    stiffest = float(top / (SEEN * resolution))
    tried = (
        [one for one in stiffness_grid(top, motion, TRIED) if one < stiffest]
        if start is None
        else [start]
    )
    if not tried or first.values["coulomb"] <= 0.0:
        return None
    problem = _Whole(motion, first, used)
    bounds = problem.bounds()
    starts = [np.clip(problem.start(first, one), *bounds) for one in tried]
    costs = [float(np.sum(problem.residual(one) ** 2)) for one in starts]
    best = starts[int(np.argmin(costs))]
    answer = least_squares(
        problem.residual, best, problem.jacobian, bounds, x_scale="jac", max_nfev=ROUNDS
    )
    if not answer.success or 2.0 * answer.cost > min(costs):
        return None
    found = problem.result(first, answer.x)
    value, half = found.stiffness
    # the way before sliding is known to half a tick
    half += 0.5 * motion.tick / (top / value) * value
    shown = value < stiffest and half < 0.5 * value and _slow_enough(motion, top / value)
    return replace(found, stiffness=(value, half)) if shown else None


class _Whole:
    """Residual and derivatives over ``CURVED``, then damping, viscous friction, inertia and loads, and a delay."""

    def __init__(self, motion: Motion, first: Sliding, used: Array) -> None:
        self.motion, self.used, self.terms = motion, used, first.terms
        self.known = 0.0 if self.terms.inertia is None else self.terms.inertia * motion.acceleration
        self.linear = [name for name in self.terms.names if name not in CURVED]
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

    def start(self, first: Sliding, stiffness: float) -> Array:
        """Where to begin, with the damping that goes with a stiffness [N·m/rad] by the usual rule."""
        inertia = first.values["inertia"] if self.terms.inertia is None else self.terms.inertia
        values = {
            "stiffness": stiffness,
            "damping": float(damping_rule(inertia, stiffness)),
            **first.values,
        }
        return np.array([*(values[name] for name in (*CURVED, "damping", *self.linear)), 0.0])

    def bounds(self) -> tuple[Array, Array]:
        """Nothing that resists is negative; the delay is a sample at most, the rest has been put right before."""
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
        bent, bending = self._bristles(x[: len(CURVED)])
        columns = []
        for i in range(len(CURVED)):
            moved = x[: len(CURVED)].copy()
            moved[i] += (step := NUDGE * max(abs(x[i]), self._floor))
            other, faster = self._bristles(moved)
            columns.append((other - bent + x[len(CURVED)] * (faster - bending)) / step)
        return np.column_stack([*columns, bending, self._plain, self._modelled(x)[1]])

    def result(self, first: Sliding, x: Array) -> LugreFit:
        """The answer with its covariance."""
        covariance, freedom = sandwich(
            self.columns(x), -self._spread(self.residual(x)), self.used, self.motion
        )
        order = [*CURVED, "damping", *self.linear]
        values = {name: float(x[order.index(name)]) for name in first.values}
        rows = [order.index(name) for name in first.values]
        slow, fast = speed_bounds(self.motion, self.used)
        ends = {"stribeck_velocity": (slow, fast), "shape": SHAPE_BOUNDS}
        at = tuple(
            n for n, (low, high) in ends.items() if not 1.001 * low < values[n] < 0.999 * high
        )
        sliding = replace(
            first,
            values=values,
            covariance=covariance[np.ix_(rows, rows)],
            freedom=freedom,
            bounded=at,
        )
        at_rest = [order.index(name) for name in ("stiffness", "damping")]
        return LugreFit(
            sliding, *((float(x[k]), half_interval(covariance[k, k], freedom)) for k in at_rest)
        )

    def _spread(self, values: Array) -> Array:
        out = np.zeros(len(self.motion))
        out[self.used] = values
        return out

    def _modelled(self, x: Array) -> tuple[Array, Array]:
        """Torque that the model asks for, and its rate, n [N·m], n [N·m/s]."""
        bent, bending = self._bristles(x[: len(CURVED)])
        whole = bent + x[len(CURVED)] * bending + self._plain @ x[len(CURVED) + 1 : -1] + self.known
        return whole, np.gradient(whole, self.motion.step)

    def _bristles(self, curved: Array) -> tuple[Array, Array]:
        """Torque and rate of the bristles along the motion, smoothed like the torque, n [N·m], n [rad/s]."""
        coulomb, peak, speed, shape, stiffness = curved.tolist()
        v, dt = self.motion.velocity, self.motion.step
        level = coulomb + peak * np.exp(-((np.abs(v) / speed) ** shape))
        share = -np.expm1(-stiffness * np.abs(v) * dt / level)
        steady = level / stiffness * np.sign(v)
        before, after = np.empty(len(v)), np.empty(len(v))
        for rows in np.split(np.arange(len(v)), self._cuts):
            z, path = float(steady[rows[0]]), [float(steady[rows[0]])]
            for keep, add in zip(
                (1.0 - share[rows]).tolist(), (share * steady)[rows].tolist(), strict=True
            ):
                z = keep * z + add
                path.append(z)
            before[rows], after[rows] = path[:-1], path[1:]
        return self.motion.smooth(stiffness * after), self.motion.smooth((after - before) / dt)
