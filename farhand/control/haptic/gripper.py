"""Gripper command: a ring on the handle gives the sign of the jaws' speed; a force limit spares what they hold."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.errors import OutOfRange
from farhand.parameters import parameter


@dataclass
class GripperCommand:
    r"""Jaw speed from a ring with two switches, slowed down as the grip force nears its limit.

    .. math:: v = s\,v_0 \ \text{(opening)}, \qquad v = \min\bigl(v_0,\ g\,(F_{lim} - F)\bigr) \ \text{(closing)}

    The ring commands a speed, not a state, so a fragile thing can be held at any opening. While the
    ring asks to close, the jaws hold the limit force: they give way if the force is above it. They
    stand while the ring is in the middle. With an object of stiffness k the loop has the gain g k,
    and a reading that is late by θ overshoots if g k θ exceeds about 0.37.
    """

    speed: float = parameter(0.020, "m/s", "speed of the jaws", 0.0, 1.0)
    force_limit: float = parameter(20.0, "N", "largest grip force while closing", 0.0, 1000.0)
    gain: float = parameter(0.005, "m/(N·s)", "jaw speed per missing grip force", 0.0, 1.0)

    def velocity(self, ring: int, force: float | None) -> float:
        """Jaw speed, closing is positive, [m/s].

        Args:
            ring: −1 left (open), 0 middle, +1 right (close).
            force: measured grip force, [N]; None where it is not measured, which leaves the speed
                as asked.
        """
        if ring not in (-1, 0, 1):
            raise OutOfRange("ring", ring, -1, 1)
        asked = ring * self.speed
        if ring < 1 or force is None:
            return asked
        return max(min(asked, self.gain * (self.force_limit - force)), -self.speed)


# Gripper toggle: a button that closes the jaws while it is pressed, said once per edge.


@dataclass
class GripperToggle:
    """A gripper that closes while a button is pressed: one command per edge, none in between.

    It begins as ``closed``, so that the first sample with the button up opens it, as published.
    """

    opened: float = parameter(0.020, "m", "command to open", 0.0, 1.0)
    closed: float = parameter(0.010, "m", "command to close", 0.0, 1.0)

    def __post_init__(self) -> None:
        """Closed."""
        self.is_open = False

    def step(self, button: bool) -> float | None:
        """The command for this sample, [m]; None when there is nothing to say."""
        if button != self.is_open:
            return None
        self.is_open = not button
        return self.opened if self.is_open else self.closed
