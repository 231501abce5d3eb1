"""The dual-arm rig: two arms tied tool to tool by a law; a hand moves one, the other meets a wall.

Its robots and their shape are in :mod:`farhand.rigs.dual_arm.parts`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller
from farhand.control.haptic.fixtures import Fixture
from farhand.control.joint.assists import FrictionOffset
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import HandPath
from farhand.coupling import Admittance, Coupling, law_named
from farhand.errors import BadValue
from farhand.learning.demonstration import Teaching
from farhand.link.packet import model_hash
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.plants import Brake, Imperfections, JointVelocity, SimulatedPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import ROLES, CoupledBuild
from farhand.rigs.dual_arm.parts import (
    PUBLISHED,
    Arms,
    DualArm,
    Guidance,
    arms_of,
    numbers_of,
    shaped,
)
from farhand.rigs.dual_arm.scenarios import SCENARIOS
from farhand.rigs.rig import Options, Rig, RigParts, Scenario
from farhand.safety import Guard, Watchdog
from farhand.sensing.observer import MomentumObserver
from farhand.world import ForceHand, ImpedanceHand, Placed, Wall, World
from farhand.world.joints import JointPush

TITLE = "two UR5e arms, one moved by a hand, tied tool to tool; the other may meet a wall"
DEFAULT_LAW = "virtual-constraints"
DEFAULT_SCENARIO = "demo"
WALL_AHEAD_M = 0.319
"""From the tool of the published follower at its start to the wall."""


def build(options: Options, law: type[Coupling] | None = None) -> Rig:
    """Assemble the rig, with a law that has no name on the command line if one is given."""
    work = CoupledBuild("dual-arm", options, SCENARIOS, DEFAULT_SCENARIO)
    shape, robots = shaped(work.shaping)
    chosen = _chosen_plants(shape, options)
    law = _law(options, law, external_plants.is_device(chosen["leader"]))
    arms = arms_of(shape, robots)
    roles = options.roles
    placed = {n: Placed(arms.true[n], arms.placements[n], arms.postures[n]) for n in roles}
    world = work.world(placed, round(1e9 / shape.rate), shape.gravity)
    hand = _hand(shape, work.scenario, options.seed)
    wall = _wall(world, shape)
    fixture = Fixture()
    if shape.driven in world.placed:
        world.touch(shape.driven, "hand", hand)
    if "follower" in world.placed:
        world.touch("follower", "wall", wall)
    parts = RigParts(
        hand=hand, wall=wall, watchdog=Watchdog(), fixture=fixture, demonstration=Teaching()
    )

    # Assumed for the published sensor.
    noise = Imperfections(force_noise=0.1, torque_noise=0.002)
    plants = {n: SimulatedPlant(world, n, replace(noise), work.rng.spawn(1)[0]) for n in roles}
    plants |= _external(chosen, world, arms, shape)
    # A person's own hand holds a machine outside the simulation.
    if isinstance(hand, ImpedanceHand):
        hand.open = isinstance(plants.get(shape.driven), MirroredPlant)
    stations = {n: _station(n, plants[n], arms, shape, world.step_ns, law) for n in roles}
    _push(shape, world, stations)

    believed = [number for role in ROLES for number in numbers_of(arms.believed[role])]
    bridge = work.couple(
        law,
        lambda role, models: law(),
        stations,
        parts,
        models=lambda: {n: arms.model(n, shape.gravity) for n in ROLES},
        identity=model_hash("dual-arm", law.name, shape.distance, shape.gravity, *believed),
        needs_models="models" in law.needs,
    )
    parameters = {**parts.settable(), "law": tuple(bridge.laws)}
    for name, station in stations.items():
        own = {"guard": station.guard, **station.controller.parts}
        parameters[name] = {**plants[name].parameters, **own}
    session = work.session(law.name, stations.values(), bridge, [world], parameters)
    work.configure(session, shape)
    _check_start(session, wall)
    fixture.attached = any(path.startswith("fixture.") for path, _ in work.settings)
    if fixture.attached:
        Guidance(fixture, list(session.stations)).attach(session)
    notes = (note for robot in robots.values() for note in robot.notes)
    return work.rig(law.name, session, world, shape, parts, notes=notes)


def _law(options: Options, law: type[Coupling] | None, device: bool) -> type[Coupling]:
    """The chosen law, if the plants provide what it needs."""
    law = law or law_named(options.law or (external_plants.DEVICE_LAW if device else DEFAULT_LAW))
    # An input device has no model and measures nothing.
    of_arm = set() if device else {"leader-wrench", "models", "observers"}
    law().require({"follower-wrench", *of_arm})
    return law


def _wall(world: World, shape: DualArm) -> Wall:
    """The wall: as far ahead of any other follower's tool as of the published one's."""
    if shape.follower_robot in PUBLISHED or "follower" not in world.placed:
        return Wall()
    tool = world.ports["follower"].tool
    return Wall(point=np.array([tool.position[0] + WALL_AHEAD_M, 0.0, 0.0]))


def _check_start(session: Session, wall: Wall) -> None:
    """Refuse a wall around the tool that would trip the follower before its first move."""
    for station in session.stations:
        if station.name == "follower" and wall.force > station.guard.force:
            session.close()
            raise BadValue(
                f"the follower's tool starts {wall.depth:.3f} m inside the wall, which pushes"
                f" with {wall.force:.0f} N (limit {station.guard.force:g} N): set wall.point,"
                " wall.present=false or rig.follower_posture"
            )


def _chosen_plants(shape: DualArm, options: Options) -> dict[str, str]:
    """The plant of each role, checked."""
    external_plants.check(shape.leader_plant, options)
    external_plants.check(shape.follower_plant, options, devices=False)
    return {"leader": shape.leader_plant, "follower": shape.follower_plant}


def _external(chosen: dict[str, str], world: World, arms: Arms, shape: DualArm) -> dict[str, Any]:
    """The plants that are not simulated."""
    plants = {}
    for name in (name for name in chosen if name in world.placed):
        robot, placement = arms.believed[name], arms.placements[name]
        plant = external_plants.open_plant(
            chosen[name], name, world, robot, placement, shape.gravity
        )
        if plant is not None:
            plants[name] = plant
    return plants


def _hand(shape: DualArm, scenario: Scenario, seed: int) -> ImpedanceHand | ForceHand:
    if shape.hand == "force":
        return ForceHand(pulses=scenario.pulses)
    return ImpedanceHand(path=HandPath(scenario.moves_for(seed)))


def _push(shape: DualArm, world: World, stations: dict[str, Station]) -> None:
    """Somebody pushes on the leader's links; the law may know it."""
    if not shape.push_torque.any() or "leader" not in stations:
        return
    push = JointPush(shape.push_torque, shape.push_start, shape.push_duration)
    world.push("leader", push)
    stations["leader"].side.external_torque = push.now if shape.push_known else None


def _station(
    name: str,
    plant: SimulatedPlant,
    arms: Arms,
    shape: DualArm,
    period_ns: int,
    law: type[Coupling],
) -> Station:
    robot = arms.believed[name]
    # Twice the range of the published sensor.
    guard = Guard(force=400.0, moment=80.0)
    guard.watch(robot.limits)
    arm = Arm.of(robot, arms.placements[name], shape.gravity)
    helped = shape.friction_offset and name == "leader"
    assist = FrictionOffset(coulomb=shape.coulomb) if helped else None
    rest = "free" if name == shape.driven else "hold"
    control: Controller = TorqueController(
        arm, rest, period_ns, can_brake=Brake in plant.accepts, assist=assist
    )
    if law is Admittance and isinstance(plant, MirroredPlant) and JointVelocity in plant.accepts:
        control = external_plants.velocity_controller(arm, robot, arms.placements[name], shape.rate)
    observer = MomentumObserver(arm, shape.observer_gain) if "observers" in law.needs else None
    return Station(
        name, name, plant, arm, guard, period_ns=period_ns, controller=control, observer=observer
    )
