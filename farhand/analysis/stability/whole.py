"""The sampled loop of two whole arms: all joints, the hand in six directions, the wall along one, the law in all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from farhand.analysis.stability.loop import Contact, Mode, exponential, share_of
from farhand.analysis.stability.sampled_law import Memory

Array = np.ndarray


@dataclass(frozen=True)
class LoopArm:
    """One arm at a posture.

    Attributes:
        M: mass matrix, [kg·m²].
        J: Jacobian of the tool, 6 × nv.
        viscous: friction of the joints, [N·m·s/rad].
        dry: friction of the joints, [N·m].
        axis: unit vector into the wall as this arm sees it, in world.
        stiffness: of what holds its tool, 6 × 6, [N/m] and [N·m/rad].
        damping: likewise, [N·s/m] and [N·m·s/rad].
    """

    M: Array
    J: Array
    viscous: Array
    dry: Array
    axis: Array
    stiffness: Array = field(default_factory=lambda: np.zeros((6, 6)))
    damping: Array = field(default_factory=lambda: np.zeros((6, 6)))

    def touched(self, stiffness: float, damping: float) -> LoopArm:
        """The arm with a wall or nothing else along the axis."""
        along = np.zeros((6, 6))
        along[:3, :3] = np.outer(self.axis, self.axis)
        return replace(self, stiffness=stiffness * along, damping=damping * along)


@dataclass(frozen=True)
class WholeLoop:
    r"""All joints of both arms, the hand on the leader and the wall on the follower.

    Each arm moves by :math:`M\ddot q + D\dot q + J^\top (K J q + B J \dot q) = J^\top w` between
    ticks, w held; the law answers to pose, twist and wrench of both tools, 18 numbers each, those
    of the other side d ticks late. Small motions about rest: how the Jacobian changes with the
    posture under a steady force is left out.

    Attributes:
        limbs: leader and follower, with what holds them.
        law: efforts on leader and follower over signals of leader and follower, 2 × 2 × 6 × 18.
        wall: on the follower; in contact throughout.
        period: between ticks, [s].
        delay: one way, in ticks.
        velocity_filter: cut-off of velocity made from positions, [Hz]; 0 for true velocity.
        reading: positions of leader and follower as the law sees them over what they are, [-].
        memory: what the law remembers at the leader's end; None for a law that remembers nothing.
        observers: rate of the low-pass through which leader and follower know their wrench, [1/s];
            0 for a sensor.
    """

    limbs: tuple[LoopArm, LoopArm]
    law: Array
    wall: Contact
    period: float = 1e-3
    delay: int = 0
    velocity_filter: float = 0.0
    reading: tuple[float, float] = (1.0, 1.0)
    memory: Memory | None = None
    observers: tuple[float, float] = (0.0, 0.0)

    @property
    def rubs(self) -> bool:
        """Whether any joint has dry friction."""
        return any(limb.dry.any() for limb in self.limbs)

    def matrices(self) -> tuple[Array, Array, Array]:
        """A, B and R as of :meth:`farhand.analysis.stability.loop.Loop.matrices`."""
        held = (self.limbs[0], self.limbs[1].touched(self.wall.stiffness, self.wall.damping))
        moved = [_moved(limb, self.period) for limb in held]
        nv = [len(limb.M) for limb in held]
        filtered = self.velocity_filter > 0.0
        sizes = [(4 if filtered else 2) * n for n in nv]
        starts, arms = (0, sizes[0]), sum(sizes)
        total = arms + 12 * any(self.observers) + (0 if self.memory is None else len(self.memory.P))
        signals = [self._signals(side, held[side], starts[side], total) for side in range(2)]
        A, B, R = np.zeros((total, total)), np.zeros((total, 12)), np.zeros((12, total))
        self._observe(A, signals, arms)
        for side in range(2):
            phi, gamma = moved[side]
            rows = slice(starts[side], starts[side] + 2 * nv[side])
            A[rows, rows] = phi
            A[rows] += gamma @ self.law[side, side] @ signals[side][0]
            B[rows, 6 * side : 6 * side + 6] = gamma
            R[6 * side : 6 * side + 6] = self.law[side, 1 - side] @ signals[1 - side][0]
            if filtered:
                memory = starts[side] + 2 * nv[side]
                A[memory : memory + nv[side], starts[side] : starts[side] + nv[side]] = np.eye(
                    nv[side]
                )
                A[memory + nv[side] : memory + 2 * nv[side]] = signals[side][1]
        if self.memory is not None:
            B, R = self._remember(
                self.memory, A, B, R, moved[0][1], [signal[0] for signal in signals]
            )
        return A, *_narrowed(B, R)

    def _observe(self, A: Array, signals: list[tuple[Array, Array]], start: int) -> None:
        """Let wrenches that are observed come through a low-pass, whose states begin at ``start``."""
        if not any(self.observers):
            return
        for side, rate in enumerate(self.observers):
            rows, seen = slice(start + 6 * side, start + 6 * side + 6), signals[side][0]
            share = rate * self.period if rate > 0.0 else 1.0
            A[rows] = share * seen[12:]
            A[rows, rows] += (1.0 - share) * np.eye(6)
            if rate > 0.0:
                seen[12:] = 0.0
                seen[12:, rows] = np.eye(6)

    @staticmethod
    def _remember(
        memory: Memory, A: Array, B: Array, R: Array, gamma: Array, signals: list[Array]
    ) -> tuple[Array, Array]:
        """Add what the law remembers, as the last states, and what crosses the link to it."""
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
        found, start = [], 0
        for limb in self.limbs:
            n = len(limb.M)
            found.append(float(np.abs(limb.axis @ limb.J[:3] @ shape[start : start + n])))
            start += (4 if self.velocity_filter > 0.0 else 2) * n
        return found[0], found[1]

    def rubbed(self, mode: Mode, bump: float) -> WholeLoop:
        """The loop with the joints' dry friction as damping, for a bump of this size at the livelier tool, [m]."""
        limbs, start = [], 0
        for limb in self.limbs:
            n = len(limb.M)
            speed = 2.0 * np.pi * mode.frequency * bump * np.abs(mode.shape[start : start + n])
            extra = 4.0 * limb.dry / (np.pi * np.maximum(speed, 1e-9)) * (mode.frequency > 0.0)
            limbs.append(replace(limb, viscous=limb.viscous + np.minimum(extra, 1e6)))
            start += (4 if self.velocity_filter > 0.0 else 2) * n
        return replace(self, limbs=(limbs[0], limbs[1]))

    def _signals(self, side: int, limb: LoopArm, start: int, total: int) -> tuple[Array, Array]:
        """Pose, twist and wrench that the law sees of one side, and the joints' velocity as known, over the state."""
        n, J, gain = len(limb.M), limb.J, self.reading[side]
        q, v = np.zeros((n, total)), np.zeros((n, total))
        q[:, start : start + n] = np.eye(n)
        v[:, start + n : start + 2 * n] = np.eye(n)
        known = v
        if self.velocity_filter > 0.0:
            s, memory = share_of(self.velocity_filter, self.period), start + 2 * n
            known = gain * s / self.period * q
            known[:, memory : memory + n] = -gain * s / self.period * np.eye(n)
            known[:, memory + n : memory + 2 * n] = (1.0 - s) * np.eye(n)
        return np.vstack(
            [gain * J @ q, J @ known, -limb.stiffness @ J @ q - limb.damping @ J @ v]
        ), known


def _moved(limb: LoopArm, period: float) -> tuple[Array, Array]:
    """Φ and Γ of one arm, exact for a wrench held over a period."""
    n, J = len(limb.M), limb.J
    both = np.zeros((2 * n + 6, 2 * n + 6))
    both[:n, n : 2 * n] = np.eye(n)
    forces = -np.hstack(
        [J.T @ limb.stiffness @ J, J.T @ limb.damping @ J + np.diag(limb.viscous), -J.T]
    )
    both[n : 2 * n] = np.linalg.solve(limb.M, forces)
    moved = exponential(both * period)
    return moved[: 2 * n, : 2 * n], moved[: 2 * n, 2 * n :]


def _narrowed(B: Array, R: Array) -> tuple[Array, Array]:
    """The same product with as few channels across the link as it needs: a wall pushes along one direction only."""
    U, sizes, V = np.linalg.svd(R, full_matrices=False)
    wide = max(int((sizes > 1e-12 * max(sizes[0], 1e-300)).sum()), 1)
    return B @ U[:, :wide] * sizes[:wide], V[:wide]
