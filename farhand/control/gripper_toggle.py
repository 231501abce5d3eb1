"""Gripper toggle: a button that closes the jaws while it is pressed, said once per edge."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class GripperToggle:
    """A gripper that closes while a button is pressed: one command per edge, none in between.

    It begins as ``closed``, so that the first sample with the button up opens it, as published.

    Attributes:
        opened: command to open, [m].
        closed: command to close, [m].
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
