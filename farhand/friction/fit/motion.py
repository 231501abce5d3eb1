"""Motion of a joint from encoder ticks: position, velocity, acceleration on an even grid, no lag.

The drive's own velocity is often a difference of ticks, useless at low speed. Here the position
between two tick changes is a straight line (a change locates the joint far better than a reading
does), and a Gaussian kernel smooths it. The same kernel smooths the torque, so that inertia and
friction meet it with equal delay. The width of the kernel is chosen from the data: the band that
shows most about friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog

Array = np.ndarray

KERNEL_WIDTH = 0.1325
"""Standard deviation of a Gaussian kernel times the frequency that it passes at 1/√2, [-]."""

KERNEL_REACH = 4.0
"""Kernel widths beyond which the kernel is cut off."""

SAMPLES_PER_CUTOFF = 16.0
"""Samples kept per period of the cut-off frequency."""

BINS_PER_CUTOFF = 64.0
"""Samples per period of the cut-off frequency before smoothing; more are averaged."""

REST_TICK_TIME_S = 0.25
"""A joint that takes longer from tick to tick counts as being at rest."""

PAUSE_STEPS = 20.0
"""A pause of this many sample times splits a recording in two pieces."""

MIN_PIECE_S = 0.3

BANDS_HZ = np.array([0.7, 1.0, 1.5, 2.2, 3.3, 5.0, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0, 70.0, 100.0])
"""Cut-off frequencies that are tried."""

MAX_NOISE_SHARE = 0.02
"""Largest share of the acceleration's variance that may be noise; more makes inertia look small."""

MIN_BAND_RATIO = 8.0
"""Smallest cut-off over the motion's mean frequency; less would blur reversals."""

VELOCITY_COLUMN_HANDICAP = 1.5
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
    """How the joint moved, smoothed and thinned; pieces follow one another."""

    time: Array  #: n [s]
    position: Array  #: n [rad]
    velocity: Array  #: n [rad/s]
    acceleration: Array  #: n [rad/s²]
    torque: Array  #: n [N·m], smoothed like the motion
    piece: Array  #: n, which piece each sample belongs to
    step: float  #: of the grid, [s]
    bandwidth: float  #: cut-off of the smoothing, [Hz]
    min_speed: float  #: speed below which the sign of the velocity is not known, [rad/s]
    tick: float  #: of the encoder, [rad]; 0 if there is none to see
    source: str  #: ``"position"`` or ``"velocity"``, the column that the motion comes from
    rate: float  #: of the recording, [Hz]
    noise_share: float = 0.0  #: share of the acceleration's variance that is encoder noise, [-]
    shifted: bool = False  #: whether the torque was moved in time by a delay that the data showed

    def __len__(self) -> int:
        return len(self.time)

    @property
    def width(self) -> float:
        """Standard deviation of the kernel, [s]."""
        return KERNEL_WIDTH / self.bandwidth

    @property
    def frequency(self) -> float:
        """Mean frequency of the motion, [Hz]."""
        rms = np.sqrt(np.mean(self.velocity**2))
        return float(np.std(self.acceleration) / (2.0 * np.pi * rms + 1e-30))

    def smooth(self, columns: Array) -> Array:
        """Smooth columns (n × m or n) with the kernel that smoothed the torque, piece by piece."""
        out = np.empty_like(columns, dtype=float)
        for number in range(int(self.piece[-1]) + 1):
            rows = self.piece == number
            width = self.width / self.step
            out[rows] = gaussian_filter1d(columns[rows], width, axis=0, mode="nearest")
        return out


def find_tick(position: Array) -> float:
    """The encoder's step, [rad], or 0 if positions do not lie on a grid that the motion shows."""
    levels = np.unique(position)
    if len(levels) < 3:
        return float(np.ptp(levels))
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-9 * np.ptp(levels)]
    tick = float(np.median(gaps[gaps < 1.5 * np.quantile(gaps, 0.02)]))
    span = levels - levels[0]
    # Rounded files give the step to a few digits only: count steps over a short way, then over all.
    for near in (span[span < 1e3 * tick], span, span):
        counts = np.round(near / tick)
        tick = float((near @ counts) / max(counts @ counts, 1.0))
        if tick == 0.0:
            return 0.0
    off = np.abs(span / tick - np.round(span / tick))
    fits = np.quantile(off, 0.95) < 0.1 and np.ptp(levels) < 1e7 * tick
    return tick if fits else 0.0


def unwrap_turns(log: JointLog) -> tuple[JointLog, bool]:
    """Restore full turns where the position column jumps by one; whether it did."""
    jumps = np.abs(np.diff(log.position)) > 1.7 * np.pi
    smooth = np.unwrap(log.position)
    # Over a pause the joint may have gone anywhere.
    near = np.diff(log.time) < PAUSE_STEPS * log.step
    if not jumps[near].any() or np.abs(np.diff(smooth))[near].max() > 1.5:
        return log, False
    return replace(log, position=smooth), True


def split_at_pauses(log: JointLog, tick: float) -> list[Piece]:
    """Stretches without a pause, each on an even grid.

    Raises:
        BadValue: none is long enough.
    """
    step = log.step
    cuts = np.flatnonzero(np.diff(log.time) > max(PAUSE_STEPS * step, 0.05)) + 1
    pieces = []
    for rows in np.split(np.arange(len(log)), cuts):
        time = log.time[rows]
        if len(rows) < 20 or time[-1] - time[0] < MIN_PIECE_S:
            continue
        grid = np.arange(time[0], time[-1], step)
        position = _between_ticks(time, log.position[rows], grid, tick)
        velocity = np.interp(grid, time, log.velocity[rows])
        torque = np.interp(grid, time, log.torque[rows])
        pieces.append(Piece(grid, position, velocity, torque, step))
    if not pieces:
        raise BadValue(
            f"{log.name} has no stretch of {MIN_PIECE_S:g} s without a pause; log one longer run"
        )
    return pieces


def _between_ticks(time: Array, position: Array, grid: Array, tick: float) -> Array:
    """Position on the grid: a straight line from tick change to tick change."""
    changes = np.flatnonzero(np.diff(position))
    if tick == 0.0 or len(changes) < 2:
        return np.interp(grid, time, position)
    at = 0.5 * (time[changes] + time[changes + 1])
    where = 0.5 * (position[changes] + position[changes + 1])
    begin = _extrapolated(at[:2], where[:2], time[0], tick)
    end = _extrapolated(at[:-3:-1], where[:-3:-1], time[-1], tick)
    return np.interp(grid, [time[0], *at, time[-1]], [begin, *where, end])


def _extrapolated(at: Array, where: Array, end: float, tick: float) -> float:
    """Where the joint is at the end of the log: it goes on as before, but by less than a tick."""
    way = (where[0] - where[1]) / (at[0] - at[1]) * (end - at[0])
    return float(where[0] + np.clip(way, -0.5 * tick, 0.5 * tick))


def motion_at(pieces: list[Piece], bandwidth: float, tick: float, source: str) -> Motion:
    """Smooth every piece with the kernel of that cut-off; keep the samples that add information.

    Args:
        pieces: of the recording.
        bandwidth: cut-off, [Hz].
        tick: of the encoder, [rad].
        source: column that the motion is taken from.
    """
    columns: list[list[Array]] = []
    for k, piece in enumerate(pieces):
        coarse = _binned(piece, max(1, int(1.0 / (piece.step * BINS_PER_CUTOFF * bandwidth))))
        width = KERNEL_WIDTH / bandwidth / coarse.step  # [samples]
        # The joint may be moving when the log begins, and nothing is known of the time before.
        edge = int(KERNEL_REACH * width) + 1
        stride = max(1, int(1.0 / (coarse.step * SAMPLES_PER_CUTOFF * bandwidth)))
        rows = slice(edge, len(coarse.time) - edge, stride)
        if len(coarse.time[rows]) < 8:
            continue
        v = _speed(coarse, width, source)
        torque = gaussian_filter1d(coarse.torque, width, mode="nearest", truncate=KERNEL_REACH)
        signals = (coarse.time, coarse.position, v, np.gradient(v, coarse.step), torque)
        columns.append([s[rows] for s in signals] + [np.full(len(coarse.time[rows]), float(k))])
    if not columns:
        raise BadValue("the recording is too short for its encoder; log a longer run")
    joined = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    time, position, v, acceleration, torque, number = joined
    noise = _velocity_noise(pieces, bandwidth, tick, source)
    fastest = float(np.abs(v).max())
    tick_speed = tick / REST_TICK_TIME_S if source == "position" else 0.0
    acceleration_noise = noise * np.sqrt(1.5) * bandwidth / KERNEL_WIDTH
    return Motion(
        *(time, position, v, acceleration, torque),
        piece=np.unique(number, return_inverse=True)[1],
        step=float(np.median(np.diff(time))),
        bandwidth=bandwidth,
        min_speed=max(4.0 * noise, tick_speed, 1e-3 * fastest),
        tick=tick,
        source=source,
        rate=1.0 / pieces[0].step,
        noise_share=acceleration_noise**2 / max(float(np.var(acceleration)), 1e-30),
    )


def _binned(piece: Piece, count: int) -> Piece:
    """Means of ``count`` samples each: a narrow band needs no more, and wide kernels are slow."""
    if count == 1:
        return piece
    whole = len(piece.time) // count * count
    signals = np.stack([piece.time, piece.position, piece.velocity, piece.torque])[:, :whole]
    time, position, velocity, torque = signals.reshape(4, -1, count).mean(axis=2)
    return Piece(time, position, velocity, torque, piece.step * count)


def _velocity_noise(pieces: list[Piece], bandwidth: float, tick: float, source: str) -> float:
    step = pieces[0].step
    width = KERNEL_WIDTH / bandwidth / step
    if source == "position":
        # Deviation of the velocity per deviation of independent position readings, [1/s].
        gain = float(np.sqrt(1.0 / (4.0 * np.sqrt(np.pi) * width**3)) / step)
        return tick / np.sqrt(12.0) * gain
    rough = np.concatenate([np.diff(p.velocity, 2) for p in pieces])
    return float(np.sqrt(np.mean(rough**2) / 6.0) / np.sqrt(2.0 * np.sqrt(np.pi) * width))


def _speed(piece: Piece, width: float, source: str) -> Array:
    if source == "velocity":
        return gaussian_filter1d(piece.velocity, width, mode="nearest")
    kernel = {"order": 1, "mode": "nearest", "truncate": KERNEL_REACH}
    slope = gaussian_filter1d(piece.position, width, **kernel) / piece.step
    # The kernel is cut off, so it makes a little less than 1 of a straight line of slope 1.
    x = np.arange(-int(KERNEL_REACH * width + 0.5), int(KERNEL_REACH * width + 0.5) + 1)
    weight = np.exp(-0.5 * (x / width) ** 2)
    return slope / float((weight @ x**2) / weight.sum() / width**2)


def _is_difference(log: JointLog) -> bool:
    """Whether the velocity column is only the difference of the position column."""
    ahead = np.diff(log.position) / np.diff(log.time)
    size = float(np.sqrt(np.mean(ahead**2)))
    columns = (log.velocity[1:], log.velocity[:-1])
    return any(np.sqrt(np.mean((v - ahead) ** 2)) < 0.02 * size for v in columns)


def best_motion(log: JointLog, uncertainty: Callable[[Motion], float]) -> Motion:
    """The motion in the band, and from the column, with the least ``uncertainty``.

    Raises:
        BadValue: the joint hardly moves.
    """
    tick = find_tick(log.position)
    pieces = split_at_pauses(log, tick)
    longest = max(p.time[-1] - p.time[0] for p in pieces)
    step = pieces[0].step
    bands = [b for b in BANDS_HZ if 2.0 / longest <= b <= 0.2 / step] or [0.1 / step]
    columns = {"position": log.position, "velocity": log.velocity}
    sources = [name for name, column in columns.items() if np.ptp(column) > 0.0]
    if len(sources) == 2 and _is_difference(log):
        sources = ["position"]
    best: dict[str, tuple[float, Motion]] = {}
    for source in sources:
        motions = [motion_at(pieces, band, tick, source) for band in bands]
        clear = [m for m in motions if m.noise_share < MAX_NOISE_SHARE] or motions[:1]
        clear = [m for m in clear if m.bandwidth > MIN_BAND_RATIO * m.frequency] or clear[-1:]
        scores = [uncertainty(motion) for motion in clear]
        best[source] = min(scores), clear[int(np.argmin(scores))]
    factors = {"position": 1.0, "velocity": VELOCITY_COLUMN_HANDICAP}
    score, motion = best[min(best, key=lambda name: best[name][0] * factors[name])]
    if not np.isfinite(score):
        raise BadValue(
            f"{log.name}: the joint is at rest nearly all the time; log a run in which it moves"
        )
    return motion
