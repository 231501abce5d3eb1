"""Whether fitted parameters are those of the joint, or only those with which an unfit model comes nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from farhand.errors import BadValue
from farhand.friction.fit_static import Sliding, freer_error
from farhand.friction.fit_warnings import RESOLVED, Coverage, sides_of

if TYPE_CHECKING:
    from farhand.friction.fit import Estimate, Fit
    from farhand.friction.fit_data import Recording

CURVE = ("coulomb", "viscous", "breakaway", "stribeck_velocity", "shape")
"""Parameters of a sliding curve."""

MISFIT = 0.03
"""Share of the torque that a model may leave before a freer curve is asked whether it would do better."""

FREER = 0.7
"""A freer curve that leaves less than this share of what the model leaves shows that the model is unfit."""

NOISY = 0.1
"""Share of the torque left by any curve that is worth a line."""

FAINT = 0.15
"""Share of friction at the fastest speed below which viscous friction is too small a part to be trusted."""

BENT = 0.2
"""Stribeck speed as a share of the fastest above which an unseen peak bends the curve as a whole …"""

HIGH = 0.1
"""… if its height is more than this share of dry friction."""

CLIPPED, CLIPPED_LEFT = 0.02, 0.005
"""Share of samples at exactly the largest torque that shows a limit, unless the model leaves less than this share …"""

CLIPPED_SPEEDS = 0.2
"""… and they cover this share of the speeds: at one speed, the same torque is no wonder."""

AGAINST = 0.2
"""Mean power against the motion, as a share of what torque and speed could have, by which the sign must be wrong."""

FACTORS = {
    "degrees for radians": 180.0 / np.pi,
    "radians for degrees": np.pi / 180.0,
    "turns per minute": 30.0 / np.pi,
    "turns": 0.5 / np.pi,
    "milliseconds": 1e3,
    "seconds for milliseconds": 1e-3,
}
"""How a velocity column differs from the rate of the position column if its unit, or that of time, is another."""


def check_log(found: Recording) -> None:
    """Refuse a log whose columns contradict each other.

    Raises:
        BadValue: velocity is a fixed multiple of the rate of the position, or torque brakes all the time.
    """
    _check_sign(found)
    _check_units(found)


def _check_sign(found: Recording) -> None:
    """A joint with friction takes power; on average, torque pushes the way it moves."""
    way = np.gradient(found.position, found.time) if np.ptp(found.position) > 0.0 else found.velocity
    size = float(np.sqrt(np.mean(way**2) * np.mean(found.torque**2)))
    power = float(np.mean(way * found.torque))
    if power < -AGAINST * size:
        raise BadValue(
            f"{found.name}: torque works against the motion ({power:.3g} W on average), so its sign is the opposite; "
            "positive torque must push towards positive positions"
        )


def _check_units(found: Recording) -> None:
    if np.ptp(found.position) == 0.0 or np.ptp(found.velocity) == 0.0:
        return  # only one of the two was logged
    width = max(1, len(found) // 200)  # means over stretches: ticks and noise do not count
    whole = len(found) // width * width
    time, position = (column[:whole:width] for column in (found.time, found.position))
    told = found.velocity[: whole - width].reshape(-1, width).mean(axis=1)
    rate = np.diff(position) / np.maximum(np.diff(time), 1e-12)
    size = np.sqrt(np.mean(told**2) * np.mean(rate**2))
    if size == 0.0 or np.mean(told * rate) < 0.9 * size:
        return  # unlike each other: noise, or a joint that hardly moves
    factor = float(np.sqrt(np.mean(told**2) / np.mean(rate**2)))
    if 0.7 < factor < 1.4:
        return
    looks = next((f" ({name}?)" for name, value in FACTORS.items() if 0.97 < factor / value < 1.03), "")
    raise BadValue(
        f"{found.name}: velocity is {factor:.4g} times the rate of change of position{looks}; "
        "t must be in s, position in rad, velocity in rad/s, all at the joint"
    )


def trusted(result: Fit, whole: Sliding, seen: Coverage) -> tuple[dict[str, Estimate], list[str]]:
    """The parameters with those that cannot be trusted marked as not identified, and why, one line each."""
    doubted: set[str] = set()
    lines: list[str] = []
    checks = (_clipped(result), _unfit(result), _one_sided(result), _bent(result, whole, seen), _faint(result))
    for names, line in checks:
        if line and (names - doubted or not names):
            lines.append(line)
        doubted |= names
    marked = {name: _marked(one) if name in doubted else one for name, one in result.parameters.items()}
    return marked, lines


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
        if share > CLIPPED and np.ptp(np.quantile(speed[at], [0.05, 0.95])) > CLIPPED_SPEEDS * speed.max():
            return set(CURVE), (
                f"the torque is exactly {end:.4g} N·m in {100 * share:.0f} % of the samples and never beyond: the "
                "drive or the logger is at its limit, so friction is not identified; log a run that needs less torque"
            )
    return set(), ""


def _unfit(result: Fit) -> tuple[set[str], str]:
    """A model that leaves what a freer curve explains has no parameter of the joint in it."""
    left = result.rms_error / max(result.rms_torque, 1e-12)
    if left < MISFIT:
        return set(), ""
    freer = freer_error(result.motion, result.used) / max(result.rms_torque, 1e-12)
    if freer > FREER * left:
        line = f"the model leaves {100 * left:.0f} % of the torque (root mean square), as any curve of friction would"
        return set(), f"{line}; look for loads that are no friction, or a noisy torque" if left > NOISY else ""
    return set(CURVE), (
        f"{result.model} leaves {100 * left:.0f} % of the torque (root mean square) where a freer curve leaves "
        f"{100 * freer:.1f} %: its parameters are not identified; try --model auto"
        + (", or without --inertia" if result.inertia.low == result.inertia.high else "")
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


def _bent(result: Fit, whole: Sliding, seen: Coverage) -> tuple[set[str], str]:
    """A peak that was not seen and is as wide as the speeds trades places with dry and viscous friction."""
    if not whole.terms.stribeck or "viscous" not in result.parameters:
        return set(), ""
    speed = whole.values["stribeck_velocity"]
    unseen = seen.resolved > RESOLVED * speed or not result.parameters["breakaway"].identified
    if not unseen or speed < BENT * seen.fastest or whole.values["peak"] < HIGH * whole.values.get("coulomb", 0.0):
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
    if share > FAINT or not result.parameters["viscous"].identified:
        return set(), ""
    return {"viscous"}, (
        f"viscous is not identified: it is but {100 * share:.0f} % of the friction at the fastest speed recorded "
        f"({fastest:.3g} rad/s); log faster motion"
    )
