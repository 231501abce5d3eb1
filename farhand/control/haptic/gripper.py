"""Gripper commands: from a ring on a handle, with a force limit, or from a button."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.errors import OutOfRange
from farhand.parameters import parameter


@dataclass
class GripperCommand:
    r"""Jaw speed from a ring with two switches, slowed down as the grip force nears its limit.

    .. math:: v = s\,v_0 \ \text{(opening)}, \qquad
              v = \min\bigl(v_0,\ g\,(F_{lim} - F)\bigr) \ \text{(closing)}

    The ring commands a speed, not a state, so a fragile object can be held at any opening. While
    the ring is at "close", the jaws hold the limit force and give way if the force is above it.
    They stand while the ring is in the middle. With an object of stiffness k the loop has the gain
    g k, and a reading that is late by θ overshoots if g k θ exceeds about 0.37.
    """

    speed: float = parameter(0.020, "m/s", "speed of the jaws", 0.0, 1.0)
    force_limit: float = parameter(20.0, "N", "largest grip force while closing", 0.0, 1000.0)
    gain: float = parameter(0.005, "m/(N·s)", "jaw speed per missing grip force", 0.0, 1.0)

    def velocity(self, ring: int, force: float | None) -> float:
        """Jaw speed, closing is positive, [m/s].

        Args:
            ring: −1 left (open), 0 middle, +1 right (close).
            force: measured grip force, [N]; None if not measured, which leaves the full speed.
        """
        if ring not in (-1, 0, 1):
            raise OutOfRange("ring", ring, -1, 1)
        velocity = ring * self.speed
        if ring < 1 or force is None:
            return velocity
        return max(min(velocity, self.gain * (self.force_limit - force)), -self.speed)


@dataclass
class GripperToggle:
    """A gripper that closes while a button is pressed: one command per edge, none in between.

    It begins as ``closed``, so that the first sample with the button up opens it, as published.
    """

    opened: float = parameter(0.020, "m", "command to open", 0.0, 1.0)
    closed: float = parameter(0.010, "m", "command to close", 0.0, 1.0)

    def __post_init__(self) -> None:
        self.is_open = False

    def step(self, button: bool) -> float | None:
        """The command for this sample, [m]; None if nothing changed."""
        if button != self.is_open:
            return None
        self.is_open = not button
        return self.opened if self.is_open else self.closed
