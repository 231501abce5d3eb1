"""Oscillation: whether a run shook, how fast and how far, from its signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.analysis.history import History

Array = np.ndarray

WINDOWS = (3.0, 2.0, 1.0)  # [s]
FEWEST = 4
"""Whole periods that a window has to hold; slower motions are somebody's intention."""

UNEVEN = 0.35
"""Largest spread of the periods, as a share of their mean: shaking is regular, a hand's work is not, [-]."""

FADING = 0.7
"""Share of its amplitude that an oscillation must keep over half a window to count as sustained, [-]."""

MOVED = 0.25
"""Share of an error's oscillation that a tool has to make itself: an error alone swings where packets jitter, [-]."""

THRESHOLDS = {"tracking error": 1e-3, "contact force": 2.0}  # [m], [N]


@dataclass(frozen=True)
class Oscillation:
    """A sustained oscillation.

    Attributes:
        signal: what oscillates, a key of :data:`THRESHOLDS`.
        start: of the window in which it was found, [s].
        end: of that window, [s].
        frequency: [Hz].
        amplitude: [m] or [N].
    """

    signal: str
    start: float
    end: float
    frequency: float
    amplitude: float

    def __str__(self) -> str:
        """In words."""
        force = self.signal == "contact force"
        size = f"{self.amplitude:.2g} N" if force else f"{1e3 * self.amplitude:.2g} mm"
        pace = f"{self.frequency:.0f}" if self.frequency >= 10.0 else f"{self.frequency:.2g}"
        return f"the {self.signal} oscillates by ±{size} at {pace} Hz from {self.start:.1f} s"


def oscillation(history: History, contact: str = "follower") -> Oscillation | None:
    """The strongest sustained oscillation of a run relative to its threshold, or None.

    Args:
        history: signals of the run.
        contact: the station that touches something.
    """
    signals = [
        ("tracking error", history.times("coupling"), history.signal("coupling", "error")[:, :3]),
        ("contact force", history.times(contact), history.signal(contact, "wrench_measured_in_world")[:, :3]),
    ]
    hits = [find(name, times, column) for name, times, values in signals for column in values.T]
    found = [hit for hit in hits if hit is not None and (hit.signal != "tracking error" or _is_moved(history, hit))]
    return max(found, key=lambda hit: hit.amplitude / THRESHOLDS[hit.signal], default=None)


def find(name: str, times: Array, values: Array) -> Oscillation | None:
    """The last window of one signal that oscillates, or None.

    Args:
        name: a key of :data:`THRESHOLDS`.
        times: [s].
        values: [m] or [N].
    """
    if len(times) < 2 or not np.isfinite(values).all():
        return None
    for window in WINDOWS:
        for start in np.arange(times[-1] - window, times[0] - 1e-9, -0.25 * window):
            inside = (times >= start) & (times <= start + window)
            hit = _judge(name, times[inside], values[inside])
            if hit is not None:
                return hit
    return None


def _is_moved(history: History, hit: Oscillation) -> bool:
    """Whether a tool moves as the error does."""
    return any(
        swing_at(hit, history.times(tool), history.signal(tool, "position_tool_in_world")) > MOVED * hit.amplitude
        for tool in ("leader", "follower")
    )


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


def _judge(name: str, times: Array, values: Array) -> Oscillation | None:
    if len(times) < 4 * FEWEST:
        return None
    swing = _swing(times - times[0], values)
    ups = np.flatnonzero((swing[:-1] < 0.0) & (swing[1:] >= 0.0))
    if len(ups) <= FEWEST:
        return None
    periods, half = np.diff(times[ups]), len(swing) // 2
    first, second = (float(np.sqrt(2.0) * part.std()) for part in (swing[:half], swing[half:]))
    if periods.std() > UNEVEN * periods.mean() or second < max(FADING * first, THRESHOLDS[name]):
        return None
    return Oscillation(name, float(times[0]), float(times[-1]), float(1.0 / periods.mean()), second)
