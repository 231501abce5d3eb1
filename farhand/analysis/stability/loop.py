"""The sampled loop as matrices: along one axis, or with all joints of both arms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np

from farhand.analysis.stability.sampled_law import LawTable, Memory, SampledLaw
from farhand.coupling.constraint_terms import LEVER
from farhand.errors import BadValue, OutOfRange

Array = np.ndarray


@dataclass(frozen=True)
class LoopTool:
    """An arm's tool along the axis."""

    mass: float  #: what it feels like, [kg]
    damping: float = 0.0  #: viscous friction, [N·s/m]
    friction: float = 0.0  #: dry friction, [N]


@dataclass(frozen=True)
class Contact:
    """A hand or a wall that touches a tool."""

    stiffness: float  #: [N/m]
    damping: float = 0.0  #: [N·s/m]
    mass: float = 0.0  #: moves with the tool, as a hand does, [kg]; a force sensor misses it


HANDS = {
    "none": Contact(0.0, 0.0, 0.0),
    "soft": Contact(200.0, 5.0, 0.5),
    "relaxed": Contact(500.0, 20.0, 0.8),
    "firm": Contact(1500.0, 60.0, 1.2),
}
"""Hands by name. Assumed, within published human arm impedances (200 to 1500 N/m)."""


RETURN_RATE = 0.01
"""Rate at which joints that nothing holds return, [rad/s].

A redundant arm has motions that neither hand nor wall sees. Their eigenvalues lie on the unit
circle, several at one place, where rounding would push them out.
"""


@dataclass(frozen=True)
class Mode:
    """The least damped motion of a loop."""

    frequency: float  #: [Hz]
    amplitudes: tuple[float, float]  #: of leader and follower along the axis, the larger is 1, [-]
    shape: Array  #: of the whole state, in the same measure


@dataclass(frozen=True)
class Loop:
    r"""The loop along one axis.

    Between ticks the plant is continuous, :math:`\dot z = F z + G u` with :math:`z = (x_a, v_a,
    x_b, v_b)`, the hand on the leader and the wall on the follower; the efforts u are held from
    tick to tick: :math:`z_{k+1} = \Phi z_k + \Gamma u_k`. The law sees position, velocity and force
    of its own side as they are and those of the other side d ticks late:

    .. math:: u_k = L_0\,C z_k + L_1\,C z_{k-d}

    Velocity may be the low-passed difference of positions, as most encoders give it.
    """

    law: SampledLaw
    leader: LoopTool
    follower: LoopTool
    hand: Contact  #: on the leader
    wall: Contact = field(default_factory=lambda: Contact(0.0))  #: on the follower, never left
    period: float = 1e-3  #: between ticks, [s]
    delay: int = 0  #: one way, in ticks
    velocity_filter: float = 0.0  #: cut-off of velocity from positions, [Hz]; 0: true velocity
    reading: tuple[float, float] = (1.0, 1.0)  #: factor on positions that the law sees, [-]

    def __post_init__(self) -> None:
        """Refuse an impossible period or delay."""
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
        """Share of a new difference that the velocity filter takes, [-]."""
        return filter_share(self.velocity_filter, self.period)

    @property
    def has_dry_friction(self) -> bool:
        """Whether any tool has dry friction."""
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
            F[v, x] = -contact.stiffness / mass
            F[v, v] = -(contact.damping + tool.damping) / mass
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

    def with_friction_damping(self, mode: Mode, bump: float) -> Loop:
        r"""The loop with dry friction as damping of equal energy per cycle (describing function).

        .. math:: b = \frac{4 f_c}{\pi\,A\,\omega}

        ``mode`` gives ω and how A is shared between the tools, ``bump`` A of the larger one, [m].
        """
        tools = []
        for (tool, _), part in zip(self.sides, mode.amplitudes, strict=True):
            speed, extra = 2.0 * np.pi * mode.frequency * part * bump, 0.0
            if tool.friction > 0.0 and speed > 0.0:
                extra = 4.0 * tool.friction / (np.pi * speed)
            tools.append(replace(tool, damping=tool.damping + extra))
        return replace(self, leader=tools[0], follower=tools[1])

    def _signals(self, n: int) -> list[Array]:
        """Position, velocity and force that the law sees of each side, as rows over the state."""
        rows = []
        for side, (_, contact) in enumerate(self.sides):
            C, x, v = np.zeros((3, n)), 2 * side, 2 * side + 1
            C[0, x] = gain = self.reading[side]
            C[2, x] = -contact.stiffness
            C[2, v] = -contact.damping
            if n == 4:
                C[1, v] = 1.0
            else:
                # v_f,k = v_f,k-1 + s ((x_k - x_k-1) / T - v_f,k-1); the state holds both k-1.
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


@dataclass(frozen=True)
class LoopArm:
    """One arm at a posture."""

    M: Array  #: mass matrix, [kg·m²]
    J: Array  #: Jacobian of the tool, 6 × nv
    viscous: Array  #: friction of the joints, [N·m·s/rad]
    dry: Array  #: friction of the joints, [N·m]
    axis: Array  #: unit vector into the wall as this arm sees it, in world
    stiffness: Array = field(default_factory=lambda: np.zeros((6, 6)))  #: of hand or wall, 6 × 6
    damping: Array = field(default_factory=lambda: np.zeros((6, 6)))  #: likewise
    joints: bool = False  #: whether the law couples the joints, not the tool
    #: stiffness and damping of fingers that hold the last joint, [N·m/rad] and [N·m·s/rad]
    grip: tuple[float, float] = (0.0, 0.0)
    #: damping that the arm's model lacks, so that an observer takes it for contact, [N·m·s/rad]
    unknown: Array | float = 0.0

    @property
    def coupled(self) -> Array:
        """Motion of what the law couples by that of the joints: the Jacobian, or 1."""
        return np.eye(len(self.M)) if self.joints else self.J

    @property
    def contact(self) -> tuple[Array, Array]:
        """Stiffness and damping of all that touches the arm, at the joints, n × n."""
        K, B = (self.J.T @ of_tool @ self.J for of_tool in (self.stiffness, self.damping))
        K[-1, -1] += self.grip[0]
        B[-1, -1] += self.grip[1]
        return K, B

    def swing(self, q: Array) -> float:
        """How far a motion of the joints goes along the axis; of coupled joints in any way, [m]."""
        if not self.joints:
            return float(np.abs(self.axis @ self.J[:3] @ q))
        return float(max(np.linalg.norm(self.J[:3] @ q), LEVER * np.abs(q).max()))

    def touching(self, stiffness: float, damping: float) -> LoopArm:
        """The arm with only a wall along the axis."""
        along = np.zeros((6, 6))
        along[:3, :3] = np.outer(self.axis, self.axis)
        return replace(self, stiffness=stiffness * along, damping=damping * along)


@dataclass(frozen=True)
class WholeLoop:
    r"""All joints of both arms, the hand on the leader and the wall on the follower.

    Each arm moves by :math:`M\ddot q + D\dot q + J^\top (K J q + B J \dot q) = J^\top w` between
    ticks, w held; the law answers to pose, twist and wrench of both tools, 18 numbers each, those
    of the other side d ticks late. Small motions about rest: how the Jacobian changes with the
    posture under a steady force is left out. A law that couples joints answers to their positions,
    velocities and external torques, 3 n numbers, with torques.
    """

    limbs: tuple[LoopArm, LoopArm]  #: leader and follower
    law: LawTable  #: efforts on both sides over signals of both sides
    wall: Contact  #: on the follower, never left
    period: float = 1e-3  #: between ticks, [s]
    delay: int = 0  #: one way, in ticks
    velocity_filter: float = 0.0  #: cut-off of velocity from positions, [Hz]; 0: true velocity
    reading: tuple[float, float] = (1.0, 1.0)  #: factor on positions that the law sees, [-]
    memory: Memory | None = None  #: of the law, at the leader's end
    observers: tuple[float, float] = (0.0, 0.0)  #: rates of wrench observers, [1/s]; 0: a sensor

    @property
    def has_dry_friction(self) -> bool:
        """Whether any joint has dry friction."""
        return any(limb.dry.any() for limb in self.limbs)

    def matrices(self) -> tuple[Array, Array, Array]:
        """A, B and R as of :meth:`Loop.matrices`."""
        held = (self.limbs[0], self.limbs[1].touching(self.wall.stiffness, self.wall.damping))
        moved = [_moved(limb, self.period) for limb in held]
        nv = [len(limb.M) for limb in held]
        filtered = self.velocity_filter > 0.0
        sizes = [(4 if filtered else 2) * n for n in nv]
        starts, arms = (0, sizes[0]), sum(sizes)
        wide = [gamma.shape[1] for _, gamma in moved]
        efforts = slice(0, wide[0]), slice(wide[0], sum(wide))
        watched = sum(wide) * any(self.observers)
        total = arms + watched + (0 if self.memory is None else len(self.memory.P))
        signals = [self._signals(side, held[side], starts[side], total) for side in range(2)]
        A, B = np.zeros((total, total)), np.zeros((total, sum(wide)))
        R = np.zeros((sum(wide), total))
        self._observe(A, signals, arms)
        for side in range(2):
            phi, gamma = moved[side]
            rows = slice(starts[side], starts[side] + 2 * nv[side])
            A[rows, rows] = phi
            A[rows] += gamma @ self.law[side][side] @ signals[side][0]
            B[rows, efforts[side]] = gamma
            R[efforts[side]] = self.law[side][1 - side] @ signals[1 - side][0]
            if filtered:
                n, start, memory = nv[side], starts[side], starts[side] + 2 * nv[side]
                A[memory : memory + n, start : start + n] = np.eye(n)
                A[memory + n : memory + 2 * n] = signals[side][1]
        if self.memory is not None:
            seen = [signal[0] for signal in signals]
            B, R = self._remember(self.memory, A, B, R, moved[0][1], seen)
        return A, *_narrowed(B, R)

    def _observe(self, A: Array, signals: list[tuple[Array, Array]], start: int) -> None:
        """Pass observed wrenches through a low-pass whose states begin at ``start``."""
        if not any(self.observers):
            return
        for rate, (seen, _) in zip(self.observers, signals, strict=True):
            n = len(seen) // 3
            rows = slice(start, start + n)
            start += n
            share = rate * self.period if rate > 0.0 else 1.0
            A[rows] = share * seen[2 * n :]
            A[rows, rows] += (1.0 - share) * np.eye(n)
            if rate > 0.0:
                seen[2 * n :] = 0.0
                seen[2 * n :, rows] = np.eye(n)

    @staticmethod
    def _remember(
        memory: Memory, A: Array, B: Array, R: Array, gamma: Array, signals: list[Array]
    ) -> tuple[Array, Array]:
        """Add the law's memory as the last states, and its signals across the link."""
        n, total = len(memory.P), len(A)
        rows = slice(total - n, total)
        A[rows] += memory.Q[0] @ signals[0]
        A[rows, rows] += memory.P
        A[: len(gamma), rows] += gamma @ memory.N
        to_memory = np.zeros((total, n))
        to_memory[rows] = np.eye(n)
        return np.hstack([B, to_memory]), np.vstack([R, memory.Q[1] @ signals[1]])

    def amplitudes(self, shape: Array) -> tuple[float, float]:
        """How far leader and follower swing along the axis in a mode."""
        leader, follower = (limb.swing(shape[rows]) for limb, rows in self._joints())
        return leader, follower

    def with_friction_damping(self, mode: Mode, bump: float) -> WholeLoop:
        """The loop with the joints' dry friction as damping, as of :class:`Loop`."""
        limbs = []
        for limb, rows in self._joints():
            speed = 2.0 * np.pi * mode.frequency * bump * np.abs(mode.shape[rows])
            extra = 4.0 * limb.dry / (np.pi * np.maximum(speed, 1e-9)) * (mode.frequency > 0.0)
            extra = np.minimum(extra, 1e6)
            limbs.append(replace(limb, viscous=limb.viscous + extra, unknown=extra))
        return replace(self, limbs=(limbs[0], limbs[1]))

    def _joints(self) -> Iterator[tuple[LoopArm, slice]]:
        """Both arms and the rows of their joints in the state."""
        start = 0
        for limb in self.limbs:
            n = len(limb.M)
            yield limb, slice(start, start + n)
            start += (4 if self.velocity_filter > 0.0 else 2) * n

    def _signals(self, side: int, limb: LoopArm, start: int, total: int) -> tuple[Array, Array]:
        """Position, velocity and effort that the law sees of one side, and the known velocity."""
        n, P, gain = len(limb.M), limb.coupled, self.reading[side]
        q, v = np.zeros((n, total)), np.zeros((n, total))
        q[:, start : start + n] = np.eye(n)
        v[:, start + n : start + 2 * n] = np.eye(n)
        known = v
        if self.velocity_filter > 0.0:
            s, memory = filter_share(self.velocity_filter, self.period), start + 2 * n
            known = gain * s / self.period * q
            known[:, memory : memory + n] = -gain * s / self.period * np.eye(n)
            known[:, memory + n : memory + 2 * n] = (1.0 - s) * np.eye(n)
        if limb.joints:
            K, B = limb.contact
            measured = -K @ q - (B + np.diag(np.broadcast_to(limb.unknown, n))) @ v
        else:
            measured = -limb.stiffness @ P @ q - limb.damping @ P @ v
        return np.vstack([gain * P @ q, P @ known, measured]), known


def _moved(limb: LoopArm, period: float) -> tuple[Array, Array]:
    """Φ and Γ of one arm, exact for an effort held over a period."""
    n, P = len(limb.M), limb.coupled
    both = np.zeros((2 * n + len(P), 2 * n + len(P)))
    both[:n, n : 2 * n] = np.eye(n)
    K, B = limb.contact
    B = B + np.diag(limb.viscous)
    if limb.joints:
        K, B = K + RETURN_RATE * (RETURN_RATE * limb.M + B), B + 2.0 * RETURN_RATE * limb.M
    forces = -np.hstack([K, B, -P.T])
    both[n : 2 * n] = np.linalg.solve(limb.M, forces)
    moved = exponential(both * period)
    return moved[: 2 * n, : 2 * n], moved[: 2 * n, 2 * n :]


def _narrowed(B: Array, R: Array) -> tuple[Array, Array]:
    """The same product B R with as few channels as it needs: a wall pushes in one direction."""
    U, sizes, V = np.linalg.svd(R, full_matrices=False)
    wide = max(int((sizes > 1e-12 * max(sizes[0], 1e-300)).sum()), 1)
    return B @ U[:, :wide] * sizes[:wide], V[:wide]


def filter_share(cut_off: float, period: float) -> float:
    """Share of a new value that a low-pass at ``cut_off`` [Hz] takes every ``period`` [s], [-]."""
    return float(-np.expm1(-2.0 * np.pi * cut_off * period))


def exponential(matrix: Array) -> Array:
    """Matrix exponential by scaling and squaring."""
    # A library's own waits for its threads, 20 ms on a busy computer.
    size = max(float(np.abs(matrix).sum(axis=1).max()), 1e-300)
    halvings = max(0, int(np.ceil(np.log2(size))) + 1)
    scaled = matrix / 2.0**halvings
    total = term = np.eye(len(matrix))
    for order in range(1, 16):
        term = term @ scaled / order
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
