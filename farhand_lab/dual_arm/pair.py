"""The two arms of the rig with the law between them, put into any state, and the DH table that judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from farhand.arm import Arm
from farhand.coupling.side import Side
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand_lab.dh import DHArm
from farhand_lab.harness import generator
from farhand_lab.trial import dual_arm

Array = np.ndarray

REST = np.zeros(6)


class Pair:
    """Leader and follower with the law between them.

    Args:
        leader: the leader's model.
        follower: the follower's.
        tables: DH arms of both, for an independent answer; bases must stand upright and unturned.
        damping: ρ of the law's inverse.
    """

    def __init__(
        self, leader: Arm, follower: Arm, tables: tuple[DHArm, DHArm], damping: float = 0.0
    ) -> None:
        self.arms, self.tables = (leader, follower), tables
        self.a, self.b = Side("leader", leader), Side("follower", follower)
        self.law = VirtualConstraints(damping=damping)

    def put(self, q_a: Array, v_a: Array, q_b: Array, v_b: Array) -> None:
        """Put both arms into a state."""
        self.arms[0].update(q_a, v_a)
        self.arms[1].update(q_b, v_b)

    def moving(self, stream: str, count: int) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Put both arms into random states of their own, one after the other: q_a, v_a, q_b, v_b of each."""
        of = [states(f"{stream} of the {who}", count) for who in ("leader", "follower")]
        for a, b in zip(*of, strict=True):
            self.put(*a, *b)
            yield *a, *b

    def multiplier(self) -> Array:
        """The law's u at the present state, [N] and [N·m]."""
        self.law.step(self.a, self.b, 1e-3)
        return self.law.multiplier.copy()

    def error_acceleration(self) -> Array:
        """ÿ = d/dt (J₂ q̇₂ − J₁ q̇₁) after the last step, if the tables' arms obeyed it, [m/s²] and [rad/s²]."""
        total = np.zeros(6)
        for side, arm, table, sign in zip(
            (self.a, self.b), self.arms, self.tables, (-1.0, 1.0), strict=True
        ):
            true = table.terms(arm.q, arm.v)
            pushed = sign * self.law.multiplier + (0.0 if side.wrench is None else side.wrench)
            torque = true.J.T @ pushed - true.coriolis - arm.viscous * arm.v
            total += sign * (true.J @ np.linalg.solve(true.B, torque) + true.drift)
        return total


def rig_pair(*settings: tuple[str, object], damping: float = 0.0) -> Pair:
    """The arms of the dual-arm rig as its stations know them."""
    rig = dual_arm("virtual-constraints", "rest", *settings)
    leader, follower = (station.arm for station in rig.session.stations)
    table, scale = DHArm.load("ur5e", "cb"), float(rig.construction.mass_scale)  # type: ignore[attr-defined]
    rig.close()
    return Pair(leader, follower, (table, table.scaled(scale)), damping)


def states(stream: str, count: int) -> Iterator[tuple[Array, Array]]:
    """Random configurations in ±π [rad] and velocities of about 1 rad/s of a six-joint arm."""
    rng = generator(stream)
    for _ in range(count):
        yield rng.uniform(-np.pi, np.pi, 6), rng.normal(size=6)


def largest(*arrays: Array | float) -> float:
    """The largest absolute number in all of these."""
    return max(float(np.abs(array).max()) for array in arrays)


def slope(function: Callable[[float], Array], step: float = 1e-6) -> Array:
    """Derivative at zero by central differences."""
    return (function(step) - function(-step)) / (2.0 * step)
