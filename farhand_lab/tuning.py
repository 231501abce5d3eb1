"""Tuning: Ziegler–Nichols from a simulated or recorded loop, and sweeps over a grid of gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.spatial import Array

GAINS_PER_ROUND = 9
MIN_GROWTH = -1e-3
"""Growth per window, as a logarithm, above which an oscillation counts as not dying out."""

RULES = {
    "P": (0.5, math.inf, 0.0),
    "PI": (0.45, 1.0 / 1.2, 0.0),
    "PD": (0.8, math.inf, 1.0 / 8.0),
    "PID": (0.6, 1.0 / 2.0, 1.0 / 8.0),
}
"""Ziegler and Nichols: K_p as a share of K_u, T_i and T_d as shares of T_u."""

MIN_LINE_RATIO = 5.0
"""A line of a spectrum this many times the median around it is an oscillation; assumed, [-]."""


@dataclass(frozen=True)
class Ultimate:
    """The edge of stability of a proportional loop."""

    gain: float  #: K_u, in the unit of the proportional gain
    period: float  #: T_u, [s]


@dataclass(frozen=True)
class PIDGains:
    """Gains of K_p e + K_i ∫e + K_d ė."""

    proportional: float  #: K_p
    integral: float  #: K_i = K_p / T_i, [1/s]
    derivative: float  #: K_d = K_p T_d, [s]


def ziegler_nichols(ultimate: Ultimate, kind: str = "PD") -> PIDGains:
    """Gains by the table :data:`RULES`, for ``"P"``, ``"PI"``, ``"PD"`` or ``"PID"`` control."""
    if kind not in RULES:
        raise UnknownName("kind of controller", kind, RULES)
    share, integral, derivative = RULES[kind]
    gain = share * ultimate.gain
    return PIDGains(gain, gain / (integral * ultimate.period), gain * derivative * ultimate.period)


def find_ultimate(
    respond: Callable[[Array], Array], low: float, high: float, dt: float, tolerance: float = 1e-3
) -> Ultimate:
    """Find the smallest proportional gain at which the loop's oscillation does not die out.

    Beyond K_u a saturated loop oscillates with bounded amplitude and a linear one grows; both
    count. Use a disturbance that saturates nothing: a saturated loop needs longer to show that it
    will not settle.

    Args:
        respond: takes m gains, returns the error of m loops after a disturbance, n × m, one row per
            ``dt``.
        low: a gain at which the loop settles.
        high: a gain at which it does not.
        dt: time between rows, [s].
        tolerance: relative width at which the search ends, [-].

    Raises:
        OutOfRange: the loop does not settle at ``low`` or does settle at ``high``.
    """
    if not 0.0 < low < high:
        raise BadValue(f"the ultimate gain needs 0 < low < high, got {low:g} and {high:g}")
    first, last = low, high
    while True:
        gains = np.geomspace(low, high, GAINS_PER_ROUND)
        errors = respond(gains)
        kept = np.array([growth(errors[:, i]) > MIN_GROWTH for i in range(GAINS_PER_ROUND)])
        if kept[0] or not kept.any():
            side = "below" if kept[0] else "above"
            raise OutOfRange("the ultimate gain", f"{side} the search", first, last)
        edge = int(np.argmax(kept))
        low, high = float(gains[edge - 1]), float(gains[edge])
        if high / low - 1.0 < tolerance:
            return Ultimate(math.sqrt(low * high), period_of(errors[:, edge], dt))


def growth(error: Array) -> float:
    """Logarithm of the last third's range over the middle third's."""
    third = len(error) // 3
    # Ranges, as a mean would depend on the phase
    before = float(np.ptp(error[third : 2 * third]))
    after = float(np.ptp(error[2 * third : 3 * third]))
    if not math.isfinite(after):
        return math.inf
    if not before > 1e-12 * np.abs(error[0]):
        return -math.inf
    return math.log(max(after, 1e-300) / max(before, 1e-300))


def period_of(error: Array, dt: float) -> float:
    """Mean period in the last two thirds of a record, [s]; NaN if it does not cross its mean."""
    tail = error[len(error) // 3 :]
    tail = tail - tail.mean()
    before = np.flatnonzero(np.signbit(tail[:-1]) != np.signbit(tail[1:]))
    if len(before) < 3:
        return math.nan
    crossings = before + tail[before] / (tail[before] - tail[before + 1])
    return float(2.0 * dt * (crossings[-1] - crossings[0]) / (len(crossings) - 1))


@dataclass(frozen=True)
class SweepRow:
    """How one pair of gains tracked."""

    proportional: float
    derivative: float
    sigma: Array  #: standard deviation of each joint's error, [rad]
    sigma_all: float  #: root mean square of these, [rad]
    mean_absolute: float  #: mean absolute error over all joints, [rad]


def sweep(
    track: Callable[[Array, Array], Array], pairs: Sequence[tuple[float, float]]
) -> list[SweepRow]:
    """Track the same reference with every pair of gains.

    ``track`` takes m proportional and m derivative gains and returns the errors,
    n × m × joints, [rad].
    """
    gains = np.array(pairs, dtype=float)
    errors = track(gains[:, 0], gains[:, 1])
    rows = []
    for index, (p, d) in enumerate(pairs):
        sigma = errors[:, index].std(axis=0)
        sigma_all = float(np.sqrt(np.mean(sigma**2)))
        rows.append(SweepRow(p, d, sigma, sigma_all, float(np.abs(errors[:, index]).mean())))
    return rows


@dataclass(frozen=True)
class TuningRun:
    """One run of a search over gains."""

    gains: tuple[float, ...]
    #: all the better the smaller: for an arm, summed and final error of position and of orientation
    metrics: tuple[float, ...]
    fault: str = ""  #: why the run does not count, such as ``"oscillation"``; empty if it does

    @property
    def counts(self) -> bool:
        """Whether it has no fault and finite metrics."""
        return not self.fault and bool(np.isfinite(self.metrics).all())


def grid_search(
    run: Callable[[tuple[float, ...]], TuningRun], grid: Sequence[tuple[float, ...]]
) -> tuple[TuningRun, list[TuningRun]]:
    """Run every set of gains; the best, and all of them. See :func:`find_fault` for faults."""
    runs = [run(gains) for gains in grid]
    return best_of(runs), runs


def best_of(runs: Sequence[TuningRun]) -> TuningRun:
    """The run with the least sum of metrics, each over its least; runs with a fault do not count.

    Raises:
        BadValue: no run counts; the message names the faults.
    """
    kept = [one for one in runs if one.counts]
    if not kept:
        faults = ", ".join(dict.fromkeys(one.fault or "not finite" for one in runs))
        raise BadValue(f"none of {len(runs)} runs counts: {faults or 'no gains'}")
    table = np.array([one.metrics for one in kept], dtype=float)
    least = np.maximum(table.min(axis=0), 1e-12)
    return kept[int(np.argmin((table / least).sum(axis=1)))]


def find_fault(effort: Array, dt: float, chatter: float = 0.005, oscillation: float = 0.02) -> str:
    """``"chatter"``, ``"oscillation"`` or ``""`` if a tuning run has no fault.

    The second difference of the effort shows chatter. A line between 2.5 and 20 Hz that stands out
    from its octaves on both sides shows an oscillation; motion and friction have no such line.

    ``effort`` is n × channels, as shares of their limits, one row per ``dt`` [s]. ``chatter`` is
    the largest RMS of the second difference that passes, ``oscillation`` the largest line, [-].
    """
    steps = np.sqrt(np.mean(np.diff(effort, n=2, axis=0) ** 2, axis=0)).max()
    if not steps < chatter:
        return "chatter"
    window = np.hanning(len(effort))[:, None]
    spectrum = np.fft.rfft((effort - effort.mean(axis=0)) * window, axis=0)
    lines = 2.0 * np.abs(spectrum) / window.sum()
    frequency = np.fft.rfftfreq(len(effort), dt)
    for k in np.flatnonzero((frequency >= 2.5) & (frequency <= 20.0)):
        around = lines[(frequency >= 0.5 * frequency[k]) & (frequency <= 2.0 * frequency[k])]
        if (lines[k] > np.maximum(oscillation, MIN_LINE_RATIO * np.median(around, axis=0))).any():
            return "oscillation"
    return ""
