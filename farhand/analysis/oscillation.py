"""Oscillation: whether a run shook, how fast and how far, from its signals.

Faster than about 1.3 Hz, an even swing that keeps its size is a loop's: hands do not work so. A
slower one may be meant, so it counts only where it is known what the hand was asked to do, that
does not swing so, and a tool does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.analysis.history import History

Array = np.ndarray

WINDOWS = (3.0, 2.0, 1.0)  # [s]
SLOW_WINDOWS = (6.0, 12.0)
"""Looked at where the others hold nothing, for loops with a long delay: periods up to 3 s, [s]."""

FEWEST = 4
"""Whole periods that a window has to hold; slower motions are somebody's intention."""

UNEVEN = 0.35
"""Largest spread of the periods, as a share of their mean: shaking is regular, a hand's work is
not, [-]."""

FADING = 0.7
"""Share of its amplitude that an oscillation must keep over half a window to count as sustained,
[-]."""

MOVED = 0.25
"""Share of an error's oscillation that a tool has to make itself: an error alone swings where
packets jitter, [-]."""

BAND = 0.25
"""Share of its amplitude by which a slow swing has to pass zero to have crossed it: noise alone
crosses it too. Fast
windows do without: that irregular motions cross it at every turn is what tells them from shaking
there, [-]."""

THRESHOLDS = {"tracking error": 1e-3, "contact force": 2.0}  # [m], [N]


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


IntendedMotion = Callable[[Array], Array]
"""Where a hand was asked to be at given times [s], one row of [m] for each; only how it changes
matters."""


def oscillation(
    history: History,
    contact: str = "follower",
    asked: IntendedMotion | None = None,
    driven: str = "leader",
) -> Oscillation | None:
    """The strongest sustained oscillation of a run relative to its threshold, or None.

    Args:
        history: signals of the run.
        contact: the station that touches something.
        asked: what the hand was asked to do; where that is not known, slow oscillations are not
            looked for.
        driven: the station whose tool the hand holds.
    """
    signals = [
        ("tracking error", history.times("coupling"), history.signal("coupling", "error")[:, :3]),
        (
            "contact force",
            history.times(contact),
            history.signal(contact, "wrench_measured_in_world")[:, :3],
        ),
    ]
    columns = [(name, times, column) for name, times, values in signals for column in values.T]
    hits = [find(*column) for column in columns]
    found = [
        hit
        for hit in hits
        if hit is not None and (hit.signal != "tracking error" or _is_moved(history, hit))
    ]
    if not found and asked is not None:
        slow = [find(*column, SLOW_WINDOWS, BAND) for column in columns]
        found = [
            hit
            for hit in slow
            if hit and _is_moved(history, hit) and not _is_meant(history, hit, asked, driven)
        ]
    return max(found, key=lambda hit: hit.amplitude / THRESHOLDS[hit.signal], default=None)


def find(
    name: str, times: Array, values: Array, windows: tuple[float, ...] = WINDOWS, band: float = 0.0
) -> Oscillation | None:
    """The last window of one signal that oscillates, or None.

    Args:
        name: a key of :data:`THRESHOLDS`.
        times: [s].
        values: [m] or [N].
        windows: lengths, in the order in which they are looked at, [s].
        band: as :data:`BAND`, [-].
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


def _is_moved(history: History, hit: Oscillation) -> bool:
    """Whether a tool moves as the error does; with a force, by as much as would count for an error."""
    size = hit.amplitude if hit.signal == "tracking error" else THRESHOLDS["tracking error"]
    return any(_tool_swing(history, hit, tool) > MOVED * size for tool in ("leader", "follower"))


def _is_meant(history: History, hit: Oscillation, asked: IntendedMotion, driven: str) -> bool:
    """Whether the hand was asked to swing like that, by more than a small share of what its tool does."""
    times = history.times(driven)
    times = times[(times >= hit.start) & (times <= hit.end)]
    return swing_at(hit, times, asked(times)) > MOVED * _tool_swing(history, hit, driven)


def _tool_swing(history: History, hit: Oscillation, tool: str) -> float:
    return swing_at(hit, history.times(tool), history.signal(tool, "position_tool_in_world"))


def swing_at(hit: Oscillation, times: Array, values: Array) -> float:
    """Amplitude of a signal's rows at the frequency and in the window of an oscillation.

    Args:
        hit: the oscillation.
        times: [s].
        values: one row per time.
    """
    inside = (times >= hit.start) & (times <= hit.end)
    if inside.sum() < 4 * FEWEST:
        return 0.0
    since = times[inside] - hit.start
    swing = _swing(since, values[inside])
    weight = np.hanning(len(since))[:, None]
    wave = np.exp(-2j * np.pi * hit.frequency * since)[:, None]
    return float(np.linalg.norm(2.0 * (weight * swing * wave).sum(axis=0) / weight.sum()))


def _swing(since: Array, values: Array) -> Array:
    """What is left of values over time [s] beside a parabola, as a hand's way is one for a while."""
    parabola = np.vander(since, 3)
    return values - parabola @ np.linalg.lstsq(parabola, values, rcond=None)[0]


def _judge(name: str, times: Array, values: Array, band: float) -> Oscillation | None:
    if len(times) < 4 * FEWEST:
        return None
    swing = _swing(times - times[0], values)
    half = len(swing) // 2
    first, second = (float(np.sqrt(2.0) * part.std()) for part in (swing[:half], swing[half:]))
    ups = _ups(swing, band * second)
    if len(ups) <= FEWEST:
        return None
    periods = np.diff(times[ups])
    if periods.std() > UNEVEN * periods.mean() or second < max(FADING * first, THRESHOLDS[name]):
        return None
    return Oscillation(name, float(times[0]), float(times[-1]), float(1.0 / periods.mean()), second)


def _ups(swing: Array, band: float) -> Array:
    """Where values come to ``band`` or above after they were below its opposite."""
    clear = np.flatnonzero((swing >= band) | (swing < -band))
    above = swing[clear] >= band
    return clear[1:][above[1:] & ~above[:-1]]
