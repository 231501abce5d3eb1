"""What the hand feels: inertia in free motion and stiffness in contact, under several laws."""

from __future__ import annotations

import numpy as np

from farhand.coupling import FourChannel, PositionPosition, Spring
from farhand.coupling.constraint_terms import ToolTerms
from farhand.running.comparison import Case, contact, directions, impedance, inertia, own_inertia
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.trial import QUIET

ERRORS = (1.05, 1.2)
"""Masses of the follower's plant over those of its controller's model, [-]."""


def case(law: str, model: float = 1.0) -> Case:
    """The dual-arm rig with silent sensors under a law."""
    # With a wrong model the arms would sag under gravity
    wrong = () if model == 1.0 else (("rig.model_mass", model), ("rig.gravity", 0.0))
    return Case("dual-arm", law, settings=(*QUIET, *wrong))


@shared
def felt_inertia(law: str, model: float = 1.0) -> float:
    """Inertia at the handle at 1 to 3 Hz beyond the leader's own, over the follower's own, [-]."""
    return (inertia(impedance(case(law, model))[0]) - own_inertia("dual-arm")) / followers_inertia()


@shared
def followers_inertia() -> float:
    """Inertia of the follower's tool along the direction into the wall, 1 / nᵀ Γ n, [kg]."""
    rig = case("none").build("free")
    arm, n = rig.session.stations[1].arm, directions(rig)["follower"]
    arm.update(rig.world.ports["follower"].q.copy(), np.zeros(arm.nv))
    terms = ToolTerms(arm.nv)
    terms.update(arm, None)
    rig.close()
    return 1.0 / float(n @ terms.gamma[:3, :3] @ n)


@shared
def felt_stiffness(law: str, model: float = 1.0, wall: float = 6000.0) -> float:
    """Force at the hand over its travel into the wall, [N/m]."""
    return contact(case(law, model), {"wall.stiffness": wall})[0]["felt_stiffness"]


@experiment("L-20")
def four_channel_inertia() -> Finding:
    """In percent of the follower's own."""
    share, other = (100.0 * felt_inertia(law) for law in ("four-channel", "position-position"))
    note = f"follower {followers_inertia():.2f} kg; position–position {other:.0f} %"
    return Finding(share, abs(share) < 10.0, note)


@experiment("L-21")
def four_channel_stiffness() -> Finding:
    """Force at the hand over its travel into the wall."""
    felt = felt_stiffness("four-channel")
    return Finding(felt, abs(felt / 6000.0 - 1.0) < 0.1)


@experiment("L-22")
def series_springs() -> Finding:
    """Stiffness felt at the hard wall."""
    coupling = Spring().stiffness
    felt = {wall: felt_stiffness("position-position", 1.0, wall) for wall in (500.0, 6000.0)}
    predicted = {wall: coupling * wall / (coupling + wall) for wall in felt}
    worst = max(abs(felt[wall] / predicted[wall] - 1.0) for wall in felt)
    rows = "; ".join(f"{felt[wall]:.0f} N/m for {predicted[wall]:.0f} N/m" for wall in felt)
    return Finding(felt[6000.0], worst < 0.1, f"{rows}; worst {100 * worst:.1f} %")


@experiment("L-23")
def sensorless() -> Finding:
    """The larger of both errors."""
    share = 100.0 * felt_inertia("four-channel-sensorless")
    felt = felt_stiffness("four-channel-sensorless")
    off = 100.0 * abs(felt / 6000.0 - 1.0)
    note = f"inertia {share:.1f} %, stiffness {felt:.0f} N/m"
    return Finding(max(abs(share), off), abs(share) < 20.0 and off < 20.0, note)


@experiment("L-24")
def wrong_model() -> Finding:
    """The felt inertia with sensors at 20 %."""
    notes, grows = [], True
    for law in ("four-channel", "four-channel-sensorless"):
        right, *wrong = (100.0 * felt_inertia(law, model) for model in (1.0, *ERRORS))
        stiffnesses = [felt_stiffness(law, model) for model in ERRORS]
        grows &= abs(wrong[0] - right) < abs(wrong[1] - right)
        pairs = [f"{i:.1f} % and {k:.0f} N/m" for i, k in zip(wrong, stiffnesses, strict=True)]
        notes.append(f"{law}: {' at 5 %, '.join(pairs)} at 20 %")
    return Finding(100.0 * felt_inertia("four-channel", ERRORS[1]), grows, "; ".join(notes))


MUTATIONS = Mutations()


@MUTATIONS.of(FourChannel, "_keep", "L-20 L-23")
def deaf_to_the_hand(keep, self: FourChannel, side: int, measured, dt: float):
    """The hand's wrench does not reach the follower."""
    return np.zeros(6) if side == 0 else keep(self, side, measured, dt)


@MUTATIONS.of(FourChannel, "_keep", "L-21")
def deaf_to_the_wall(keep, self: FourChannel, side: int, measured, dt: float):
    """The follower's wrench does not reach the hand."""
    return np.zeros(6) if side == 1 else keep(self, side, measured, dt)


@MUTATIONS.of(PositionPosition, "step", "L-22")
def soft_spring(step, self: PositionPosition, a, b, dt: float):
    """The spring has six tenths of its stiffness."""
    self.spring.stiffness = 600.0
    self.spring.refresh()
    return step(self, a, b, dt)
