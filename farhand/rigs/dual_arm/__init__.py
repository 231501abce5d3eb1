"""The dual-arm rig: two arms tied tool to tool by a law; a hand moves one, the follower may meet a wall.

Its robots and what shapes them are in :mod:`farhand.rigs.dual_arm.parts`, what happens in
:mod:`farhand.rigs.dual_arm.scenarios`.
"""

from __future__ import annotations

from collections.abc import Callable
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
from farhand.link.layers import Layer, make_layer
from farhand.link.packet import Packet, model_hash
from farhand.loop.bridges.direct import Bridge, DirectBridge
from farhand.loop.bridges.linked import LinkEnd
from farhand.loop.clock import WallClock
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.plants import Brake, Imperfections, JointVelocity, SimulatedPlant
from farhand.plants.wrappers.mirrored import MirroredPlant
from farhand.rigs import external_plants as outside
from farhand.rigs.coupled import (
    OTHER,
    emulated_link,
    endpoint_of,
    linked_bridge,
    metrics_of,
    remote_bridge,
)
from farhand.rigs.dual_arm.parts import (
    PUBLISHED,
    ROLES,
    Arms,
    DualArm,
    Guidance,
    arms_of,
    numbers_of,
    shaped,
)
from farhand.rigs.dual_arm.scenarios import SCENARIOS
from farhand.rigs.rig import (
    Options,
    Rig,
    Scenario,
    choose,
    configure_parts,
    post_scenario,
    split_settings,
)
from farhand.safety import Guard, Watchdog
from farhand.sensing.observer import MomentumObserver
from farhand.world import ForceHand, ImpedanceHand, Placed, Wall, World
from farhand.world.pushes import JointPush

DEFAULT_LAW = "virtual-constraints"
DEFAULT_SCENARIO = "demo"
AHEAD = 0.319  # of the wall before the published follower's tool at its start [m]


def build(options: Options, law: type[Coupling] | None = None) -> Rig:
    """Assemble the rig, with a law that has no name on the command line if one is given."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shaping, settings = split_settings(options, scenario)
    shape, robots = shaped(shaping)
    rng = np.random.default_rng(options.seed)
    chosen = _chosen_plants(shape, options)
    law = _law(options, law, outside.is_device(chosen["leader"]))

    arms, period_ns, roles = arms_of(shape, robots), round(1e9 / shape.rate), options.roles
    placed = {n: Placed(arms.true[n], arms.placements[n], arms.postures[n]) for n in roles}
    world = World(placed, period_ns, shape.gravity)
    parameters = _surroundings(world, shape, scenario, options.seed)
    noise = Imperfections(force_noise=0.1, torque_noise=0.002)  # assumed for the published sensor
    plants = {n: SimulatedPlant(world, n, replace(noise), rng.spawn(1)[0]) for n in roles}
    plants |= _from_outside(chosen, world, arms, shape)
    # a person's own hand holds it
    parameters["hand"].open = isinstance(plants.get(shape.driven), MirroredPlant)
    stations = {n: _station(n, plants[n], arms, shape, period_ns, law) for n in roles}
    _push(shape, world, stations)
    layer = make_layer(options.layer, law)
    parameters |= {} if layer is None else {"layer": layer}
    ends = _ends(law, stations, arms, parameters["watchdog"], shape, layer)
    bridge = _bridge(law, stations, ends, options, parameters, settings, rng)
    parameters |= {"law": tuple(bridge.laws), "fixture": Fixture()}
    for name, station in stations.items():
        parameters[name] = {
            **plants[name].parameters,
            "guard": station.guard,
            **station.controller.parts,
        }

    described = {
        "rig": "dual-arm",
        "law": law.name,
        "seed": options.seed,
        "scenario": scenario.name,
    }
    session = Session(
        stations.values(), [bridge], [world], None, options.clock, None, parameters, described
    )
    _configure(session, shape, bridge, settings)
    post_scenario(session, scenario, options)
    metrics, notes = (
        metrics_of(session, world, options),
        tuple(n for robot in robots.values() for n in robot.notes),
    )
    return Rig(
        "dual-arm",
        law.name,
        options,
        scenario,
        session,
        world,
        metrics,
        shape,
        tuple(dict.fromkeys(notes)),
    )


def _law(options: Options, law: type[Coupling] | None, device: bool) -> type[Coupling]:
    """The law asked for, if the plants give what it needs; an input device has no model and feels nothing."""
    law = law or law_named(options.law or (outside.DEVICE_LAW if device else DEFAULT_LAW))
    law().require(
        {"follower-wrench"}
        if device
        else {"leader-wrench", "follower-wrench", "models", "observers"}
    )
    return law


def _surroundings(world: World, shape: DualArm, scenario: Scenario, seed: int) -> dict[str, Any]:
    """The hand, the wall, what watches the link and the mark of a demonstration."""
    parameters: dict[str, Any] = {"hand": _hand(shape, scenario, seed), "wall": _wall(world, shape)}
    parameters["watchdog"] = Watchdog()
    for robot, touch in ((shape.driven, "hand"), ("follower", "wall")):
        if robot in world.placed:
            world.touch(robot, touch, parameters[touch])
    return parameters | {"demonstration": Teaching()}


def _wall(world: World, shape: DualArm) -> Wall:
    """The wall, for any other follower as far ahead of its tool as it is for the published one."""
    if shape.follower_robot in PUBLISHED or "follower" not in world.placed:
        return Wall()
    return Wall(point=np.array([world.ports["follower"].tool.position[0] + AHEAD, 0.0, 0.0]))


def _configure(
    session: Session, shape: DualArm, bridge: Bridge, settings: list[tuple[str, object]]
) -> None:
    """Set every part, on the wall clock with the compiled kernel ready before the first tick; fixtures if asked for."""
    compiled = isinstance(session.clock, WallClock) and hasattr(bridge.laws[0], "kernel")
    configure_parts(session, shape, [("law.kernel", "numba"), *settings] if compiled else settings)
    _check_start(session)
    if compiled:
        _warm(bridge)
    fixture = session.parameters["fixture"]
    fixture.attached = any(path.startswith("fixture.") for path, _ in settings)
    if fixture.attached:
        Guidance(fixture, list(session.stations)).attach(session)


def _check_start(session: Session) -> None:
    """Refuse a wall around the tool that would stop the follower before its first move."""
    wall = session.parameters["wall"]
    for station in session.stations:
        if station.name == "follower" and wall.force > station.guard.force:
            session.close()
            raise BadValue(
                f"the follower's tool starts {wall.depth:.3f} m inside the wall, which pushes with {wall.force:.0f} N"
                f" (limit {station.guard.force:g} N): set wall.point, wall.present=false or rig.follower_posture"
            )


def _chosen_plants(shape: DualArm, options: Options) -> dict[str, str]:
    """Which plant leads and which follows, as far as this process has them."""
    outside.check(shape.leader_plant, options)
    outside.check(shape.follower_plant, options, devices=False)
    return {"leader": shape.leader_plant, "follower": shape.follower_plant}


def _from_outside(
    chosen: dict[str, str], world: World, arms: Arms, shape: DualArm
) -> dict[str, Any]:
    """The plants that are not simulated."""
    made = {
        n: outside.outside_plant(
            chosen[n], n, world, arms.believed[n], arms.placements[n], shape.gravity
        )
        for n in world.placed
    }
    return {name: plant for name, plant in made.items() if plant is not None}


def _hand(shape: DualArm, scenario: Scenario, seed: int) -> ImpedanceHand | ForceHand:
    if shape.hand == "force":
        return ForceHand(pulses=scenario.pulses)
    return ImpedanceHand(path=HandPath(scenario.moves_for(seed)))


def _push(shape: DualArm, world: World, stations: dict[str, Station]) -> None:
    """Somebody pushes on the leader's links; the law may be told."""
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
    guard = Guard(force=400.0, moment=80.0)  # twice what the published sensor could bear
    guard.watch(robot.limits)
    arm = Arm.of(robot, arms.placements[name], shape.gravity)
    helped = shape.friction_offset and name == "leader"
    assist = FrictionOffset(coulomb=shape.coulomb) if helped else None
    rest = "free" if name == shape.driven else "hold"
    controller: Controller = TorqueController(
        arm, rest, period_ns, can_brake=Brake in plant.accepts, assist=assist
    )
    if law is Admittance and isinstance(plant, MirroredPlant) and JointVelocity in plant.accepts:
        controller = outside.velocity_controller(arm, robot, arms.placements[name], shape.rate)
    observer = MomentumObserver(arm, shape.observer_gain) if "observers" in law.needs else None
    return Station(name, name, plant, arm, guard, rest, period_ns, controller, observer)


def _ends(
    law: type[Coupling],
    stations: dict[str, Station],
    arms: Arms,
    watchdog: Watchdog,
    shape: DualArm,
    layer: Layer | None,
) -> Callable[[str], LinkEnd]:
    """What makes the end of a link at one side: its own law, and a model of the other side where the law needs one."""
    believed = [numbers_of(arms.believed[n]) for n in ROLES]
    same = model_hash(
        "dual-arm", law.name, shape.distance, shape.gravity, *believed[0], *believed[1]
    )
    ports = dict(zip(ROLES, (None, None) if layer is None else layer.ports(), strict=True))

    def end(role: str) -> LinkEnd:
        models = {n: Arm.of(arms.believed[n], arms.placements[n], shape.gravity) for n in ROLES}
        packets = {n: Packet(models[n].nq, models[n].nv, same) for n in ROLES}
        model = models[OTHER[role]] if "models" in law.needs else None
        return LinkEnd(
            stations[role], law(), endpoint_of(role, packets), model, watchdog, ports[role]
        )

    return end


def _bridge(
    law: type[Coupling],
    stations: dict[str, Station],
    ends: Callable[[str], LinkEnd],
    options: Options,
    parameters: dict[str, Any],
    settings: list[tuple[str, object]],
    rng: np.random.Generator,
) -> Bridge:
    """The law between the stations: in one process, over an emulated link, or one end of a real one."""
    if options.side is not None:
        return remote_bridge(
            ends(options.side), stations[options.side].period_ns, options, parameters
        )
    link = emulated_link(options, parameters, settings, rng)
    if link.connected:
        return linked_bridge(ends, link)
    leader, follower = (stations[n] for n in ROLES)
    return DirectBridge(law(), leader, follower, leader.period_ns)


def _warm(bridge: Bridge) -> None:
    """Evaluate the law once, so that a compiled kernel is ready before the first tick."""
    for end, law in zip((bridge.a, bridge.b), bridge.laws, strict=False):
        law.step(end.station.side, end.remote, 0.0)
