"""How a joint moved: position, velocity and acceleration on one even grid, from encoder ticks, without phase lag.

The drive's own velocity is often a difference of ticks, useless at low speed. Here the position
between two tick changes is a straight line (a change tells where the joint is far better than a
reading does), and a Gaussian kernel smooths it. The same kernel smooths the torque, so that inertia
and friction meet it with equal delay. Its width is found from the data: the band in which they tell
most about friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog

Array = np.ndarray

WIDTH = 0.1325
"""Standard deviation of a Gaussian kernel times the frequency that it passes at 1/√2, [-]."""

PER_CUTOFF = 16.0
"""Samples kept per period of the cut-off frequency."""

PER_BIN = 64.0
"""Samples per period of the cut-off frequency before smoothing; more are averaged."""

REST = 0.25
"""A joint that takes longer from tick to tick counts as being at rest, [s]."""

REACH = 4.0
"""Kernel widths beyond which the kernel is cut off."""

GAP = 20.0
"""A pause of this many sample times splits a recording in two pieces."""

SHORTEST = 0.3
"""A piece must last this long to be used, [s]."""

BANDS = np.array([0.7, 1.0, 1.5, 2.2, 3.3, 5.0, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0, 70.0, 100.0])
"""Cut-off frequencies that are tried, [Hz]."""

MAX_VELOCITY_BLUR = 0.02
"""Largest share of the acceleration's variance that may be noise; more would make inertia look
smaller."""

SHARP = 8.0
"""Least cut-off frequency as a multiple of the motion's mean frequency: less would blur
reversals."""

COLUMN_SLACK = 1.5
"""The velocity column must be better than the position column by this factor to be preferred."""


@dataclass(frozen=True)
class Piece:
    """One stretch without a pause, on an even grid, as recorded."""

    time: Array
    position: Array
    velocity: Array
    torque: Array
    step: float


@dataclass(frozen=True)
class Motion:
    """How the joint moved, smoothed and thinned; pieces follow one another.

    Attributes:
        time: n [s].
        position: n [rad].
        velocity: n [rad/s].
        acceleration: n [rad/s²].
        torque: n [N·m], smoothed like the motion.
        piece: n, which piece each sample belongs to.
        step: of the grid, [s].
        bandwidth: cut-off of the smoothing, [Hz].
        slowest: speed below which the sign of the velocity is not known, [rad/s].
        tick: of the encoder, [rad]; 0 if there is none to see.
        source: ``"position"`` or ``"velocity"``, the column that the motion comes from.
        rate: of the recording, [Hz].
        haze: share of the acceleration's variance that is noise of the encoder, [-].
        shifted: whether the torque was moved in time by a delay that the data showed.
    """

    time: Array
    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    piece: Array
    step: float
    bandwidth: float
    slowest: float
    tick: float
    source: str
    rate: float
    haze: float = 0.0
    shifted: bool = False

    def __len__(self) -> int:
        return len(self.time)

    @property
    def width(self) -> float:
        """Standard deviation of the kernel, [s]."""
        return WIDTH / self.bandwidth

    @property
    def frequency(self) -> float:
        """Mean frequency of the motion, [Hz]."""
        return float(
            np.std(self.acceleration) / (2.0 * np.pi * np.sqrt(np.mean(self.velocity**2)) + 1e-30)
        )

    def smooth(self, columns: Array) -> Array:
        """Smooth columns (n × m or n) with the kernel that smoothed the torque, piece by piece."""
        out = np.empty_like(columns, dtype=float)
        for number in range(int(self.piece[-1]) + 1):
            rows = self.piece == number
            out[rows] = gaussian_filter1d(
                columns[rows], self.width / self.step, axis=0, mode="nearest"
            )
        return out


def find_tick(position: Array) -> float:
    """The encoder's step, [rad], or 0 if positions do not lie on a grid that the motion can feel."""
    levels = np.unique(position)
    if len(levels) < 3:
        return float(np.ptp(levels))
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-9 * np.ptp(levels)]
    tick = float(np.median(gaps[gaps < 1.5 * np.quantile(gaps, 0.02)]))
    span = levels - levels[0]
    # rounded files give the step only to a few digits: count steps over a longer and longer way
    for _ in range(3):
        near = span[span < 1e3 * tick] if _ == 0 else span
        counts = np.round(near / tick)
        tick = float((near @ counts) / max(counts @ counts, 1.0))
        if tick == 0.0:
            return 0.0
    off = np.abs(span / tick - np.round(span / tick))
    fits = np.quantile(off, 0.95) < 0.1 and np.ptp(levels) < 1e7 * tick
    return tick if fits else 0.0


def unwrapped(found: JointLog) -> tuple[JointLog, bool]:
    """The recording with full turns put back, where the position column jumps by one."""
    jumps = np.abs(np.diff(found.position)) > 1.7 * np.pi
    smooth = np.unwrap(found.position)
    near = np.diff(found.time) < GAP * found.step  # over a pause the joint may have gone anywhere
    if not jumps[near].any() or np.abs(np.diff(smooth))[near].max() > 1.5:
        return found, False
    return replace(found, position=smooth), True


def pieces_of(found: JointLog, tick: float) -> list[Piece]:
    """Stretches without a pause, each on an even grid.

    Raises:
        BadValue: none is long enough.
    """
    step = found.step
    cuts = np.flatnonzero(np.diff(found.time) > max(GAP * step, 0.05)) + 1
    pieces = []
    for rows in np.split(np.arange(len(found)), cuts):
        time = found.time[rows]
        if len(rows) < 20 or time[-1] - time[0] < SHORTEST:
            continue
        grid = np.arange(time[0], time[-1], step)
        position = _between_ticks(time, found.position[rows], grid, tick)
        velocity, torque = (
            np.interp(grid, time, column[rows]) for column in (found.velocity, found.torque)
        )
        pieces.append(Piece(grid, position, velocity, torque, step))
    if not pieces:
        raise BadValue(
            f"{found.name} has no stretch of {SHORTEST:g} s without a pause; log one longer run"
        )
    return pieces


def _between_ticks(time: Array, position: Array, grid: Array, tick: float) -> Array:
    """Position on the grid: a straight line from tick change to tick change."""
    changes = np.flatnonzero(np.diff(position))
    if tick == 0.0 or len(changes) < 2:
        return np.interp(grid, time, position)
    at = 0.5 * (time[changes] + time[changes + 1])
    where = 0.5 * (position[changes] + position[changes + 1])
    begin = _beyond(at[:2], where[:2], time[0], tick)
    end = _beyond(at[:-3:-1], where[:-3:-1], time[-1], tick)
    return np.interp(grid, [time[0], *at, time[-1]], [begin, *where, end])


def _beyond(at: Array, where: Array, end: float, tick: float) -> float:
    """Where the joint is at the end of the log: it goes on as before, but by less than a tick."""
    way = (where[0] - where[1]) / (at[0] - at[1]) * (end - at[0])
    return float(where[0] + np.clip(way, -0.5 * tick, 0.5 * tick))


def motion_at(pieces: list[Piece], bandwidth: float, tick: float, source: str) -> Motion:
    """Smooth every piece with the kernel of that cut-off and keep as many samples as it leaves information.

    Args:
        pieces: of the recording.
        bandwidth: cut-off, [Hz].
        tick: of the encoder, [rad].
        source: column that the motion is taken from.
    """
    columns: list[list[Array]] = []
    for k, piece in enumerate(pieces):
        coarse = _binned(piece, max(1, int(1.0 / (piece.step * PER_BIN * bandwidth))))
        width = WIDTH / bandwidth / coarse.step  # [samples]
        # the joint may be moving when the log begins, and beyond it nothing is known
        edge = int(REACH * width) + 1
        rows = slice(
            edge, len(coarse.time) - edge, max(1, int(1.0 / (coarse.step * PER_CUTOFF * bandwidth)))
        )
        if len(coarse.time[rows]) < 8:
            continue
        v = _speed(coarse, width, source)
        torque = gaussian_filter1d(coarse.torque, width, mode="nearest", truncate=REACH)
        signals = (coarse.time, coarse.position, v, np.gradient(v, coarse.step), torque)
        columns.append([s[rows] for s in signals] + [np.full(len(coarse.time[rows]), float(k))])
    if not columns:
        raise BadValue("the recording is too short for its encoder; log a longer run")
    time, position, v, acceleration, torque, number = (
        np.concatenate(parts) for parts in zip(*columns, strict=True)
    )
    numbers = np.unique(number, return_inverse=True)[1]
    noise = _noise(pieces, bandwidth, tick, source)
    fastest = float(np.abs(v).max())
    slowest = max(4.0 * noise, tick / REST if source == "position" else 0.0, 1e-3 * fastest)
    haze = (noise * np.sqrt(1.5) * bandwidth / WIDTH) ** 2 / max(float(np.var(acceleration)), 1e-30)
    step = float(np.median(np.diff(time)))
    rate = 1.0 / pieces[0].step
    return Motion(
        time,
        position,
        v,
        acceleration,
        torque,
        numbers,
        step,
        bandwidth,
        slowest,
        tick,
        source,
        rate,
        haze,
    )


def _binned(piece: Piece, count: int) -> Piece:
    """Means of ``count`` samples each: a narrow band needs no more, and wide kernels are slow."""
    if count == 1:
        return piece
    whole = len(piece.time) // count * count
    signals = np.stack([piece.time, piece.position, piece.velocity, piece.torque])[:, :whole]
    time, position, velocity, torque = signals.reshape(4, -1, count).mean(axis=2)
    return Piece(time, position, velocity, torque, piece.step * count)


def _noise(pieces: list[Piece], bandwidth: float, tick: float, source: str) -> float:
    """Standard deviation of the smoothed velocity, [rad/s]."""
    step = pieces[0].step
    width = WIDTH / bandwidth / step
    if source == "position":
        return tick / np.sqrt(12.0) * _rate_gain(width, step)
    rough = np.concatenate([np.diff(p.velocity, 2) for p in pieces])
    return float(np.sqrt(np.mean(rough**2) / 6.0) / np.sqrt(2.0 * np.sqrt(np.pi) * width))


def _speed(piece: Piece, width: float, source: str) -> Array:
    if source == "velocity":
        return gaussian_filter1d(piece.velocity, width, mode="nearest")
    slope = (
        gaussian_filter1d(piece.position, width, order=1, mode="nearest", truncate=REACH)
        / piece.step
    )
    return slope / _slope_gain(width)


def _slope_gain(width: float) -> float:
    """What the derivative's kernel makes of a straight line of slope 1: cut off at :data:`REACH`, a little less."""
    x = np.arange(-int(REACH * width + 0.5), int(REACH * width + 0.5) + 1)
    weight = np.exp(-0.5 * (x / width) ** 2)
    return float((weight @ x**2) / weight.sum() / width**2)


def _rate_gain(width: float, step: float) -> float:
    """Deviation of the velocity per deviation of independent position readings, [1/s]."""
    return float(np.sqrt(1.0 / (4.0 * np.sqrt(np.pi) * width**3)) / step)


def _is_difference(found: JointLog) -> bool:
    """Whether the velocity column is but the difference of the position column."""
    ahead = np.diff(found.position) / np.diff(found.time)
    size = float(np.sqrt(np.mean(ahead**2)))
    return any(
        np.sqrt(np.mean((v - ahead) ** 2)) < 0.02 * size
        for v in (found.velocity[1:], found.velocity[:-1])
    )


def best_motion(found: JointLog, uncertainty: Callable[[Motion], float]) -> Motion:
    """The motion in the band, and from the column, that tell most about friction.

    Args:
        found: what was recorded.
        uncertainty: of what a motion is wanted for; the smallest wins.

    Raises:
        BadValue: the joint hardly moves.
    """
    tick = find_tick(found.position)
    pieces = pieces_of(found, tick)
    longest = max(p.time[-1] - p.time[0] for p in pieces)
    bands = [b for b in BANDS if 2.0 / longest <= b <= 0.2 / pieces[0].step] or [
        0.1 / pieces[0].step
    ]
    sources = [s for s in ("position", "velocity") if np.ptp(getattr(found, s)) > 0.0]
    if len(sources) == 2 and _is_difference(found):
        sources = ["position"]
    best: dict[str, tuple[float, Motion]] = {}
    for source in sources:
        motions = [motion_at(pieces, band, tick, source) for band in bands]
        clear = [m for m in motions if m.haze < MAX_VELOCITY_BLUR] or motions[:1]
        clear = [m for m in clear if m.bandwidth > SHARP * m.frequency] or clear[-1:]
        scores = [uncertainty(motion) for motion in clear]
        best[source] = min(scores), clear[int(np.argmin(scores))]
    source = min(
        best, key=lambda name: best[name][0] * (COLUMN_SLACK if name == "velocity" else 1.0)
    )
    if not np.isfinite(best[source][0]):
        raise BadValue(
            f"{found.name}: the joint is at rest nearly all the time; log a run in which it moves"
        )
    return best[source][1]
