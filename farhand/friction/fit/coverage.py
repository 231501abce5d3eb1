"""Checks of a recording before a fit: contradicting columns, what the motion covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import Motion

Array = np.ndarray

MAX_STEP_S = 0.1
"""Longest time from sample to sample; chosen: a joint starts and reverses within tenths of a s."""

MAX_BRAKING_SHARE = 0.2
"""Mean power against the motion, over rms torque times rms speed, above which the sign is wrong."""

UNIT_FACTORS = {
    "degrees for radians": 180.0 / np.pi,
    "radians for degrees": np.pi / 180.0,
    "turns per minute": 30.0 / np.pi,
    "turns": 0.5 / np.pi,
    "milliseconds": 1e3,
    "seconds for milliseconds": 1e-3,
}
"""Velocity over the rate of the position if one column, or the time, has another unit."""

MIN_DIRECTION_SHARE = 0.03
"""Share of the samples that must go each way."""

RESOLVED = 0.7
"""The slowest speed held must be below this share of the Stribeck speed for the peak to be seen."""

NARROW = 1.3
"""Fastest over slowest speed below which dry and viscous friction cannot be separated."""

HELD_WIDTHS = 30
"""Kernel widths that a speed must be held for, in all."""


def check_log(log: JointLog) -> None:
    """Refuse a log whose columns contradict each other, or that is too slow for any joint.

    Raises:
        BadValue: velocity is a fixed multiple of the rate of the position, torque brakes all the
            time, or the samples are too far apart.
    """
    if log.step > MAX_STEP_S:
        raise BadValue(
            f"{log.name}: the samples are {log.step:.3g} s apart, a fit needs {MAX_STEP_S:g} s or "
            "less: is t in s?"
        )
    # A joint with friction takes power: on average, torque pushes the way the joint moves.
    rate = np.gradient(log.position, log.time) if np.ptp(log.position) > 0.0 else log.velocity
    size = float(np.sqrt(np.mean(rate**2) * np.mean(log.torque**2)))
    power = float(np.mean(rate * log.torque))
    if power < -MAX_BRAKING_SHARE * size:
        raise BadValue(
            f"{log.name}: torque works against the motion ({power:.3g} W on average), so its sign "
            "is the opposite; positive torque must push towards positive positions"
        )
    _check_units(log)


def _check_units(log: JointLog) -> None:
    if np.ptp(log.position) == 0.0 or np.ptp(log.velocity) == 0.0:
        return  # only one of the two was logged
    # Means over stretches: ticks and noise do not count.
    width = max(1, len(log) // 200)
    whole = len(log) // width * width
    time, position = (column[:whole:width] for column in (log.time, log.position))
    velocity = log.velocity[: whole - width].reshape(-1, width).mean(axis=1)
    rate = np.diff(position) / np.maximum(np.diff(time), 1e-12)
    size = float(np.sqrt(np.mean(velocity**2) * np.mean(rate**2)))
    together = float(np.mean(velocity * rate))
    if size == 0.0 or abs(together) < 0.9 * size:
        return  # not alike: noise, or a joint that hardly moves
    factor = float(np.copysign(np.sqrt(np.mean(velocity**2) / np.mean(rate**2)), together))
    if 0.7 < factor < 1.4:
        return
    if -1.4 < factor < -0.7:
        raise BadValue(
            f"{log.name}: velocity is the opposite of the rate of change of position; change the "
            "sign of one of the two"
        )
    guess = ""
    for name, value in UNIT_FACTORS.items():
        if 0.97 < abs(factor) / value < 1.03:
            guess = f" ({name}?)"
            break
    raise BadValue(
        f"{log.name}: velocity is {factor:.4g} times the rate of change of position{guess}; "
        "t must be in s, position in rad, velocity in rad/s, all at the joint"
    )


def has_lost_sign(log: JointLog) -> bool:
    """Whether the torque is never negative although the joint moves both ways."""
    rate = log.velocity if np.ptp(log.velocity) > 0.0 else np.gradient(log.position, log.time)
    fast = np.abs(rate) > 0.3 * np.sqrt(np.mean(rate**2))
    back, forth = fast & (rate < 0.0), fast & (rate > 0.0)
    if min(np.mean(back), np.mean(forth)) < 0.02:
        return False
    noise = np.std(np.diff(log.torque)) / np.sqrt(2.0)
    lost = log.torque.min() >= -3.0 * noise and np.mean(log.torque < 0.0) < 0.02
    return bool(lost and log.torque[back].mean() > 0.3 * log.torque[forth].mean())


@dataclass(frozen=True)
class Coverage:
    """What the motion covers."""

    forward: float  #: share of the used samples that go forward
    both_ways: bool  #: whether there is enough in each direction
    resolved: float  #: slowest speed that was held longer than the smoothing takes, [rad/s]
    fastest: float  #: [rad/s]
    spread: float  #: fastest over slowest, by percentiles
    accelerates: bool  #: whether inertia shows beside the noise of the encoder
    sliding: float  #: share of the samples in which the joint slides


def measure_coverage(motion: Motion, used: Array) -> Coverage:
    """Measure what the used samples of a motion cover."""
    v, a = motion.velocity[used], motion.acceleration[used]
    speed = np.abs(v)
    forward = float(np.mean(v > 0.0))
    # Held longer than the kernel, and over more than a few ticks.
    held = (np.abs(a) * 2.0 * motion.width <= speed) & (speed**2 >= 4.0 * np.abs(a) * motion.tick)
    steady = np.sort(speed[held])
    needed = int(HELD_WIDTHS * max(1.0, 2.5 * motion.width / motion.step))
    low, high = np.quantile(speed, [0.05, 0.95])
    return Coverage(
        forward=forward,
        both_ways=MIN_DIRECTION_SHARE < forward < 1.0 - MIN_DIRECTION_SHARE,
        resolved=float(steady[needed]) if len(steady) > needed else float(speed.max()),
        fastest=float(speed.max()),
        spread=float(high / max(low, 1e-12)),
        accelerates=motion.noise_share < 0.3,
        sliding=float(np.mean(used)),
    )
