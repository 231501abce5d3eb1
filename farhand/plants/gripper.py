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
        travel: largest opening, both fingers together, [m].
        speed: of the opening, [m/s].
        position: present opening, [m].
        target: commanded opening, [m].
    """

    travel: float = parameter(0.023, "m", "largest opening", 1e-4, 1.0)  # public driver configuration, spec 000 §2.9
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
