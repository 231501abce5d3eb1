"""Task metrics: how long a task took, how hard the follower pushed, and how much force was spent on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray


@dataclass(frozen=True)
class TaskResult:
    """What one run of a task says.

    Attributes:
        completion_time: from the start until the tool is at the goal for good, [s]; infinite if it
            never is.
        largest_force: [N].
        squared_force_sum: Σ |F|² over all samples, as published; it depends on the sampling rate,
            [N²].
        squared_force_time: ∫ |F|² dt, which does not, [N²·s].
    """

    completion_time: float
    largest_force: float
    squared_force_sum: float
    squared_force_time: float

    @property
    def completed(self) -> bool:
        """Whether the goal was reached and kept."""
        return math.isfinite(self.completion_time)

    def to_json(self) -> dict[str, dict[str, object]]:
        """The metrics as ``{name: {value, unit}}``; a task that was not completed has no time."""
        time = self.completion_time if self.completed else None
        found = {
            "completion_time": (time, "s"),
            "largest_force": (self.largest_force, "N"),
            "squared_force_sum": (self.squared_force_sum, "N²"),
            "squared_force_time": (self.squared_force_time, "N²·s"),
        }
        return {name: {"value": value, "unit": unit} for name, (value, unit) in found.items()}


def judge_task(
    times: Array, position: Array, force: Array, goal: Array, tolerance: float
) -> TaskResult:
    """Judge a task that consists of bringing the tool to a goal and keeping it there.

    Args:
        times: n, increasing, [s].
        position: n × d of the tool, [m].
        force: n × d on what it touches, [N].
        goal: d, [m].
        tolerance: largest distance from the goal that counts as there, [m].

    Raises:
        BadValue: arrays of unlike length, or fewer than two samples.
    """
    if len(times) < 2 or not len(times) == len(position) == len(force):
        lengths = f"{len(times)}, {len(position)} and {len(force)}"
        raise BadValue(
            f"times, positions and forces must be of one length, two at least, not {lengths}"
        )
    away = np.flatnonzero(np.linalg.norm(position - goal, axis=1) > tolerance)
    there = 0 if not len(away) else int(away[-1]) + 1
    completion = float(times[there] - times[0]) if there < len(times) else math.inf
    squared = np.einsum("ij,ij->i", force, force)
    return TaskResult(
        completion,
        math.sqrt(float(squared.max())),
        float(squared.sum()),
        float(np.trapezoid(squared, times)),
    )
