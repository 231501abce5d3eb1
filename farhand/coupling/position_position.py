"""Position–position: one virtual spring-damper between the two sides, felt on both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling


@dataclass
class PositionPosition(SpringCoupling):
    r"""Pull the tools, or the joints, together with a spring and a damper.

    .. math:: w_b = K\,(x_t - x_b) + D\,(\dot x_t - \dot x_b), \qquad w_a = -\,\mathrm{back}(w_b)

    :math:`x_t` is the leader's pose mapped into the follower's workspace, ``back`` the power dual
    of that mapping times the force scale. Needs no force sensor. The hand feels the follower's
    inertia and friction even in free motion, and contact only through the spring; over a delayed
    link it creates energy.

    Attributes:
        spring: K and D.
    """

    name = "position-position"
    properties = frozenset({"reciprocal", "symmetric", "velocity-force-port"})

    def __post_init__(self) -> None:
        """Prepare the work array."""
        super().__post_init__()
        self._felt = np.zeros(self.port.leader_size)

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Equal and opposite, up to the mapping."""
        self.measure(a, b)
        wrench_b = self.spring.pull(self.error, self.rate)
        self.mapping.back(wrench_b, out=self._felt)
        np.negative(self._felt, out=self._felt)
        return a.effort(self._felt), b.effort(wrench_b, self.mapping)
