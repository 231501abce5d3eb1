"""Compensate a recording: remove bias, weight, heat and drift; standard deviations of the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from farhand.errors import UnknownName
from farhand.sensing.drift import UNLIKELY_DEVIATIONS, DriftTracker
from farhand.sensing.profile import AXES, UNITS, rotation_about_z
from farhand.sensing.readings import Readings
from farhand.sensing.tool import ToolCalibration

Array = np.ndarray

DRIFT = ("track", "none")
"""What to do about a drifting zero: follow it while nothing touches the tool, or leave it."""

LAGS_S = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Times over which a drift may prove too fast; chosen, from a push by hand to a slow one."""


@dataclass(frozen=True)
class Compensated:
    """A compensated recording: the wrench of the contact."""

    readings: Readings  #: compensated, in sensor axes about the sensor's origin and in its sign
    deviations: Array  #: n × 6 standard deviations of it, [N] and [N·m]
    drift: Array  #: n × 6, the drift that was removed, [N] and [N·m]
    contact: Array  #: n, whether a reading counted as contact (all False without tracking)
    yaw: float = 0.0  #: from the axes of the orientation to the sensor's, about z, [rad]
    tracked: bool = False  #: whether drift was followed and contact detected
    advice: tuple[str, ...] = ()  #: doubts about the drift, one line each; empty if none

    @property
    def wrench(self) -> Array:
        """N × 6, [N] and [N·m]."""
        return self.readings.wrench

    def wrench_in_base(self) -> Array:
        """The same in base axes, moments still about the sensor's origin."""
        axes = self.readings.rotations @ rotation_about_z(self.yaw)
        return np.matmul(self.wrench.reshape(-1, 2, 3), axes.transpose(0, 2, 1)).reshape(-1, 6)


def compensate(
    readings: Readings,
    tool: ToolCalibration,
    drift: str = "track",
    progress: Callable[[float], None] | None = None,
) -> Compensated:
    """Remove what the tool and the sensor itself add to a recording.

    Args:
        readings: of the sensor with this tool.
        tool: its calibration.
        drift: one of :data:`DRIFT`.
        progress: called with the share that is done, 0 to 1.

    Raises:
        UnknownName: no such way to treat drift.
    """
    if drift not in DRIFT:
        raise UnknownName("way to treat drift", drift, DRIFT)
    n, rest = len(readings), tool.unload(readings)
    tracking = drift == "track"
    variance = tool.variance(readings.up, bias=not tracking) + tool.noise**2
    variance += _thermal_variance(tool, readings)
    removed, contact = np.zeros((n, 6)), np.zeros(n, dtype=bool)
    advice: tuple[str, ...] = ()
    if tracking:
        removed, contact, uncertain, history = _follow(readings.time, rest, tool, progress)
        variance += uncertain
        advice = (*_gaps(readings.time, history.restarts), *_doubts(readings, tool, history))
    clean = replace(readings, wrench=rest - removed)
    deviations = np.sqrt(np.maximum(variance, 0.0))
    return Compensated(clean, deviations, removed, contact, tool.yaw, tracking, advice)


def _doubts(readings: Readings, tool: ToolCalibration, history: _DriftHistory) -> list[str]:
    """A line on where the removed drift is unlikely to be one.

    Either it is further from its start than :data:`~farhand.sensing.drift.UNLIKELY_DEVIATIONS` of
    what the tracker's model and the calibration predict, or it went, within one of :data:`LAGS_S`,
    further off its course than the tracker would have accepted as drift in one reading.
    """
    tracker, at = DriftTracker(tool.noise), np.array(history.at)
    time, state = readings.time[at], np.array(history.states)
    # Rows after the start and after every gap.
    first = np.searchsorted(at, [0, *history.restarts])
    since = first[np.searchsorted(first, np.arange(len(at)), side="right") - 1]
    begin = np.where(since[:, None] > 0, state[since - 1, 0], 0.0)
    spread = np.sqrt(tracker.expected(time - time[since]) ** 2 + tool.variance(readings.up[at]))
    tests = [(state[:, 0] - begin, UNLIKELY_DEVIATIONS * spread, time[since], time)]
    for lag in LAGS_S:
        before = np.searchsorted(time, time - lag, side="right") - 1
        rows = np.flatnonzero(before >= since)
        before = before[rows]
        place, deviation = tracker.ahead(state[before], time[rows] - time[before])
        tests.append((state[rows, 0] - place, tracker.reach(deviation), time[before], time[rows]))
    change, limit, start, end = (np.concatenate(parts) for parts in zip(*tests, strict=True))
    k, axis = np.unravel_index(np.argmax(np.abs(change) / limit), change.shape)
    if abs(change[k, axis]) <= limit[k, axis]:
        return []
    return [
        f"the drift removed from {AXES[axis]} moves {abs(change[k, axis]):.2g} {UNITS[axis]} off "
        f"its course between t = {start[k]:.4g} s and {end[k]:.4g} s; a sensor's drift stays "
        f"within {limit[k, axis]:.2g} {UNITS[axis]}. A slow or lasting push would look the same; "
        "--drift none keeps it"
    ]


def _gaps(time: Array, after: list[int]) -> list[str]:
    """A line on gaps after which the tracker started again."""
    if not after:
        return []
    k, others = after[0], f", and {len(after) - 1} more such gaps" if len(after) > 1 else ""
    gap = f"no reading for {time[k] - time[k - 1]:.4g} s after t = {time[k - 1]:.6g} s{others}"
    return [
        f"{gap}: drift tracking starts again there; a drift of more than {DriftTracker.most:g} N "
        "in the gap counts as contact"
    ]


def _thermal_variance(tool: ToolCalibration, readings: Readings) -> Array | float:
    if tool.thermal is None or readings.temperature is None:
        return 0.0
    warmth = readings.temperature - tool.thermal.reference
    return np.multiply.outer(warmth**2, tool.thermal.deviation**2)


@dataclass
class _DriftHistory:
    """The tracker's state once per window, and where it started again."""

    at: list[int] = field(default_factory=list)  #: readings
    states: list[Array] = field(default_factory=list)  #: 5 × 6 after each
    restarts: list[int] = field(default_factory=list)  #: readings after a long gap

    def add(self, k: int, time: Array, tracker: DriftTracker) -> None:
        """Keep the state after reading k if a window has passed."""
        if tracker.restarted:
            self.restarts.append(k)
        elif self.at and time[k] - time[self.at[-1]] < tracker.window:
            return
        self.at.append(k)
        self.states.append(tracker.state)


def _follow(
    time: Array, rest: Array, tool: ToolCalibration, progress: Callable[[float], None] | None
) -> tuple[Array, Array, Array, _DriftHistory]:
    """Drift, contact and the drift's variance at every reading, and the tracker's history."""
    tracker, history = DriftTracker(tool.noise), _DriftHistory()
    n = len(time)
    drift, contact, variance = np.zeros((n, 6)), np.zeros(n, dtype=bool), np.zeros((n, 6))
    steps = np.diff(time, prepend=time[0]).tolist()
    for k in range(n):
        drift[k] = tracker.update(rest[k], steps[k])
        contact[k], variance[k] = tracker.contact, tracker.variance
        history.add(k, time, tracker)
        if progress and k % 1000 == 0:
            progress(k / n)
    return drift, contact, variance, history
