"""Position–force: the follower is pulled to the leader, the hand feels what it measures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.control.haptic.force_map import ForceMap
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.parameters import parameter

FADE = 0.2
"""Time constant with which a force that is no longer measured fades from the hand, [s]."""


@dataclass
class PositionForce(SpringCoupling):
    r"""Position forward, measured force back.

    .. math::

        w_b = K\,(x_t - x_b) + D\,(\dot x_t - \dot x_b), \qquad
        w_a = \mathrm{back}(h_b) - B\,\dot x_a

    :math:`h_b` is the contact wrench measured at the follower, or its joints' external torque. In
    free motion the hand feels only the leader and the damping B; in contact it feels what the
    follower touches, at full strength.
    It shakes when the environment is much stiffer than the hand, and sooner over a delayed link:
    the loop gain is the environment's stiffness over the impedance of hand and leader. When the
    measurement is lost, what was last felt fades away and only the damping is left. A force map
    bends what comes back into the range an operator feels and tolerates; it is no longer the power
    dual of the motion then.
    """

    name = "position-force"
    needs = frozenset({"follower-wrench"})
    #: K and D
    spring: Spring = field(default_factory=lambda: Spring(stiffness=2000.0, damping=100.0))
    leader_damping: float = parameter(20.0, "N·s/m", "damping felt at the leader", 0.0, 1e4)
    leader_rotational_damping: float = parameter(
        0.5, "N·m·s/rad", "rotational damping felt at the leader", 0.0, 1e3
    )
    #: an operator's range of forces, applied in the leader's axes; None for straight reflection
    force_map: ForceMap | None = None

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        n = self.port.leader_size
        self._reflected, self._felt, self._drag = np.zeros(n), np.zeros(n), np.zeros(n)
        self.refresh()

    def refresh(self) -> None:
        """Stack the gains."""
        linear, angular = self.leader_damping, self.leader_rotational_damping
        self._brake = self.port.spread(-linear, -angular, leader=True)

    def engage(self, a: Side, b: Side) -> None:
        """Couple the present poses, with no force remembered."""
        super().engage(a, b)
        self._reflected[:] = 0.0

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Spring on the follower, measured wrench and damping on the leader."""
        self.measure(a, b)
        wrench_b = self.spring.pull(self.error, self.rate)
        measured = self.port.measured(b)
        if measured is None:
            self._reflected *= math.exp(-dt / FADE)
        else:
            self.mapping.back(measured, out=self._reflected)
            if self.force_map is not None:
                self._reflected[:] = self.force_map.forward(self._reflected, dt)
        np.multiply(self._brake, self.port.rate(a), self._drag)
        np.add(self._reflected, self._drag, self._felt)
        return a.effort(self._felt, local=self._drag), b.effort(wrench_b, self.mapping)
