"""Collision: an arm that pushes hard and no longer moves is stuck; it backs off and waits to be engaged again."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


class Phase(enum.Enum):
    """What the arm is doing about a collision."""

    CLEAR = "clear"
    RETREATING = "retreating"
    HOLDING = "holding"


@dataclass
class CollisionRetreat:
    """Notice a stuck tool and lead it away from what it hit.

    A tool is suspected when the force is above ``force`` and it is slower than ``still`` although
    it is asked to go faster than ``asked``. It is held then, so that the drives take back what
    presses on; if the force has not fallen to half within ``patience``, it is stuck. The retreat
    goes along the force that the obstacle exerts on the tool, which points out of the obstacle, at
    ``speed``, and ends ``distance`` after the force has fallen below ``contact``: counted from
    there, because an arm that yields has pushed its joints past the surface. Then the tool is held
    until :meth:`engage`. The force should not be smoothed: a filter of 0.1 s doubles the time to
    notice.

    Attributes:
        phase: what is being done.
        target: where the tool has to go while suspected, retreating or holding, in world, [m].
        direction: of the retreat, a unit vector in world.
        peak: largest force since the last :meth:`engage`, [N].
    """

    force: float = parameter(60.0, "N", "contact force of a collision", 1.0, 1e4)
    patience: float = parameter(0.050, "s", "how long it must last", 0.0, 10.0)
    still: float = parameter(0.002, "m/s", "tool speed below which it is stuck", 0.0, 1.0)
    asked: float = parameter(0.010, "m/s", "commanded speed above which it should move", 0.0, 1.0)
    distance: float = parameter(0.010, "m", "distance kept after a collision", 0.0, 1.0)
    speed: float = parameter(0.020, "m/s", "speed of the retreat", 1e-4, 1.0)
    contact: float = parameter(8.0, "N", "force below which the tool is free", 0.1, 1e3)
    reach: float = parameter(0.100, "m", "how far a retreat goes at most", 0.0, 1.0)

    def __post_init__(self) -> None:
        """Nothing hit yet."""
        self.engage()

    def engage(self) -> None:
        """Follow the operator again."""
        self.phase, self.peak = Phase.CLEAR, 0.0
        self.target, self.direction = np.zeros(3), np.zeros(3)
        self._lasted, self._left, self._gone = 0.0, self.distance, 0.0

    def begin(self, position: Array, force: Array) -> None:
        """Retreat from here along the force of the obstacle on the tool, [m] and [N]; without a force, just hold."""
        size = float(np.linalg.norm(force))
        self.target = np.array(position)
        self.phase = Phase.RETREATING if size > self.contact else Phase.HOLDING
        self.direction = force / size if size > self.contact else np.zeros(3)

    def step(
        self, position: Array, speed: float, asked: float, force: Array, dt: float
    ) -> Array | None:
        """Where the tool has to go, in world, [m]; None while the operator leads.

        Args:
            position: of the tool in world, [m].
            speed: of the tool, [m/s].
            asked: speed that it is commanded, [m/s].
            force: of the obstacle on the tool, world axes, [N].
            dt: since the last step, [s].
        """
        size = float(np.linalg.norm(force))
        self.peak = max(self.peak, size)
        if self.phase is Phase.CLEAR:
            suspected = self._lasted > 0.0
            if suspected and size < 0.5 * self.force:
                self._lasted, suspected = 0.0, False
            if not suspected:
                if not (size > self.force and speed < self.still and asked > self.asked):
                    return None
                self.target = np.array(position)
            self._lasted += dt
            if self._lasted >= self.patience:
                self.begin(position, force)
        elif self.phase is Phase.RETREATING:
            self._retreat(size, dt)
        return self.target

    def _retreat(self, size: float, dt: float) -> None:
        """Move the target on by one step, and hold once far enough."""
        step = min(self.speed * dt, self._left)
        self.target = self.target + step * self.direction
        if size < self.contact:
            self._left -= step
        self._gone += step
        if self._left <= 1e-12 or self._gone >= self.reach:
            self.phase = Phase.HOLDING
