"""Parts of law, world and rig broken on purpose, for the ids of several themes."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.control.joint.assists import FrictionOffset
from farhand.coupling import virtual_constraints
from farhand.coupling.kernels import damped, tool_terms
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.mapping import WorkspaceMapping
from farhand.rigs.dual_arm import parts
from farhand.spatial import Array
from farhand.world import ImpedanceHand, Wall
from farhand_lab.mutation import Mutation, Mutations

# Where the arguments of each arm begin in those of the constraint force
LEADER, FOLLOWER = 0, 6


def _efforts(on_leader: float, on_follower: float):
    """A law whose efforts are multiplied."""

    def change(step):
        def broken(self, a, b, dt):
            on_a, on_b = step(self, a, b, dt)
            on_a.wrench *= on_leader
            on_b.wrench *= on_follower
            return on_a, on_b

        return broken

    return change


def terms_changed(viscous=1.0, wrench=1.0, torque=1.0, drift=1.0):
    """A law that takes multiples of friction, wrench, torque on the links and J̇q̇ of both arms."""

    def change(constraint_force):
        def broken(*known):
            for at in (LEADER, FOLLOWER):
                state, nq, measured, external = known[at : at + 4]
                changed, n = state.copy(), len(external)
                changed[-n:] *= viscous
                changed[-n - 6 : -n] *= drift
                given = changed, nq, wrench * measured, torque * external
                known = (*known[:at], *given, *known[at + 4 :])
            constraint_force(*known)

        return broken

    return change


def _gains(**factors: float):
    """A law whose gains start at a multiple of what they should be."""

    def change(prepare):
        def broken(self):
            for name, factor in factors.items():
                setattr(self, name, factor * getattr(self, name))
            prepare(self)

        return broken

    return change


def _nothing(*_: object) -> float:
    return 0.0


MUTATIONS = Mutations()
MUTATIONS += [
    Mutation(
        "sign of u", "both arms are pushed the wrong way", ("D-13", "D-15", "D-30", "D-32", "D-33")
    ).change(VirtualConstraints, "step", _efforts(-1.0, -1.0)),
    Mutation(
        "reaction", "the leader feels 99 % of what the follower gets", ("D-15", "D-34")
    ).change(VirtualConstraints, "step", _efforts(0.99, 1.0)),
    Mutation("no J̇q̇", "the law forgets that the Jacobian changes", ("D-13", "D-14", "D-15")).change(
        virtual_constraints, "constraint_force", terms_changed(drift=0.0)
    ),
    Mutation("no friction term", "the law forgets viscous friction", ("D-13", "D-24")).change(
        virtual_constraints, "constraint_force", terms_changed(viscous=0.0)
    ),
    Mutation(
        "wrench sign",
        "the law takes the wrench for that of the arm on the world",
        ("D-13", "D-30", "D-36"),
    ).change(virtual_constraints, "constraint_force", terms_changed(wrench=-1.0)),
    Mutation(
        "no wrenches", "the law ignores the measured wrenches", ("D-25", "D-36", "D-40")
    ).change(virtual_constraints, "constraint_force", terms_changed(wrench=0.0)),
    Mutation("wrong K_d", "the derivative gain is 10 % too low", ("D-19",)).change(
        VirtualConstraints, "__post_init__", _gains(derivative=0.9)
    ),
    Mutation("wrong K_p", "the proportional gain is 10 % too low", ("D-37",)).change(
        VirtualConstraints, "__post_init__", _gains(proportional=0.9)
    ),
    Mutation(
        "large ρ", "the inverse of Γ is damped ten times more", ("D-36", "D-39", "D-40")
    ).change(VirtualConstraints, "__post_init__", _gains(damping=10.0)),
    Mutation(
        "wrong e_o", "the orientation error is not the gradient of its potential", ("D-20",)
    ).change(
        virtual_constraints,
        "orientation_error",
        lambda whole: lambda v, kind: -0.5 * whole(v, kind),
    ),
    Mutation("offsets", "offsets are not captured at engagement", ("D-23", "D-24")).patch(
        WorkspaceMapping, "capture", _nothing
    ),
    Mutation("unknown push", "the law ignores torques on the links", ("D-59",)).change(
        virtual_constraints, "constraint_force", terms_changed(torque=0.0)
    ),
    Mutation("no offset torque", "the friction offset is missing", ("D-50",)).patch(
        FrictionOffset, "torque", _nothing
    ),
    Mutation(
        "friction doubled", "the leader's dry friction is twice the calibrated", ("D-50",)
    ).change(
        parts, "set_frictionloss", lambda whole: lambda values: whole(2.0 * np.asarray(values))
    ),
]


def invert(other: Array, constraint_force, *known) -> None:
    """The constraint force with ``other`` in place of Γ."""
    *_, gains, gamma, back, efforts = known
    constraint_force(*known)
    u, felt = efforts[:6], efforts[6:]
    square = gamma @ gamma + gains[12] ** 2 * np.eye(6)
    wanted = np.linalg.solve(gamma, square @ u)
    gamma[:] = other
    u[:] = damped(other, wanted[:, None], gains[12])[:, 0]
    felt[:] = -back * u


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-13 D-14 D-15")
def gamma_of_one_arm(constraint_force, *known):
    """The law inverts the leader's part of Γ only."""
    one, unused = np.zeros((6, 6)), np.zeros(6)
    arguments: tuple[Any, ...] = (*known[LEADER:FOLLOWER], one, unused)
    tool_terms(*arguments)
    invert(one, constraint_force, *known)


@MUTATIONS.of(Wall, "push", "D-35")
def pulling_wall(push, self, tool, t, wrench):
    """The wall pulls."""
    push(self, tool, t, wrench)
    wrench *= -1.0


@MUTATIONS.of(ImpedanceHand, "push", "D-38")
def closed_hand(push, self, tool, t, wrench):
    """The hand cannot let go."""
    self.open = False
    push(self, tool, t, wrench)
