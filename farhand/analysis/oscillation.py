"""Oscillation: whether a run shook, how fast and how far, from its signals.

Faster than about 1.3 Hz, an even swing that keeps its size comes from a loop: hands do not move
like that. A slower one may be intended, so it counts only where the intended motion of the hand is
known and does not swing like that, and a tool does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Array = np.ndarray

WINDOWS_S = (3.0, 2.0, 1.0)

SLOW_WINDOWS_S = (6.0, 12.0)
"""Tried if the others find nothing, for loops with a long delay: periods up to 3 s."""

MIN_PERIODS = 4
"""Whole periods that a window must hold; slower motions are intended."""

MAX_PERIOD_SPREAD = 0.35
"""Largest spread of the periods over their mean: shaking is regular, a hand's work is not, [-]."""

MIN_SUSTAINED = 0.7
"""Share of its amplitude that a sustained oscillation keeps over half a window, and over 1.5 s if
the window is shorter: a contact that settles within seconds is not shaking, [-]."""

MIN_TOOL_SHARE = 0.25
"""Share of an error's oscillation that a tool itself makes: packet jitter moves the error only."""

CROSSING_BAND = 0.25
"""Share of its amplitude by which a slow swing must pass zero to cross it, against noise. Fast
windows have none: irregular motions cross zero at every turn there, unlike shaking, [-]."""

THRESHOLDS = {"tracking error": 1e-3, "tool's place": 1e-3, "contact force": 2.0}  # [m], [N]


@dataclass(frozen=True)
class Oscillation:
    """A sustained oscillation."""

    signal: str  #: what oscillates, a key of :data:`THRESHOLDS`
    start: float  #: of the window in which it was found, [s]
    end: float  #: of that window, [s]
    frequency: float  #: [Hz]
    amplitude: float  #: [m] or [N]

    def __str__(self) -> str:
        """In words."""
        force = self.signal == "contact force"
        size = f"{self.amplitude:.2g} N" if force else f"{1e3 * self.amplitude:.2g} mm"
        pace = f"{self.frequency:.0f}" if self.frequency >= 10.0 else f"{self.frequency:.2g}"
        return f"the {self.signal} oscillates by ±{size} at {pace} Hz from {self.start:.1f} s"


class Signals(Protocol):
    """Signals of a run; :class:`farhand.analysis.history.History` has them all."""

    def times(self, stream: str) -> Array:
        """Times of the records of a stream, [s]."""

    def signal(self, stream: str, channel: str) -> Array:
        """Values of a channel, one row per record."""


IntendedMotion = Callable[[Array], Array]
"""Intended position of a hand at given times [s], one row of [m] each; only changes matter."""


def oscillation(
    history: Signals,
    contact: str = "follower",
    intended: IntendedMotion | None = None,
    driven: str = "leader",
    joints: bool = False,
) -> Oscillation | None:
    """The strongest sustained oscillation of a run relative to its threshold, or None.

    Args:
        history: signals of the run.
        contact: the station that touches something.
        intended: motion of the hand; without it, slow oscillations are not searched.
        driven: the station whose tool the hand holds.
        joints: whether joints are coupled: their error is none of tools, so the tools' motion
            itself is searched.
    """
    force = history.signal(contact, "wrench_measured_in_world")[:, :3]
    columns = []
    if joints:
        for tool in ("leader", "follower"):
            place = history.signal(tool, "position_tool_in_world")
            columns += [("tool's place", history.times(tool), column) for column in place.T]
    else:
        error = history.signal("coupling", "error")[:, :3]
        columns = [("tracking error", history.times("coupling"), column) for column in error.T]
    columns += [("contact force", history.times(contact), column) for column in force.T]
    fast = filter(None, (find(*column) for column in columns))
    hits = [hit for hit in fast if hit.signal != "tracking error" or _is_moved(history, hit)]
    if not hits and intended is not None:
        slow = filter(None, (find(*column, SLOW_WINDOWS_S, CROSSING_BAND) for column in columns))
        moved = [hit for hit in slow if _is_moved(history, hit)]
        hits = [hit for hit in moved if not _is_meant(history, hit, intended, driven)]
    return max(hits, key=lambda hit: hit.amplitude / THRESHOLDS[hit.signal], default=None)


def find(
    name: str,
    times: Array,
    values: Array,
    windows: tuple[float, ...] = WINDOWS_S,
    band: float = 0.0,
) -> Oscillation | None:
    """The last window of one signal that oscillates, or None.

    Args:
        name: a key of :data:`THRESHOLDS`.
        times: [s].
        values: [m] or [N].
        windows: lengths, in the order in which they are tried, [s].
        band: as :data:`CROSSING_BAND`, [-].
    """
    if len(times) < 2 or not np.isfinite(values).all():
        return None
    for window in windows:
        for start in np.arange(times[-1] - window, times[0] - 1e-9, -0.25 * window):
            inside = (times >= start) & (times <= start + window)
            hit = _judge(name, times[inside], values[inside], band)
            if hit is not None:
                return hit
    return None


def _is_moved(history: Signals, hit: Oscillation) -> bool:
    """Whether a tool moves like the error; with a force, by as much as counts for an error."""
    size = hit.amplitude if hit.signal != "contact force" else THRESHOLDS["tracking error"]
    return any(
        _tool_swing(history, hit, tool) > MIN_TOOL_SHARE * size for tool in ("leader", "follower")
    )


def _is_meant(history: Signals, hit: Oscillation, intended: IntendedMotion, driven: str) -> bool:
    """Whether the intended motion swings likewise, by more than a small share of its tool."""
    times = history.times(driven)
    times = times[(times >= hit.start) & (times <= hit.end)]
    return swing_at(hit, times, intended(times)) > MIN_TOOL_SHARE * _tool_swing(
        history, hit, driven
    )


def _tool_swing(history: Signals, hit: Oscillation, tool: str) -> float:
    return swing_at(hit, history.times(tool), history.signal(tool, "position_tool_in_world"))


def swing_at(hit: Oscillation, times: Array, values: Array) -> float:
    """Amplitude of a signal's rows at the frequency and in the window of an oscillation."""
    inside = (times >= hit.start) & (times <= hit.end)
    if inside.sum() < 4 * MIN_PERIODS:
        return 0.0
    since = times[inside] - hit.start
    swing = _swing(since, values[inside])
    weight = np.hanning(len(since))[:, None]
    wave = np.exp(-2j * np.pi * hit.frequency * since)[:, None]
    return float(np.linalg.norm(2.0 * (weight * swing * wave).sum(axis=0) / weight.sum()))


def _swing(since: Array, values: Array) -> Array:
    """Values over time [s] without a parabola, which a hand's motion resembles for a while."""
    parabola = np.vander(since, 3)
    return values - parabola @ np.linalg.lstsq(parabola, values, rcond=None)[0]


def _judge(name: str, times: Array, values: Array, band: float) -> Oscillation | None:
    if len(times) < 4 * MIN_PERIODS:
        return None
    swing = _swing(times - times[0], values)
    half = len(swing) // 2
    first, second = (float(np.sqrt(2.0) * part.std()) for part in (swing[:half], swing[half:]))
    ups = _ups(swing, band * second)
    if len(ups) <= MIN_PERIODS:
        return None
    periods = np.diff(times[ups])
    if periods.std() > MAX_PERIOD_SPREAD * periods.mean():
        return None
    kept = MIN_SUSTAINED ** min(1.0, (times[-1] - times[0]) / WINDOWS_S[0])
    if second < max(kept * first, THRESHOLDS[name]):
        return None
    return Oscillation(name, float(times[0]), float(times[-1]), float(1.0 / periods.mean()), second)


def _ups(swing: Array, band: float) -> Array:
    """Where values come to ``band`` or above after they were below its opposite."""
    clear = np.flatnonzero((swing >= band) | (swing < -band))
    above = swing[clear] >= band
    return clear[1:][above[1:] & ~above[:-1]]
