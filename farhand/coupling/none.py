"""No coupling: both arms are free. The baseline every other law is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.coupling import Coupling
from farhand.coupling.side import Effort, Side


@dataclass
class NoCoupling(Coupling):
    """Zero effort on both sides."""

    name = "none"
    properties = frozenset({"reciprocal", "symmetric", "velocity-force-port"})

    def __post_init__(self) -> None:
        """Prepare the efforts."""
        super().__post_init__()
        self._nothing = np.zeros(self.port.leader_size), np.zeros(self.port.size)

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Nothing on either side."""
        self.measure(a, b)
        return a.effort(self._nothing[0]), b.effort(self._nothing[1])
