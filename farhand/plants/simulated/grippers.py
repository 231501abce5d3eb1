"""Gripper drive: jaws that go to a commanded opening at their own speed, within their travel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from farhand.errors import BadValue
from farhand.parameters import parameter


@dataclass
class GripperDrive:
    """A position-controlled two-finger gripper, a channel of the plant that carries it.

    Attributes:
        position: present opening, [m].
        target: commanded opening, [m].
    """

    # public driver config, sources/youbot §2.9
    travel: float = parameter(0.023, "m", "largest opening", 1e-4, 1.0)
    speed: float = parameter(0.02, "m/s", "speed of the jaws", 1e-4, 1.0)  # assumed

    def __post_init__(self) -> None:
        """Closed."""
        self.position = self.target = 0.0

    def command(self, opening: float) -> None:
        """Go to an opening [m]; beyond the travel, to its end."""
        if not math.isfinite(opening):
            raise BadValue(f"gripper opening {opening} m is not a number")
        self.target = min(max(opening, 0.0), self.travel)

    def step(self, dt: float) -> float:
        """Move on by ``dt`` [s]; the opening then, [m]."""
        step = self.speed * dt
        self.position += min(max(self.target - self.position, -step), step)
        return self.position


# Simulated jaws: a gripper that takes a speed, and an object of some stiffness between its
# fingers.


@dataclass
class SimulatedJaws:
    r"""Parallel jaws with a force sensor, closing on an elastic object.

    .. math:: \dot w = -v, \qquad F = \max(k\,(w_0 - w), 0)

    w is the opening, v the closing speed and w_0 the object's width. The force never exceeds what
    the motor can give: the jaws then stand. :class:`GripperDrive` is the other kind, which takes an
    opening.

    Attributes:
        opening: w, [m].
        force: F at the last step, [N].
    """

    stroke: float = parameter(0.140, "m", "largest opening", 0.001, 1.0)  # of the 2F-140, its name
    # public data sheet of the 2F-140
    strongest: float = parameter(125.0, "N", "largest grip force", 0.1, 1e4)
    # assumed
    object_width: float = parameter(
        0.05, "m", "width of the object between the jaws; 0: none", 0.0, 1.0
    )
    # assumed
    object_stiffness: float = parameter(2000.0, "N/m", "stiffness of the object", 1.0, 1e7)

    def __post_init__(self) -> None:
        """Open."""
        self.opening, self.force = self.stroke, 0.0

    def step(self, velocity: float, dt: float) -> float:
        """Close with ``velocity`` [m/s] for ``dt`` [s] and return the grip force, [N]."""
        narrowest = (
            self.object_width - self.strongest / self.object_stiffness
            if self.object_width > 0.0
            else 0.0
        )
        self.opening = min(max(self.opening - velocity * dt, narrowest, 0.0), self.stroke)
        self.force = max(self.object_stiffness * (self.object_width - self.opening), 0.0)
        return self.force
