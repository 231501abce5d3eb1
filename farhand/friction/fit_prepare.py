"""A recording made ready for a fit: what loggers and drives do wrong put right as far as the data allow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from farhand.friction.fit_data import Recording
from farhand.friction.fit_delay import Delay, find_delay, find_lag, harm_of_lag, put_right
from farhand.friction.fit_motion import Motion, best_motion, find_tick, motion_at, pieces_of, unwrapped
from farhand.friction.fit_static import (
    Terms,
    fit_sliding,
    predicted,
    sliding_samples,
    travelled,
    uncertainty,
)
from farhand.friction.fit_warnings import Coverage, coverage, unsigned

Array = np.ndarray

SPIKE = 10.0
"""A torque this many deviations away from the median of its neighbours is a fault of the logger."""

SIGN_ROUNDS = 4
"""Fits by which the lost sign of a torque is found."""

SETTLED = 4.0
"""Squared error just after a rest or a reversal, over the usual one, above which the joint has yet to slide."""

SETTLE_ROUNDS = 12
"""How often more of the way after a rest is left out, at most."""

SETTLE_WAYS = np.geomspace(1e-5, 1.0, 31)
"""Ways after a rest or a reversal that are told apart, as shares of the longest."""


DELAY_ROUNDS = 6
"""How often the delay of the torque is put right and looked for again, each time in the band that is then best."""

DELAY_STEP = 0.1
"""A delay of less than this share of a sample is none."""

LAG_BAND = 33.0
"""Band in which a filter in the torque's way is looked for, [Hz]; chosen: its kernel is as short as the least lag."""


@dataclass(frozen=True)
class Prepared:
    """A recording made ready: signs, turns and delay put right, the motion known.

    Attributes:
        data: the recording, put right.
        motion: what the joint did.
        used: which samples of it show sliding.
        coverage: what they cover.
        notes: what was put right, and what could not be, one line each.
        rest: the delay that the torque still seems to have.
        lag: time constant of a filter that the torque went through, [s]; 0 if none shows.
    """

    data: Recording
    motion: Motion
    used: Array
    coverage: Coverage
    notes: tuple[str, ...]
    rest: Delay = Delay()
    lag: float = 0.0


def prepare(found: Recording, inertia: float | None = None) -> Prepared:
    """Find the motion and put right what can be: turns of the encoder, lost signs, torque logged late."""
    found, turned = unwrapped(found)
    notes = ["position jumped by full turns; they were put back"] if turned else []
    if found.repeated:
        notes.append(f"{found.repeated} samples repeat the time before and were left out")
    found, spikes = _without_spikes(found)
    if spikes:
        words = "sample of the torque stands" if spikes == 1 else "samples of the torque stand"
        notes.append(f"{spikes} {words} out from the neighbours; the median of these was taken")
    if unsigned(found):
        found = _signed(found, inertia)
        notes.append(
            "torque has no sign although the joint moves both ways: it was given the sign that the motion asks for"
        )
    found, motion, used, late, rest = _on_time(found, inertia)
    lag = _lag(found, motion, used, inertia) if late else 0.0
    if lag:
        notes.append(
            f"torque looks filtered (time constant about {1e3 * lag:.2g} ms), which cannot be put right: friction and "
            "inertia are not identified; log torque before its filter"
        )
    elif abs(late) > 0.75 / motion.rate:
        way = "behind" if late > 0.0 else "ahead of"
        notes.append(f"torque is {1e3 * abs(late):.2g} ms {way} the motion, which was put right")
    return Prepared(found, motion, used, coverage(motion, used), tuple(notes), rest, lag)


def _on_time(found: Recording, inertia: float | None) -> tuple[Recording, Motion, Array, float, Delay]:
    """The recording with its torque in time with the motion; by how much it was late [s], and what it still seems."""
    motion, settling = _sliding_motion(found, inertia)
    used, late = sliding_samples(motion, settling), 0.0
    rest = find_delay(motion, used)
    for _ in range(DELAY_ROUNDS):
        if abs(rest.late) < DELAY_STEP / motion.rate or not rest.sure:
            break
        late += rest.late
        found = put_right(found, rest.late)
        motion, settling = _sliding_motion(found, inertia)  # a delay counts against the bands that show friction best
        motion = replace(motion, shifted=True)
        used = sliding_samples(motion, settling)
        rest = find_delay(motion, used)
    return found, motion, used, late, Delay() if abs(rest.late) < DELAY_STEP / motion.rate else rest


def _lag(found: Recording, motion: Motion, used: Array, inertia: float | None) -> float:
    """Time constant of a filter in the torque's way, [s]; 0 if there is none that moves a fit out of its intervals.

    It shows best just after a reversal and in a wide band.
    """
    band = max(min(LAG_BAND, 0.2 * motion.rate), motion.bandwidth)
    wide = motion_at(pieces_of(found, motion.tick), band, motion.tick, motion.source)
    lag = find_lag(wide, sliding_samples(wide))
    return lag if lag and harm_of_lag(motion, fit_sliding(motion, Terms(inertia=inertia), used), lag) > 1.0 else 0.0


def _sliding_motion(found: Recording, inertia: float | None) -> tuple[Motion, float]:
    """The motion in the best band, and the way after a rest or a reversal before the joint slides, [rad].

    What happens on that way counts against wide bands, which show it best, so the band is chosen again without it.
    """
    motion = best_motion(found, uncertainty)
    settling = _settling(motion, inertia)
    if settling > 0.0:
        motion = best_motion(found, lambda one: uncertainty(one, settling))
        settling = _settling(motion, inertia)
    return motion, settling


def _settling(motion: Motion, inertia: float | None) -> float:
    """Way after a rest or a reversal over which a joint that gives before it slides is off every sliding curve, [rad].

    A coarse encoder hides that way anyhow. A fine one shows it, and as part of the sliding curve it would bend the
    peak. As long as the error stands out there, its worst part is left out and the curve is fitted anew.
    """
    way, used, settling = travelled(motion), sliding_samples(motion), 0.0
    most = 0.5 * np.count_nonzero(used)
    ways = SETTLE_WAYS * float(way[used].max())
    for _ in range(SETTLE_ROUNDS):
        squares = fit_sliding(motion, Terms(stribeck=True, shape=None, inertia=inertia), used).residual[used] ** 2
        bins = np.digitize(way[used], ways)
        count = np.bincount(bins, minlength=len(ways) + 1)
        error = np.bincount(bins, squares, minlength=len(ways) + 1) / np.maximum(count, 1)
        usual = float(np.median(error[count > 0]))
        full = np.flatnonzero(count >= 8)
        if not len(full) or error[full[0]] < SETTLED * usual:
            break
        near = full[error[full] < 0.25 * error[full[0]]]
        wider = float(ways[near[0] - 1]) if len(near) else np.inf
        fewer = sliding_samples(motion, wider)
        if np.count_nonzero(fewer) < most:
            break
        settling, used = wider, fewer
    return settling


def _without_spikes(found: Recording) -> tuple[Recording, int]:
    """Single samples of torque that no joint produces are replaced by the median of their neighbours."""
    middle = median_filter(found.torque, 5, mode="nearest")
    away = np.abs(found.torque - middle)
    limit = max(SPIKE * 1.4826 * float(np.median(away)), float(np.sqrt(np.mean(middle**2))))
    near = np.maximum(np.abs(np.roll(found.torque, 1) - middle), np.abs(np.roll(found.torque, -1) - middle))
    wrong = (away > limit) & (near < 0.25 * limit)  # a step has a far neighbour too
    return replace(found, torque=np.where(wrong, middle, found.torque)), int(np.count_nonzero(wrong))


def _signed(found: Recording, inertia: float | None) -> Recording:
    """Torque with the sign of the motion, then with the sign that a first fit predicts, which differs while braking."""
    size = np.abs(found.torque)
    tick = find_tick(found.position)
    motion = motion_at(pieces_of(found, tick), min(5.0, 0.1 / found.step), tick, "position")
    v, a = (np.interp(found.time, motion.time, x) for x in (motion.velocity, motion.acceleration))
    ratio = float(np.std(v) / np.std(a))  # [s], from acceleration to velocity
    answers = []
    for share in (0.0, 0.5, 2.0, 10.0):  # friction alone … inertia alone
        answers.append(_resigned(found, size, v + share * ratio * a, inertia))
    return min(answers, key=lambda answer: answer[0])[1]


def _resigned(found: Recording, size: Array, like: Array, inertia: float | None) -> tuple[float, Recording]:
    """Give the torque a sign, fit, give it the sign that the fit predicts, and so on; what is left, and the torque."""
    left = np.inf
    for _ in range(SIGN_ROUNDS):
        found = replace(found, torque=np.where(like < 0.0, -size, size))
        motion = best_motion(found, uncertainty)
        first = fit_sliding(motion, Terms(inertia=inertia), sliding_samples(motion))
        left = first.rms / float(np.sqrt(np.mean(motion.torque**2)))
        like = np.interp(found.time, motion.time, predicted(motion, first))
    return left, found
