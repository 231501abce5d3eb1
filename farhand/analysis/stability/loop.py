"""The sampled loop along one axis: hand, leader, law, link, follower and wall, as matrices from tick to tick."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np

from farhand.analysis.stability.sampled_law import SampledLaw
from farhand.errors import BadValue, OutOfRange

Array = np.ndarray


@dataclass(frozen=True)
class LoopTool:
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
        mass: that moves with the tool, such as that of a hand, [kg]; a force sensor does not see
            it.
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
class Mode:
    """The least damped motion of a loop.

    Attributes:
        frequency: [Hz].
        amplitudes: of leader and follower along the axis, the larger one being 1, [-].
        shape: of the whole state, in the same measure.
    """

    frequency: float
    amplitudes: tuple[float, float]
    shape: Array


@dataclass(frozen=True)
class Loop:
    r"""All that decides whether the loop shakes.

    Between ticks the plant is continuous, :math:`\dot z = F z + G u` with :math:`z = (x_a, v_a,
    x_b, v_b)`, the hand on the leader and the wall on the follower; the efforts u are held from
    tick to tick:
    :math:`z_{k+1} = \Phi z_k + \Gamma u_k`. The law sees position, velocity and force of its own
    side as they are and those of the other side d ticks late:

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
        reading: positions of leader and follower as the law sees them over what they are, [-].
    """

    law: SampledLaw
    leader: LoopTool
    follower: LoopTool
    hand: Contact
    wall: Contact = field(default_factory=lambda: Contact(0.0))
    period: float = 1e-3
    delay: int = 0
    velocity_filter: float = 0.0
    reading: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        """Refuse a time between ticks, or a delay, that is none."""
        if not 0.0 < self.period < np.inf:
            raise OutOfRange("period", self.period, 0.0, np.inf, "s")
        if not (isinstance(self.delay, Integral) and self.delay >= 0):
            raise BadValue(f"delay = {self.delay} must be a whole number of ticks, 0 or more")

    @property
    def sides(self) -> tuple[tuple[LoopTool, Contact], tuple[LoopTool, Contact]]:
        """Leader and hand, follower and wall."""
        return (self.leader, self.hand), (self.follower, self.wall)

    @property
    def share(self) -> float:
        """What the velocity filter takes over of a new difference, [-]."""
        return share_of(self.velocity_filter, self.period)

    @property
    def rubs(self) -> bool:
        """Whether there is dry friction anywhere."""
        return any(tool.friction > 0.0 for tool, _ in self.sides)

    def amplitudes(self, shape: Array) -> tuple[float, float]:
        """How far leader and follower swing in a mode."""
        return float(abs(shape[0])), float(abs(shape[2]))

    def plant(self) -> tuple[Array, Array]:
        """Φ and Γ of the plant alone, exact for efforts held over a period."""
        F, G = np.zeros((4, 4)), np.zeros((4, 2))
        for side, (tool, contact) in enumerate(self.sides):
            x, v, mass = 2 * side, 2 * side + 1, tool.mass + contact.mass
            F[x, v] = 1.0
            F[v, x], F[v, v] = -contact.stiffness / mass, -(contact.damping + tool.damping) / mass
            G[v, side] = 1.0 / mass
        both = np.zeros((6, 6))
        both[:4, :4], both[:4, 4:] = F, G
        moved = exponential(both * self.period)
        return moved[:4, :4], moved[:4, 4:]

    def matrices(self) -> tuple[Array, Array, Array]:
        r"""A, B and R of the closed loop :math:`z_{k+1} = A z_k + B R z_{k-d}`.

        R is what crosses the link, as the two efforts it causes; B is how these move the plant.
        """
        phi, gamma = self.plant()
        n = 4 if self.velocity_filter == 0.0 else 8
        signals = self._signals(n)
        A, B, R = np.zeros((n, n)), np.zeros((n, 2)), np.zeros((2, n))
        A[:4, :4], B[:4] = phi, gamma
        for side in range(2):
            A[:4] += np.outer(gamma[:, side], self.law.local[side] @ signals[side])
            R[side] = self.law.remote[side] @ signals[1 - side]
        if n == 8:
            A[4:] = self._filters(signals)
        return A, B, R

    def rubbed(self, mode: Mode, bump: float) -> Loop:
        r"""The loop with dry friction as the damping that takes the same energy per cycle (describing function).

        .. math:: b = \frac{4 f_c}{\pi\,A\,\omega}

        Args:
            mode: the oscillation, ω and how A is shared between the tools.
            bump: A of the livelier tool, [m].
        """
        tools = []
        for (tool, _), part in zip(self.sides, mode.amplitudes, strict=True):
            speed = 2.0 * np.pi * mode.frequency * part * bump
            extra = (
                4.0 * tool.friction / (np.pi * speed)
                if tool.friction > 0.0 and speed > 0.0
                else 0.0
            )
            tools.append(replace(tool, damping=tool.damping + extra))
        return replace(self, leader=tools[0], follower=tools[1])

    def _signals(self, n: int) -> list[Array]:
        """Position, velocity and force that the law sees of each side, as rows over the state."""
        rows = []
        for side, (_, contact) in enumerate(self.sides):
            C, x, v = np.zeros((3, n)), 2 * side, 2 * side + 1
            C[0, x] = gain = self.reading[side]
            C[2, x], C[2, v] = -contact.stiffness, -contact.damping
            if n == 4:
                C[1, v] = 1.0
            # V_f,k = v_f,k-1 + s ((x_k - x_k-1) / T - v_f,k-1), with x_k-1 and v_f,k-1 in the state
            else:
                before, s, slope = 4 + 2 * side, self.share, gain * self.share / self.period
                C[1, x], C[1, before], C[1, before + 1] = slope, -slope, 1.0 - s
            rows.append(C)
        return rows

    @staticmethod
    def _filters(signals: list[Array]) -> Array:
        """Rows that remember each side's position and filtered velocity."""
        rows = np.zeros((4, 8))
        for side in range(2):
            rows[2 * side, 2 * side] = 1.0
            rows[2 * side + 1] = signals[side][1]
        return rows


def share_of(cut_off: float, period: float) -> float:
    """What a low-pass at ``cut_off`` [Hz] takes over of a new value every ``period`` [s], [-]."""
    return float(-np.expm1(-2.0 * np.pi * cut_off * period))


def exponential(matrix: Array) -> Array:
    """Matrix exponential by scaling and squaring; a library's own waits for its threads, 20 ms on a busy computer."""
    halvings = max(
        0, int(np.ceil(np.log2(max(float(np.abs(matrix).sum(axis=1).max()), 1e-300)))) + 1
    )
    scaled = matrix / 2.0**halvings
    total = term = np.eye(len(matrix))
    for order in range(1, 16):
        term = term @ scaled / order
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
