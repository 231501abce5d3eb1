"""The pair rig: any two arms, coupled joint by joint or tool to tool, in one line.

The arms are robots that come with Farhand, model files, or drivers of real machines. Gains, the
hand, the wall and the moves follow from the models: see :mod:`farhand.rigs.pair.parts`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from farhand.coupling import law_named
from farhand.link.packet import model_hash
from farhand.plants import Imperfections, Plant, SimulatedPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import ROLES, CoupledBuild
from farhand.rigs.dual_arm.parts import numbers_of
from farhand.rigs.pair.parts import (
    Pair,
    PairArms,
    allow_for_delay,
    gripped,
    hand_for,
    law_for,
    layer_scale,
    shaped,
    station,
)
from farhand.rigs.pair.scenarios import PRESS, SCENARIOS, scaled
from farhand.rigs.rig import Options, Rig, RigParts
from farhand.safety import Watchdog
from farhand.world import ImpedanceHand, Placed, Wall, World

TITLE = "any two arms, coupled joint by joint (gripper included) or tool to tool"
DEFAULT_LAW = "position-position"
DEFAULT_SCENARIO = "demo"


def build(options: Options) -> Rig:
    """Assemble the rig."""
    work = CoupledBuild("pair", options, SCENARIOS, DEFAULT_SCENARIO)
    shape, arms = shaped(work.shaping)
    chosen = {"leader": shape.leader_plant, "follower": shape.follower_plant}
    for plant in chosen.values():
        external_plants.check(plant, options, devices=False)
    law = law_named(options.law or DEFAULT_LAW)
    roles = options.roles
    placed = {n: Placed(arms.robots[n], arms.placements[n], arms.homes[n]) for n in roles}
    world = work.world(placed, round(1e9 / shape.rate), shape.gravity)
    parts = surroundings(world, shape, arms, work)

    rngs = work.rng.spawn(len(roles))
    plants: dict[str, Plant] = {
        n: SimulatedPlant(world, n, Imperfections(), rng)
        for n, rng in zip(roles, rngs, strict=True)
    }
    for name in roles:
        opened = external_plants.open_plant(
            chosen[name], name, world, arms.robots[name], arms.placements[name], shape.gravity
        )
        plants |= {} if opened is None else {name: opened}
    if isinstance(parts.hand, ImpedanceHand):
        parts.hand.open = isinstance(plants.get("leader"), MirroredPlant)
    arms.notes += [note for plant in plants.values() for note in plant.notes]
    allow_for_delay(shape, arms, plants)
    stations = {n: station(n, plants[n], arms, shape, world.step_ns, law) for n in roles}
    believed = [number for role in ROLES for number in numbers_of(arms.robots[role])]
    bridge = work.couple(
        law,
        lambda role, models: law_for(law, shape, arms),
        stations,
        parts,
        models=lambda: {n: arms.model(n, shape.gravity) for n in ROLES},
        identity=model_hash("pair", law.name, shape.space, shape.gravity, *believed),
        needs_models="models" in law.needs,
        joint_space=shape.space == "joints",
    )
    if parts.layer is not None and shape.space == "joints":
        parts.layer.scale(*layer_scale(shape, arms))
    parameters = {**parts.settable(), "law": tuple(bridge.laws)}
    for name, port in world.ports.items():
        if port.push is not None:
            parameters["fingers" if name == "leader" else "object"] = port.push
    for name, one in stations.items():
        own = {"guard": one.guard, **one.controller.parts}
        parameters[name] = {**plants[name].parameters, **own}
    session = work.session(
        law.name, stations.values(), bridge, [world], parameters, space=shape.space
    )
    work.configure(session, shape)
    return work.rig(law.name, session, world, shape, parts, notes=arms.notes)


def surroundings(
    world: World,
    shape: Pair,
    arms: PairArms,
    work: CoupledBuild,
    names: Mapping[str, str] | None = None,
) -> RigParts:
    """Hand and fingers on the leader, wall and object at the follower.

    Args:
        world: where they stand.
        shape: of the rig.
        arms: both of them.
        work: the present build.
        names: of the arms in the world, by role; the roles themselves by default.
    """
    leader, follower = ROLES if names is None else (names[role] for role in ROLES)
    parts = RigParts(watchdog=Watchdog())
    moves = work.scenario.moves_for(work.options.seed)
    travel = arms.travel(shape.space)
    held = (
        {name for name, _, _ in world.ports[leader].touches} if leader in world.ports else {"hand"}
    )
    if "hand" not in held:
        parts.hand = hand_for(arms, shape, scaled(moves, arms.way, travel))
        world.touch(leader, "hand", parts.hand)
    if follower in world.ports:
        offset = arms.carried(shape.space, shape.wall_ahead * travel)
        beyond = arms.carried(shape.space, max(PRESS, 2.0 * shape.wall_ahead) * travel)
        into = beyond - offset
        # where no joint has room, the wall stands across the way that the hand pushes
        into = into if into.any() else arms.way
        normal = -into / np.linalg.norm(into)
        stiffness = min(shape.wall_stiffness, arms.wall_limit(shape))
        point = world.ports[follower].tool.position + offset
        parts.wall = Wall(point=point, normal=normal, stiffness=stiffness)
        world.touch(follower, "wall", parts.wall)
    for role, name in zip(ROLES, (leader, follower), strict=True):
        port = world.ports.get(name)
        if not arms.gripper_span(role) or port is None or port.push is not None:
            continue
        if shape.space == "joints":
            hand = parts.hand if isinstance(parts.hand, ImpedanceHand) else None
            world.push(name, gripped(port, role, arms, shape, hand))
    return parts
