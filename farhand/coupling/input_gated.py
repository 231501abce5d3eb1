"""Input-gated: position–position whose feedback opens only while the operator asks for more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling
from farhand.parameters import parameter
from farhand.spatial import Array

TINY = 1e-12


@dataclass
class InputGated(SpringCoupling):
    r"""Reflect the follower's spring only as far as the operator's input stands behind it.

    .. math:: w_b = K\,e + D\,\dot e, \qquad
              w_a = -\,\sigma \odot \mathrm{back}(\gamma \odot w_b)

        \gamma = \max(0,\, 1 - e_0/|e|), \qquad
        \sigma = \frac{1}{1 + \max(0,\, s \cdot \dot x_a)/v_0}

    with :math:`s` the direction of what is fed back. Each joint has its gates; a tool has one pair
    for its way and one for its turn, so that they do not see how the world's axes lie. After
    "Input-gated Bilateral Teleoperation" (arXiv 2509.08226), whose abstract says: a simple feedback
    controller, no force sensor, for low-cost arms, easy to move and stable in contact, gated by the
    operator's input. **Assumed**, because the abstract has no equations: the input is the error e
    that the operator causes by leading. Below :math:`e_0` the gate γ is shut, so free motion costs
    nothing but the leader's own friction. Beyond it, what is felt grows with K and no faster: a
    gate that opens faster is a stiffer spring while it opens, and shakes a slow bus. Feedback
    that drives the leader instead of resisting it is weakened by σ, so the leader does not recoil
    when the hand gives way. Both gates only take power away from position–position at the leader.

    What it does badly: contact that deflects the follower by less than e₀ is not felt, and what is
    felt lacks K e₀.

    Attributes:
        spring: K and D.
    """

    name = "input-gated"

    reach: float = parameter(0.004, "m", "e₀ of tools and slides", 0.0, 1.0)
    angle: float = parameter(0.02, "rad", "e₀ of turns and hinges", 0.0, 1.0)
    recoil_speed: float = parameter(0.2, "m/s, rad/s", "v₀", 1e-3, 100.0)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        self._felt = np.zeros(self.port.leader_size)
        self._gated = np.zeros(self.port.size)
        self.refresh()

    def refresh(self) -> None:
        """Stack e₀; the weights of joints cancel."""
        unit = self.port.spread(1.0, 1.0)
        self._shut = np.maximum(self.port.spread(self.reach, self.angle) / unit, TINY)

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """The spring on the follower, and what passes both gates on the leader."""
        self.measure(a, b)
        wrench_b = self.spring.pull(self.error, self.rate)
        size = np.maximum(self._size(self.error), self._shut)
        gate = 1.0 - self._shut / size
        np.multiply(gate, wrench_b, out=self._gated)
        self.mapping.back(self._gated, out=self._felt)
        np.negative(self._felt, out=self._felt)
        power = self._summed(self._felt * self.port.rate(a))
        driven = np.maximum(power, 0.0) / np.maximum(self._size(self._felt), TINY)
        self._felt /= 1.0 + driven / self.recoil_speed
        return a.effort(self._felt), b.effort(wrench_b, self.mapping)

    def _summed(self, values: Array) -> Array:
        """The sum over the three axes of a way or a turn, at each of them; of joints the values."""
        if self.port.space == "joints":
            return values
        return np.repeat(values.reshape(-1, 3).sum(axis=1), 3)

    def _size(self, values: Array) -> Array:
        found: Array = np.sqrt(self._summed(values * values))
        return found
