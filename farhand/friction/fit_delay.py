"""Torque logged later or earlier than the motion: by how much, and whether that is all that is wrong with its times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from farhand.friction.fit_data import FEWEST, Recording
from farhand.friction.fit_motion import GAP, Motion
from farhand.friction.fit_static import Sliding, columns, free_columns, travelled

Array = np.ndarray

SHOWN = 0.9
"""A delay or a lag must bring the residual variance down to this share to count."""

FURTHEST = 0.1
"""Delays that are looked for, [s]; chosen: no logger that is of use is further behind."""

THINNED = 4000
"""Samples with which delays are compared; all of them polish the best."""

LAGS = np.geomspace(4e-3, 6e-2, 9)
"""Time constants of a filter in the torque's way that are tried, [s]; chosen, as :data:`FURTHEST`."""


WATCHED = ("viscous", "inertia")
"""What a torque out of step with the motion gets wrong: its parts along the velocity and the acceleration."""

ALWAYS = 2.0
"""Samples by which any logger may be late: such a delay counts even if it shows only where the joint turns round."""


@dataclass(frozen=True)
class Delay:
    """What the times of the torque look like beside those of the motion.

    Attributes:
        late: how much later the torque is, [s]; 0 if the data do not show it.
        sure: whether that is a delay; otherwise it may as well be a joint that gives before it slides.
        left: residual variance with it, [(N·m)²].
    """

    late: float = 0.0
    sure: bool = True
    left: float = 0.0


def find_delay(motion: Motion, used: Array) -> Delay:
    """Delay of the torque with which a curve of any shape, inertia and a load explain it best.

    A torque that is held from sample to sample, filtered by the drive or logged some cycles late turns inertia into
    viscous friction. The delay that leaves least is looked for over the whole range: with the wrong one, a joint that
    turns round has its dry friction on the wrong side, and a step from there may lead anywhere. A joint that gives
    before it slides looks late too, but only after it has turned round; a delay shows everywhere.

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

    Where the joint turns round, whatever blurs the motion looks like a filter, but like one run backwards too.
    """
    problem = _Shifted(motion, used)
    if len(problem.rows) < FEWEST // 2:
        return 0.0
    A = free_columns(motion)
    backwards = [problem.best(_lagged(A[::-1], motion, constant, False)[::-1])[1] for constant in LAGS]
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
    if fitted.terms.inertia is not None:  # known: it counts as one column with the torque's own coefficient
        A, names = np.column_stack([A, motion.acceleration]), [*names, "inertia"]
    found = []
    for made in (A, _lagged(A, motion, lag)):
        late = problem.best(made)[0]
        found.append(np.linalg.lstsq(made[problem.rows], problem.torque(late), rcond=1e-9)[0])
    moved = dict(zip(names, np.abs(found[1] - found[0]), strict=True))
    return max(float(moved[name]) / max(fitted.half(name), 1e-12) for name in WATCHED if name in fitted.values)


def put_right(found: Recording, late: float) -> Recording:
    """The recording with its torque taken ``late`` seconds earlier; where nothing was logged then, it is cut."""
    at = found.time + late
    after = np.clip(np.searchsorted(found.time, at), 1, len(found) - 1)
    known = (found.time[after] - found.time[after - 1] <= max(GAP * found.step, 0.05)) & (at >= found.time[0])
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
        pieces = [np.flatnonzero(motion.piece == number) for number in range(int(motion.piece[-1]) + 1)]
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
