"""Torque logged later or earlier than the motion: by how much, and whether that is all that is wrong with its times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import median_filter
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from farhand.friction.fit.coverage import Coverage, coverage, unsigned
from farhand.friction.fit.data import FEWEST, JointLog
from farhand.friction.fit.motion import (
    GAP,
    Motion,
    best_motion,
    find_tick,
    motion_at,
    pieces_of,
    unwrapped,
)
from farhand.friction.fit.static import (
    Sliding,
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

SHOWN = 0.9
"""A delay or a lag must bring the residual variance down to this share to count."""

FURTHEST = 0.1
"""Delays that are looked for, [s]; chosen: no logger that is of use is further behind."""

THINNED = 4000
"""Samples with which delays are compared; all of them polish the best."""

LAGS = np.geomspace(4e-3, 6e-2, 9)
"""Time constants of a filter in the torque's way that are tried, [s]; chosen, as
:data:`FURTHEST`."""


WATCHED = ("viscous", "inertia")
"""What a torque out of step with the motion gets wrong: its parts along the velocity and the
acceleration."""

ALWAYS = 2.0
"""Samples by which any logger may be late: such a delay counts even if it shows only where the
joint turns round."""


@dataclass(frozen=True)
class Delay:
    """What the times of the torque look like beside those of the motion.

    Attributes:
        late: how much later the torque is, [s]; 0 if the data do not show it.
        sure: whether that is a delay; otherwise it may as well be a joint that gives before it
            slides.
        left: residual variance with it, [(N·m)²].
    """

    late: float = 0.0
    sure: bool = True
    left: float = 0.0


def find_delay(motion: Motion, used: Array) -> Delay:
    """Delay of the torque with which a curve of any shape, inertia and a load explain it best.

    A torque that is held from sample to sample, filtered by the drive or logged some cycles late
    turns inertia into viscous friction. The delay that leaves least is looked for over the whole
    range: with the wrong one, a joint that turns round has its dry friction on the wrong side, and
    a step from there may lead anywhere. A joint that gives before it slides looks late too, but
    only after it has turned round; a delay shows everywhere.

    Args:
        motion: what the joint did.
        used: which samples count.
    """
    problem = _Shifted(motion, used)
    if len(problem.rows) < FEWEST // 2:
        return Delay()
    A = free_columns(motion)
    late, left = problem.best(A)
    if left > SHOWN * problem.left_over(A, problem.rows)(0.0):
        return Delay()
    way = travelled(motion)[problem.rows]
    far = problem.left_over(A, problem.rows[way >= np.median(way)])
    sure = far(late) < SHOWN * far(0.0) or abs(late) < ALWAYS / motion.rate
    return Delay(late, sure and abs(late) < 0.99 * problem.furthest, left)


def find_lag(motion: Motion, used: Array) -> float:
    """Time constant of a filter that explains more of the torque than any delay does, [s]; 0 if none does.

    Where the joint turns round, whatever blurs the motion looks like a filter, but like one run
    backwards too.
    """
    problem = _Shifted(motion, used)
    if len(problem.rows) < FEWEST // 2:
        return 0.0
    A = free_columns(motion)
    backwards = [
        problem.best(_lagged(A[::-1], motion, constant, False)[::-1])[1] for constant in LAGS
    ]
    found, least = 0.0, SHOWN * min(problem.best(A)[1], *backwards)
    for constant in LAGS:
        left = problem.best(_lagged(A, motion, constant))[1]
        if left < least:
            found, least = float(constant), left
    return found


def harm_of_lag(motion: Motion, fitted: Sliding, lag: float) -> float:
    """How far a filter in the torque's way moves viscous friction or inertia, in halves of their 95 % intervals, [-].

    Args:
        motion: with the torque put right by the best delay, which undoes most of a filter.
        fitted: a plain curve, fitted to it.
        lag: time constant of the filter, [s].
    """
    problem, names = _Shifted(motion, fitted.used), fitted.terms.names
    A = columns(motion, fitted.terms)
    # known: it counts as one column with the torque's own coefficient
    if fitted.terms.inertia is not None:
        A, names = np.column_stack([A, motion.acceleration]), [*names, "inertia"]
    found = []
    for made in (A, _lagged(A, motion, lag)):
        late = problem.best(made)[0]
        found.append(np.linalg.lstsq(made[problem.rows], problem.torque(late), rcond=1e-9)[0])
    moved = dict(zip(names, np.abs(found[1] - found[0]), strict=True))
    return max(
        float(moved[name]) / max(fitted.half(name), 1e-12)
        for name in WATCHED
        if name in fitted.values
    )


def put_right(found: JointLog, late: float) -> JointLog:
    """The recording with its torque taken ``late`` seconds earlier; where nothing was logged then, it is cut."""
    at = found.time + late
    after = np.clip(np.searchsorted(found.time, at), 1, len(found) - 1)
    known = (found.time[after] - found.time[after - 1] <= max(GAP * found.step, 0.05)) & (
        at >= found.time[0]
    )
    known &= at <= found.time[-1]
    torque = np.interp(at, found.time, found.torque)
    columns = (found.time, found.position, found.velocity, torque)
    time, position, velocity, torque = (column[known] for column in columns)
    return replace(found, time=time, position=position, velocity=velocity, torque=torque)


def _lagged(A: Array, motion: Motion, constant: float, forwards: bool = True) -> Array:
    """Columns as they come out of a filter with this time constant, piece by piece."""
    keep = float(np.exp(-motion.step / constant))
    out, piece = np.empty_like(A), motion.piece if forwards else motion.piece[::-1]
    for number in range(int(piece.max()) + 1):
        rows = piece == number
        out[rows] = lfilter([1.0 - keep], [1.0, -keep], A[rows], axis=0, zi=keep * A[rows][:1])[0]
    return out


class _Shifted:
    """Least-squares fits to the torque as it was some time later or earlier."""

    def __init__(self, motion: Motion, used: Array) -> None:
        self.motion = motion
        self.furthest = min(FURTHEST, 0.1 / max(motion.frequency, 1e-9))
        pieces = [
            np.flatnonzero(motion.piece == number) for number in range(int(motion.piece[-1]) + 1)
        ]
        self._torque = [CubicSpline(motion.time[rows], motion.torque[rows]) for rows in pieces]
        inside = np.zeros(len(motion), dtype=bool)
        for rows in pieces:  # so far from the ends that the torque is known over the whole range
            time = motion.time[rows]
            inside[rows] = (time - time[0] >= self.furthest) & (time[-1] - time >= self.furthest)
        self.rows = np.flatnonzero(used & inside)

    def torque(self, late: float) -> Array:
        """The torque of the rows, taken ``late`` seconds later, [N·m]."""
        times, piece = self.motion.time[self.rows] + late, self.motion.piece[self.rows]
        return np.concatenate([self._torque[k](times[piece == k]) for k in np.unique(piece)])

    def best(self, A: Array) -> tuple[float, float]:
        """Delay that leaves least beside these columns [s], and the residual variance with it, [(N·m)²]."""
        step = max(self.motion.width, 1.0 / self.motion.rate)
        count = int(self.furthest / step)
        coarse = self.left_over(A, self.rows[:: max(1, len(self.rows) // THINNED)])
        tried = step * np.arange(-count, count + 1)
        middle = float(tried[int(np.argmin([coarse(late) for late in tried]))])
        bounds = (max(middle - step, -self.furthest), min(middle + step, self.furthest))
        fine, close = self.left_over(A, self.rows), 0.01 / self.motion.rate
        answer = minimize_scalar(fine, bounds=bounds, method="bounded", options={"xatol": close})
        return float(answer.x), float(answer.fun)

    def left_over(self, A: Array, rows: Array) -> Callable[[float], float]:
        """Residual variance over the delay, [(N·m)²]."""
        size = np.sqrt((A[rows] ** 2).sum(axis=0)) + 1e-300
        U, strength, _ = np.linalg.svd(A[rows] / size, full_matrices=False)
        basis, piece = U[:, strength > 1e-9 * strength[0]], self.motion.piece[rows]
        parts = [(self._torque[k], self.motion.time[rows[piece == k]]) for k in np.unique(piece)]

        def left(late: float) -> float:
            b = np.concatenate([torque(time + late) for torque, time in parts])
            rest = b - basis @ (basis.T @ b)
            return float(rest @ rest / len(b))

        return left


# A recording made ready for a fit: what loggers and drives do wrong put right as far as the data
# allow.

SPIKE = 10.0
"""A torque this many deviations away from the median of its neighbours is a fault of the logger."""

SIGN_ROUNDS = 4
"""Fits by which the lost sign of a torque is found."""

SETTLED = 4.0
"""Squared error just after a rest or a reversal, over the usual one, above which the joint has yet
to slide."""

SETTLE_ROUNDS = 12
"""How often more of the way after a rest is left out, at most."""

SETTLE_WAYS = np.geomspace(1e-5, 1.0, 31)
"""Ways after a rest or a reversal that are told apart, as shares of the longest."""


DELAY_ROUNDS = 6
"""How often the delay of the torque is put right and looked for again, each time in the band that
is then best."""

DELAY_STEP = 0.1
"""A delay of less than this share of a sample is none."""

LAG_BAND = 33.0
"""Band in which a filter in the torque's way is looked for, [Hz]; chosen: its kernel is as short as
the least lag."""


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

    data: JointLog
    motion: Motion
    used: Array
    coverage: Coverage
    notes: tuple[str, ...]
    rest: Delay = Delay()
    lag: float = 0.0


def prepare(found: JointLog, inertia: float | None = None) -> Prepared:
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


def _on_time(
    found: JointLog, inertia: float | None
) -> tuple[JointLog, Motion, Array, float, Delay]:
    """The recording with its torque in time with the motion; by how much it was late [s], and what it still seems."""
    motion, settling = _sliding_motion(found, inertia)
    used, late = sliding_samples(motion, settling), 0.0
    rest = find_delay(motion, used)
    for _ in range(DELAY_ROUNDS):
        if abs(rest.late) < DELAY_STEP / motion.rate or not rest.sure:
            break
        late += rest.late
        found = put_right(found, rest.late)
        # a delay counts against the bands that show friction best
        motion, settling = _sliding_motion(found, inertia)
        motion = replace(motion, shifted=True)
        used = sliding_samples(motion, settling)
        rest = find_delay(motion, used)
    return found, motion, used, late, Delay() if abs(rest.late) < DELAY_STEP / motion.rate else rest


def _lag(found: JointLog, motion: Motion, used: Array, inertia: float | None) -> float:
    """Time constant of a filter in the torque's way, [s]; 0 if there is none that moves a fit out of its intervals.

    It shows best just after a reversal and in a wide band.
    """
    band = max(min(LAG_BAND, 0.2 * motion.rate), motion.bandwidth)
    wide = motion_at(pieces_of(found, motion.tick), band, motion.tick, motion.source)
    lag = find_lag(wide, sliding_samples(wide))
    return (
        lag
        if lag and harm_of_lag(motion, fit_sliding(motion, Terms(inertia=inertia), used), lag) > 1.0
        else 0.0
    )


def _sliding_motion(found: JointLog, inertia: float | None) -> tuple[Motion, float]:
    """The motion in the best band, and the way after a rest or a reversal before the joint slides, [rad].

    What happens on that way counts against wide bands, which show it best, so the band is chosen
    again without it.
    """
    motion = best_motion(found, uncertainty)
    settling = _settling(motion, inertia)
    if settling > 0.0:
        motion = best_motion(found, lambda one: uncertainty(one, settling))
        settling = _settling(motion, inertia)
    return motion, settling


def _settling(motion: Motion, inertia: float | None) -> float:
    """Way after a rest or a reversal over which a joint that gives before it slides is off every sliding curve, [rad].

    A coarse encoder hides that way anyhow. A fine one shows it, and as part of the sliding curve it
    would bend the peak. As long as the error stands out there, its worst part is left out and the
    curve is fitted anew.
    """
    way, used, settling = travelled(motion), sliding_samples(motion), 0.0
    most = 0.5 * np.count_nonzero(used)
    ways = SETTLE_WAYS * float(way[used].max())
    for _ in range(SETTLE_ROUNDS):
        squares = (
            fit_sliding(motion, Terms(stribeck=True, shape=None, inertia=inertia), used).residual[
                used
            ]
            ** 2
        )
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


def _without_spikes(found: JointLog) -> tuple[JointLog, int]:
    """Single samples of torque that no joint produces are replaced by the median of their neighbours."""
    middle = median_filter(found.torque, 5, mode="nearest")
    away = np.abs(found.torque - middle)
    limit = max(SPIKE * 1.4826 * float(np.median(away)), float(np.sqrt(np.mean(middle**2))))
    near = np.maximum(
        np.abs(np.roll(found.torque, 1) - middle), np.abs(np.roll(found.torque, -1) - middle)
    )
    wrong = (away > limit) & (near < 0.25 * limit)  # a step has a far neighbour too
    return replace(found, torque=np.where(wrong, middle, found.torque)), int(
        np.count_nonzero(wrong)
    )


def _signed(found: JointLog, inertia: float | None) -> JointLog:
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


def _resigned(
    found: JointLog, size: Array, like: Array, inertia: float | None
) -> tuple[float, JointLog]:
    """Give the torque a sign, fit, give it the sign that the fit predicts, and so on; what is left, and the torque."""
    left = np.inf
    for _ in range(SIGN_ROUNDS):
        found = replace(found, torque=np.where(like < 0.0, -size, size))
        motion = best_motion(found, uncertainty)
        first = fit_sliding(motion, Terms(inertia=inertia), sliding_samples(motion))
        left = first.rms / float(np.sqrt(np.mean(motion.torque**2)))
        like = np.interp(found.time, motion.time, predicted(motion, first))
    return left, found
