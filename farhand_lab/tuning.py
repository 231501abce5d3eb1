"""Tuning: Ziegler–Nichols from a simulated or recorded loop, and sweeps over a grid of gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName

Array = np.ndarray

PER_ROUND = 9
"""Gains tried together in one round of the search."""

SUSTAINED = -1e-3
"""Growth per window, as a logarithm, above which an oscillation counts as not dying out."""

RULES = {
    "P": (0.5, math.inf, 0.0),
    "PI": (0.45, 1.0 / 1.2, 0.0),
    "PD": (0.8, math.inf, 1.0 / 8.0),
    "PID": (0.6, 1.0 / 2.0, 1.0 / 8.0),
}
"""Ziegler and Nichols: K_p as a share of K_u, T_i and T_d as shares of T_u."""


STANDS_OUT = 5.0
"""How many times the median of its neighbours a line of a spectrum is to count as an oscillation;
assumed, [-]."""


@dataclass(frozen=True)
class Ultimate:
    """Where a proportional loop starts to oscillate without end.

    Attributes:
        gain: K_u, in the unit of the proportional gain.
        period: T_u, [s].
    """

    gain: float
    period: float


@dataclass(frozen=True)
class PIDGains:
    """Gains of K_p e + K_i ∫e + K_d ė.

    Attributes:
        proportional: K_p.
        integral: K_i = K_p / T_i, [1/s].
        derivative: K_d = K_p T_d, [s].
    """

    proportional: float
    integral: float
    derivative: float


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
    """Raise the proportional gain until the loop's oscillation no longer dies out, and read gain and period.

    A loop that saturates oscillates with a bounded amplitude at every gain beyond K_u, a linear one
    grows; the search looks for the smallest gain at which the oscillation is kept, which serves
    both. A disturbance that saturates nothing is best: a saturated loop takes its time to show that
    it will not die out.

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
        raise BadValue(
            f"the search for the ultimate gain needs 0 < low < high, got {low:g} and {high:g}"
        )
    first, last = low, high
    while True:
        gains = np.geomspace(low, high, PER_ROUND)
        errors = respond(gains)
        kept = np.array([growth(errors[:, i]) > SUSTAINED for i in range(PER_ROUND)])
        if kept[0] or not kept.any():
            raise OutOfRange(
                "the ultimate gain", f"{'below' if kept[0] else 'above'} the search", first, last
            )
        edge = int(np.argmax(kept))
        low, high = float(gains[edge - 1]), float(gains[edge])
        if high / low - 1.0 < tolerance:
            return Ultimate(math.sqrt(low * high), period_of(errors[:, edge], dt))


def growth(error: Array) -> float:
    """Logarithm of how much larger the oscillation is in the last third of a record than in the middle third."""
    third = len(error) // 3
    middle, end = error[third : 2 * third], error[2 * third : 3 * third]
    before, after = float(np.ptp(middle)), float(np.ptp(end))  # a mean would depend on the phase
    if not math.isfinite(after):
        return math.inf
    return (
        math.log(max(after, 1e-300) / max(before, 1e-300))
        if before > 1e-12 * np.abs(error[0])
        else -math.inf
    )


def period_of(error: Array, dt: float) -> float:
    """Mean period of the oscillation in the last two thirds of a record, [s]; NaN if it does not cross its mean."""
    tail = error[len(error) // 3 :]
    tail = tail - tail.mean()
    before = np.flatnonzero(np.signbit(tail[:-1]) != np.signbit(tail[1:]))
    if len(before) < 3:
        return math.nan
    crossings = before + tail[before] / (tail[before] - tail[before + 1])
    return float(2.0 * dt * (crossings[-1] - crossings[0]) / (len(crossings) - 1))


@dataclass(frozen=True)
class SweepRow:
    """How one pair of gains tracked.

    Attributes:
        proportional: P.
        derivative: D.
        sigma: standard deviation of each joint's error, [rad].
        sigma_all: root mean square of these, [rad].
        mean_absolute: mean absolute error over all joints, [rad].
    """

    proportional: float
    derivative: float
    sigma: Array
    sigma_all: float
    mean_absolute: float


def sweep(
    track: Callable[[Array, Array], Array], pairs: Sequence[tuple[float, float]]
) -> list[SweepRow]:
    """Track the same reference with every pair of gains.

    Args:
        track: takes m proportional and m derivative gains, returns the errors, n × m × joints,
            [rad].
        pairs: proportional and derivative gains to try.
    """
    gains = np.array(pairs, dtype=float)
    errors = track(gains[:, 0], gains[:, 1])
    rows = []
    for index, (p, d) in enumerate(pairs):
        sigma = errors[:, index].std(axis=0)
        rows.append(
            SweepRow(
                p,
                d,
                sigma,
                float(np.sqrt(np.mean(sigma**2))),
                float(np.abs(errors[:, index]).mean()),
            )
        )
    return rows


@dataclass(frozen=True)
class Tried:
    """One run of a search over gains.

    Attributes:
        gains: what was tried.
        metrics: what it is judged by, all the better the smaller: for an arm, summed and final
            error of position and of orientation.
        fault: why the run does not count, such as ``"oscillation"``; empty if it does.
    """

    gains: tuple[float, ...]
    metrics: tuple[float, ...]
    fault: str = ""

    @property
    def counts(self) -> bool:
        """Whether it was smooth and has all its numbers."""
        return not self.fault and bool(np.isfinite(self.metrics).all())


def grid_search(
    run: Callable[[tuple[float, ...]], Tried], grid: Sequence[tuple[float, ...]]
) -> tuple[Tried, list[Tried]]:
    """Try every set of gains; the best, and all of them.

    Args:
        run: makes one run; see :func:`rough` for what is wrong with some.
        grid: the sets of gains.
    """
    tried = [run(gains) for gains in grid]
    return best_of(tried), tried


def best_of(tried: Sequence[Tried]) -> Tried:
    """The run whose metrics, each over the least that any run reached, have the least sum; rough runs do not count.

    Raises:
        BadValue: no run counts; the faults are named.
    """
    kept = [one for one in tried if one.counts]
    if not kept:
        faults = (
            ", ".join(dict.fromkeys(one.fault or "not finite" for one in tried))
            or "nothing was tried"
        )
        raise BadValue(f"none of {len(tried)} runs counts: {faults}")
    table = np.array([one.metrics for one in kept], dtype=float)
    least = np.maximum(table.min(axis=0), 1e-12)
    return kept[int(np.argmin((table / least).sum(axis=1)))]


def rough(effort: Array, dt: float, chatter: float = 0.005, oscillation: float = 0.02) -> str:
    """What is wrong with a tuning run: ``"chatter"``, ``"oscillation"`` or nothing (``""``).

    Chatter is judged by the second difference of the effort, oscillation by a line between 2.5 and
    20 Hz that stands out from its octaves on both sides; motion, and steps of friction at its
    turns, have no such line.

    Args:
        effort: n × channels, as shares of their limits, [-].
        dt: time between samples, [s].
        chatter: largest root mean square of the second difference that passes, [-].
        oscillation: largest amplitude of a line that passes, [-].
    """
    steps = np.sqrt(np.mean(np.diff(effort, n=2, axis=0) ** 2, axis=0)).max()
    if not steps < chatter:
        return "chatter"
    window = np.hanning(len(effort))[:, None]
    lines = (
        2.0 * np.abs(np.fft.rfft((effort - effort.mean(axis=0)) * window, axis=0)) / window.sum()
    )
    frequency = np.fft.rfftfreq(len(effort), dt)
    for k in np.flatnonzero((frequency >= 2.5) & (frequency <= 20.0)):
        around = lines[(frequency >= 0.5 * frequency[k]) & (frequency <= 2.0 * frequency[k])]
        if (lines[k] > np.maximum(oscillation, STANDS_OUT * np.median(around, axis=0))).any():
            return "oscillation"
    return ""
