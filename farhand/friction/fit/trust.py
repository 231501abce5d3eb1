"""Whether fitted parameters are those of the joint, or only those with which an unfit model comes nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import f as fisher

from farhand.errors import BadValue
from farhand.friction.fit.coverage import RESOLVED, Coverage, sides_of
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import SHOWN
from farhand.friction.fit.static import (
    Sliding,
    free_columns,
    freer_error,
    half_interval,
    stretches,
    tangents,
)

Array = np.ndarray

# Whether a freer curve explains more of the torque than chance and the model's own intervals allow.

CHANCE = 1e-3
"""Probability by which chance alone may call a model unfit; chosen, beside intervals of 95 %."""


def unexplained(motion: Motion, fitted: Sliding, residual: Array) -> float:
    """Mean square of what a freer curve would explain of a residual, [(N·m)²]; 0 unless it stands out and matters.

    Two things must hold. What a freer curve would explain of the residual is more than chance
    allows: its scores, summed over stretches of the recording that count as independent, are away
    from zero by Hotelling's test. And it is larger than the band of the fitted curve that the
    intervals stand for: if not, the intervals allow for it, and the data are only good enough to
    see it.

    Args:
        motion: what the joint did.
        fitted: the sliding curve.
        residual: n [N·m], smoothed torque minus model.
    """
    used = fitted.used
    J, r = tangents(motion, fitted)[used], residual[used]
    Z = _apart(free_columns(motion)[used], J)
    blocks = stretches(len(r))
    count, q = len(blocks), Z.shape[1]
    if q == 0 or count <= q + 1:
        return 0.0
    explained = float(np.sum((Z.T @ r) ** 2)) / len(r)  # Z is orthonormal
    if explained < _band(J, fitted):
        return 0.0
    scores = np.array([Z[rows].T @ r[rows] for rows in blocks])
    mean, spread = scores.mean(axis=0), np.cov(scores.T).reshape(q, q)
    squared = count * mean @ np.linalg.pinv(spread, hermitian=True) @ mean
    sure = squared * (count - q) / (q * (count - 1)) > fisher.ppf(1.0 - CHANCE, q, count - q)
    return explained if sure else 0.0


def _apart(columns: Array, J: Array) -> Array:
    """An orthonormal basis of what the columns have beside those of J."""
    size = [np.sqrt((A * A).sum(axis=0)) + 1e-300 for A in (columns, J)]
    U, strength, _ = np.linalg.svd(J / size[1], full_matrices=False)
    U = U[:, strength > 1e-9 * strength[0]]
    rest = columns / size[0]
    rest = rest - U @ (U.T @ rest)
    Z, strength, _ = np.linalg.svd(rest, full_matrices=False)
    return Z[:, strength > 1e-3]  # of columns of length 1


def _band(J: Array, fitted: Sliding) -> float:
    """Mean square of half the 95 % band of the fitted torque, [(N·m)²]."""
    variance = float(np.mean(np.sum((J @ fitted.covariance) * J, axis=1)))
    return half_interval(variance, fitted.freedom) ** 2


if TYPE_CHECKING:
    from farhand.friction.fit.data import JointLog
    from farhand.friction.fit.fit import Estimate, Fit
    from farhand.friction.fit.prepare import Prepared

CURVE = ("coulomb", "viscous", "breakaway", "stribeck_velocity", "shape")
"""Parameters of a sliding curve."""

MISFIT = 0.03
"""Share of the torque that a model may leave before it must do about as well as a freer curve,
noise or not."""

FREER = 0.7
"""A freer curve that leaves less than this share of what the model leaves shows that the model is
unfit."""

NOISY = 0.1
"""Share of the torque left by any curve that is worth a line."""

MAX_VISCOUS_SHARE = 0.15
"""Share of friction at the fastest speed below which viscous friction is too small a part to be
trusted."""

BENT = 0.2
"""Stribeck speed as a share of the fastest above which an unseen peak bends the curve as a whole
…"""

HIGH = 0.1
"""… if its height is more than this share of dry friction."""

CLIPPED, CLIPPED_LEFT = 0.02, 0.005
"""Share of samples at exactly the largest torque that shows a limit, unless the model leaves less
than this share …"""

CLIPPED_SPEEDS = 0.2
"""… and they cover this share of the speeds: at one speed, the same torque is no wonder."""

AGAINST = 0.2
"""Mean power against the motion, as a share of what torque and speed could have, by which the sign
must be wrong."""

APART = 0.1
"""Longest time from sample to sample, [s]; chosen: a joint starts and turns round within tenths of
a second."""

FACTORS = {
    "degrees for radians": 180.0 / np.pi,
    "radians for degrees": np.pi / 180.0,
    "turns per minute": 30.0 / np.pi,
    "turns": 0.5 / np.pi,
    "milliseconds": 1e3,
    "seconds for milliseconds": 1e-3,
}
"""How a velocity column differs from the rate of the position column if its unit, or that of time,
is another."""


def check_log(found: JointLog) -> None:
    """Refuse a log whose columns contradict each other, or that is too slow for any joint.

    Raises:
        BadValue: velocity is a fixed multiple of the rate of the position, torque brakes all the
            time, or the samples are too far apart.
    """
    if found.step > APART:
        raise BadValue(
            f"{found.name}: the samples are {found.step:.3g} s apart, a fit needs them within {APART:g} s: is t in s?"
        )
    _check_sign(found)
    _check_units(found)


def _check_sign(found: JointLog) -> None:
    """A joint with friction takes power; on average, torque pushes the way it moves."""
    way = (
        np.gradient(found.position, found.time) if np.ptp(found.position) > 0.0 else found.velocity
    )
    size = float(np.sqrt(np.mean(way**2) * np.mean(found.torque**2)))
    power = float(np.mean(way * found.torque))
    if power < -AGAINST * size:
        raise BadValue(
            f"{found.name}: torque works against the motion ({power:.3g} W on average), so its sign is the opposite; "
            "positive torque must push towards positive positions"
        )


def _check_units(found: JointLog) -> None:
    if np.ptp(found.position) == 0.0 or np.ptp(found.velocity) == 0.0:
        return  # only one of the two was logged
    width = max(1, len(found) // 200)  # means over stretches: ticks and noise do not count
    whole = len(found) // width * width
    time, position = (column[:whole:width] for column in (found.time, found.position))
    told = found.velocity[: whole - width].reshape(-1, width).mean(axis=1)
    rate = np.diff(position) / np.maximum(np.diff(time), 1e-12)
    size = float(np.sqrt(np.mean(told**2) * np.mean(rate**2)))
    together = float(np.mean(told * rate))
    if size == 0.0 or abs(together) < 0.9 * size:
        return  # unlike each other: noise, or a joint that hardly moves
    factor = float(np.copysign(np.sqrt(np.mean(told**2) / np.mean(rate**2)), together))
    if 0.7 < factor < 1.4:
        return
    if -1.4 < factor < -0.7:
        raise BadValue(
            f"{found.name}: velocity is the opposite of the rate of change of position; turn one of the two"
        )
    looks = next(
        (f" ({name}?)" for name, value in FACTORS.items() if 0.97 < abs(factor) / value < 1.03), ""
    )
    raise BadValue(
        f"{found.name}: velocity is {factor:.4g} times the rate of change of position{looks}; "
        "t must be in s, position in rad, velocity in rad/s, all at the joint"
    )


def trusted(
    result: Fit, whole: Sliding, ready: Prepared, compared: bool = False
) -> tuple[Fit, list[str]]:
    """The fit with parameters that cannot be trusted marked as not identified, and why, one line each.

    Args:
        result: of the fit.
        whole: its sliding curve.
        ready: the recording.
        compared: whether all models that ``auto`` knows were tried.
    """
    doubted: set[str] = {*CURVE, "inertia"} if ready.lag else set()
    lines: list[str] = []
    seen, sided, unfit = ready.coverage, _one_sided(result), _unfit(result, whole, compared)
    if sided[1]:
        unfit = unfit[0], ""  # the directions are why
    checks = (
        _clipped(result),
        sided,
        unfit,
        _late(result, ready),
        _bent(result, whole, seen),
        _faint(result),
    )
    for names, line in checks:
        if line and (names - doubted or not names):
            lines.append(line)
        doubted |= names
    marked = {
        name: _marked(one) if name in doubted else one for name, one in result.parameters.items()
    }
    given = result.inertia.low == result.inertia.high
    inertia = _marked(result.inertia) if "inertia" in doubted and not given else result.inertia
    return replace(result, parameters=marked, inertia=inertia), lines


def _marked(one: Estimate) -> Estimate:
    return replace(one, identified=False, low=None, high=None)


def _clipped(result: Fit) -> tuple[set[str], str]:
    """A torque that stops at a limit of the drive or the logger is not what moved the joint."""
    data, motion = result.data, result.motion
    if data is None or result.rms_error < CLIPPED_LEFT * result.rms_torque:
        return set(), ""
    speed = np.abs(np.interp(data.time, motion.time, motion.velocity))
    for end in (float(data.torque.max()), float(data.torque.min())):
        at = data.torque == end
        share = float(at.mean())
        if (
            share > CLIPPED
            and np.ptp(np.quantile(speed[at], [0.05, 0.95])) > CLIPPED_SPEEDS * speed.max()
        ):
            return {*CURVE, "inertia"}, (
                f"the torque is exactly {end:.4g} N·m in {100 * share:.0f} % of the samples and never beyond: the "
                "drive or the logger is at its limit, so friction and inertia are not identified; log a run that needs "
                "less torque"
            )
    return set(), ""


def _unfit(result: Fit, whole: Sliding, compared: bool) -> tuple[set[str], str]:
    """A model that leaves what a freer curve explains has no parameter of the joint in it."""
    scale, motion = max(result.rms_torque, 1e-12), result.motion
    left = result.rms_error / scale
    freer = freer_error(motion, result.used) / scale
    shape = unexplained(motion, whole, motion.torque - result.modelled) / scale**2
    if shape > 0.0:
        freer = min(freer, float(np.sqrt(max(left**2 - shape, 0.0))))
    elif left < MISFIT:
        return set(), ""
    elif freer > FREER * left:
        line = f"the model leaves {100 * left:.0f} % of the torque (root mean square), as any curve of friction would"
        return (
            set(),
            f"{line}; look for loads that are no friction, or a noisy torque"
            if left > NOISY
            else "",
        )
    given = result.inertia.low == result.inertia.high
    advice = [] if compared else ["try --model auto"]
    advice += ["try without --inertia"] if given else []
    return {*CURVE, "inertia"}, (
        f"{result.model} leaves {100 * left:.2g} % of the torque (root mean square) where a freer curve leaves "
        f"{100 * freer:.2g} %: its parameters{'' if given else ' and inertia'} are not identified; "
        + (
            ", or ".join(advice)
            or "auto found no better model; look for loads that are no friction"
        )
    )


def _one_sided(result: Fit) -> tuple[set[str], str]:
    """Friction that differs between the directions is none that one symmetric curve has."""
    sides = sides_of(result)
    if sides is None:
        return set(), ""
    return set(CURVE), (
        f"friction differs between the directions: {sides[0]:.3g} N·m forward, {sides[1]:.3g} N·m backward on average; "
        "the model is the same for both, so its parameters are not identified: they lie between the two"
    )


def _late(result: Fit, ready: Prepared) -> tuple[set[str], str]:
    """A torque out of step with the motion puts inertia into viscous friction; so does a joint that gives."""
    late = ready.rest.late
    if late == 0.0 or (result.friction.order and SHOWN * result.rms_error**2 < ready.rest.left):
        # a model that gives before it slides explains what looks like a delay as well
        return (set(), "")
    way = "behind" if late > 0.0 else "ahead of"
    return {"viscous", "inertia"}, (
        f"the torque seems {1e3 * abs(late):.2g} ms {way} the motion, or the joint gives before it slides (--model "
        "lugre): viscous and inertia are not identified; log torque in the same cycle as the position"
    )


def _bent(result: Fit, whole: Sliding, seen: Coverage) -> tuple[set[str], str]:
    """A peak that was not seen and is as wide as the speeds trades places with dry and viscous friction."""
    if not whole.terms.stribeck or "viscous" not in result.parameters:
        return set(), ""
    speed = whole.values["stribeck_velocity"]
    unseen = seen.resolved > RESOLVED * speed or not result.parameters["breakaway"].identified
    if (
        not unseen
        or speed < BENT * seen.fastest
        or whole.values["peak"] < HIGH * whole.values.get("coulomb", 0.0)
    ):
        return set(), ""
    return {"coulomb", "viscous"}, (
        f"all speeds (up to {seen.fastest:.3g} rad/s) lie near the Stribeck speed: coulomb and viscous are not "
        "identified apart; log faster motion too"
    )


def _faint(result: Fit) -> tuple[set[str], str]:
    """Viscous friction that hardly shows beside dry friction."""
    if "viscous" not in result.parameters or "coulomb" not in result.parameters:
        return set(), ""
    fastest = float(np.quantile(np.abs(result.motion.velocity[result.used]), 0.99))
    part = result.parameters["viscous"].value * fastest
    share = part / max(abs(float(result.friction.steady(fastest))), 1e-12)
    if share > MAX_VISCOUS_SHARE or not result.parameters["viscous"].identified:
        return set(), ""
    return {"viscous"}, (
        f"viscous is not identified: it is but {100 * share:.0f} % of the friction at the fastest speed recorded "
        f"({fastest:.3g} rad/s); log faster motion"
    )
