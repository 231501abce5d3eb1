"""Compensation: bias, weight, heat and drift taken off a recording, with the standard deviation of what remains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from farhand.errors import UnknownName
from farhand.sensing.drift import UNLIKELY, DriftTracker
from farhand.sensing.profile import AXES, UNITS
from farhand.sensing.readings import Readings
from farhand.sensing.tool import ToolCalibration

Array = np.ndarray

DRIFT = ("track", "none")
"""What to do about a wandering zero: follow it while nothing touches the tool, or leave it."""

LAGS = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Times over which a drift is looked at for being too fast, [s]: chosen, from a push by hand to a
slow one."""


@dataclass(frozen=True)
class Compensated:
    """What is left of a recording: the wrench of the contact.

    Attributes:
        readings: with the wrench compensated, in sensor axes about the sensor's origin, in the
            sensor's own sign.
        deviations: n × 6 standard deviations of it, [N] and [N·m].
        drift: n × 6, the drift that was taken off, [N] and [N·m].
        contact: n, whether a reading counted as contact (all False without tracking).
        yaw: from the axes of the given orientation to the sensor's, about their common z, [rad].
        tracked: whether drift was followed, and contact looked for.
        advice: what in the drift is doubtful, in plain words; empty if nothing.
    """

    readings: Readings
    deviations: Array
    drift: Array
    contact: Array
    yaw: float = 0.0
    tracked: bool = False
    advice: tuple[str, ...] = ()

    @property
    def wrench(self) -> Array:
        """N × 6, [N] and [N·m]."""
        return self.readings.wrench

    def wrench_in_base(self) -> Array:
        """The same in base axes, moments still about the sensor's origin."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        axes = self.readings.rotations @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return np.matmul(self.wrench.reshape(-1, 2, 3), axes.transpose(0, 2, 1)).reshape(-1, 6)


def compensate(
    readings: Readings,
    tool: ToolCalibration,
    drift: str = "track",
    progress: Callable[[float], None] | None = None,
) -> Compensated:
    """Take off what the tool and the sensor itself put into a recording.

    Args:
        readings: of the sensor with this tool.
        tool: its calibration.
        drift: one of :data:`DRIFT`.
        progress: told the share that is done, 0 to 1.

    Raises:
        UnknownName: no such way to treat drift.
    """
    if drift not in DRIFT:
        raise UnknownName("way to treat drift", drift, DRIFT)
    up, n = readings.up, len(readings)
    rest = readings.wrench - tool.bias_at(readings.temperature, n) - tool.weight(up)
    tracking = drift == "track"
    variance = tool.variance(up, bias=not tracking) + tool.noise**2
    variance += _thermal_variance(tool, readings)
    taken, contact = np.zeros((n, 6)), np.zeros(n, dtype=bool)
    advice: tuple[str, ...] = ()
    if tracking:
        taken, contact, uncertain, watch = _follow(readings.time, rest, tool, progress)
        variance += uncertain
        advice = (*_gaps(readings.time, watch.restarts), *_doubts(readings, tool, watch))
    clean = replace(readings, wrench=rest - taken)
    return Compensated(
        clean, np.sqrt(np.maximum(variance, 0.0)), taken, contact, tool.yaw, tracking, advice
    )


def _doubts(readings: Readings, tool: ToolCalibration, watch: _Watch) -> list[str]:
    """Says where the drift that was taken off is hardly one.

    Either it is further from where it began than :data:`~farhand.sensing.drift.UNLIKELY` standard
    deviations of what the tracker's model and the calibration let expect, or it went, within one of
    :data:`LAGS`, further from where it was heading than the tracker itself would have called drift
    had it seen it at once.
    """
    tracker, at = DriftTracker(tool.noise), np.array(watch.at)
    time, state = readings.time[at], np.array(watch.states)
    first = np.searchsorted(at, [0, *watch.restarts])  # rows after the start and after every gap
    since = first[np.searchsorted(first, np.arange(len(at)), side="right") - 1]
    begin = np.where(since[:, None] > 0, state[since - 1, 0], 0.0)
    spread = np.sqrt(tracker.expected(time - time[since]) ** 2 + tool.variance(readings.up[at]))
    tests = [(state[:, 0] - begin, UNLIKELY * spread, time[since], time)]
    for lag in LAGS:
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
        f"the drift taken off {AXES[axis]} moves {abs(change[k, axis]):.2g} {UNITS[axis]} off its course between t = "
        f"{start[k]:.4g} s and {end[k]:.4g} s, where a sensor's own stays within {limit[k, axis]:.2g} {UNITS[axis]}: a "
        "slow or lasting push would look the same; --drift none keeps it"
    ]


def _gaps(time: Array, after: list[int]) -> list[str]:
    """Says where the drift was followed anew."""
    if not after:
        return []
    k, others = after[0], f", and {len(after) - 1} such gaps more" if len(after) > 1 else ""
    return [
        f"no reading for {time[k] - time[k - 1]:.4g} s after t = {time[k - 1]:.6g} s{others}: the drift is followed "
        f"anew from there, and one of more than {DriftTracker.most:g} N in between would count as contact"
    ]


def _thermal_variance(tool: ToolCalibration, readings: Readings) -> Array | float:
    if tool.thermal is None or readings.temperature is None:
        return 0.0
    return np.multiply.outer(
        (readings.temperature - tool.thermal.reference) ** 2, tool.thermal.deviation**2
    )


@dataclass
class _Watch:
    """The tracker's state once per its window, and where it started anew.

    Attributes:
        at: readings.
        states: 5 × 6 after each.
        restarts: readings after a long gap.
    """

    at: list[int] = field(default_factory=list)
    states: list[Array] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)

    def see(self, k: int, time: Array, tracker: DriftTracker) -> None:
        """Keep the state after reading k if it is time to."""
        if tracker.restarted:
            self.restarts.append(k)
        elif self.at and time[k] - time[self.at[-1]] < tracker.window:
            return
        self.at.append(k)
        self.states.append(tracker.state)


def _follow(
    time: Array, rest: Array, tool: ToolCalibration, progress: Callable[[float], None] | None
) -> tuple[Array, Array, Array, _Watch]:
    """Drift, contact and the drift's variance at every reading, and its state at some."""
    tracker, watch = DriftTracker(tool.noise), _Watch()
    n = len(time)
    drift, contact, variance = np.zeros((n, 6)), np.zeros(n, dtype=bool), np.zeros((n, 6))
    steps = np.diff(time, prepend=time[0]).tolist()
    for k in range(n):
        drift[k] = tracker.update(rest[k], steps[k])
        contact[k], variance[k] = tracker.contact, tracker.variance
        watch.see(k, time, tracker)
        if progress and k % 1000 == 0:
            progress(k / n)
    return drift, contact, variance, watch
