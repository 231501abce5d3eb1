"""Break-away tests: stiffness and damping before sliding from torque ramps and small loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from farhand.errors import BadValue
from farhand.friction.models.lugre import LuGre

Array = np.ndarray

SLIDING_SPEED = 0.05
"""Speed above which a joint counts as having broken away, [rad/s]."""

LOG_STEP = 1e-3
"""Step of the finite differences, in logarithms of the parameters."""

CENTRE_SHARE = 0.3
"""Share of a loop's height, about its middle, over which its slope is taken."""


@dataclass(frozen=True)
class TorqueRamp:
    """What a slow torque ramp from rest shows."""

    first: float  #: torque at the first change of position, [N·m]
    moved: float  #: that change, [rad]
    stiffness: float  #: σ0 = τ/x there, [N·m/rad]
    breakaway: float  #: torque at which the joint starts to slide, [N·m]; NaN if it never did


def damping_rule(inertia: float, stiffness: float | Array) -> float | Array:
    """σ1 = 0.2 √(J σ0), the usual first guess, [N·m·s/rad]; J in kg·m², σ0 in N·m/rad."""
    return 0.2 * np.sqrt(inertia * np.asarray(stiffness, dtype=float))


def torque_ramp(time: Array, position: Array, torque: Array, moved: float = 0.0) -> TorqueRamp:
    """Stiffness and break-away torque from a slow ramp of torque [N·m] over time [s].

    The stiffness is read at a displacement of ``moved`` [rad], or at the first change of the
    encoder if 0.

    Raises:
        BadValue: the joint never moves that far.
    """
    way = np.abs(position - position[0])
    at = np.flatnonzero(way >= moved if moved > 0.0 else way > 0.0)
    if len(at) == 0:
        raise BadValue(f"the joint never moves {moved:g} rad in this ramp; go to a higher torque")
    k = at[0]
    speed = np.gradient(position, time)
    # The difference of a coarse encoder jumps: sliding is a speed that lasts.
    lasting = np.convolve(np.abs(speed) > SLIDING_SPEED, np.ones(5), mode="valid") == 5.0
    slides = np.flatnonzero(lasting)
    broke = float(torque[slides[0]]) if len(slides) else float("nan")
    return TorqueRamp(float(torque[k]), float(way[k]), float(torque[k] / way[k]), broke)


@dataclass(frozen=True)
class HysteresisLoop:
    """A hysteresis loop of torque over displacement below break-away."""

    stiffness: float  #: slope at the centre, [N·m/rad]; NaN if there is nothing to fit
    central: int  #: samples in the central part of the loop
    travel: float  #: peak to peak, [rad]


def dahl_loop(
    position: Array, torque: Array, cycles: int, against: Array | None = None
) -> HysteresisLoop:
    """Slope at the centre of a sub-stiction loop, which is σ0 of Dahl's model.

    At the centre of a branch the torque crosses the middle of its range. A line through the samples
    within :data:`CENTRE_SHARE` of the range about it has the slope dF/dx there; with F = 0 at the
    centre this is σ0. An offset of the torque drops out: the middle of the range is subtracted.

    Args:
        position: [rad].
        torque: measured, [N·m].
        cycles: in the recording; the first is left out.
        against: torque to use instead of the measured one, [N·m].
    """
    skip = len(position) // cycles
    x, y = position[skip:], (torque if against is None else against)[skip:]
    central = np.abs(y - 0.5 * (y.max() + y.min())) <= CENTRE_SHARE * 0.5 * np.ptp(y)
    slopes = []
    rising = np.gradient(y) > 0.0
    for side in (rising, ~rising):
        rows = central & side
        if np.count_nonzero(rows) >= 3 and np.ptp(x[rows]) > 0.0:
            # Least squares of displacement over torque: the noise of ticks is in the displacement.
            dx, dy = x[rows] - x[rows].mean(), y[rows] - y[rows].mean()
            slopes.append(float((dy @ dy) / (dy @ dx)))
    slope = float(np.mean(slopes)) if slopes else float("nan")
    return HysteresisLoop(slope, int(np.count_nonzero(central)), float(np.ptp(x)))


@dataclass(frozen=True)
class Bristles:
    """Stiffness and damping for which a simulated joint moves like the recorded one."""

    stiffness: float  #: σ0, [N·m/rad]
    damping: float  #: σ1, [N·m·s/rad]
    deviation: tuple[float, float]  #: relative standard deviation of both, [-]
    residual: float  #: root mean square of the position error as a share of the position's, [-]

    @property
    def reliable(self) -> bool:
        """Whether the model explains the motion and the data determine both."""
        return self.residual < 0.05 and max(self.deviation) < 0.2


def presliding_motion(torque: Array, dt: float, inertia: float, friction: LuGre) -> Array:
    """Positions of a joint driven by this torque from rest, n × joints [rad].

    Before sliding the equations are not stiff, and an explicit method of fourth order is right
    where the implicit step of :mod:`farhand.friction.models.implicit` would add damping of its own,
    σ0 dt/2, as much as σ1 is at 1 ms.

    Args:
        torque: n [N·m], held from sample to sample.
        dt: time between samples, [s].
        inertia: [kg·m²].
        friction: one joint for every set of parameters.
    """

    def rate(v: Array, z: Array, push: float) -> tuple[Array, Array]:
        bend = v - friction.stiffness * np.abs(v) / friction.level(v) * z
        force = friction.stiffness * z + friction.damping * bend + friction.viscous * v
        return (push - force) / inertia, bend

    x, v, z = np.zeros((3, friction.joints))
    out = np.empty((len(torque), friction.joints))
    for k, push in enumerate(torque.tolist()):
        a1, b1 = rate(v, z, push)
        v2 = v + 0.5 * dt * a1
        a2, b2 = rate(v2, z + 0.5 * dt * b1, push)
        v3 = v + 0.5 * dt * a2
        a3, b3 = rate(v3, z + 0.5 * dt * b2, push)
        v4 = v + dt * a3
        a4, b4 = rate(v4, z + dt * b3, push)
        x = x + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        z = z + dt / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        out[k] = x
    return out


def estimate_bristles(
    torque: Array,
    position: Array,
    dt: float,
    inertia: float,
    curve: dict[str, Any],
    method: str = "least squares",
) -> Bristles:
    """Fit σ0 and σ1 of LuGre to a presliding test.

    Args:
        torque: as logged, n [N·m].
        position: as logged, n [rad].
        dt: time between samples, [s].
        inertia: [kg·m²].
        curve: LuGre's other parameters.
        method: ``"least squares"`` or ``"simplex"``.
    """
    x = position - position[0]

    def residuals(logs: Array) -> Array:
        """One column for each pair of logarithms in ``logs``, 2 × joints."""
        stiffness, damping = np.exp(np.clip(logs, -20.0, 20.0))
        friction = LuGre(joints=logs.shape[1], stiffness=stiffness, damping=damping, **curve)
        # Parameters far off may make the explicit method diverge.
        with np.errstate(all="ignore"):
            left = presliding_motion(torque, dt, inertia, friction) - x[:, None]
        return np.clip(np.nan_to_num(left, nan=1e6), -1e6, 1e6)

    guess = np.ptp(torque) / max(np.ptp(x), 1e-12)
    start = np.log([guess, damping_rule(inertia, guess)])
    if method == "simplex":
        simplex = start + 0.7 * np.eye(3, 2)
        options = {"xatol": 1e-3, "fatol": 0.0, "maxiter": 60, "initial_simplex": simplex}

        def cost(logs: Array) -> float:
            return float((residuals(logs[:, None]) ** 2).sum())

        best = minimize(cost, start, method="Nelder-Mead", options=options).x
    else:
        best = _gauss_newton(residuals, start)
    left, J = _linearised(residuals, best)
    covariance = np.linalg.pinv(J.T @ J) * (left @ left) / len(left)
    stiffness, damping = np.exp(best)
    share = float(np.sqrt(np.mean(left**2) / np.mean((x - x.mean()) ** 2)))
    first, second = np.sqrt(np.diag(covariance)).tolist()
    return Bristles(float(stiffness), float(damping), (first, second), share)


def _linearised(residuals: Callable[[Array], Array], at: Array) -> tuple[Array, Array]:
    """Residual and its derivatives; the point and its two neighbours are simulated side by side."""
    both = residuals(at[:, None] + np.array([[0.0, LOG_STEP, 0.0], [0.0, 0.0, LOG_STEP]]))
    return both[:, 0], (both[:, 1:] - both[:, :1]) / LOG_STEP


def _gauss_newton(residuals: Callable[[Array], Array], start: Array, rounds: int = 12) -> Array:
    """Damped steps; five step lengths are simulated side by side."""
    at = start
    for _ in range(rounds):
        left, J = _linearised(residuals, at)
        step = -np.clip(np.linalg.lstsq(J, left, rcond=None)[0], -2.0, 2.0)
        shares = np.array([1.0, 0.5, 0.25, 0.1, 0.03])
        trials = (residuals(at[:, None] + step[:, None] * shares) ** 2).sum(axis=0)
        if trials.min() >= left @ left:
            break
        change = shares[int(np.argmin(trials))] * step
        at = at + change
        if np.abs(change).max() < 1e-4:
            break
    return at
