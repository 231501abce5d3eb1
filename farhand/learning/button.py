"""Teaching button: a press of a pen's button begins a demonstration, the next one ends it; the recording says so."""

from __future__ import annotations

from typing import Protocol

from farhand.learning.demonstration import PATH
from farhand.loop.commands import Commands


class Buttons(Protocol):
    """A device with buttons."""

    buttons: dict[str, bool]  #: which are pressed, by name


class TeachingButton:
    """Looks at one button before every tick and posts what a press means; nothing is done but by that command.

    Args:
        device: whose button.
        commands: of the session.
        button: its name; the device's first by default.

    Attributes:
        active: whether a demonstration is going on.
    """

    def __init__(self, device: Buttons, commands: Commands, button: str | None = None) -> None:
        self._device, self._commands = device, commands
        self._button = button or next(iter(device.buttons), "")
        self._down, self.active = False, False

    def step(self, now_ns: int) -> None:
        """Notice a press."""
        down = self._device.buttons.get(self._button, False)
        if down and not self._down:
            self.active = not self.active
            self._commands.post("set", PATH, str(self.active).lower())
        self._down = down
