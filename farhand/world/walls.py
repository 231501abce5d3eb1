"""Penalty walls: a plane that pushes back with a stated stiffness and damping, not an engine's soft contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.world.touch import Tool

Array = np.ndarray


@dataclass
class Wall:
    r"""A plane that pushes the tool point out along its normal.

    .. math:: \delta = \max(0,\, n^\top (x_w - p)), \qquad f = \max(0,\; k\,\delta + d\,\dot\delta)\, n

    Without damping it is elastic: on release it gives back all the energy that went in. It never
    pulls.

    Attributes:
        force: normal force at the last push, [N].
        depth: penetration at the last push, [m].
    """

    point: Array = parameter((0.45, 0.0, 0.0), "m", "a point of the plane")
    normal: Array = parameter((-1.0, 0.0, 0.0), "-", "outward normal", -1.0, 1.0)
    stiffness: float = parameter(6000.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping while pressed", 0.0, 1e4)
    present: bool = parameter(True, "-", "whether the wall is there")

    def __post_init__(self) -> None:
        """Prepare the derived numbers."""
        self.force = 0.0
        self.depth = 0.0
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        length = float(np.linalg.norm(self.normal))
        if length < 1e-9:
            raise BadValue("wall.normal = 0,0,0 has no direction; give it a length above 0")
        unit = self.normal / length
        self._nx, self._ny, self._nz = unit.tolist()
        self._level = float(unit @ self.point)

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Push the tool out of the wall."""
        x, y, z = tool.position.tolist()
        depth = self._level - (self._nx * x + self._ny * y + self._nz * z)
        wrench[:] = 0.0
        if depth <= 0.0 or not self.present:
            self.force = self.depth = 0.0
            return
        vx, vy, vz = tool.twist[:3].tolist()
        rate = -(self._nx * vx + self._ny * vy + self._nz * vz)
        self.depth = depth
        self.force = max(0.0, self.stiffness * depth + self.damping * rate)
        wrench[0], wrench[1], wrench[2] = (
            self.force * self._nx,
            self.force * self._ny,
            self.force * self._nz,
        )

    @property
    def stored(self) -> float:
        """½ k δ² at the last push, [J]."""
        return 0.5 * self.stiffness * self.depth * self.depth
