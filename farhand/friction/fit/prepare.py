"""Prepare a recording for a fit: find the motion, correct what loggers and drives get wrong.

Corrected are full turns of the encoder, spikes and lost signs of the torque, and a torque that was
logged later or earlier than the motion. A torque that went through a filter is only reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import median_filter
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from farhand.friction.fit.coverage import Coverage, has_lost_sign, measure_coverage
from farhand.friction.fit.data import MIN_SAMPLES, JointLog
from farhand.friction.fit.motion import (
    PAUSE_STEPS,
    Motion,
    best_motion,
    find_tick,
    motion_at,
    split_at_pauses,
    unwrap_turns,
)
from farhand.friction.fit.sliding import (
    SlidingCurve,
    Terms,
    columns,
    fit_sliding,
    free_columns,
    predicted,
    sliding_samples,
    travelled,
    uncertainty,
)

Array = np.ndarray

SPIKE_DEVIATIONS = 10.0
"""A torque this many deviations from the median of its neighbours is a fault of the logger."""

SIGN_ROUNDS = 4
"""Fits by which the lost sign of a torque is found."""

SETTLED_RATIO = 4.0
"""Squared error just after a rest or a reversal, over the usual one, of a joint not yet sliding."""

SETTLE_ROUNDS = 12
"""How often more of the way after a rest is left out, at most."""

SETTLE_WAYS = np.geomspace(1e-5, 1.0, 31)
"""Bins of the way after a rest or a reversal, as shares of the longest."""

MAX_DELAY_S = 0.1
"""Delays are searched up to here; chosen: a logger that is further behind is of no use."""

DELAY_SAMPLES = 4000
"""Samples with which delays are compared; the best one is refined with all of them."""

DELAY_ROUNDS = 6
"""How often the delay is corrected and searched again, each time in the band that is then best."""

MIN_DELAY_SAMPLES = 0.1
"""A delay of less than this share of a sample is none."""

PLAUSIBLE_DELAY_SAMPLES = 2.0
"""Any logger may be late by this much: such a delay counts even if only reversals show it."""

MAX_VARIANCE_RATIO = 0.9
"""A delay or a lag counts if it reduces the residual variance to this share or less."""

LAGS_S = np.geomspace(4e-3, 6e-2, 9)
"""Time constants of a torque filter that are tried; chosen like :data:`MAX_DELAY_S`."""

LAG_BAND_HZ = 33.0
"""Band in which a filter is searched; chosen: its kernel is as short as the shortest lag."""


@dataclass(frozen=True)
class Delay:
    """How much later the torque is logged than the motion."""

    seconds: float = 0.0  #: 0 if the data do not show a delay
    sure: bool = True  #: False if it may as well be a joint that gives before it slides
    variance: float = 0.0  #: residual variance with it, [(N·m)²]


@dataclass(frozen=True)
class Prepared:
    """A recording ready for a fit."""

    data: JointLog  #: the recording, corrected
    motion: Motion
    used: Array  #: samples of the motion that show sliding
    coverage: Coverage
    notes: tuple[str, ...]  #: what was corrected and what could not be, one line each
    remaining: Delay = Delay()  #: the delay that the torque still seems to have
    lag: float = 0.0  #: time constant of a filter of the torque, [s]; 0 if none shows


def prepare(log: JointLog, inertia: float | None = None) -> Prepared:
    """Find the motion and correct what can be corrected; ``inertia`` [kg·m²] if you know it."""
    notes = []
    log, turned = unwrap_turns(log)
    if turned:
        notes.append("position jumped by full turns; this was corrected")
    if log.repeated:
        notes.append(
            f"{log.repeated} samples had the same t as the sample before and were left out"
        )
    log, spikes = _without_spikes(log)
    if spikes:
        subject = "sample of the torque stands" if spikes == 1 else "samples of the torque stand"
        notes.append(f"{spikes} {subject} out; replaced by the median of the neighbours")
    if has_lost_sign(log):
        log = _with_sign(log, inertia)
        notes.append(
            "torque has no sign although the joint moves both ways; "
            "it was given the sign that fits the motion"
        )
    log, motion, used, delay, remaining = _synchronised(log, inertia)
    lag = _harmful_lag(log, motion, used, inertia) if delay else 0.0
    if lag:
        notes.append(
            f"torque looks filtered (time constant about {1e3 * lag:.2g} ms), which cannot be "
            "corrected: friction and inertia are not identified; log the torque before its filter"
        )
    elif abs(delay) > 0.75 / motion.rate:
        way = "behind" if delay > 0.0 else "ahead of"
        notes.append(f"torque is {1e3 * abs(delay):.2g} ms {way} the motion; this was corrected")
    coverage = measure_coverage(motion, used)
    return Prepared(log, motion, used, coverage, tuple(notes), remaining, lag)


# Spikes and signs of the torque.


def _without_spikes(log: JointLog) -> tuple[JointLog, int]:
    """Replace single samples of torque that no joint produces; how many there were."""
    middle = median_filter(log.torque, 5, mode="nearest")
    away = np.abs(log.torque - middle)
    limit = max(
        SPIKE_DEVIATIONS * 1.4826 * float(np.median(away)), float(np.sqrt(np.mean(middle**2)))
    )
    before, after = (np.abs(np.roll(log.torque, shift) - middle) for shift in (1, -1))
    # A step is no spike: it has a far neighbour too.
    wrong = (away > limit) & (np.maximum(before, after) < 0.25 * limit)
    return replace(log, torque=np.where(wrong, middle, log.torque)), int(np.count_nonzero(wrong))


def _with_sign(log: JointLog, inertia: float | None) -> JointLog:
    """Torque with the sign of the motion, then with that of a fit, which differs in braking."""
    size = np.abs(log.torque)
    tick = find_tick(log.position)
    motion = motion_at(split_at_pauses(log, tick), min(5.0, 0.1 / log.step), tick, "position")
    v, a = (np.interp(log.time, motion.time, x) for x in (motion.velocity, motion.acceleration))
    ratio = float(np.std(v) / np.std(a))  # [s], from acceleration to velocity
    # Start from friction alone, from inertia alone, and from mixtures of both.
    shares = (0.0, 0.5, 2.0, 10.0)
    answers = [_iterate_sign(log, size, v + share * ratio * a, inertia) for share in shares]
    return min(answers, key=lambda answer: answer[0])[1]


def _iterate_sign(
    log: JointLog, size: Array, like: Array, inertia: float | None
) -> tuple[float, JointLog]:
    """Give the torque a sign, fit, take the sign of the fit, and so on; relative error first."""
    error = np.inf
    for _ in range(SIGN_ROUNDS):
        log = replace(log, torque=np.where(like < 0.0, -size, size))
        motion = best_motion(log, uncertainty)
        curve = fit_sliding(motion, Terms(inertia=inertia), sliding_samples(motion))
        error = curve.rms / float(np.sqrt(np.mean(motion.torque**2)))
        like = np.interp(log.time, motion.time, predicted(motion, curve))
    return error, log


# The motion while the joint slides.


def _sliding_motion(log: JointLog, inertia: float | None) -> tuple[Motion, float]:
    """The motion in the best band, and the way after a rest or a reversal before sliding, [rad].

    That way counts against wide bands, which show it best. So the band is chosen again without it.
    """
    motion = best_motion(log, uncertainty)
    settling = _settling(motion, inertia)
    if settling > 0.0:
        motion = best_motion(log, lambda one: uncertainty(one, settling))
        settling = _settling(motion, inertia)
    return motion, settling


def _settling(motion: Motion, inertia: float | None) -> float:
    """Way after a rest or a reversal over which the joint gives before it slides, [rad].

    A coarse encoder hides that way. A fine one shows it, and as part of the sliding curve it would
    bend the peak. As long as the error stands out there, its worst part is left out and the curve
    is fitted again.
    """
    way, used, settling = travelled(motion), sliding_samples(motion), 0.0
    most = 0.5 * np.count_nonzero(used)
    ways = SETTLE_WAYS * float(way[used].max())
    terms = Terms(stribeck=True, shape=None, inertia=inertia)
    for _ in range(SETTLE_ROUNDS):
        squares = fit_sliding(motion, terms, used).residual[used] ** 2
        bins = np.digitize(way[used], ways)
        count = np.bincount(bins, minlength=len(ways) + 1)
        error = np.bincount(bins, squares, minlength=len(ways) + 1) / np.maximum(count, 1)
        usual = float(np.median(error[count > 0]))
        full = np.flatnonzero(count >= 8)
        if not len(full) or error[full[0]] < SETTLED_RATIO * usual:
            break
        near = full[error[full] < 0.25 * error[full[0]]]
        wider = float(ways[near[0] - 1]) if len(near) else np.inf
        fewer = sliding_samples(motion, wider)
        if np.count_nonzero(fewer) < most:
            break
        settling, used = wider, fewer
    return settling


# Torque logged later or earlier than the motion, or filtered.


def _synchronised(
    log: JointLog, inertia: float | None
) -> tuple[JointLog, Motion, Array, float, Delay]:
    """The recording with its torque in time, motion, samples, corrected delay [s], what remains."""
    motion, settling = _sliding_motion(log, inertia)
    used, total = sliding_samples(motion, settling), 0.0
    delay = find_delay(motion, used)
    for _ in range(DELAY_ROUNDS):
        if abs(delay.seconds) < MIN_DELAY_SAMPLES / motion.rate or not delay.sure:
            break
        total += delay.seconds
        log = shift_torque(log, delay.seconds)
        # A delay counts against the bands that show friction best: choose the band again.
        motion, settling = _sliding_motion(log, inertia)
        motion = replace(motion, shifted=True)
        used = sliding_samples(motion, settling)
        delay = find_delay(motion, used)
    if abs(delay.seconds) < MIN_DELAY_SAMPLES / motion.rate:
        delay = Delay()
    return log, motion, used, total, delay


def find_delay(motion: Motion, used: Array) -> Delay:
    """Delay of the torque with which a curve of any shape, inertia and a load explain it best.

    A torque that is held from sample to sample, filtered by the drive or logged some cycles late
    turns inertia into viscous friction. The search covers the whole range: with a wrong delay, a
    joint that turns round has its dry friction on the wrong side, and a local step may lead
    anywhere. A joint that gives before it slides looks late too, but only after a reversal; a delay
    shows everywhere.
    """
    problem = _ShiftedTorque(motion, used)
    if len(problem.rows) < MIN_SAMPLES // 2:
        return Delay()
    A = free_columns(motion)
    late, variance = problem.best(A)
    if variance > MAX_VARIANCE_RATIO * problem.variance(A, problem.rows)(0.0):
        return Delay()
    way = travelled(motion)[problem.rows]
    far = problem.variance(A, problem.rows[way >= np.median(way)])
    sure = far(late) < MAX_VARIANCE_RATIO * far(0.0)
    sure |= abs(late) < PLAUSIBLE_DELAY_SAMPLES / motion.rate
    return Delay(late, sure and abs(late) < 0.99 * problem.max_delay, variance)


def shift_torque(log: JointLog, delay: float) -> JointLog:
    """Take the torque ``delay`` seconds earlier; drop samples for which nothing was logged then."""
    at = log.time + delay
    after = np.clip(np.searchsorted(log.time, at), 1, len(log) - 1)
    known = log.time[after] - log.time[after - 1] <= max(PAUSE_STEPS * log.step, 0.05)
    known &= (at >= log.time[0]) & (at <= log.time[-1])
    torque = np.interp(at, log.time, log.torque)
    kept = (column[known] for column in (log.time, log.position, log.velocity, torque))
    return replace(log, **dict(zip(("time", "position", "velocity", "torque"), kept, strict=True)))


def _harmful_lag(log: JointLog, motion: Motion, used: Array, inertia: float | None) -> float:
    """Time constant of a torque filter that moves a fit out of its intervals, [s]; 0 if none.

    It shows best just after a reversal and in a wide band.
    """
    band = max(min(LAG_BAND_HZ, 0.2 * motion.rate), motion.bandwidth)
    wide = motion_at(split_at_pauses(log, motion.tick), band, motion.tick, motion.source)
    lag = _find_lag(wide, sliding_samples(wide))
    if not lag:
        return 0.0
    curve = fit_sliding(motion, Terms(inertia=inertia), used)
    return lag if _harm_of_lag(motion, curve, lag) > 1.0 else 0.0


def _find_lag(motion: Motion, used: Array) -> float:
    """Time constant of a filter that explains more of the torque than any delay, [s]; 0 if none."""
    problem = _ShiftedTorque(motion, used)
    if len(problem.rows) < MIN_SAMPLES // 2:
        return 0.0
    A = free_columns(motion)
    # Anything that blurs a reversal looks like a filter, but like one run backwards too.
    backwards = [problem.best(_filtered(A[::-1], motion, lag, False)[::-1])[1] for lag in LAGS_S]
    best, least = 0.0, MAX_VARIANCE_RATIO * min(problem.best(A)[1], *backwards)
    for lag in LAGS_S:
        variance = problem.best(_filtered(A, motion, lag))[1]
        if variance < least:
            best, least = float(lag), variance
    return best


def _harm_of_lag(motion: Motion, curve: SlidingCurve, lag: float) -> float:
    """How far a filter moves viscous friction or inertia, in halves of their 95 % intervals, [-].

    The torque of ``motion`` is corrected by the best delay, which undoes most of a filter.
    """
    problem, names = _ShiftedTorque(motion, curve.used), curve.terms.names
    A = columns(motion, curve.terms)
    # A known inertia is one more column: the torque itself enters with a coefficient.
    if curve.terms.inertia is not None:
        A, names = np.column_stack([A, motion.acceleration]), [*names, "inertia"]
    solutions = []
    for made in (A, _filtered(A, motion, lag)):
        late = problem.best(made)[0]
        solutions.append(np.linalg.lstsq(made[problem.rows], problem.torque(late), rcond=1e-9)[0])
    moved = dict(zip(names, np.abs(solutions[1] - solutions[0]), strict=True))
    watched = [name for name in ("viscous", "inertia") if name in curve.values]
    return max(float(moved[name]) / max(curve.half(name), 1e-12) for name in watched)


def _filtered(A: Array, motion: Motion, lag: float, forwards: bool = True) -> Array:
    """Columns after a first-order filter with this time constant, piece by piece."""
    keep = float(np.exp(-motion.step / lag))
    out, piece = np.empty_like(A), motion.piece if forwards else motion.piece[::-1]
    for number in range(int(piece.max()) + 1):
        rows = piece == number
        out[rows] = lfilter([1.0 - keep], [1.0, -keep], A[rows], axis=0, zi=keep * A[rows][:1])[0]
    return out


class _ShiftedTorque:
    """Least-squares fits to the torque of some time later or earlier."""

    def __init__(self, motion: Motion, used: Array) -> None:
        self.motion = motion
        self.max_delay = min(MAX_DELAY_S, 0.1 / max(motion.frequency, 1e-9))
        pieces = [np.flatnonzero(motion.piece == k) for k in range(int(motion.piece[-1]) + 1)]
        self._torque = [CubicSpline(motion.time[rows], motion.torque[rows]) for rows in pieces]
        inside = np.zeros(len(motion), dtype=bool)
        # Keep so far from the ends that the torque is known over the whole range of delays.
        for rows in pieces:
            time = motion.time[rows]
            inside[rows] = (time - time[0] >= self.max_delay) & (time[-1] - time >= self.max_delay)
        self.rows = np.flatnonzero(used & inside)

    def torque(self, late: float) -> Array:
        """The torque of the rows, taken ``late`` seconds later, [N·m]."""
        times, piece = self.motion.time[self.rows] + late, self.motion.piece[self.rows]
        return np.concatenate([self._torque[k](times[piece == k]) for k in np.unique(piece)])

    def best(self, A: Array) -> tuple[float, float]:
        """The best delay beside these columns [s], and the residual variance with it, [(N·m)²]."""
        step = max(self.motion.width, 1.0 / self.motion.rate)
        count = int(self.max_delay / step)
        coarse = self.variance(A, self.rows[:: max(1, len(self.rows) // DELAY_SAMPLES)])
        tried = step * np.arange(-count, count + 1)
        middle = float(tried[int(np.argmin([coarse(late) for late in tried]))])
        bounds = (max(middle - step, -self.max_delay), min(middle + step, self.max_delay))
        fine, close = self.variance(A, self.rows), 0.01 / self.motion.rate
        answer = minimize_scalar(fine, bounds=bounds, method="bounded", options={"xatol": close})
        return float(answer.x), float(answer.fun)

    def variance(self, A: Array, rows: Array) -> Callable[[float], float]:
        """Residual variance as a function of the delay, [(N·m)²]."""
        size = np.sqrt((A[rows] ** 2).sum(axis=0)) + 1e-300
        U, strength, _ = np.linalg.svd(A[rows] / size, full_matrices=False)
        basis, piece = U[:, strength > 1e-9 * strength[0]], self.motion.piece[rows]
        parts = [(self._torque[k], self.motion.time[rows[piece == k]]) for k in np.unique(piece)]

        def residual_variance(late: float) -> float:
            b = np.concatenate([torque(time + late) for torque, time in parts])
            rest = b - basis @ (basis.T @ b)
            return float(rest @ rest / len(b))

        return residual_variance
