"""The two published arms, with the law between them in any state, beside their DH tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from farhand.arm import Arm
from farhand.coupling.side import Side
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import scale_mass, set_armature, set_damping
from farhand_lab.dh import DHArm
from farhand_lab.harness import generator
from farhand_lab.trial import dual_arm

Array = np.ndarray

REST = np.zeros(6)
PLACES = {"leader": Placement(), "follower": Placement((0.0, 0.75, 0.0))}  # published
VISCOUS = np.array([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])  # of the leader, assumed, [N·m·s/rad]


def published_robots(
    *, armature: float = 0.1, friction: float = 1.0, mass_scale: float = 0.25
) -> dict[str, Robot]:
    """Leader and follower with the published kinematics.

    Args:
        armature: assumed rotor inertia of the leader's joints, [kg·m²].
        friction: factor on the assumed viscous friction of the leader, [-].
        mass_scale: the follower's masses over the leader's, published, [-].
    """
    leader = load_robot("ur5e", "cb").edited(
        set_armature(armature), set_damping(friction * VISCOUS)
    )
    return {"leader": leader, "follower": leader.edited(scale_mass(mass_scale))}


class CoupledArms:
    """Leader and follower with the law between them.

    Args:
        tables: DH arms of both, for an independent answer; bases must be upright and not turned.
        damping: ρ of the law's inverse.
    """

    def __init__(
        self, leader: Arm, follower: Arm, tables: tuple[DHArm, DHArm], damping: float = 0.0
    ) -> None:
        self.arms = leader, follower
        self.tables = tables
        self.a = Side("leader", leader)
        self.b = Side("follower", follower)
        self.law = VirtualConstraints(damping=damping)

    def set_state(self, q_a: Array, v_a: Array, q_b: Array, v_b: Array) -> None:
        """Put both arms into a state."""
        self.arms[0].update(q_a, v_a)
        self.arms[1].update(q_b, v_b)

    def random_states(self, stream: str, count: int) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Put both arms into random states, one after the other: q_a, v_a, q_b, v_b of each."""
        streams = [states(f"{stream} of the {who}", count) for who in ("leader", "follower")]
        for a, b in zip(*streams, strict=True):
            self.set_state(*a, *b)
            yield *a, *b

    def multiplier(self) -> Array:
        """The law's u at the present state, [N] and [N·m]."""
        self.law.step(self.a, self.b, 1e-3)
        return self.law.multiplier.copy()

    def error_acceleration(self) -> Array:
        """ÿ = d/dt (J₂ q̇₂ − J₁ q̇₁) after the last step, by the tables, [m/s²] and [rad/s²]."""
        total = np.zeros(6)
        sides = zip((self.a, self.b), self.arms, self.tables, (-1.0, 1.0), strict=True)
        for side, arm, table, sign in sides:
            terms = table.terms(arm.q, arm.v)
            wrench = sign * self.law.multiplier + (0.0 if side.wrench is None else side.wrench)
            torque = terms.J.T @ wrench - terms.coriolis - arm.viscous * arm.v
            total += sign * (terms.J @ np.linalg.solve(terms.B, torque) + terms.drift)
        return total


def rig_pair(*settings: tuple[str, object], damping: float = 0.0) -> CoupledArms:
    """The arms of the dual-arm rig as its stations know them."""
    rig = dual_arm("virtual-constraints", "rest", *settings)
    leader, follower = (station.arm for station in rig.session.stations)
    table = DHArm.load("ur5e", "cb")
    scale = float(rig.construction.mass_scale)  # type: ignore[attr-defined]
    rig.close()
    return CoupledArms(leader, follower, (table, table.scaled(scale)), damping)


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
