"""What a log shows, smoothed alike and thinned: positions, rates, accelerations and torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d, minimum_filter1d

from farhand.errors import BadValue
from farhand.friction.fit.motion import KERNEL_REACH, KERNEL_WIDTH, find_tick
from farhand.torque.log import MIN_TRAVEL, ArmLog

Array = np.ndarray

BANDS_HZ = (12.0, 8.0, 5.0, 3.5, 2.5)
"""Cut-offs of the smoothing, the widest first that keeps noise out of accelerations."""

MAX_NOISE_SHARE = 0.02
"""Largest share of an acceleration's variance that may be noise, [-]."""

SAMPLES_PER_CUTOFF = 8.0
PAUSE_STEPS = 20.0
REVERSAL_WIDTHS = 2.5
"""Kernel widths from a reversal within which the jump of friction is smeared."""

MIN_SPEED_SHARE = 0.05
"""Share of a joint's highest speed below which its direction is not trusted."""

FLOOR_SPEED = 0.03
"""Below it bristles and grease decide, not the direction, [rad/s]; assumed."""


@dataclass(frozen=True)
class Samples:
    """Smoothed samples of an arm, n rows and a column per logged joint."""

    time: Array  #: n [s]
    q: Array
    v: Array
    a: Array
    effort: Array  #: smoothed like the motion, in the log's unit
    slope: Array  #: of the effort, per second
    moving: Array  #: where the direction of a joint is known, n × joints, bool
    noise: Array  #: of single effort readings, [log's unit]
    grid: Array  #: step of effort readings; 0 where they lie on none
    band: float  #: cut-off, [Hz]
    step: float  #: of the log, [s]
    shift: float = 0.0  #: how late efforts were taken to be, [s]


def sample(log: ArmLog, shift: float = 0.0) -> Samples:
    """Smooth and thin a log; ``shift`` [s] says how late its efforts are.

    Raises:
        BadValue: no stretch of it is long enough.
    """
    step = log.step
    ticks = _ticks(log)
    cuts = np.flatnonzero(np.diff(log.time) > max(PAUSE_STEPS * step, 0.05)) + 1
    stretches = np.split(np.arange(len(log.time)), cuts)
    band = _band(log, ticks)
    width = KERNEL_WIDTH / band / step
    edge = int(KERNEL_REACH * width) + 1
    stride = max(1, round(1.0 / (SAMPLES_PER_CUTOFF * band * step)))
    parts = []
    for rows in stretches:
        if len(rows) < 4 * edge:
            continue
        time = log.time[rows]
        grid = np.arange(time[0], time[-1], step)
        keep = slice(edge, len(grid) - edge, stride)
        q = _resampled(grid, time, log.q[rows])
        effort = _resampled(grid + shift, time, log.effort[rows])
        place, smooth = _smooth(q, width), _smooth(effort, width)
        speed = np.gradient(place, step, axis=0)
        pull, slope = np.gradient(speed, step, axis=0), np.gradient(smooth, step, axis=0)
        slowest = minimum_filter1d(np.abs(speed), 2 * int(REVERSAL_WIDTHS * width) + 1, axis=0)
        parts.append([s[keep] for s in (grid, place, speed, pull, smooth, slope, slowest)])
    if not parts:
        raise BadValue(f"{log.name} has no stretch of a second without a pause; log one longer run")
    time, q, v, a, effort, slope, slowest = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    trusted = np.maximum(MIN_SPEED_SHARE * np.abs(v).max(axis=0), FLOOR_SPEED)
    trusted = np.maximum(trusted, 4.0 * _tick_noise(ticks, width, 1) / step)
    moving = (slowest > trusted) & (np.ptp(log.q, axis=0) > MIN_TRAVEL)
    rough = np.diff(log.effort, 2, axis=0)
    noise = 1.4826 * np.median(np.abs(rough), axis=0) / np.sqrt(6.0)
    grids = np.array([find_tick(column) for column in log.effort.T])
    return Samples(time, q, v, a, effort, slope, moving, noise, grids, band, step, shift)


def rates(log: ArmLog) -> Array:
    """Velocities of a log that has none, from its positions."""
    width = max(KERNEL_WIDTH / _band(log, _ticks(log)) / log.step, 0.8)
    slope: Array = np.gradient(_smooth(log.q, width), log.time, axis=0)
    return slope


def _ticks(log: ArmLog) -> Array:
    return np.array([find_tick(column) for column in log.q.T])


def _resampled(grid: Array, time: Array, values: Array) -> Array:
    return np.column_stack([np.interp(grid, time, column) for column in values.T])


def _smooth(values: Array, width: float) -> Array:
    smooth: Array = gaussian_filter1d(values, width, axis=0, mode="nearest", truncate=KERNEL_REACH)
    return smooth


def _tick_noise(ticks: Array, width: float, order: int) -> Array:
    """Noise that encoder steps leave in a smoothed derivative, per sample time to that power."""
    x = np.zeros(2 * int(KERNEL_REACH * width + 2) + 1)
    x[len(x) // 2] = 1.0
    kernel = gaussian_filter1d(x, width, order=order, truncate=KERNEL_REACH)
    return ticks / np.sqrt(12.0) * float(np.linalg.norm(kernel))


def _band(log: ArmLog, ticks: Array) -> float:
    """The widest band in which encoder steps do not show as acceleration."""
    step = log.step
    moves = np.ptp(log.q, axis=0) > MIN_TRAVEL
    rough = np.sqrt(np.median(np.diff(log.q, 3, axis=0) ** 2, axis=0) / 20.0) * 1.4826
    noise = np.maximum(ticks / np.sqrt(12.0), rough) * np.sqrt(12.0)
    for band in BANDS_HZ:
        width = KERNEL_WIDTH / band / step
        if width < 0.8:
            continue
        pull = np.std(np.diff(_smooth(log.q, width), 2, axis=0), axis=0)
        share = (_tick_noise(noise, width, 2) / np.maximum(pull, 1e-30)) ** 2
        if (share[moves] < MAX_NOISE_SHARE).all():
            return band
    return BANDS_HZ[-1]
