"""The sampled loop as matrices: along one axis, or with all joints of both arms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import NamedTuple, TypeVar

import numpy as np

from farhand.analysis.stability.sampled_law import LawTable, Memory, SampledLaw
from farhand.coupling.constraint_terms import LEVER
from farhand.errors import BadValue, OutOfRange

Array = np.ndarray
T = TypeVar("T", float, Array, Array | float)


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


MOST_WAITING = 8
"""Ticks up to which every command on a motor's bus is a state of its own."""

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
    #: stiffness and damping between joints, n × n, such as of a gear that gives
    gear: tuple[Array | float, Array | float] = (0.0, 0.0)
    #: which of the tool's six axes a target leads, if the drives take targets; 1 or 0 each
    led: tuple[float, ...] | None = None
    #: damping that the arm's model lacks, so that an observer takes it for contact, [N·m·s/rad]
    unknown: Array | float = 0.0

    @property
    def coupled(self) -> Array:
        """Motion of what the law couples by that of the joints: the Jacobian, or 1."""
        return np.eye(len(self.M)) if self.joints else self.J

    @property
    def spread(self) -> Array:
        """Joint torques by the law's effort, or joint targets by the pose that it wants."""
        if self.led is None:
            return self.coupled.T
        back: Array = np.linalg.pinv(self.J * np.array(self.led)[:, None], rcond=1e-3)
        return back * self.led

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
class LoopDrive:
    r"""Motors that close a loop of their own around their joints, at their own rate.

    .. math:: \tau = u - K q - D w

    w is the velocity that a motor measures; u comes over the bus. A drive that is led by velocities
    gets :math:`u = K q_r + D v_r + M\dot v_r` from a reference that follows joint targets t with
    :math:`v_r = P\,(t - q) + Q\,(\dot t - \dot q)`, late.
    """

    stiffness: Array  #: K, n × n, [N·m/rad]
    damping: Array  #: D, n × n, [N·m·s/rad]
    period: float  #: of the motors' loop, [s]
    cut_off: float = 0.0  #: of the velocity that they measure, [Hz]; 0: none
    late: float = 0.0  #: from a state, over the bus, to the torque that answers it, [s]
    follows: tuple[Array, Array] | None = None  #: P [1/s] and Q [-] of a drive led by velocities
    smoothing: float = 0.0  #: time constant of the rate in Q, [s]
    raw: bool = False  #: whether it reports its velocity as it is before ``cut_off``
    #: cut-off of the reported velocity on its way to the other arm, for each joint, [Hz]
    sent: Array | float = np.inf


@dataclass(frozen=True)
class WholeLoop:
    r"""All joints of both arms, the hand on the leader and the wall on the follower.

    Each arm moves by :math:`M\ddot q + D\dot q + J^\top (K J q + B J \dot q) = J^\top w` between
    ticks, w held; the law answers to pose, twist and wrench of both tools, 18 numbers each, those
    of the other side d ticks late. Small motions about rest: how the Jacobian changes with the
    posture under a steady force is left out. A law that couples joints answers to their positions,
    velocities and external torques, 3 n numbers, with torques. An arm whose drives take targets is
    led by the pose that the law wants for its tool.
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
    step: float = 0.0  #: of the world that simulates the arms, [s]; 0: arms that move continuously
    drives: tuple[LoopDrive | None, LoopDrive | None] = (None, None)  #: loops inside the arms
    speed_steps: float = 0.0  #: of the slowest limit cycle that counts; 0: velocities have no steps
    speed_reading: tuple[float, float] = (1.0, 1.0)  #: factor on velocities that the law sees, [-]

    @property
    def has_dry_friction(self) -> bool:
        """Whether any joint has dry friction."""
        return any(limb.dry.any() for limb in self.limbs)

    @cached_property
    def _sides(self) -> tuple[LoopSide, LoopSide]:
        """Both arms by themselves, with what touches them."""
        leader, follower = self.limbs
        touched = leader, follower.touching(self.wall.stiffness, self.wall.damping)
        one, two = (self._side(number, limb) for number, limb in enumerate(touched))
        return one, two

    def matrices(self) -> tuple[Array, Array, Array]:
        """A, B and R as of :meth:`Loop.matrices`."""
        (one, two), law = self._sides, self.law
        memory = self.memory or Memory(np.zeros((0, 0)), _NOTHING, np.zeros((one.B.shape[1], 0)))
        n, wide, kept = len(one.A), one.B.shape[1], len(memory.P)
        own = slice(0, n), slice(n, n + len(two.A))
        rows = slice(own[1].stop, own[1].stop + kept)
        A = np.zeros((rows.stop, rows.stop))
        B = np.zeros((rows.stop, wide + two.B.shape[1] + kept))
        R = np.zeros((B.shape[1], rows.stop))
        A[own[0], own[0]] = one.A + one.B @ law[0][0] @ one.C
        A[own[1], own[1]] = two.A + two.B @ law[1][1] @ two.C
        B[own[0], :wide], R[:wide, own[1]] = one.B, law[0][1] @ two.sent
        through = slice(wide, wide + two.B.shape[1])
        B[own[1], through], R[through, own[0]] = two.B, law[1][0] @ one.sent
        if kept:
            # The law's memory is at the leader's end; what it learns of the follower crosses too.
            A[rows, rows], A[own[0], rows] = memory.P, one.B @ memory.N
            A[rows, own[0]] = memory.Q[0] @ one.C
            B[rows, through.stop :], R[through.stop :, own[1]] = np.eye(kept), memory.Q[1] @ two.C
        return A, *_narrowed(B, R)

    def _side(self, number: int, limb: LoopArm) -> LoopSide:
        """One arm with its drive, and the filters of what the law sees of it."""
        gain, speed = self.reading[number], self.speed_reading[number]
        drive, n, P = self.drives[number], len(limb.M), limb.coupled
        A, B = self._moved(limb) if drive is None else self._driven(limb, drive)
        B = B @ limb.spread
        filtered = self.velocity_filter > 0.0 and drive is None
        seen, rate = 2 * n * filtered, self.observers[number]
        cut_off = np.inf if drive is None else drive.sent
        smooths = bool(np.isfinite(cut_off).any())
        smoothed = slice(len(A) + seen, len(A) + seen + n * smooths)
        total = smoothed.stop + len(P) * (rate > 0.0)
        q, v = np.zeros((n, total)), np.zeros((n, total))
        q[:, :n] = v[:, n : 2 * n] = np.eye(n)
        known = v
        if drive is not None and drive.cut_off > 0.0 and not drive.raw:
            known = np.eye(n, total, 2 * n)
        elif filtered:
            s, before = filter_share(self.velocity_filter, self.period), len(A)
            known = gain * s / self.period * (q - np.eye(n, total, before))
            known += (1.0 - s) * np.eye(n, total, before + n)
        if limb.joints:
            K, D = limb.contact
            measured = -K @ q - (D + np.diag(np.broadcast_to(limb.unknown, n))) @ v
        else:
            measured = -limb.stiffness @ P @ q - limb.damping @ P @ v
        moved = np.zeros((total, total))
        moved[: len(A), : len(A)] = A
        if filtered:
            moved[len(A) : len(A) + seen] = np.vstack([q, known])
        crossing = known
        if smooths:
            new = np.diag(np.broadcast_to(filter_share(cut_off, self.period), n))
            crossing = new @ known + (np.eye(n) - new) @ np.eye(n, total, smoothed.start)
            moved[smoothed] = crossing
        if rate > 0.0:
            # An observer is a low-pass.
            low = np.eye(len(P), total, total - len(P))
            share = rate * self.period
            moved[total - len(P) :] = share * measured + (1.0 - share) * low
            measured = low
        pushed = np.vstack([B, np.zeros((total - len(A), B.shape[1]))])
        own, sent = (np.vstack([gain * P @ q, speed * P @ w, measured]) for w in (known, crossing))
        return LoopSide(moved, pushed, own, sent)

    def _moved(self, limb: LoopArm) -> tuple[Array, Array]:
        return _moved(limb, self.period, self.step)

    def _driven(self, limb: LoopArm, drive: LoopDrive) -> tuple[Array, Array]:
        """States and torques of an arm whose motors close their own loop, over one tick."""
        n, many = len(limb.M), max(1, round(self.period / drive.period))
        h = self.period / many
        phi, gamma = _moved(limb, h, min(self.step, h))
        w = slice(n, 2 * n)
        if drive.cut_off > 0.0:
            w, s = slice(2 * n, 3 * n), filter_share(drive.cut_off, h)
            phi = np.block([[phi, np.zeros((2 * n, n))], [s * phi[n:], (1.0 - s) * np.eye(n)]])
            gamma = np.vstack([gamma, s * gamma[n:]])
        phi[:, :n] -= gamma @ drive.stiffness
        phi[:, w] -= gamma @ drive.damping
        ticks, rest = divmod(drive.late, self.period)
        old = round(rest / h)
        pushes = [gamma]
        for _ in range(many - 1):
            pushes.append(phi @ pushes[-1])
        new, before = (
            sum(part, np.zeros_like(gamma)) for part in (pushes[: many - old], pushes[many - old :])
        )
        A = np.linalg.matrix_power(phi, many)
        if drive.follows is not None:
            return self._following(limb, drive, A, new + before)
        if limb.led is not None:
            new, before = new @ drive.stiffness, before @ drive.stiffness
        if ticks > MOST_WAITING:
            return _long_delayed(A, new + before, drive.late, self.period)
        return _delayed(A, new, before, int(ticks))

    def _following(
        self, limb: LoopArm, drive: LoopDrive, A: Array, B: Array
    ) -> tuple[Array, Array]:
        """States and joint targets of an arm whose drives are led by velocities.

        Behind the arm's own states: the reference q_r, its last velocity, the smoothed error, and
        two for the delay.
        """
        assert drive.follows is not None
        P, Q = (np.diag(gains) for gains in drive.follows)
        n, arm, T, late = len(limb.M), len(A), self.period, drive.late
        step = _pade(late, T)
        total = arm + 5 * n
        q, q_r, before, smooth, x1, x2 = (
            np.eye(n, total, at) for at in (0, *(arm + k * n for k in range(5)))
        )
        share = T / (T + drive.smoothing)
        # Everything is a row over the state and the targets.
        none, target = np.zeros((n, n)), np.hstack([np.zeros((n, total)), np.eye(n)])
        q, q_r, before, smooth, x1, x2 = (
            np.hstack([rows, none]) for rows in (q, q_r, before, smooth, x1, x2)
        )
        error = target - q
        # The rate is that of the error against its own low-pass.
        rate = (error - smooth) * share / T
        wanted = P @ error + Q @ rate
        v_r = wanted - 12.0 / late * x2
        torque = drive.stiffness @ q_r + drive.damping @ v_r + limb.M @ (v_r - before) / T
        moved = np.zeros((total, total + n))
        moved[:arm] = np.hstack([A, np.zeros((arm, 5 * n + n))]) + B @ torque
        moved[arm:] = np.vstack(
            [
                q_r + T * v_r,
                v_r,
                smooth + share * (error - smooth),
                step[0, 0] * x1 + step[0, 1] * x2 + step[0, 2] * wanted,
                step[1, 0] * x1 + step[1, 1] * x2 + step[1, 2] * wanted,
            ]
        )
        return moved[:, :total], moved[:, total:]

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
        first, second = (len(limb.M) for limb in self.limbs)
        start = len(self._sides[0].A)
        yield self.limbs[0], slice(0, first)
        yield self.limbs[1], slice(start, start + second)


_NOTHING = (np.zeros((0, 0)), np.zeros((0, 0)))


class LoopSide(NamedTuple):
    """One arm over a tick: z' = A z + B w; the law sees C z of it, the other arm ``sent`` z."""

    A: Array
    B: Array
    C: Array
    sent: Array


def _delayed(A: Array, new: Array, before: Array, ticks: int) -> tuple[Array, Array]:
    """The same with inputs that act some ticks late; the last one acts on in the first part."""
    count = ticks + bool(before.any())
    if count == 0:
        return A, new
    n, wide = len(A), new.shape[1]
    moved = np.zeros((n + count * wide, n + count * wide))
    moved[:n, :n] = A
    moved[n + wide :, n:-wide] = np.eye((count - 1) * wide)
    pushed = np.zeros((len(moved), wide))
    pushed[n : n + wide] = np.eye(wide)
    if ticks == 0:
        pushed[:n] = new
    else:
        moved[:n, n + (ticks - 1) * wide : n + ticks * wide] = new
    if before.any():
        moved[:n, n + ticks * wide :] = before
    return moved, pushed


def _pade(late: float, period: float) -> Array:
    """States of a delay over a tick, in Padé's approximation of second order: x' = S [x; u].

    What comes out is u − 12 x₂ / late. Good for oscillations of up to a third of 1 / late.
    """
    rates = np.zeros((3, 3))
    rates[0, 1], rates[1] = 1.0, (-12.0 / late**2, -6.0 / late, 1.0)
    return exponential(rates * period)[:2]


def _long_delayed(A: Array, B: Array, late: float, period: float) -> tuple[Array, Array]:
    """The same with inputs that act late, without a state for every tick of it."""
    one, S = np.eye(B.shape[1]), _pade(late, period)
    through = np.hstack([np.zeros_like(B), -12.0 / late * B])
    none = np.zeros((2 * B.shape[1], len(A)))
    moved = np.block([[A, through], [none, np.kron(S[:, :2], one)]])
    return moved, np.vstack([B, np.kron(S[:, 2:], one)])


def _moved(limb: LoopArm, period: float, step: float) -> tuple[Array, Array]:
    """Φ and Γ of one arm for joint torques held over a period: exact, or as a world steps it.

    A world takes the forces of a step's start and moves on with the velocity of its end, which is
    half a step earlier than continuous arms are.
    """
    n = len(limb.M)
    K, B = (touched + inside for touched, inside in zip(limb.contact, limb.gear, strict=True))
    D = np.diag(limb.viscous)
    if limb.joints:
        K, B = K + RETURN_RATE * (RETURN_RATE * limb.M + B + D), B + 2.0 * RETURN_RATE * limb.M
    if step > 0.0:
        moved = np.eye(3 * n)
        forces = np.hstack([-step * K, limb.M - step * B, step * np.eye(n)])
        moved[n : 2 * n] = np.linalg.solve(limb.M + step * D, forces)
        moved[:n] += step * moved[n : 2 * n]
        moved = np.linalg.matrix_power(moved, max(1, round(period / step)))
    else:
        rates = np.zeros((3 * n, 3 * n))
        rates[:n, n : 2 * n] = np.eye(n)
        rates[n : 2 * n] = np.linalg.solve(limb.M, np.hstack([-K, -B - D, np.eye(n)]))
        moved = exponential(rates * period)
    return moved[: 2 * n, : 2 * n], moved[: 2 * n, 2 * n :]


def _narrowed(B: Array, R: Array) -> tuple[Array, Array]:
    """The same product B R with as few channels as it needs: a wall pushes in one direction."""
    U, sizes, V = np.linalg.svd(R, full_matrices=False)
    wide = max(int((sizes > 1e-12 * max(sizes[0], 1e-300)).sum()), 1)
    return B @ U[:, :wide] * sizes[:wide], V[:wide]


def filter_share(cut_off: T, period: float) -> T:
    """Share of a new value that a low-pass at ``cut_off`` [Hz] takes every ``period`` [s], [-]."""
    share: T = -np.expm1(-2.0 * np.pi * cut_off * period)
    return share


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
