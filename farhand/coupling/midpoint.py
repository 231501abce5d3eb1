"""Midpoint: both sides are pulled to the middle between them, and damped each for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling


@dataclass
class Midpoint(SpringCoupling):
    r"""Pull each tool, or joint, to the middle of the two; the middle is taken to stand still.

    .. math::
        w_b = \tfrac12 K\,e - D\,\dot x_b, \qquad
        w_a = -\,\mathrm{back}\bigl(\tfrac12 K\,e + D\,\dot x_t\bigr)

    It is the law of LeRobot's branch ``feat/bilateral_teleop`` (December 2025): each motor's own
    controller gets the middle as its goal and zero as its velocity. That code also adds gravity, as
    every rig here does, and 0.3 of the friction; it freezes the wrists.

    What it does badly: the dampers act against all motion, not against the difference, so the hand
    drags both of them along in free motion. Arms that take positions follow the leader, not the
    middle.

    Attributes:
        spring: K and D.
    """

    name = "midpoint"

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        n = self.port.size
        self._still, self._half, self._pull = np.zeros(n), np.zeros(n), np.zeros(n)
        self._drag, self._own = np.zeros(self.port.leader_size), np.zeros(n)
        self._felt = np.zeros(self.port.leader_size)

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Half the spring and a damper to the world on each side."""
        self.measure(a, b)
        velocity_b = self.port.rate(b)
        # the leader's velocity in the follower's workspace
        np.add(self.rate, velocity_b, self._pull)
        self.mapping.back(self.spring.pull(self._still, self._pull), out=self._drag)
        self._own[:] = self.spring.pull(self._still, velocity_b)
        np.negative(self._drag, self._drag)
        np.negative(self._own, self._own)
        np.multiply(self.error, 0.5, self._half)
        pull = self.spring.pull(self._half, self._still)
        self.mapping.back(pull, out=self._felt)
        np.subtract(self._drag, self._felt, self._felt)
        np.add(pull, self._own, self._pull)
        on_a = a.effort(self._felt, local=self._drag)
        return on_a, b.effort(self._pull, self.mapping, local=self._own)
