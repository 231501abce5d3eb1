"""Rendering: how a wrench for the hand is made, straight or by virtual springs, chosen while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.control.impedance import CartesianImpedance
from farhand.control.spring_force import DirectForce, SpringForce
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class Rendering:
    """Turns the wrench that a coupling asks for into the one that the hand gets.

    Attributes:
        mode: ``direct``, on a device that may drop a force for a moment whenever it changes, or ``springs``.
        rate: how often the springs are set anew, [Hz].
        springs: virtual springs, k = F/Δx.
        direct: the direct force and its fault.
        pull: the springs as they stand.
    """

    mode: str = parameter("direct", "-", "how the force on the hand is made", choices=("direct", "springs"))
    rate: float = parameter(350.0, "Hz", "how often the springs are set", 1.0, 10_000.0)
    springs: SpringForce = field(default_factory=SpringForce)
    direct: DirectForce = field(default_factory=lambda: DirectForce(gap=0.0))

    def __post_init__(self) -> None:
        """No springs yet."""
        self.pull = CartesianImpedance()
        self._due_ns = 0

    def wrench(self, wanted: Array, position: Array, rotation: Array, twist: Array, now_ns: int, dt: float) -> Array:
        """The wrench on the hand, world axes, [N] and [N·m].

        Args:
            wanted: what the coupling asks for.
            position: of the tool in world, [m].
            rotation: of it in world.
            twist: of it, [m/s] and [rad/s].
            now_ns: [ns].
            dt: since the last call, [s].
        """
        if self.mode == "direct":
            return self.direct.step(wanted, dt) if self.direct.gap > 0.0 else wanted
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + round(1e9 / self.rate) - (now_ns - self._due_ns) % round(1e9 / self.rate)
            self.springs.update(self.pull, position, rotation, wanted)
        return self.pull.wrench(position, rotation, twist)
