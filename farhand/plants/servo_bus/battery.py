"""Battery of the humanoid: what it still holds, what it gives under load, and when to say so and to stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

CHARGES = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)
VOLTS = (3.0, 3.45, 3.65, 3.75, 3.95, 4.2)
"""Open-circuit voltage of a lithium-polymer cell over its charge, [V]; general knowledge of such
cells."""


@dataclass
class Battery:
    """Cells in series with a resistance, watched by two thresholds; the published robot had no watch."""

    cells: int = parameter(2, "-", "cells in series", 1, 6)  # assumed: 7.4 V servos
    capacity: float = parameter(10.0, "A·h", "capacity", 0.01, 1000.0)
    resistance: float = parameter(0.05, "Ω", "of pack and wires", 0.0, 10.0)  # assumed
    # assumed: 3.45 V a cell
    alarm: float = parameter(6.9, "V", "when the operator is warned", 0.0, 50.0)
    # assumed: 3.2 V a cell
    stop: float = parameter(6.4, "V", "when the robot stops by itself", 0.0, 50.0)
    charge: float = parameter(1.0, "-", "share of the charge left", 0.0, 1.0)
    idle: float = parameter(1.0, "A", "current beside the servos' torque", 0.0, 100.0)  # assumed
    used: bool = parameter(True, "-", "whether the servos run on it")

    def __post_init__(self) -> None:
        """Nothing drawn yet."""
        self.voltage = self._open()

    def refresh(self) -> None:
        """The voltage for a charge that was set."""
        self.voltage = self._open()

    def _open(self) -> float:
        return self.cells * float(np.interp(self.charge, CHARGES, VOLTS))

    def draw(self, current: float, dt: float) -> float:
        """Take a current [A] for ``dt`` [s]; the voltage under load, [V]."""
        self.charge = max(0.0, self.charge - current * dt / (3600.0 * self.capacity))
        self.voltage = max(0.0, self._open() - self.resistance * current)
        return self.voltage

    @property
    def warning(self) -> str | None:
        """What to tell the operator, or None."""
        if self.voltage >= self.alarm:
            return None
        return f"battery at {self.voltage:.2f} V (alarm at {self.alarm:g} V)"

    @property
    def fault(self) -> str | None:
        """Why the robot must stop, or None."""
        if self.voltage >= self.stop:
            return None
        return f"battery at {self.voltage:.2f} V (stop at {self.stop:g} V)"
