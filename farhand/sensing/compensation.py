"""Compensation: bias, weight, heat and drift taken off a recording, with the standard deviation of what remains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from farhand.errors import UnknownName
from farhand.sensing.drift import DriftTracker
from farhand.sensing.readings import Readings
from farhand.sensing.tool import Tool

Array = np.ndarray

DRIFT = ("track", "none")
"""What to do about a wandering zero: follow it while nothing touches the tool, or leave it."""


@dataclass(frozen=True)
class Compensated:
    """What is left of a recording: the wrench of the contact.

    Attributes:
        readings: with the wrench compensated, in sensor axes about the sensor's origin, in the sensor's own sign.
        deviations: n × 6 standard deviations of it, [N] and [N·m].
        drift: n × 6, the drift that was taken off, [N] and [N·m].
        contact: n, whether a reading counted as contact (all False without tracking).
        yaw: from the axes of the given orientation to the sensor's, about their common z, [rad].
    """

    readings: Readings
    deviations: Array
    drift: Array
    contact: Array
    yaw: float = 0.0

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
    readings: Readings, tool: Tool, drift: str = "track", progress: Callable[[float], None] | None = None
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
    if tracking:
        taken, contact, uncertain = _follow(readings.time, rest, tool, progress)
        variance += uncertain
    clean = replace(readings, wrench=rest - taken)
    return Compensated(clean, np.sqrt(np.maximum(variance, 0.0)), taken, contact, tool.yaw)


def _thermal_variance(tool: Tool, readings: Readings) -> Array | float:
    if tool.thermal is None or readings.temperature is None:
        return 0.0
    return np.multiply.outer((readings.temperature - tool.thermal.reference) ** 2, tool.thermal.deviation**2)


def _follow(
    time: Array, rest: Array, tool: Tool, progress: Callable[[float], None] | None
) -> tuple[Array, Array, Array]:
    """Drift, contact and the drift's variance at every reading."""
    tracker = DriftTracker(tool.noise)
    n = len(time)
    drift, contact, variance = np.zeros((n, 6)), np.zeros(n, dtype=bool), np.zeros((n, 6))
    steps = np.diff(time, prepend=time[0]).tolist()
    for k in range(n):
        drift[k] = tracker.update(rest[k], steps[k])
        contact[k], variance[k] = tracker.contact, tracker.variance
        if progress and k % 1000 == 0:
            progress(k / n)
    return drift, contact, variance
