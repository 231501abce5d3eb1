"""One trial of a task: who does it, how it is judged, and the numbers in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.tasks.task import TIP, Task
from farhand.world import World

TOUCHING = 0.5
"""Force above which the tool touches something, [N]."""


class Trial:
    """The referee: it knows the simulator's truth, which the operator does not.

    Args:
        task: what is done.
        world: where.
        finish: called when the task is done or something broke.
    """

    def __init__(self, task: Task, world: World, finish: Callable[[], None]) -> None:
        self.task, self.world, self._finish = task, world, finish
        contact = world.ports["follower"].contact
        assert contact is not None
        self._contact = contact
        self._points = np.zeros((task.points, 3))
        task.look(self._points)
        self._last, self._last_ns = self._points[TIP].copy(), 0
        self.success, self.damaged = False, False
        self.time = self.peak = self._impulse = self._touched = self.path = 0.0

    @property
    def over(self) -> bool:
        """Whether the task is done or something broke."""
        return self.success or self.damaged

    def step(self, now_ns: int) -> None:
        """Judge the state at this time."""
        if self.over:
            return
        dt = (now_ns - self._last_ns) * 1e-9
        self._last_ns = now_ns
        self.time = now_ns * 1e-9
        force = self._contact[:3]
        size = float(np.sqrt(force @ force))
        self.peak = max(self.peak, size)
        if size > TOUCHING:
            self._impulse += size * dt
            self._touched += dt
        self.task.look(self._points)
        tip = self._points[TIP]
        self.path += float(np.linalg.norm(tip - self._last))
        self._last[:] = tip
        self.task.observe(force, dt)
        self.damaged = size > self.task.damage
        self.success = not self.damaged and self.task.done()
        if self.over:
            self._finish()

    def result(self) -> dict[str, Any]:
        """What the trial is judged by; times in s, forces in N, lengths in m."""
        return {
            "name": self.task.name,
            "success": self.success,
            "time": self.time,
            "peak_force": self.peak,
            "mean_force": self._impulse / self._touched if self._touched else 0.0,
            "contact_time": self._touched,
            "path": self.path,
            "damaged": self.damaged,
            "damage_limit": self.task.damage,
            "time_limit": self.task.seconds,
        }
