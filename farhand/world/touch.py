"""What may touch a tool: the interface of hands, walls and springs, shared by every simulated plant."""

from __future__ import annotations

from typing import Protocol

import numpy as np

Array = np.ndarray


class Tool:
    """State of one tool, as whatever touches it sees it. Arrays are live views.

    Attributes:
        position: tool point in world, [m].
        rotation: rotation matrix of the tool in world.
        twist: in world axes at the tool point, [m/s] and [rad/s].
    """

    __slots__ = ("position", "rotation", "twist")

    def __init__(self, position: Array, rotation: Array, twist: Array) -> None:
        self.position, self.rotation, self.twist = position, rotation, twist


class Touch(Protocol):
    """Something that pushes on one tool."""

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Write the wrench on the tool at time ``t`` [s] (world axes, tool point, [N] and [N·m])."""

    @property
    def stored(self) -> float:
        """Energy held in springs at the last :meth:`push`, [J]."""


class Tie(Protocol):
    """Something between two tools that pushes on both."""

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Write the wrenches on both tools at time ``t`` [s]."""

    @property
    def stored(self) -> float:
        """Energy held in springs at the last :meth:`push`, [J]."""
