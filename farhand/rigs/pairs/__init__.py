"""Several pairs of arms in one session, and leaders with several followers.

Every coupling has its own law, gains, link and layer, as in :mod:`farhand.rigs.pair`. The scenario
is that of rig pair, done by every leader's hand. ``hand``, ``wall`` and ``law`` set those of all
pairs; those of one are below its stations, such as ``left-leader.hand``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from farhand.analysis.pairs import PairsMetrics
from farhand.coupling import Coupling, law_named
from farhand.errors import Mismatch
from farhand.link.packet import model_hash
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.parameters import parameter
from farhand.plants import Imperfections, Plant, SimulatedPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import ROLES, CoupledBuild
from farhand.rigs.dual_arm.parts import numbers_of
from farhand.rigs.pair import DEFAULT_LAW, DEFAULT_SCENARIO, surroundings
from farhand.rigs.pair.parts import (
    Pair,
    PairArms,
    allow_for_delay,
    law_for,
    layer_scale,
    shaped,
    station,
)
from farhand.rigs.pair.scenarios import SCENARIOS as SCENARIOS
from farhand.rigs.pairs.layout import PairSpec, from_text
from farhand.rigs.rig import Options, Rig, RigParts, configure, post_scenario
from farhand.robots import Placement
from farhand.safety import Watchdog
from farhand.world import ImpedanceHand, Placed, World

TITLE = "several pairs of arms in one session, or one leader with several followers"
ONE_MACHINE = "its pairs share one session"
SPACING = 1.2
"""Between arms that stand side by side, as a share of the sum of their reaches."""


@dataclass
class Pairs:
    """What shapes the rig's parts."""

    rate: float = parameter(1000.0, "Hz", "rate of plants, laws and links", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    frequency: float = parameter(20.0, "rad/s", "ω of the gains", 1.0, 200.0)
    layout: str = parameter("", "-", "the pairs, as JSON; two of the default arms if empty")


@dataclass
class PairTie:
    """One follower and its leader."""

    spec: PairSpec
    shape: Pair  #: as of rig pair
    arms: PairArms  #: the models of both
    law: type[Coupling]
    names: dict[str, str]  #: of their stations, by role


def build(options: Options) -> Rig:
    """Assemble the rig."""
    work = CoupledBuild("pairs", options, SCENARIOS, DEFAULT_SCENARIO)
    shape = Pairs()
    configure(shape, work.shaping)
    ties = _ties(shape, options)
    for tie in ties:
        for plant in (tie.shape.leader_plant, tie.shape.follower_plant):
            external_plants.check(plant, options, devices=False)
    owners: dict[str, tuple[PairTie, str]] = {}
    for tie in ties:
        for role, name in tie.names.items():
            owners.setdefault(name, (tie, role))
    placed = {
        name: Placed(tie.arms.robots[role], tie.arms.placements[role], tie.arms.homes[role])
        for name, (tie, role) in owners.items()
    }
    world = World(placed, round(1e9 / shape.rate), shape.gravity)
    stations = _stations(world, owners, work)
    watchdog = Watchdog()
    every: list[RigParts] = []
    bridges: list[Bridge] = []
    parameters: dict[str, Any] = {name: {} for name in stations}
    for tie in ties:
        parts = surroundings(world, tie.shape, tie.arms, work, tie.names)
        parts.watchdog = watchdog
        bridge = _couple(work, tie, stations, parts)
        every.append(parts)
        bridges.append(bridge)
        hand, wall = {"hand": parts.hand}, {"wall": parts.wall, "law": tuple(bridge.laws)}
        parameters[tie.names["leader"]] |= hand if parts.hand is not None else {}
        parameters[tie.names["follower"]] |= wall
    for name, one in stations.items():
        guard = {"guard": one.guard, **one.controller.parts}
        parameters[name] |= {**one.plant.parameters, **guard}
    first = every[0]
    parameters |= {"watchdog": watchdog, **_together(every), **_pushes(world)}
    parameters["law"] = tuple(law for bridge in bridges for law in bridge.laws)
    laws = ", ".join(dict.fromkeys(tie.law.name for tie in ties))
    couplings = {
        f"coupling-{k + 1}" if k else "coupling": [tie.spec.name, *tie.names.values(), tie.law.name]
        for k, tie in enumerate(ties)
    }
    session = Session(
        stations.values(),
        bridges=bridges,
        worlds=[world],
        clock=options.clock,
        parameters=parameters,
        description={
            "rig": work.name,
            "law": laws,
            "seed": options.seed,
            "scenario": work.scenario.name,
            "pairs": couplings,
        },
    )
    work.configure(session, shape)
    post_scenario(session, work.scenario, options)
    return Rig(
        name=work.name,
        law=laws,
        options=options,
        scenario=work.scenario,
        session=session,
        world=world,
        metrics=PairsMetrics(session, world),
        construction=shape,
        parts=first,
        notes=tuple(dict.fromkeys(note for tie in ties for note in tie.arms.notes)),
    )


def _ties(shape: Pairs, options: Options) -> list[PairTie]:
    """Every follower with its leader, side by side where no places are given."""
    found: list[PairTie] = []
    x = 0.0
    for spec in from_text(shape.layout):
        law = law_named(spec.law or options.law or DEFAULT_LAW)
        y, widest = 0.0, 0.0
        for number, follower in enumerate(spec.follower):
            own, arms = shaped(
                [
                    ("rig.leader_plant", spec.leader),
                    ("rig.follower_plant", follower),
                    ("rig.space", spec.space),
                    ("rig.rate", shape.rate),
                    ("rig.gravity", shape.gravity),
                    ("rig.frequency", shape.frequency),
                ]
            )
            reach = arms.reach["follower"]
            widest = max(widest, *arms.reach.values())
            y += SPACING * (reach + (0.0 if number else arms.reach["leader"]))
            bases = spec.follower_base
            arms.placements = {
                "leader": Placement(spec.leader_base or (round(x, 3), 0.0, 0.0)),
                "follower": Placement(bases[number] if bases else (round(x, 3), round(y, 3), 0.0)),
            }
            y += SPACING * reach
            names = {"leader": spec.leader_name, "follower": spec.follower_name(number)}
            found.append(PairTie(spec, own, arms, law, names))
        x += 2.0 * SPACING * widest
    return found


def _stations(
    world: World, owners: dict[str, tuple[PairTie, str]], work: CoupledBuild
) -> dict[str, Station]:
    found: dict[str, Station] = {}
    rngs = work.rng.spawn(len(owners))
    for (name, (tie, role)), rng in zip(owners.items(), rngs, strict=True):
        chosen = tie.shape.leader_plant if role == "leader" else tie.shape.follower_plant
        robot, placement = tie.arms.robots[role], tie.arms.placements[role]
        plant: Plant | None = external_plants.open_plant(
            chosen, name, world, robot, placement, tie.shape.gravity
        )
        plant = plant or SimulatedPlant(world, name, Imperfections(), rng)
        found[name] = station(role, plant, tie.arms, tie.shape, world.step_ns, tie.law, name)
    return found


def _couple(
    work: CoupledBuild, tie: PairTie, stations: dict[str, Station], parts: RigParts
) -> Bridge:
    """The law between one follower and its leader."""
    ends = {role: stations[name] for role, name in tie.names.items()}
    tie.arms.notes += [note for one in ends.values() for note in one.plant.notes]
    allow_for_delay(tie.shape, tie.arms, {role: one.plant for role, one in ends.items()})
    if isinstance(parts.hand, ImpedanceHand):
        parts.hand.open = isinstance(ends["leader"].plant, MirroredPlant)
    believed = [number for role in ROLES for number in numbers_of(tie.arms.robots[role])]
    try:
        bridge = work.couple(
            tie.law,
            lambda role, models: law_for(tie.law, tie.shape, tie.arms),
            ends,
            parts,
            models=lambda: {n: tie.arms.model(n, tie.shape.gravity) for n in ROLES},
            identity=model_hash("pair", tie.law.name, tie.shape.space, *believed),
            needs_models="models" in tie.law.needs,
            joint_space=tie.shape.space == "joints",
        )
    except Mismatch as error:
        raise Mismatch(f"{' and '.join(tie.names.values())}: {error}") from None
    if parts.layer is not None and tie.shape.space == "joints":
        parts.layer.scale(*layer_scale(tie.shape, tie.arms))
    return bridge


def _together(every: list[RigParts]) -> dict[str, Any]:
    """The parts of all pairs, so that one setting sets all of a kind."""
    kinds: dict[str, Any] = {}
    for name in ("hand", "wall", "link"):
        parts = [getattr(one, name) for one in every]
        kinds[name] = tuple(part for part in parts if part is not None)
    return {name: parts for name, parts in kinds.items() if parts}


def _pushes(world: World) -> dict[str, Any]:
    """Fingers on leaders' grippers, and objects in followers'."""
    kinds: dict[str, list[Any]] = {"fingers": [], "object": []}
    for name, port in world.ports.items():
        if port.push is not None:
            kinds["fingers" if name.endswith("leader") else "object"].append(port.push)
    return {name: tuple(found) for name, found in kinds.items() if found}
