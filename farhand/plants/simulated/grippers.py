"""Grippers: jaws that take an opening, and jaws that take a speed and meet an object."""

from __future__ import annotations

import math
from dataclasses import dataclass

from farhand.errors import BadValue
from farhand.parameters import parameter


@dataclass
class GripperDrive:
    """A position-controlled two-finger gripper, part of the plant that carries it.

    Attributes:
        position: present opening, [m].
        target: commanded opening, [m].
    """

    # From the public driver configuration, sources/youbot §2.9; the speed is assumed.
    travel: float = parameter(0.023, "m", "largest opening", 1e-4, 1.0)
    speed: float = parameter(0.02, "m/s", "speed of the jaws", 1e-4, 1.0)

    def __post_init__(self) -> None:
        """Start closed."""
        self.position = self.target = 0.0

    def command(self, opening: float) -> None:
        """Move to an opening [m], at most to the end of the travel."""
        if not math.isfinite(opening):
            raise BadValue(f"gripper opening {opening} m is not a number")
        self.target = min(max(opening, 0.0), self.travel)

    def step(self, dt: float) -> float:
        """Advance by ``dt`` [s] and return the opening, [m]."""
        step = self.speed * dt
        self.position += min(max(self.target - self.position, -step), step)
        return self.position


@dataclass
class SimulatedJaws:
    r"""Parallel jaws with a force sensor, closing on an elastic object.

    .. math:: \dot w = -v, \qquad F = \max(k\,(w_0 - w), 0)

    w is the opening, v the closing speed and w_0 the width of the object. The jaws stop at the
    largest force of the motor.

    Attributes:
        opening: w, [m].
        force: F at the last step, [N].
    """

    # Stroke and force are those of the 2F-140, by its public data sheet; the object is assumed.
    stroke: float = parameter(0.140, "m", "largest opening", 0.001, 1.0)
    strongest: float = parameter(125.0, "N", "largest grip force", 0.1, 1e4)
    object_width: float = parameter(
        0.05, "m", "width of the object between the jaws; 0: none", 0.0, 1.0
    )
    object_stiffness: float = parameter(2000.0, "N/m", "stiffness of the object", 1.0, 1e7)

    def __post_init__(self) -> None:
        """Start open."""
        self.opening, self.force = self.stroke, 0.0

    def step(self, velocity: float, dt: float) -> float:
        """Close with ``velocity`` [m/s] for ``dt`` [s] and return the grip force, [N]."""
        narrowest = 0.0
        if self.object_width > 0.0:
            narrowest = self.object_width - self.strongest / self.object_stiffness
        self.opening = min(max(self.opening - velocity * dt, narrowest, 0.0), self.stroke)
        self.force = max(self.object_stiffness * (self.object_width - self.opening), 0.0)
        return self.force
