"""Buttons of a pen: what changes when one goes down, once per press."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MODELS = ("right-arm", "left-arm", "both-arms", "left-leg", "right-leg")
"""Kinematic models in the order in which the second button goes through them; published code of the
author."""


class PenButtons:
    """The first button toggles the control loop, the second goes on to the next kinematic model.

    Args:
        toggle: name of the first button.
        cycle: name of the second.
        models: what the second goes through.

    Attributes:
        running: whether the loop runs.
        model: which model is chosen.
    """

    def __init__(
        self, toggle: str = "toggle", cycle: str = "model", models: Sequence[str] = MODELS
    ) -> None:
        self._toggle, self._cycle, self._models = toggle, cycle, tuple(models)
        self.running, self.model = False, self._models[0]
        self._down: dict[str, bool] = {}

    def step(self, buttons: Mapping[str, bool]) -> list[str]:
        """Look at the buttons; names of those that have just gone down."""
        pressed = [
            name for name, down in buttons.items() if down and not self._down.get(name, False)
        ]
        self._down = dict(buttons)
        if self._toggle in pressed:
            self.running = not self.running
        # changing the limb under way would make it jump
        if self._cycle in pressed and not self.running:
            self.model = self._models[(self._models.index(self.model) + 1) % len(self._models)]
        return pressed
