r"""Laws over joints, judged by physics: what the hand feels, and what layers let through.

``python -m farhand_lab.joint_space feel`` presses and shakes two like arms without dry friction,
coupled by their joints and by their tools. Four channels with exact models should add nothing to
the leader's own inertia and show the wall's own stiffness k. Position–position is two springs in
series: with the stiffness K of the joints and the tool's Jacobian J, along the wall's normal n,

.. math:: \frac{1}{k_h} = \frac{1}{k} + n^\top J K^{-1} J^\top n

``python -m farhand_lab.joint_space layers`` runs every layer with every law over every delay, in
contact. A cell holds if the coupling never gave out more than went in and what the layer lends, by
its own account and by what the motors did, torque times way; and if nothing tripped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farhand.analysis.shaking import Probe
from farhand.control.trajectory.paths import Move
from farhand.coupling import PositionPosition
from farhand.errors import FarhandError
from farhand.link.layers import LAYERS
from farhand.rigs import Options, Rig, build_rig
from farhand.running.comparison import Case, directions, impedance, inertia, own_inertia
from farhand_lab.trial import with_moves

LAWS = (
    "unilateral",
    "position-position",
    "position-force",
    "four-channel",
    "four-channel-sensorless",
    "admittance",
    "virtual-constraints",
)
DELAYS_MS = (0.0, 50.0, 100.0, 200.0, 400.0)
PRESSING_S = 4.5
"""Until the follower stands in the wall, [s]."""

LIGHT_PRESS_M = 0.005
"""How far the hand's goal goes into the wall where a stiffness is felt, [m]."""

SUMMED = 2e-3
"""Error of torque times way, as a share of all energy that went in or out."""


@dataclass(frozen=True)
class Feel:
    """What the hand feels of two like arms; pressed lightly, so that the posture stays."""

    inertia: float  #: beyond the leader's own, over the follower's own, [-]
    stiffness: float  #: at the wall, [N/m]
    expected: float  #: of the wall, behind the law's spring if it has one, [N/m]


def case_of(arm: str, space: str, law: str) -> Case:
    """Two like arms that stand at the wall."""
    names = (("rig.leader_plant", arm), ("rig.follower_plant", arm), ("rig.space", space))
    return Case("pair", law, settings=(*names, ("rig.wall_ahead", 0.0)))


def felt_inertia(case: Case) -> float:
    """Inertia at 1 to 3 Hz beyond the leader's own, over the follower's own, [-]."""
    rig = case.build("rest")
    n, stance = directions(rig)["follower"], rig.standing["follower"]
    rig.close()
    mobility = stance.J[:3] @ np.linalg.solve(stance.M, stance.J[:3].T)
    own = own_inertia(case.rig, case.settings)
    return (inertia(impedance(case)[0]) - own) * float(n @ mobility @ n)


def felt_stiffness(case: Case) -> tuple[float, float]:
    """Force at the hand over its travel in a light press, and what it should be, [N/m]."""
    rig = case.build("wall")
    along, law = directions(rig), rig.session.bridges[0].laws[0]
    n, J = along["follower"], rig.standing["follower"].J[:3]
    yields = 0.0
    if isinstance(law, PositionPosition):
        stiffness = law.port.spread(law.spring.stiffness, law.spring.rotational_stiffness)
        way = n @ J if law.port.space == "joints" else np.append(n, np.zeros(3))
        yields = float(way**2 @ (1.0 / stiffness))
    x, y, z = LIGHT_PRESS_M * along["leader"]
    with_moves(rig, Move(0.5, 1.0, (x, y, z)))
    probe = Probe(rig.world, *along.items())
    rig.session.add(probe.step, after="physics")
    rig.session.run(PRESSING_S, rig.metrics.pull)
    wall = rig.parts.wall
    assert wall is not None and not rig.session.trips
    rig.close()
    signals = probe.signals()
    felt = float(signals.force_hand[-1] / signals.position_hand[-1])
    return felt, 1.0 / (1.0 / wall.stiffness + yields)


def feel(arm: str, space: str, law: str) -> Feel:
    """Shake the leader of two like arms, then press on the wall."""
    case = case_of(arm, space, law)
    return Feel(felt_inertia(case), *felt_stiffness(case))


@dataclass(frozen=True)
class LayerCell:
    """One layer with one law over one delay."""

    created: float  #: most that the coupling gave out beyond what went in, by its account, [J]
    worked: float  #: the same by torque times way, [J]
    lent: float  #: by the layer, [J]
    exchanged: float  #: all energy that went in or out, [J]
    cut: bool  #: whether a motor was at its limit
    trips: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was created and nothing tripped."""
        counted = self.created <= self.lent + 1e-9
        done = self.worked <= self.lent + SUMMED * self.exchanged
        return counted and done and not self.trips


def cell(arms: tuple[str, str], law: str, layer: str, delay: float) -> LayerCell:
    """Press on the wall.

    Raises:
        FarhandError: the layer does not take the law.
    """
    settings: list[tuple[str, object]] = [
        ("rig.leader_plant", arms[0]),
        ("rig.follower_plant", arms[1]),
    ]
    options = Options(law, layer, "wall", delay=delay, linked=True, settings=settings)
    rig = build_rig("pair", options)
    rig.session.run(PRESSING_S, rig.metrics.pull)
    account, work, exchanged = net_energy(rig)
    found = LayerCell(
        created=max(0.0, -float(account.min())),
        worked=max(0.0, -float(work.min())),
        # to either end, and to the follower's once more on its way
        lent=3.0 * getattr(rig.parts.layer, "lent", 0.0),
        exchanged=exchanged,
        cut=any(station.guard.clipped for station in rig.session.stations),
        trips=tuple(record.trip.reason for record in rig.session.trips),
    )
    rig.close()
    return found


def net_energy(rig: Rig) -> tuple[np.ndarray, np.ndarray, float]:
    """Energy put into the coupling over time, [J]: by its account, and by what the joints did.

    The second is torque times way, from what the motors did for the coupling and where the joints
    went. The third is all energy that went in or out.
    """
    history, work, exchanged = rig.metrics.history, np.zeros(1), 0.0
    for name in ("leader", "follower"):
        way = np.diff(history.signal(name, "q"), axis=0)
        step = (history.signal(name, "torque_coupled")[:-1] * way).sum(axis=1)
        work, exchanged = work - np.cumsum(step), exchanged + float(np.abs(step).sum())
    return history.signal("coupling", "port_energy").sum(axis=1), work, exchanged


def _feel_lines(arms: list[str]) -> Iterator[str]:
    for arm in arms:
        for law in ("four-channel", "four-channel-sensorless", "position-position"):
            for space in ("tool", "joints"):
                one = feel(arm, space, law)
                yield (
                    f"{arm:8s} {law:24s} {space:6s} inertia {100 * one.inertia:6.1f} % of the "
                    f"follower's; stiffness {one.stiffness:6.0f} N/m, expected {one.expected:6.0f} "
                    f"({100 * (one.stiffness / one.expected - 1):+.1f} %)"
                )


def _layer_lines(arms: tuple[str, str]) -> Iterator[str]:
    held = judged = 0
    for law in LAWS:
        for layer in LAYERS:
            for delay in DELAYS_MS:
                head = f"{law:24s} {layer:6s} {delay:4g} ms"
                try:
                    one = cell(arms, law, layer, delay)
                except FarhandError as error:
                    yield f"{head} refused: {error}"
                    break
                judged, held = judged + 1, held + one.holds
                yield (
                    f"{head} created {one.created:.2e} J ({one.worked:.2e} J by work) of "
                    f"{one.exchanged:.2e} J, lent {one.lent:.1e} J"
                    f"{', torque cut' if one.cut else ''} {'holds' if one.holds else 'FAILS'} "
                    f"{'; '.join(one.trips)}"
                )
    yield f"{held} of {judged} hold"


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("feel", "layers"))
    parser.add_argument("arms", nargs="*", help="like arms; or leader and follower")
    chosen = parser.parse_args()
    if chosen.what == "feel":
        lines = _feel_lines(chosen.arms or ["ur5e", "lwa4p"])
    else:
        first, last = chosen.arms or ("vx300s", "vx300s")
        lines = _layer_lines((first, last))
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
