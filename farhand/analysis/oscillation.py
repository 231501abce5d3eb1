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

THRESHOLDS = {"tracking error": 1e-3, "contact force": 2.0}  # [m], [N]


@dataclass(frozen=True)
class Oscillation:
    """A sustained oscillation.

    Attributes:
        signal: what oscillates, a key of :data:`THRESHOLDS`.
        start: of the window in which it was found, [s].
        frequency: [Hz].
        amplitude: [m] or [N].
    """

    signal: str
    start: float
    frequency: float
    amplitude: float

    def __str__(self) -> str:
        """In words."""
        force = self.signal == "contact force"
        size = f"{self.amplitude:.2g} N" if force else f"{1e3 * self.amplitude:.2g} mm"
        return f"the {self.signal} oscillates by ±{size} at {self.frequency:.2g} Hz from {self.start:.1f} s"


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
    found = [
        hit for name, times, values in signals for column in values.T if (hit := find(name, times, column)) is not None
    ]
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


def _judge(name: str, times: Array, values: Array) -> Oscillation | None:
    if len(times) < 4 * FEWEST:
        return None
    swing = values - np.polyval(np.polyfit(times - times[0], values, 2), times - times[0])
    ups = np.flatnonzero((swing[:-1] < 0.0) & (swing[1:] >= 0.0))
    if len(ups) <= FEWEST:
        return None
    periods, half = np.diff(times[ups]), len(swing) // 2
    first, second = (float(np.sqrt(2.0) * part.std()) for part in (swing[:half], swing[half:]))
    if periods.std() > UNEVEN * periods.mean() or second < max(FADING * first, THRESHOLDS[name]):
        return None
    return Oscillation(name, float(times[0]), float(1.0 / periods.mean()), second)
