"""What the hand feels: the follower's inertia in free motion, the wall's stiffness in contact, under several laws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from farhand.coupling import FourChannel, PositionPosition, Spring
from farhand.coupling.constraint_terms import ToolTerms
from farhand.running.comparison import Case, contact, directions, impedance, inertia, own_impedance
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, patched
from farhand_lab.trial import QUIET

ERRORS = (1.05, 1.2)
"""Masses of the follower's plant over what its controller believes, [-]."""


def case(law: str, model: float = 1.0) -> Case:
    """The dual-arm rig with silent sensors under a law; a wrong model without gravity, or the arms would sag."""
    wrong = () if model == 1.0 else (("rig.model_mass", model), ("rig.gravity", 0.0))
    return Case("dual-arm", law, settings=(*QUIET, *wrong))


@shared
def felt_inertia(law: str, model: float = 1.0) -> float:
    """Inertia at the handle at 1 to 3 Hz beyond the leader's own, over the follower's own, [-]."""
    return (inertia(impedance(case(law, model))) - own_impedance("dual-arm")) / followers_inertia()


@shared
def followers_inertia() -> float:
    """What the follower's tool presents along the direction into the wall, 1 / nᵀ Γ n, [kg]."""
    rig = case("none").build("free")
    arm, n = rig.session.stations[1].arm, directions(rig)["follower"]
    arm.update(rig.world.ports["follower"].q.copy(), np.zeros(arm.nv))
    terms = ToolTerms(arm.nv)
    terms.update(arm, None)
    rig.close()
    return 1.0 / float(n @ terms.gamma[:3, :3] @ n)


@shared
def felt_stiffness(law: str, model: float = 1.0, wall: float = 6000.0) -> float:
    """Force at the hand over how far it went into the wall, [N/m]."""
    return contact(case(law, model), [("wall.stiffness", wall)])["felt_stiffness"]


@experiment("L-20")
def four_channel_inertia() -> Finding:
    """In percent of the follower's own."""
    share, other = (100.0 * felt_inertia(law) for law in ("four-channel", "position-position"))
    note = f"follower {followers_inertia():.2f} kg; position–position {other:.0f} %"
    return Finding(share, abs(share) < 10.0, note)


@experiment("L-21")
def four_channel_stiffness() -> Finding:
    """Force at the hand over its way into the wall."""
    felt = felt_stiffness("four-channel")
    return Finding(felt, abs(felt / 6000.0 - 1.0) < 0.1)


@experiment("L-22")
def series_springs() -> Finding:
    """The value is at the hard wall."""
    coupling = Spring().stiffness
    felt = {wall: felt_stiffness("position-position", 1.0, wall) for wall in (500.0, 6000.0)}
    predicted = {wall: coupling * wall / (coupling + wall) for wall in felt}
    worst = max(abs(felt[wall] / predicted[wall] - 1.0) for wall in felt)
    told = "; ".join(f"{felt[wall]:.0f} N/m for {predicted[wall]:.0f} N/m" for wall in felt)
    return Finding(felt[6000.0], worst < 0.1, f"{told}; worst {100 * worst:.1f} %")


@experiment("L-23")
def sensorless() -> Finding:
    """The value is the larger of both errors."""
    share, felt = (
        100.0 * felt_inertia("four-channel-sensorless"),
        felt_stiffness("four-channel-sensorless"),
    )
    off = 100.0 * abs(felt / 6000.0 - 1.0)
    return Finding(
        max(abs(share), off),
        abs(share) < 20.0 and off < 20.0,
        f"inertia {share:.1f} %, stiffness {felt:.0f} N/m",
    )


@experiment("L-24")
def wrong_model() -> Finding:
    """The value is the felt inertia with sensors at 20 %."""
    told, grows = [], True
    for law in ("four-channel", "four-channel-sensorless"):
        inertias = [100.0 * felt_inertia(law, model) for model in (1.0, *ERRORS)]
        stiffnesses = [felt_stiffness(law, model) for model in ERRORS]
        grows &= abs(inertias[1] - inertias[0]) < abs(inertias[2] - inertias[0])
        parts = (
            f"{i:.1f} % and {k:.0f} N/m" for i, k in zip(inertias[1:], stiffnesses, strict=True)
        )
        told.append(f"{law}: {' at 5 %, '.join(parts)} at 20 %")
    return Finding(100.0 * felt_inertia("four-channel", ERRORS[1]), grows, "; ".join(told))


@contextmanager
def _softer() -> Iterator[None]:
    whole = PositionPosition.step

    def step(self, a, b, dt):
        self.spring.stiffness = 600.0
        self.spring.refresh()
        return whole(self, a, b, dt)

    with patched(PositionPosition, "step", step):
        yield


@contextmanager
def _silent(which: int) -> Iterator[None]:
    """The law does not hear one of the measured wrenches."""
    whole = FourChannel._wrench

    def wrench(self, side, measured, dt):
        return np.zeros(6) if side == which else whole(self, side, measured, dt)

    with patched(FourChannel, "_wrench", wrench):
        yield


MUTATIONS = [
    Mutation(
        "deaf-to-the-hand",
        "the hand's wrench does not reach the follower",
        ("L-20", "L-23"),
        lambda: _silent(0),
    ),
    Mutation(
        "deaf-to-the-wall",
        "the follower's wrench does not reach the hand",
        ("L-21",),
        lambda: _silent(1),
    ),
    Mutation("soft-spring", "the spring has six tenths of its stiffness", ("L-22",), _softer),
]
