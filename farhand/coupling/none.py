"""No coupling: both arms are free. The baseline every other law is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.coupling.coupling import Coupling
from farhand.coupling.side import Effort, Side


@dataclass
class NoCoupling(Coupling):
    """Zero effort on both sides."""

    name = "none"
    properties = frozenset({"reciprocal", "symmetric", "velocity-force-port"})

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Nothing on either side."""
        self.measure(a, b)
        return a.effort(), b.effort()
