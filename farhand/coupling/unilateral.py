"""Unilateral coupling: the follower does as the leader does, and the hand feels nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring, SpringCoupling


@dataclass
class Unilateral(SpringCoupling):
    r"""A spring pulls the follower to the leader; nothing comes back.

    .. math:: w_b = K\,(x_t - x_b) + D\,(\dot x_t - \dot x_b), \qquad w_a = 0

    Needs no sensor and is stable over any delay. The hand does not feel contact.
    """

    name = "unilateral"
    #: K and D
    spring: Spring = field(default_factory=lambda: Spring(stiffness=2000.0, damping=100.0))

    def __post_init__(self) -> None:
        """Prepare the leader's effort."""
        super().__post_init__()
        self._nothing = np.zeros(self.port.leader_size)

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Pull the follower; leave the leader alone."""
        self.measure(a, b)
        return a.effort(self._nothing), b.effort(
            self.spring.pull(self.error, self.rate), self.mapping
        )
