"""OpenArm's law: each arm's motors chase the other arm, and friction is fed forward on both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.published import published
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling
from farhand.parameters import parameter

Array = np.ndarray

SLOWER = 0.1
"""What the makers' code multiplies the steepness with, and their file does not mention."""


@dataclass
class OpenArm(SpringCoupling):
    r"""A spring-damper between the arms, and each arm's own friction as a torque.

    .. math::
        w_b = K e + D\dot e + f(\dot x_b), \qquad
        w_a = -\mathrm{back}(K e + D\dot e) + f(\dot x_a)

    .. math:: f(v) = s\,\bigl(F_c\tanh(c\,k\,v) + F_v\,v + F_o\bigr)

    It is the law of ``enactic/openarm_teleop``, in which no force crosses. Its file says c = 1 and
    its code computes with c = 0.1 (``reading``). Around rest f is a negative damping of
    :math:`s\,(c\,F_c\,k + F_v)`: what the joint's friction does not take, the coupling must, and in
    common motion of both arms it does not.

    On the makers' gains (``published``) it needs the eight joints of OpenArms; elsewhere it has the
    rig's spring and no friction.
    """

    name = "openarm"

    published: bool = parameter(False, "-", "the makers' gains, for eight joints of OpenArms")
    reading: str = parameter(
        "code", "-", "whose steepness of the friction", choices=("code", "file")
    )
    friction_share: float = parameter(1.0, "-", "s, share of the friction fed forward", 0.0, 2.0)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        self._felt, self._pull = np.zeros(self.port.leader_size), np.zeros(self.port.size)
        self.refresh()

    def refresh(self) -> None:
        """Take the makers' gains, or those of the spring."""
        self.spring.refresh()
        self._friction = dict.fromkeys(("coulomb", "steepness", "viscous", "offset"), np.zeros(1))
        if self.published:
            gains = published(self.name, self.port.size, self.port.leader_size)
            self.spring.gains(gains["stiffness"], gains["damping"])
            self._friction = gains

    def friction(self, velocity: Array) -> Array:
        """f, [N·m]; for a slide [N]."""
        f, slower = self._friction, SLOWER if self.reading == "code" else 1.0
        dry = f["coulomb"] * np.tanh(slower * f["steepness"] * velocity)
        torque: Array = self.friction_share * (dry + f["viscous"] * velocity + f["offset"])
        return torque

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """The spring between both, and the friction of each."""
        self.measure(a, b)
        pull = self.spring.pull(self.error, self.rate)
        self.mapping.back(pull, out=self._felt)
        local, own = (self.friction(self.port.rate(side)) for side in (a, b))
        np.subtract(local, self._felt, self._felt)
        np.add(pull, own, self._pull)
        return a.effort(self._felt, local=local), b.effort(self._pull, self.mapping, local=own)
