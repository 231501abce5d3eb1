"""Drive: a plant whose brakes close by themselves when nobody tells it anything any more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.plants.plant import Brake, Command, Plant
from farhand.plants.wrappers.wrapped import WrappedPlant

Array = np.ndarray


@dataclass
class Lifeline:
    """What a drive expects of its controller."""

    dead: bool = parameter(False, "-", "whether the controller is gone")
    patience: float = parameter(0.02, "s", "silence after which the brakes close", 0.0, 10.0)


class DrivePlant(WrappedPlant):
    """A plant with a watchdog in its drives.

    Args:
        plant: the plant; it accepts :class:`Brake`.
        nv: size of its velocity.
        lifeline: what it expects.
    """

    def __init__(self, plant: Plant, nv: int, lifeline: Lifeline | None = None) -> None:
        super().__init__(plant)
        self.lifeline = lifeline or Lifeline()
        self._brake = Brake(nv)
        self._heard_ns = 0
        self._reason: str | None = None

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the brakes are closed, or None."""
        return self._reason or super().fault

    def restart(self) -> None:
        """Open the brakes again at the next command."""
        self._reason = None
        super().restart()

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on, or close the brakes when there has been none for too long."""
        life = self.lifeline
        if not life.dead and self._reason is None:
            self._heard_ns = now_ns
            super().write(command, now_ns)
            return
        if self._reason is None and (now_ns - self._heard_ns) * 1e-9 > life.patience:
            self._reason = (
                f"no command for {1e3 * life.patience:g} ms: the drives closed the brakes"
            )
        if self._reason is not None:
            super().write(self._brake, now_ns)
