"""What a recording can and cannot tell about friction, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farhand.friction.fit.motion import Motion
from farhand.friction.fit.static import Sliding

if TYPE_CHECKING:
    from farhand.friction.fit.data import JointLog
    from farhand.friction.fit.fit import Fit

Array = np.ndarray

LEAST_SHARE = 0.03
"""Share of the samples that must go each way."""

RESOLVED = 0.7
"""The slowest speed held must be below this share of the Stribeck speed for the peak to be seen."""

NARROW = 1.3
"""Fastest over slowest speed below which dry and viscous friction cannot be told apart."""

HELD = 30
"""Kernel widths that a speed must be held for, in all."""

UNLIKE = 0.08
"""Difference between the directions, as a share of friction, by which they count as unlike."""


@dataclass(frozen=True)
class Coverage:
    """What the motion covers.

    Attributes:
        forward: share of the used samples that go forward.
        both_ways: whether there is enough in each direction.
        resolved: slowest speed that was held longer than the smoothing takes, [rad/s].
        fastest: [rad/s].
        spread: fastest over slowest, by percentiles.
        accelerates: whether inertia shows beside the noise of the encoder.
        sliding: share of the samples in which the joint slides.
    """

    forward: float
    both_ways: bool
    resolved: float
    fastest: float
    spread: float
    accelerates: bool
    sliding: float


def coverage(motion: Motion, used: Array) -> Coverage:
    """Measure it."""
    v, a = motion.velocity[used], motion.acceleration[used]
    speed = np.abs(v)
    forward = float(np.mean(v > 0.0))
    # held longer than the kernel, and over more than a few ticks
    held = (np.abs(a) * 2.0 * motion.width <= speed) & (speed**2 >= 4.0 * np.abs(a) * motion.tick)
    steady = np.sort(speed[held])
    needed = int(HELD * max(1.0, 2.5 * motion.width / motion.step))
    resolved = float(steady[needed]) if len(steady) > needed else float(speed.max())
    low, high = np.quantile(speed, [0.05, 0.95])
    return Coverage(
        forward=forward,
        both_ways=LEAST_SHARE < forward < 1.0 - LEAST_SHARE,
        resolved=resolved,
        fastest=float(speed.max()),
        spread=float(high / max(low, 1e-12)),
        accelerates=motion.haze < 0.3,
        sliding=float(np.mean(used)),
    )


def unsigned(found: JointLog) -> bool:
    """Whether the torque column has lost its sign: never negative although the joint moves both ways."""
    way = (
        found.velocity if np.ptp(found.velocity) > 0.0 else np.gradient(found.position, found.time)
    )
    fast = np.abs(way) > 0.3 * np.sqrt(np.mean(way**2))
    back, forth = fast & (way < 0.0), fast & (way > 0.0)
    if min(np.mean(back), np.mean(forth)) < 0.02:
        return False
    noise = np.std(np.diff(found.torque)) / np.sqrt(2.0)
    lost = found.torque.min() >= -3.0 * noise and np.mean(found.torque < 0.0) < 0.02
    return bool(lost and found.torque[back].mean() > 0.3 * found.torque[forth].mean())


def held_back(torque: Array) -> float:
    """Smallest torque that a drive with an offset puts out, [N·m]; 0 if the torque passes smoothly through zero."""
    size = np.abs(torque)
    turns = np.count_nonzero(np.diff(np.sign(torque)))
    floor = float(np.quantile(size, 0.002))
    at_floor = float(np.mean(size < 1.02 * floor))
    rms = float(np.sqrt(np.mean(torque**2)))
    return floor if turns >= 4 and floor > 0.1 * rms and at_floor > 0.1 else 0.0


def warnings_of(result: Fit, whole: Sliding, seen: Coverage) -> list[str]:
    """Lines for a user: what could not be found, and what in the data is odd."""
    lines = [
        *_motion_lines(result, seen),
        *_parameter_lines(result, whole, seen),
        *_torque_lines(result),
    ]
    return lines


def _motion_lines(result: Fit, seen: Coverage) -> list[str]:
    motion, lines = result.motion, []
    if not seen.both_ways:
        way = "forward" if seen.forward > 0.5 else "backward"
        lines.append(
            f"the joint only moves {way}: friction in the other direction and a constant offset of the torque "
            "(gravity, drive) are not identified; the offset counts as Coulomb friction"
        )
    if seen.spread < NARROW:
        lines.append(
            f"the speed hardly changes (about {seen.fastest:.3g} rad/s): Coulomb and viscous friction are not "
            "identified apart; all of it counts as Coulomb friction"
        )
    if seen.sliding < 0.2:
        lines.append(
            f"the joint slides for only {100 * seen.sliding:.0f} % of the recording; the rest was not used"
        )
    if motion.source == "velocity":
        lines.append(
            "the motion was taken from the velocity column, which fits the torque better than positions do"
        )
    return lines


def _parameter_lines(result: Fit, whole: Sliding, seen: Coverage) -> list[str]:
    lines = []
    if not result.inertia.identified:
        lines.append(
            "inertia is not identified: the joint hardly accelerates; give it with --inertia, or log starts and stops"
        )
    unknown = [
        n
        for n in ("coulomb", "viscous")
        if n in result.parameters and not result.parameters[n].identified
    ]
    for name in unknown:
        lines.append(
            f"{name} is not identified (95 % interval {_range(result, name)}); log a wider range of speeds"
        )
    peak = result.parameters.get("breakaway")
    if peak is not None and not peak.identified:
        lines.append(_slow_line(result, whole, seen))
    elif "shape" in result.parameters and not result.parameters["shape"].identified:
        lines.append(
            f"shape of the Stribeck curve is not identified ({_range(result, 'shape')}); log more slow speeds"
        )
    return lines


def _slow_line(result: Fit, whole: Sliding, seen: Coverage) -> str:
    reason = f"nothing slower than {seen.resolved:.3g} rad/s was held long enough"
    if not whole.terms.stribeck:
        reason = "a recording of sliding does not show it; log slow torque ramps from rest"
    elif seen.resolved < RESOLVED * whole.values["stribeck_velocity"]:
        reason = "the peak of friction at low speed does not stand out from the noise"
        if "stribeck_velocity" in whole.bounded:
            reason = "the speeds recorded lie on one side of the Stribeck speed"
    names = "breakaway, stribeck_velocity" if whole.terms.stribeck else "breakaway"
    return f"{names} not identified: {reason}"


def _range(result: Fit, name: str) -> str:
    one = result.parameters[name]
    if one.low is None or one.high is None:
        return "unbounded"
    return f"{one.low:.3g} to {one.high:.3g} {one.unit}"


def _torque_lines(result: Fit) -> list[str]:
    lines = []
    torque = result.data.torque if result.data is not None else result.motion.torque
    floor = held_back(torque)
    if floor > 0.0:
        lines.append(
            f"the torque jumps between ±{floor:.3g} N·m and is never smaller: the drive seems to put out an offset; "
            "friction at rest and before sliding cannot be trusted"
        )
    offset = result.offset
    if offset.identified and offset.low is not None and offset.high is not None:
        if offset.low * offset.high > 0.0 and abs(offset.value) > 0.05 * result.rms_torque:
            lines.append(
                f"a constant torque of {offset.value:.3g} N·m was taken out: an offset of the drive, gravity, or more "
                "friction one way than the other"
            )
    lines += _misfit_lines(result)
    return lines


def sides_of(result: Fit) -> tuple[float, float] | None:
    """Mean friction each way over the speeds common to both, if they are unlike even without an offset; [N·m].

    A load that goes with the position may make them look unlike; what explains more of what is left
    is taken for it.
    """
    motion, used = result.motion, result.used
    friction = motion.torque - result.inertia.value * motion.acceleration - result.offset.value
    v = motion.velocity
    forward, back = used & (v > 0.0), used & (v < 0.0)
    if result.gravity is not None or min(np.count_nonzero(forward), np.count_nonzero(back)) < 50:
        return None
    top = min(np.quantile(v[forward], 0.95), np.quantile(-v[back], 0.95))
    edges = np.linspace(0.05 * top, top, 9)
    means = []
    for rows, sign in ((forward, 1.0), (back, -1.0)):
        which = np.digitize(sign * v[rows], edges)
        values = sign * friction[rows]
        means.append(
            [
                values[which == k].mean() if np.any(which == k) else np.nan
                for k in range(1, len(edges))
            ]
        )
    pairs = np.array(means)
    there = np.isfinite(pairs).all(axis=0)
    pairs, speeds = pairs[:, there], 0.5 * (edges[1:] + edges[:-1])[there]
    if pairs.shape[1] < 4:
        return None
    difference = pairs[0] - pairs[1]
    line = np.polyfit(speeds, difference, 1)
    rough = float(np.std(difference - np.polyval(line, speeds)))
    # a torque offset is the same at all speeds; a scale is not
    tilt = abs(float(line[0])) * np.ptp(speeds)
    ahead, behind = pairs.mean(axis=1) + np.array([1.0, -1.0]) * result.offset.value
    unlike = max(tilt, 2.0 * abs(float(difference.mean()))) > UNLIKE * 0.5 * abs(ahead + behind)
    if (
        not unlike
        or tilt <= 3.0 * rough
        or _beside(result, *_with_position(result)) < _beside(result, np.abs(v))
    ):
        return None
    return float(ahead), float(behind)


def _with_position(result: Fit) -> tuple[Array, Array]:
    return np.sin(result.motion.position), np.cos(result.motion.position)


def _beside(result: Fit, *columns: Array) -> float:
    """Variance of what the model leaves beside these columns and a constant, [(N·m)²]."""
    left = (result.motion.torque - result.modelled)[result.used]
    A = np.column_stack([*(column[result.used] for column in columns), np.ones(len(left))])
    return float(np.var(left - A @ np.linalg.lstsq(A, left, rcond=None)[0]))


def _misfit_lines(result: Fit) -> list[str]:
    """A residual that goes with the position is no noise."""
    motion, used = result.motion, result.used
    left = (motion.torque - result.modelled)[used]
    if result.rms_error < 0.03 * result.rms_torque or result.gravity is not None:
        return []
    if np.ptp(motion.position[used]) <= 0.5:
        return []
    if (
        _beside(result, *_with_position(result)) >= 0.6 * np.var(left)
        or sides_of(result) is not None
    ):
        return []
    A = np.column_stack([*(column[used] for column in _with_position(result)), np.ones(len(left))])
    x = np.linalg.lstsq(A, left, rcond=None)[0]
    return [
        f"the torque goes with the position (about {np.hypot(x[0], x[1]):.3g} N·m over a turn): gravity or an "
        "unbalanced load; use --gravity"
    ]
