"""The dual-arm rig: two arms tied tool to tool by a law; a hand moves one, the follower may meet a wall.

Values: spec 002 (the published system) where it gives them, public Universal Robots data for masses, and assumptions
    marked so. What happens is in :mod:`farhand.rigs.dual_arm_scenarios`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.bridge import Bridge, DirectBridge
from farhand.clock import WallClock
from farhand.control.controller import Controller
from farhand.control.fixtures import Fixture
from farhand.control.friction_offset import FrictionOffset
from farhand.control.torque import TorqueController
from farhand.control.trajectory import Path
from farhand.coupling import Admittance, Coupling, law_named
from farhand.errors import UnknownName
from farhand.learning.demonstration import Teaching
from farhand.link.layers import Layer, make_layer
from farhand.link.packet import Packet, model_hash
from farhand.linked_bridge import LinkEnd
from farhand.parameters import parameter
from farhand.plants import Brake, Imperfections, JointVelocity, SimulatedPlant
from farhand.plants.mirrored import MirroredPlant
from farhand.rigs import outside
from farhand.rigs.dual_arm_scenarios import SCENARIOS
from farhand.rigs.guidance import Guidance
from farhand.rigs.one_side import OTHER, emulated_link, endpoint_of, linked_bridge, metrics_of, remote_bridge
from farhand.rigs.rig import (
    Options,
    Rig,
    Scenario,
    choose,
    configure,
    configure_parts,
    post_scenario,
    split_settings,
)
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import scale_mass, set_armature, set_damping, set_frictionloss
from farhand.safety import Guard, Watchdog
from farhand.sensing.observer import MomentumObserver
from farhand.session import Session
from farhand.station import Station
from farhand.world import ForceHand, ImpedanceHand, Placed, Wall, World
from farhand.world.pushes import JointPush

Array = np.ndarray

DEFAULT_LAW = "virtual-constraints"
DEFAULT_SCENARIO = "demo"
ROLES = ("leader", "follower")


@dataclass
class DualArm:
    """What shapes the rig's parts.

    Attributes:
        rate: of plants, law and link, [Hz].
        gravity: downward acceleration, [m/s²].
        distance: between the two bases along y, [m].
        leader_robot: which robot leads.
        follower_robot: which robot follows.
        parameter_set: kinematics of a UR5e, ``cb`` (used by the published system) or ``ur`` (manufacturer).
        mass_scale: follower's masses, inertias and friction as a share of its robot's, [-].
        armature: rotor inertia per joint of the leader, [kg·m²].
        viscous: viscous friction per joint of the leader, [N·m·s/rad].
        coulomb: Coulomb friction per joint of the leader, unknown to its controller, [N·m].
        friction_offset: whether the leader's joints are helped against it.
        leader_posture: where the leader starts, a posture of its robot or ``home``.
        follower_posture: where the follower starts.
        follower_offset: added to where the follower starts, [rad].
        model_mass: masses of the follower's plant as a multiple of what its controller believes, [-].
        model_viscous: viscous friction of the follower's plant beyond what its controller believes, [N·m·s/rad].
        observer_gain: of the momentum observers, for laws that use them, [1/s].
        driven: whose tool the hand holds.
        hand: ``impedance``, which follows the scenario's moves, or ``force``, which pushes with its pulses.
        push_torque: exerted by somebody on the leader's links, [N·m].
        push_start: when, [s].
        push_duration: for how long, [s].
        push_known: whether the law is told.
        leader_plant: ``simulated``, ``ur:HOST``, ``spacemouse`` or ``gamepad``.
        follower_plant: ``simulated`` or ``ur:HOST``.
    """

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    distance: float = parameter(0.75, "m", "between the bases, along y", -5.0, 5.0)  # published
    leader_robot: str = parameter("ur5e", "-", "which robot leads")  # published
    follower_robot: str = parameter("ur5e", "-", "which robot follows")  # published
    parameter_set: str = parameter("cb", "-", "kinematics of a UR5e", choices=("cb", "ur"))  # published
    mass_scale: float = parameter(0.25, "-", "follower's masses over its robot's", 0.01, 10.0)  # published
    armature: float = parameter(0.1, "kg·m²", "rotor inertia per joint", 0.0, 10.0)  # assumed, as in a public model
    viscous: Array = parameter(
        (2.0, 2.0, 2.0, 0.5, 0.5, 0.5), "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0
    )  # assumed
    coulomb: Array = parameter(
        (0.0,) * 6, "N·m", "Coulomb friction of the leader, unknown to its controller", 0.0, 100.0
    )
    friction_offset: bool = parameter(False, "-", "help the leader's joints against Coulomb friction")
    leader_posture: str = parameter("home", "-", "where the leader starts")
    follower_posture: str = parameter("home", "-", "where the follower starts")
    follower_offset: Array = parameter((0.0,) * 6, "rad", "added to where the follower starts", -6.3, 6.3)
    model_mass: float = parameter(1.0, "-", "follower plant's masses over what its controller believes", 0.1, 10.0)
    model_viscous: float = parameter(
        0.0, "N·m·s/rad", "follower plant's viscous friction unknown to its controller", 0.0, 100.0
    )
    observer_gain: float = parameter(200.0, "1/s", "gain of the momentum observers", 1.0, 900.0)
    driven: str = parameter("leader", "-", "whose tool the hand holds", choices=ROLES)
    hand: str = parameter("impedance", "-", "what the hand does", choices=("impedance", "force"))
    push_torque: Array = parameter((0.0,) * 6, "N·m", "exerted on the leader's links", -150.0, 150.0)
    push_start: float = parameter(1.0, "s", "when the push on the leader's links begins", 0.0, 1e6)
    push_duration: float = parameter(1.0, "s", "how long it lasts", 0.0, 1e6)
    push_known: bool = parameter(False, "-", "whether the law is told of it")
    leader_plant: str = parameter("simulated", "-", "what leads: simulated, ur:HOST, spacemouse or gamepad")
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or ur:HOST")


@dataclass
class Arms:
    """Both robots by role: as their controllers believe them, as they are, where they stand and how."""

    believed: dict[str, Robot]
    true: dict[str, Robot]
    placements: dict[str, Placement]
    postures: dict[str, Array]


def build(options: Options, law: type[Coupling] | None = None) -> Rig:
    """Assemble the rig, with a law that has no name on the command line if one is given."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shape = DualArm()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    rng = np.random.default_rng(options.seed)
    chosen = _chosen_plants(shape, options)
    law = _law(options, law, outside.is_device(chosen["leader"]))

    arms, period_ns, roles = _arms(shape), round(1e9 / shape.rate), options.roles
    placed = {n: Placed(arms.true[n], arms.placements[n], arms.postures[n]) for n in roles}
    world = World(placed, period_ns, shape.gravity)
    parameters = _surroundings(world, shape, scenario, options.seed)
    noise = Imperfections(force_noise=0.1, torque_noise=0.002)  # assumed for the published sensor
    plants = {n: SimulatedPlant(world, n, replace(noise), rng.spawn(1)[0]) for n in roles}
    plants |= _from_outside(chosen, world, arms, shape)
    parameters["hand"].open = isinstance(plants.get(shape.driven), MirroredPlant)  # a person's own hand holds it
    stations = {n: _station(n, plants[n], arms, shape, period_ns, law) for n in roles}
    _push(shape, world, stations)
    layer = make_layer(options.layer, law)
    parameters |= {} if layer is None else {"layer": layer}
    ends = _ends(law, stations, arms, parameters["watchdog"], shape, layer)
    bridge = _bridge(law, stations, ends, options, parameters, settings, rng)
    parameters |= {"law": tuple(bridge.laws), "fixture": Fixture()}
    for name, station in stations.items():
        parameters[name] = {**outside.parts_of(plants[name]), "guard": station.guard, **station.controller.parts}

    described = {"rig": "dual-arm", "law": law.name, "seed": options.seed, "scenario": scenario.name}
    session = Session(stations.values(), [bridge], [world], None, options.clock, None, parameters, described)
    _configure(session, shape, bridge, settings)
    post_scenario(session, scenario, options)
    return Rig("dual-arm", law.name, options, scenario, session, world, metrics_of(session, world, options), shape)


def _law(options: Options, law: type[Coupling] | None, device: bool) -> type[Coupling]:
    """The law asked for, if the plants give what it needs; an input device has no model and feels nothing."""
    law = law or law_named(options.law or (outside.DEVICE_LAW if device else DEFAULT_LAW))
    law().require({"follower-wrench"} if device else {"leader-wrench", "follower-wrench", "models", "observers"})
    return law


def _surroundings(world: World, shape: DualArm, scenario: Scenario, seed: int) -> dict[str, Any]:
    """The hand, the wall, what watches the link and the mark of a demonstration."""
    parameters: dict[str, Any] = {"hand": _hand(shape, scenario, seed), "wall": Wall(), "watchdog": Watchdog()}
    for robot, touch in ((shape.driven, "hand"), ("follower", "wall")):
        if robot in world.placed:
            world.touch(robot, touch, parameters[touch])
    return parameters | {"demonstration": Teaching()}


def _configure(session: Session, shape: DualArm, bridge: Bridge, settings: list[tuple[str, object]]) -> None:
    """Set every part, on the wall clock with the compiled kernel ready before the first tick; fixtures if asked for."""
    compiled = isinstance(session.clock, WallClock) and hasattr(bridge.laws[0], "kernel")
    configure_parts(session, shape, [("law.kernel", "numba"), *settings] if compiled else settings)
    if compiled:
        _warm(bridge)
    fixture = session.parameters["fixture"]
    fixture.attached = any(path.startswith("fixture.") for path, _ in settings)
    if fixture.attached:
        Guidance(fixture, list(session.stations)).attach(session)


def _chosen_plants(shape: DualArm, options: Options) -> dict[str, str]:
    """Which plant leads and which follows, as far as this process has them; an input device brings its own robot."""
    outside.check(shape.leader_plant, options)
    outside.check(shape.follower_plant, options, devices=False)
    shape.leader_robot = outside.leader_robot(shape.leader_plant, shape.leader_robot)
    return {"leader": shape.leader_plant, "follower": shape.follower_plant}


def _from_outside(chosen: dict[str, str], world: World, arms: Arms, shape: DualArm) -> dict[str, Any]:
    """The plants that are not simulated."""
    made = {
        n: outside.outside_plant(chosen[n], n, world, arms.believed[n], arms.placements[n], shape.gravity)
        for n in world.placed
    }
    return {name: plant for name, plant in made.items() if plant is not None}


def _arms(shape: DualArm) -> Arms:
    """Both robots; what their controllers do not know is only in the true ones."""
    common = set_armature(shape.armature), set_damping(shape.viscous)
    variants = {"ur5e": shape.parameter_set}
    leader, follower = (
        load_robot(name, variants.get(name)).edited(*common) for name in (shape.leader_robot, shape.follower_robot)
    )
    follower = follower.edited(scale_mass(shape.mass_scale))
    true_follower = follower
    if shape.model_mass != 1.0:
        true_follower = true_follower.edited(scale_mass(shape.model_mass))
    if shape.model_viscous:
        true_follower = true_follower.edited(set_damping(shape.mass_scale * shape.viscous + shape.model_viscous))
    true_leader = leader.edited(set_frictionloss(shape.coulomb), _dry) if shape.coulomb.any() else leader
    postures = {
        "leader": _posture(leader, shape.leader_posture),
        "follower": _posture(follower, shape.follower_posture) + shape.follower_offset,
    }
    placements = {"leader": Placement(), "follower": Placement((0.0, shape.distance, 0.0))}
    believed, true = {"leader": leader, "follower": follower}, {"leader": true_leader, "follower": true_follower}
    return Arms(believed, true, placements, postures)


def _posture(robot: Robot, name: str) -> Array:
    known = {**robot.postures, "home": robot.home}
    if name not in known:
        raise UnknownName(f"posture of {robot.name}", name, known)
    return known[name]


def _dry(spec: Any) -> None:
    """Friction that holds: with the engine's defaults a joint below its dry friction creeps by 0.01 rad/s."""
    for joint in spec.joints:
        joint.solref_friction = [0.002, 1.0]
        joint.solimp_friction = [0.9999, 0.9999, 0.001, 0.5, 2.0]


def _hand(shape: DualArm, scenario: Scenario, seed: int) -> ImpedanceHand | ForceHand:
    if shape.hand == "force":
        return ForceHand(pulses=scenario.pulses)
    return ImpedanceHand(path=Path(scenario.moves_for(seed)))


def _push(shape: DualArm, world: World, stations: dict[str, Station]) -> None:
    """Somebody pushes on the leader's links; the law may be told."""
    if not shape.push_torque.any() or "leader" not in stations:
        return
    push = JointPush(shape.push_torque, shape.push_start, shape.push_duration)
    world.push("leader", push)
    stations["leader"].side.external_torque = push.now if shape.push_known else None


def _station(
    name: str, plant: SimulatedPlant, arms: Arms, shape: DualArm, period_ns: int, law: type[Coupling]
) -> Station:
    robot = arms.believed[name]
    guard = Guard(force=400.0, moment=80.0)  # twice what the published sensor could bear
    guard.watch(robot.limits)
    arm = Arm.of(robot, arms.placements[name], shape.gravity)
    helped = shape.friction_offset and name == "leader"
    assist = FrictionOffset(coulomb=shape.coulomb) if helped else None
    rest = "free" if name == shape.driven else "hold"
    controller: Controller = TorqueController(arm, rest, period_ns, can_brake=Brake in plant.accepts, assist=assist)
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
    shared = (shape.parameter_set, shape.mass_scale, shape.armature, shape.viscous, shape.distance, shape.gravity)
    same = model_hash("dual-arm", law.name, shape.leader_robot, shape.follower_robot, *shared)
    ports = dict(zip(ROLES, (None, None) if layer is None else layer.ports(), strict=True))

    def end(role: str) -> LinkEnd:
        models = {n: Arm.of(arms.believed[n], arms.placements[n], shape.gravity) for n in ROLES}
        packets = {n: Packet(models[n].nq, models[n].nv, same) for n in ROLES}
        model = models[OTHER[role]] if "models" in law.needs else None
        return LinkEnd(stations[role], law(), endpoint_of(role, packets), model, watchdog, ports[role])

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
        return remote_bridge(ends(options.side), stations[options.side].period_ns, options, parameters)
    link = emulated_link(options, parameters, settings, rng)
    if link.connected:
        return linked_bridge(ends, link)
    leader, follower = (stations[n] for n in ROLES)
    return DirectBridge(law(), leader, follower, leader.period_ns)


def _warm(bridge: Bridge) -> None:
    """Evaluate the law once, so that a compiled kernel is ready before the first tick."""
    for end, law in zip((bridge.a, bridge.b), bridge.laws, strict=False):
        law.step(end.station.side, end.remote, 0.0)
