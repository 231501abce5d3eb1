"""Which results of a fit to trust: warnings, and parameters marked as not identified.

A parameter is the joint's only if the model fits: a freer curve must not explain more of the torque
than chance and the model's own intervals allow. The warnings are for you, with your own data: what
could not be identified, why, and what to log instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import f as fisher

from farhand.friction.fit.coverage import NARROW, RESOLVED, Coverage
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import MAX_VARIANCE_RATIO
from farhand.friction.fit.sliding import (
    Estimate,
    SlidingCurve,
    free_columns,
    free_curve_error,
    half_interval,
    split_blocks,
    tangents,
)

if TYPE_CHECKING:
    from farhand.friction.fit.fit import Fit
    from farhand.friction.fit.prepare import Prepared

Array = np.ndarray
Doubt = tuple[set[str], str]
"""Parameters that cannot be trusted, and the line that says why; empty if there is none."""

CURVE = ("coulomb", "viscous", "breakaway", "stribeck_velocity", "shape")
"""Parameters of a sliding curve."""

CHANCE = 1e-3
"""Probability that chance alone calls a model unfit; chosen, beside intervals of 95 %."""

MISFIT_SHARE = 0.03
"""Share of the torque that a model may leave before it is compared with a freer curve anyway."""

FREE_CURVE_RATIO = 0.7
"""A freer curve that leaves less than this share of what the model leaves shows a misfit."""

NOISY_SHARE = 0.1
"""Share of the torque left by any curve that is worth a line."""

MIN_VISCOUS_SHARE = 0.15
"""Share of friction at the fastest speed that viscous friction must have to be trusted."""

BROAD_PEAK_SPEED = 0.2
BROAD_PEAK_HEIGHT = 0.1
"""An unseen peak bends the whole curve if its Stribeck speed is above this share of the fastest
speed and its height above this share of dry friction."""

CLIPPED_SHARE = 0.02
"""Share of samples at exactly the largest torque that shows a limit …"""

CLIPPED_RESIDUAL = 0.005
"""… unless the model leaves less than this share of the torque …"""

CLIPPED_SPEEDS = 0.2
"""… and if they cover this share of the speeds: at one speed, the same torque is expected."""

DIRECTION_DIFFERENCE = 0.08
"""Difference between the directions, as a share of friction, from which they count as different."""


def mark_untrusted(
    result: Fit, curve: SlidingCurve, ready: Prepared, compared: bool = False
) -> tuple[Fit, list[str]]:
    """Mark parameters that cannot be trusted as not identified; the warnings, one line each.

    Args:
        result: of the fit.
        curve: its sliding curve.
        ready: the recording.
        compared: whether all models of ``auto`` were tried.
    """
    doubted: set[str] = {*CURVE, "inertia"} if ready.lag else set()
    lines: list[str] = []
    sided, unfit = _one_sided(result), _unfit(result, curve, compared)
    # Different directions explain a misfit: say only that.
    if sided[1]:
        unfit = unfit[0], ""
    bent = _bent(result, curve, ready.coverage)
    doubts = (_clipped(result), sided, unfit, _late(result, ready), bent, _weak_viscous(result))
    for names, line in doubts:
        if line and (names - doubted or not names):
            lines.append(line)
        doubted |= names

    def marked(one: Estimate) -> Estimate:
        return replace(one, identified=False, low=None, high=None)

    parameters = {n: marked(one) if n in doubted else one for n, one in result.parameters.items()}
    given = result.inertia.low == result.inertia.high
    inertia = marked(result.inertia) if "inertia" in doubted and not given else result.inertia
    return replace(result, parameters=parameters, inertia=inertia), lines


def _clipped(result: Fit) -> Doubt:
    """A torque that stops at a limit of the drive or the logger is not what moved the joint."""
    data, motion = result.data, result.motion
    if data is None or result.rms_error < CLIPPED_RESIDUAL * result.rms_torque:
        return set(), ""
    speed = np.abs(np.interp(data.time, motion.time, motion.velocity))
    for end in (float(data.torque.max()), float(data.torque.min())):
        at = data.torque == end
        share = float(at.mean())
        if share <= CLIPPED_SHARE:
            continue
        if np.ptp(np.quantile(speed[at], [0.05, 0.95])) > CLIPPED_SPEEDS * speed.max():
            return {*CURVE, "inertia"}, (
                f"the torque is exactly {end:.4g} N·m in {100 * share:.0f} % of the samples and "
                "never beyond: the drive or the logger is at its limit, so friction and inertia "
                "are not identified; log a run that needs less torque"
            )
    return set(), ""


def _unfit(result: Fit, curve: SlidingCurve, compared: bool) -> Doubt:
    """A model that leaves what a freer curve explains does not have the joint's parameters."""
    scale, motion = max(result.rms_torque, 1e-12), result.motion
    left = result.rms_error / scale
    freer = free_curve_error(motion, result.used) / scale
    shape = unexplained(motion, curve, motion.torque - result.modelled) / scale**2
    if shape > 0.0:
        freer = min(freer, float(np.sqrt(max(left**2 - shape, 0.0))))
    elif left < MISFIT_SHARE:
        return set(), ""
    elif freer > FREE_CURVE_RATIO * left:
        line = (
            f"the model leaves {100 * left:.0f} % of the torque (root mean square), as any "
            "friction curve would; look for loads that are not friction, or a noisy torque"
        )
        return set(), line if left > NOISY_SHARE else ""
    given = result.inertia.low == result.inertia.high
    advice = [] if compared else ["try --model auto"]
    advice += ["try without --inertia"] if given else []
    last_resort = "auto found no better model; look for loads that are not friction"
    return {*CURVE, "inertia"}, (
        f"{result.model} leaves {100 * left:.2g} % of the torque (root mean square), a freer curve "
        f"leaves {100 * freer:.2g} %: its parameters{'' if given else ' and inertia'} are not "
        f"identified; {', or '.join(advice) or last_resort}"
    )


def _one_sided(result: Fit) -> Doubt:
    """One symmetric curve cannot describe friction that differs between the directions."""
    sides = _direction_means(result)
    if sides is None:
        return set(), ""
    return set(CURVE), (
        f"friction differs between the directions: {sides[0]:.3g} N·m forward, {sides[1]:.3g} N·m "
        "backward on average; the model is the same for both, so its parameters are not "
        "identified: they lie between the two"
    )


def _late(result: Fit, ready: Prepared) -> Doubt:
    """A late torque turns inertia into viscous friction; so does a joint that gives."""
    late = ready.remaining.seconds
    # A model that gives before it slides explains what looks like a delay just as well.
    explained = MAX_VARIANCE_RATIO * result.rms_error**2 < ready.remaining.variance
    if late == 0.0 or (result.friction.order and explained):
        return set(), ""
    way = "behind" if late > 0.0 else "ahead of"
    return {"viscous", "inertia"}, (
        f"the torque seems {1e3 * abs(late):.2g} ms {way} the motion, or the joint gives before it "
        "slides (--model lugre): viscous and inertia are not identified; log torque and position "
        "in the same cycle"
    )


def _bent(result: Fit, curve: SlidingCurve, coverage: Coverage) -> Doubt:
    """An unseen peak as wide as the speeds cannot be separated from dry and viscous friction."""
    if not curve.terms.stribeck or "viscous" not in result.parameters:
        return set(), ""
    speed = curve.values["stribeck_velocity"]
    low_peak = curve.values["peak"] < BROAD_PEAK_HEIGHT * curve.values.get("coulomb", 0.0)
    seen = coverage.resolved <= RESOLVED * speed and result.parameters["breakaway"].identified
    if seen or low_peak or speed < BROAD_PEAK_SPEED * coverage.fastest:
        return set(), ""
    return {"coulomb", "viscous"}, (
        f"all speeds (up to {coverage.fastest:.3g} rad/s) lie near the Stribeck speed: coulomb and "
        "viscous are not identified apart; log faster motion too"
    )


def _weak_viscous(result: Fit) -> Doubt:
    """Viscous friction that hardly shows beside dry friction."""
    if "viscous" not in result.parameters or "coulomb" not in result.parameters:
        return set(), ""
    fastest = float(np.quantile(np.abs(result.motion.velocity[result.used]), 0.99))
    part = result.parameters["viscous"].value * fastest
    share = part / max(abs(float(result.friction.steady(fastest))), 1e-12)
    if share > MIN_VISCOUS_SHARE or not result.parameters["viscous"].identified:
        return set(), ""
    return {"viscous"}, (
        f"viscous is not identified: it is only {100 * share:.0f} % of the friction at the fastest "
        f"speed recorded ({fastest:.3g} rad/s); log faster motion"
    )


def unexplained(motion: Motion, curve: SlidingCurve, residual: Array) -> float:
    """Mean square of a residual that a freer curve would explain, [(N·m)²]; 0 if it is not clear.

    Two things must hold. What a freer curve would explain of the residual is more than chance
    allows: its scores, summed over blocks of the recording that count as independent, are away from
    zero by Hotelling's test. And it is larger than the band of the fitted curve that the intervals
    stand for: if not, the intervals allow for it, and the data are only good enough to see it.
    """
    used = curve.used
    J, r = tangents(motion, curve)[used], residual[used]
    Z = _beyond(free_columns(motion)[used], J)
    blocks = split_blocks(len(r))
    count, q = len(blocks), Z.shape[1]
    if q == 0 or count <= q + 1:
        return 0.0
    explained = float(np.sum((Z.T @ r) ** 2)) / len(r)  # Z is orthonormal
    # Half of the 95 % band of the fitted torque.
    variance = float(np.mean(np.sum((J @ curve.covariance) * J, axis=1)))
    if explained < half_interval(variance, curve.freedom) ** 2:
        return 0.0
    scores = np.array([Z[rows].T @ r[rows] for rows in blocks])
    mean, spread = scores.mean(axis=0), np.cov(scores.T).reshape(q, q)
    squared = count * mean @ np.linalg.pinv(spread, hermitian=True) @ mean
    sure = squared * (count - q) / (q * (count - 1)) > fisher.ppf(1.0 - CHANCE, q, count - q)
    return explained if sure else 0.0


def _beyond(columns: Array, J: Array) -> Array:
    """An orthonormal basis of what the columns span beside those of J."""
    size = [np.sqrt((A * A).sum(axis=0)) + 1e-300 for A in (columns, J)]
    U, strength, _ = np.linalg.svd(J / size[1], full_matrices=False)
    U = U[:, strength > 1e-9 * strength[0]]
    rest = columns / size[0]
    rest = rest - U @ (U.T @ rest)
    Z, strength, _ = np.linalg.svd(rest, full_matrices=False)
    return Z[:, strength > 1e-3]  # of columns of length 1


def coverage_warnings(result: Fit, curve: SlidingCurve, coverage: Coverage) -> list[str]:
    """Lines for a user: what could not be identified, and what in the data is unusual."""
    lines = []
    if not coverage.both_ways:
        way = "forward" if coverage.forward > 0.5 else "backward"
        lines.append(
            f"the joint only moves {way}: friction in the other direction and a constant offset of "
            "the torque (gravity, drive) are not identified; the offset counts as Coulomb friction"
        )
    if coverage.spread < NARROW:
        lines.append(
            f"the speed hardly changes (about {coverage.fastest:.3g} rad/s): Coulomb and viscous "
            "friction are not identified apart; all of it counts as Coulomb friction"
        )
    if coverage.sliding < 0.2:
        share = f"{100 * coverage.sliding:.0f} %"
        lines.append(f"the joint slides in only {share} of the recording; the rest was not used")
    if result.motion.source == "velocity":
        lines.append("the motion comes from the velocity column, which fits the torque better")
    return [*lines, *_parameter_lines(result, curve, coverage), *_torque_lines(result)]


def _parameter_lines(result: Fit, curve: SlidingCurve, coverage: Coverage) -> list[str]:
    parameters, lines = result.parameters, []
    if not result.inertia.identified:
        lines.append(
            "inertia is not identified: the joint hardly accelerates; give it with --inertia, "
            "or log starts and stops"
        )
    for name in ("coulomb", "viscous"):
        if name in parameters and not parameters[name].identified:
            interval = f"95 % interval {_range(parameters[name])}"
            lines.append(f"{name} is not identified ({interval}); log a wider range of speeds")
    if "breakaway" in parameters and not parameters["breakaway"].identified:
        lines.append(_breakaway_line(curve, coverage))
    elif "shape" in parameters and not parameters["shape"].identified:
        interval = _range(parameters["shape"])
        lines.append(
            f"shape of the Stribeck curve is not identified ({interval}); log more slow speeds"
        )
    return lines


def _breakaway_line(curve: SlidingCurve, coverage: Coverage) -> str:
    if not curve.terms.stribeck:
        reason = "sliding does not show it; log slow torque ramps from rest"
        return f"breakaway not identified: {reason}"
    reason = f"no speed slower than {coverage.resolved:.3g} rad/s was held long enough"
    if coverage.resolved < RESOLVED * curve.values["stribeck_velocity"]:
        reason = "the peak of friction at low speed does not stand out from the noise"
        if "stribeck_velocity" in curve.bounded:
            reason = "the speeds recorded lie on one side of the Stribeck speed"
    return f"breakaway, stribeck_velocity not identified: {reason}"


def _range(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return "unbounded"
    return f"{one.low:.3g} to {one.high:.3g} {one.unit}"


def _torque_lines(result: Fit) -> list[str]:
    lines = []
    floor = _smallest_torque(result.motion.torque if result.data is None else result.data.torque)
    if floor > 0.0:
        lines.append(
            f"the torque jumps between ±{floor:.3g} N·m and is never smaller: the drive seems to "
            "add an offset; do not trust friction at rest and before sliding"
        )
    offset = result.offset
    if offset.identified and offset.low is not None and offset.high is not None:
        if offset.low * offset.high > 0.0 and abs(offset.value) > 0.05 * result.rms_torque:
            lines.append(
                f"a constant torque of {offset.value:.3g} N·m was removed: an offset of the drive, "
                "gravity, or more friction one way than the other"
            )
    return lines + _position_lines(result)


def _smallest_torque(torque: Array) -> float:
    """Smallest torque of a drive that adds an offset, [N·m]; 0 if it passes smoothly through 0."""
    size = np.abs(torque)
    turns = np.count_nonzero(np.diff(np.sign(torque)))
    floor = float(np.quantile(size, 0.002))
    at_floor = float(np.mean(size < 1.02 * floor))
    rms = float(np.sqrt(np.mean(torque**2)))
    return floor if turns >= 4 and floor > 0.1 * rms and at_floor > 0.1 else 0.0


def _position_lines(result: Fit) -> list[str]:
    """A residual that follows the position is not noise."""
    motion, used = result.motion, result.used
    if result.rms_error < 0.03 * result.rms_torque or result.gravity is not None:
        return []
    if np.ptp(motion.position[used]) <= 0.5:
        return []
    variance, x = _regress_residual(result, np.sin(motion.position), np.cos(motion.position))
    total = np.var((motion.torque - result.modelled)[used])
    if variance >= 0.6 * total or _direction_means(result) is not None:
        return []
    return [
        f"the torque goes with the position (about {np.hypot(x[0], x[1]):.3g} N·m over a turn): "
        "gravity or an unbalanced load; use --gravity"
    ]


def _direction_means(result: Fit) -> tuple[float, float] | None:
    """Mean friction each way over common speeds, if they differ even without an offset; [N·m].

    A load that follows the position may make them look different; whichever explains more of the
    residual is taken as the cause.
    """
    motion, used = result.motion, result.used
    friction = motion.torque - result.inertia.value * motion.acceleration - result.offset.value
    v = motion.velocity
    forward, back = used & (v > 0.0), used & (v < 0.0)
    if result.gravity is not None or min(np.count_nonzero(forward), np.count_nonzero(back)) < 50:
        return None
    top = min(np.quantile(v[forward], 0.95), np.quantile(-v[back], 0.95))
    edges = np.linspace(0.05 * top, top, 9)
    means = np.full((2, 8), np.nan)
    for row, rows, sign in ((0, forward, 1.0), (1, back, -1.0)):
        bins, values = np.digitize(sign * v[rows], edges), sign * friction[rows]
        for k in np.unique(bins[(bins > 0) & (bins < len(edges))]):
            means[row, k - 1] = values[bins == k].mean()
    there = np.isfinite(means).all(axis=0)
    pairs, speeds = means[:, there], 0.5 * (edges[1:] + edges[:-1])[there]
    if pairs.shape[1] < 4:
        return None
    difference = pairs[0] - pairs[1]
    line = np.polyfit(speeds, difference, 1)
    rough = float(np.std(difference - np.polyval(line, speeds)))
    # A torque offset is the same at all speeds; a scale is not.
    tilt = abs(float(line[0])) * np.ptp(speeds)
    ahead, behind = pairs.mean(axis=1) + np.array([1.0, -1.0]) * result.offset.value
    limit = DIRECTION_DIFFERENCE * 0.5 * abs(ahead + behind)
    if max(tilt, 2.0 * abs(float(difference.mean()))) <= limit or tilt <= 3.0 * rough:
        return None
    by_position, _ = _regress_residual(result, np.sin(motion.position), np.cos(motion.position))
    by_speed, _ = _regress_residual(result, np.abs(v))
    return None if by_position < by_speed else (float(ahead), float(behind))


def _regress_residual(result: Fit, *columns: Array) -> tuple[float, Array]:
    """Variance of the residual beside these columns and a constant, [(N·m)²], and the solution."""
    left = (result.motion.torque - result.modelled)[result.used]
    A = np.column_stack([*(column[result.used] for column in columns), np.ones(len(left))])
    x = np.linalg.lstsq(A, left, rcond=None)[0]
    return float(np.var(left - A @ x)), x
