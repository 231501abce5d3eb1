"""The dual-arm rig: two UR5e arms tied tool to tool by a law; a hand moves one, the other may meet a wall.

Values: spec 002 (the published system) where it gives them, public Universal Robots data for masses, and assumptions
    marked so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.arm import Arm
from farhand.bridge import Bridge, DirectBridge, LinkedBridge, LinkEnd
from farhand.control.trajectory import Move, Path
from farhand.coupling import Coupling, law_named
from farhand.link.emulation import EmulatedLink
from farhand.link.endpoint import connect
from farhand.link.packet import Packet, model_hash
from farhand.parameters import assign, parameter
from farhand.plants import Imperfections, SimulatedPlant
from farhand.rigs.rig import Options, Rig, Scenario, choose, configure, configure_parts, split_settings
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import scale_mass, set_armature, set_damping, set_frictionloss
from farhand.safety import Guard, Watchdog
from farhand.session import Session
from farhand.station import Station
from farhand.world import ImpedanceHand, Placed, Wall, World

Array = np.ndarray

DEFAULT_LAW = "position-force"

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "wall",
            "the hand lifts the leader, pushes until the follower meets the wall, waits, and comes back",
            20.0,
            (
                Move(0.5, 1.5, (0.0, 0.0, 0.1), label="+z"),
                Move(2.5, 2.0, (0.0, -0.1, 0.0), label="-y"),
                Move(5.0, 2.5, (0.42, 0.0, 0.0), label="+x, into the wall"),
                Move(11.0, 2.5, (-0.42, 0.0, 0.0), label="-x, out of the wall"),
                Move(14.0, 1.5, (0.0, 0.1, 0.0), (0.0, 0.0, 0.6), label="+y with a turn"),
                Move(16.0, 1.5, (0.0, 0.0, -0.1), (0.0, 0.0, -0.6), label="-z and turn back"),
            ),
        ),
        Scenario(
            "press",
            "the hand pushes straight into the wall and stays there",
            8.0,
            (Move(0.5, 2.5, (0.42, 0.0, 0.0), label="+x"),),
        ),
        Scenario(
            "free",
            "the hand lifts the leader by 0.2 m in free space",
            5.0,
            (Move(0.5, 1.5, (0.0, 0.0, 0.2), label="+z"),),
        ),
        Scenario(
            "rest",
            "nobody touches anything, and the sensors are silent",
            10.0,
            settings={
                "hand.open": True,
                "leader.plant.force_noise": 0.0,
                "leader.plant.torque_noise": 0.0,
                "follower.plant.force_noise": 0.0,
                "follower.plant.torque_noise": 0.0,
            },
        ),
    )
}


@dataclass
class DualArm:
    """What shapes the rig's parts.

    Attributes:
        rate: of plants, law and link, [Hz].
        gravity: downward acceleration, [m/s²].
        distance: between the two bases along y, [m].
        parameter_set: kinematics of both arms, ``cb`` (used by the published system) or ``ur`` (manufacturer).
        mass_scale: follower's masses, inertias and friction as a share of the leader's, [-].
        armature: rotor inertia per joint of the leader, [kg·m²].
        viscous: viscous friction per joint of the leader, [N·m·s/rad].
        coulomb: Coulomb friction per joint of the leader, unknown to its controller, [N·m].
        leader_posture: where the leader starts.
        follower_posture: where the follower starts.
        model_mass: masses of the follower's plant as a multiple of what its controller believes, [-].
    """

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    distance: float = parameter(0.75, "m", "between the bases, along y", -5.0, 5.0)  # published
    parameter_set: str = parameter("cb", "-", "kinematics of both arms", choices=("cb", "ur"))  # published
    mass_scale: float = parameter(0.25, "-", "follower's masses over the leader's", 0.01, 10.0)  # published
    armature: float = parameter(0.1, "kg·m²", "rotor inertia per joint", 0.0, 10.0)  # assumed, as in a public model
    viscous: Array = parameter(
        (2.0, 2.0, 2.0, 0.5, 0.5, 0.5), "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0
    )  # assumed
    coulomb: Array = parameter(
        (0.0,) * 6, "N·m", "Coulomb friction of the leader, unknown to its controller", 0.0, 100.0
    )
    leader_posture: str = parameter("q_A", "-", "where the leader starts", choices=("q_A", "q_B", "q_L", "zero"))
    follower_posture: str = parameter("q_A", "-", "where the follower starts", choices=("q_A", "q_B", "q_L", "zero"))
    model_mass: float = parameter(1.0, "-", "follower plant's masses over what its controller believes", 0.1, 10.0)


def build(options: Options) -> Rig:
    """Assemble the rig."""
    scenario = choose(SCENARIOS, options, "wall")
    shape = DualArm()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    rng = np.random.default_rng(options.seed)
    law = law_named(options.law or DEFAULT_LAW)

    believed = load_robot("ur5e", shape.parameter_set).edited(set_armature(shape.armature), set_damping(shape.viscous))
    robots = {"leader": believed, "follower": believed.edited(scale_mass(shape.mass_scale))}
    true = {
        "leader": believed.edited(set_frictionloss(shape.coulomb)) if shape.coulomb.any() else believed,
        "follower": robots["follower"].edited(scale_mass(shape.model_mass))
        if shape.model_mass != 1.0
        else robots["follower"],
    }
    placements = {"leader": Placement(), "follower": Placement((0.0, shape.distance, 0.0))}
    postures = {
        "leader": believed.postures[shape.leader_posture],
        "follower": believed.postures[shape.follower_posture],
    }
    period_ns = round(1e9 / shape.rate)

    world = World({n: Placed(true[n], placements[n], postures[n]) for n in true}, period_ns, shape.gravity)
    hand, wall = ImpedanceHand(path=Path(scenario.moves)), Wall()
    world.touch("leader", "hand", hand)
    world.touch("follower", "wall", wall)

    noise = Imperfections(force_noise=0.1, torque_noise=0.002)  # assumed for the published sensor
    plants = {n: SimulatedPlant(world, n, replace(noise), rng.spawn(1)[0]) for n in robots}
    stations = {n: _station(n, plants[n], robots[n], placements[n], shape, period_ns) for n in robots}
    link = EmulatedLink(options.delay, options.jitter, options.loss, rng=rng.spawn(1)[0])
    for path, value in settings:
        if path.startswith("link."):
            assign({"link": link}, path, value)
    law().require({"leader-wrench", "follower-wrench", "models"})
    bridge: Bridge
    watchdog = Watchdog()
    if link.perfect:
        bridge = DirectBridge(law(), stations["leader"], stations["follower"], period_ns)
    else:
        models = {n: Arm.of(robots[n], placements[n], shape.gravity) if "models" in law.needs else None for n in robots}
        others = {"leader": models["follower"], "follower": models["leader"]}
        bridge = _linked(law, stations, others, link, watchdog, shape)

    parameters: dict[str, Any] = {
        "law": tuple(bridge.laws),
        "hand": hand,
        "wall": wall,
        "link": link,
        "watchdog": watchdog,
    }
    for name, station in stations.items():
        parameters[name] = {"plant": plants[name].imperfections, "guard": station.guard, "still": station.still}
    session = Session(
        stations.values(),
        [bridge],
        [world],
        clock=options.clock,
        parameters=parameters,
        description={"rig": "dual-arm", "law": law.name, "seed": options.seed, "scenario": scenario.name},
    )
    configure_parts(session, shape, settings)
    for at, command in scenario.commands:
        session.commands.post(command, at_ns=round(at * 1e9))
    return Rig("dual-arm", law.name, options, scenario, session, world, Metrics(session, world), shape)


def _station(
    name: str, plant: SimulatedPlant, robot: Robot, placement: Placement, shape: DualArm, period_ns: int
) -> Station:
    guard = Guard(force=400.0, moment=80.0)  # twice what the published sensor could bear
    guard.watch(robot.limits)
    arm = Arm.of(robot, placement, shape.gravity)
    return Station(name, name, plant, arm, guard, "free" if name == "leader" else "hold", period_ns)


def _linked(
    law: type[Coupling],
    stations: dict[str, Station],
    others: dict[str, Arm | None],
    link: EmulatedLink,
    watchdog: Watchdog,
    shape: DualArm,
) -> LinkedBridge:
    """A bridge of two ends with the emulated link between them; ``others`` are their models of the other side."""
    leader, follower = stations["leader"], stations["follower"]
    same = model_hash("dual-arm", law.name, shape.parameter_set, shape.mass_scale)
    packets = [Packet(station.arm.nq, station.arm.nv, same) for station in (leader, follower)]
    to_leader, to_follower = connect(packets[0], packets[1], *link.channels)
    a = LinkEnd(leader, law(), to_leader, others["leader"], watchdog)
    b = LinkEnd(follower, law(), to_follower, others["follower"], watchdog)
    return LinkedBridge(a, b, leader.period_ns)
