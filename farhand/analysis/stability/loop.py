"""The sampled loop along one axis: hand, leader, law, link, follower and wall, as matrices from tick to tick."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

from farhand.analysis.stability.sampled_law import SampledLaw

Array = np.ndarray


@dataclass(frozen=True)
class Tool:
    """An arm's tool along the axis.

    Attributes:
        mass: what it feels like, [kg].
        damping: viscous friction, [N·s/m].
        friction: dry friction, [N].
    """

    mass: float
    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Contact:
    """What touches a tool: a hand or a wall.

    Attributes:
        stiffness: [N/m].
        damping: [N·s/m].
        mass: that moves with the tool, such as that of a hand, [kg].
    """

    stiffness: float
    damping: float = 0.0
    mass: float = 0.0


HANDS = {
    "none": Contact(0.0, 0.0, 0.0),
    "soft": Contact(200.0, 5.0, 0.5),
    "relaxed": Contact(500.0, 20.0, 0.8),
    "firm": Contact(1500.0, 60.0, 1.2),
}
"""Hands by name. Assumed, within the range of published human arm impedances (200 to 1500 N/m)."""


@dataclass(frozen=True)
class Loop:
    r"""All that decides whether the loop shakes.

    Between ticks the plant is continuous, :math:`\dot z = F z + G u` with :math:`z = (x_a, v_a, x_b, v_b)`, the hand on
    the leader and the wall on the follower; the efforts u are held from tick to tick:
    :math:`z_{k+1} = \Phi z_k + \Gamma u_k`. The law sees position, velocity and force of its own side as they are and
    those of the other side d ticks late:

    .. math:: u_k = L_0\,C z_k + L_1\,C z_{k-d}

    Velocity may be the low-passed difference of positions, as most encoders give it.

    Attributes:
        law: the law along the axis.
        leader: its tool.
        follower: its tool.
        hand: on the leader.
        wall: on the follower; in contact throughout.
        period: between ticks, [s].
        delay: one way, in ticks.
        velocity_filter: cut-off of velocity made from positions, [Hz]; 0 for true velocity.
    """

    law: SampledLaw
    leader: Tool
    follower: Tool
    hand: Contact
    wall: Contact = field(default_factory=lambda: Contact(0.0))
    period: float = 1e-3
    delay: int = 0
    velocity_filter: float = 0.0

    def plant(self) -> tuple[Array, Array]:
        """Φ and Γ of the plant alone, exact for efforts held over a period."""
        F, G = np.zeros((4, 4)), np.zeros((4, 2))
        for side, (tool, contact) in enumerate(((self.leader, self.hand), (self.follower, self.wall))):
            x, v, mass = 2 * side, 2 * side + 1, tool.mass + contact.mass
            F[x, v] = 1.0
            F[v, x], F[v, v] = -contact.stiffness / mass, -(contact.damping + tool.damping) / mass
            G[v, side] = 1.0 / mass
        both = np.zeros((6, 6))
        both[:4, :4], both[:4, 4:] = F, G
        moved = expm(both * self.period)
        return moved[:4, :4], moved[:4, 4:]

    def matrices(self) -> tuple[Array, Array]:
        """A₀ and A₁ of the closed loop :math:`z_{k+1} = A_0 z_k + A_1 z_{k-d}`."""
        phi, gamma = self.plant()
        n = 4 if self.velocity_filter == 0.0 else 8
        signals = self._signals(n)
        A0, A1 = np.zeros((n, n)), np.zeros((n, n))
        A0[:4, :4] = phi
        for side in range(2):
            A0[:4] += np.outer(gamma[:, side], self.law.local[side] @ signals[side])
            A1[:4] += np.outer(gamma[:, side], self.law.remote[side] @ signals[1 - side])
        if n == 8:
            A0[4:] = self._filters()
        return A0, A1

    @property
    def share(self) -> float:
        """What the velocity filter takes over of a new difference, [-]."""
        return float(-np.expm1(-2.0 * np.pi * self.velocity_filter * self.period))

    def _signals(self, n: int) -> list[Array]:
        """Position, velocity and force that the law sees of each side, as rows over the state."""
        rows = []
        for side, contact in enumerate((self.hand, self.wall)):
            C, x, v = np.zeros((3, n)), 2 * side, 2 * side + 1
            C[0, x] = 1.0
            C[2, x], C[2, v] = -contact.stiffness, -contact.damping
            if n == 4:
                C[1, v] = 1.0
            else:  # v_f,k = v_f,k-1 + s ((x_k - x_k-1) / T - v_f,k-1), with x_k-1 and v_f,k-1 in the state
                before, s = 4 + 2 * side, self.share
                C[1, x], C[1, before], C[1, before + 1] = s / self.period, -s / self.period, 1.0 - s
            rows.append(C)
        return rows

    def _filters(self) -> Array:
        """Rows that remember each side's position and filtered velocity."""
        rows, signals = np.zeros((4, 8)), self._signals(8)
        for side in range(2):
            rows[2 * side, 2 * side] = 1.0
            rows[2 * side + 1] = signals[side][1]
        return rows
