"""The hazardous-environment rig: a KUKA iiwa 14 leads a Schunk Powerball that takes joint velocities and nothing else.

The operator guides the leader by its flange. The pose goes over the link, is scaled about the shoulders, solved by
inverse kinematics and tracked within the drives' limits; what the follower touches comes back as force. Values: spec
003 (the published system) where it gives them; ``assumed`` marks the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.arm import Arm
from farhand.bridge import Bridge, DirectBridge, LinkedBridge, LinkEnd
from farhand.control.force_map import ForceMap
from farhand.control.limited_pd import LimitedPD
from farhand.control.tracking import TrackingController
from farhand.control.trajectory import Move, Path
from farhand.coupling import Coupling, PositionForce, law_named
from farhand.errors import BadValue
from farhand.link.emulation import EmulatedLink
from farhand.link.endpoint import connect
from farhand.link.packet import Packet, model_hash
from farhand.mapping import WorkspaceMapping
from farhand.mapping.ik import Pose, Solver
from farhand.parameters import assign_all, parameter
from farhand.plants import Imperfections, SimulatedPlant
from farhand.plants.smoothed import SmoothedPlant, Smoothing
from farhand.plants.velocity import Drives, VelocityPlant
from farhand.rigs.rig import Options, Rig, Scenario, choose, configure, configure_parts, split_settings
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import set_damping
from farhand.safety import Guard, Watchdog
from farhand.session import Session
from farhand.station import Station
from farhand.world import ImpedanceHand, Placed, Wall, World

Array = np.ndarray

DEFAULT_LAW = "position-force"
DEFAULT_SCENARIO = "wall"
MOTION_SCALE = 705.0 / 955.0
"""Reach of the follower over reach of the leader, spec 003 §2.4 (Table 2.2), [-]."""

VELOCITY_LIMIT = (0.45, 0.5, 0.5, 0.6, 0.8, 1.0)  # published, Table 2.3, share of the largest speed [-]
STEP_LIMIT = (0.04, 0.06, 0.06, 0.1, 0.1, 0.2)  # published, Table 2.3, per command [-]
PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (0.0, 1.2, 0.0)}  # assumed: side by side, to be seen together [m]
INTO = (0.12, 0.0, 0.0)  # [m] of the leader, 89 mm of the follower, 39 mm of them beyond the wall

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "wall",
            "the hand leads the follower into a stiff wall, waits, and comes back",
            9.0,
            (Move(0.5, 2.0, INTO, label="+x, into the wall"), Move(5.5, 2.0, (-0.12, 0.0, 0.0), label="-x")),
        ),
        Scenario(
            "free",
            "free motion: up with a turn, sideways, and back",
            9.0,
            (
                Move(0.5, 1.5, (0.0, 0.0, 0.15), (0.0, 0.0, 0.4), label="+z with a turn"),
                Move(2.5, 1.5, (0.0, 0.2, 0.0), label="+y"),
                Move(4.5, 1.5, (0.0, -0.2, 0.0), (0.0, 0.3, 0.0), label="-y, tilting"),
                Move(6.5, 1.5, (0.0, 0.0, -0.15), (0.0, -0.3, 0.0), label="-z, tilting back"),
            ),
            {"wall.present": False},
        ),
        Scenario(
            "sponge",
            "as wall, into a soft sponge",
            9.0,
            (Move(0.5, 2.0, INTO, label="+x, into the sponge"), Move(5.5, 2.0, (-0.12, 0.0, 0.0), label="-x")),
            {"wall.stiffness": 300.0, "wall.damping": 10.0},  # assumed
        ),
        Scenario(
            "link-loss",
            "the link goes dead while both arms move; the follower stays where it was last sent",
            14.0,
            (Move(0.5, 1.88, (0.0, 0.3, 0.0), label="+y"),),
            {"wall.present": False, "link.delay": 20.0, "link.outage_start": 1.5, "link.outage_length": 30.0},
        ),
    )
}
"""Every scenario by name."""


@dataclass
class Hazardous:
    """What shapes the rig's parts.

    Attributes:
        rate: of plants, law and link, [Hz].
        gravity: downward acceleration, [m/s²].
        pd_rate: of the follower's position loop and its bus, [Hz].
        leader_shoulder: height of the leader's shoulder, about which motion is scaled, [m].
        follower_shoulder: of the follower's, [m].
        leader_viscous: viscous friction of every joint of the leader, [N·m·s/rad].
        force_map: whether the position–force law bends forces into the operator's range.
    """

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    pd_rate: float = parameter(120.0, "Hz", "rate of the follower's position loop", 10.0, 1000.0)  # spec 003 §1.3 [D]
    leader_shoulder: float = parameter(0.350, "m", "height of the leader's shoulder", 0.0, 2.0)  # implied by Table 2.2
    follower_shoulder: float = parameter(0.205, "m", "height of the follower's shoulder", 0.0, 2.0)  # published
    leader_viscous: float = parameter(1.0, "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0)  # assumed
    force_map: bool = parameter(True, "-", "bend forces into the operator's range")  # published


def build(options: Options) -> Rig:
    """Assemble the rig."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shape = Hazardous()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    rng = np.random.default_rng(options.seed)
    law = law_named(options.law or DEFAULT_LAW)
    law().require({"leader-wrench", "follower-wrench"})  # the follower's drives hide its dynamics: no models

    robots = {"leader": load_robot("iiwa14").edited(set_damping(shape.leader_viscous)), "follower": load_robot("lwa4p")}
    placements = {name: Placement(place) for name, place in PLACES.items()}
    solver = Solver(robots["follower"], 1e-4, 1e-3, step_max=0.5)  # tolerance as deployed; the step is assumed
    postures = {"leader": robots["leader"].home, "follower": _matching_posture(shape, robots, solver)}
    period_ns = round(1e9 / shape.rate)
    world = World({n: Placed(robots[n], placements[n], postures[n]) for n in robots}, period_ns, shape.gravity)
    parameters = _surroundings(world, scenario)
    plants = _plants(world, shape, rng)
    smoothing = Smoothing()  # spec 003 §3.14 [A], as the published filter must have been: 63 % in 126 ms
    smoothed = SmoothedPlant(plants["follower"], 6, 6, smoothing)
    stations = _stations(plants | {"follower": smoothed}, robots, placements, solver, shape, period_ns)
    parameters["link"] = link = EmulatedLink(options.delay, options.jitter, options.loss, rng=rng.spawn(1)[0])
    assign_all({"link": link}, [(path, value) for path, value in settings if path.startswith("link.")])
    link.connected = not link.perfect
    bridge = _bridge(law, stations, link, parameters["watchdog"], shape.force_map)
    parameters["law"] = tuple(bridge.laws)
    for name, station in stations.items():
        parts = {"plant": plants[name].imperfections, "guard": station.guard}
        parameters[name] = parts | station.controller.parts
    parameters["follower"] |= {"drives": plants["follower"].drives, "smoothing": smoothing}

    described = {"rig": "hazardous", "law": law.name, "seed": options.seed, "scenario": scenario.name}
    carried = [plants["follower"]]  # its servo runs in every step of the world
    session = Session(stations.values(), [bridge], carried, None, options.clock, None, parameters, described)
    configure_parts(session, shape, settings)
    for command in scenario.commands:
        session.commands.post_text(command)
    return Rig("hazardous", law.name, options, scenario, session, world, Metrics(session, world), shape)


def _matching_posture(shape: Hazardous, robots: dict[str, Robot], solver: Solver) -> Array:
    """Where the follower's tool is what the mapping about the shoulders makes of the leader's home.

    Offsets are captured at engagement; with this start they are those of the published pair of robots.
    """
    leader = Arm.of(robots["leader"])
    leader.update(robots["leader"].home, np.zeros(leader.nv))
    heights = (shape.leader_shoulder, shape.follower_shoulder)
    from_shoulder, shoulder = (np.array([0.0, 0.0, height]) for height in heights)
    position = shoulder + MOTION_SCALE * (leader.position - from_shoulder)
    found = solver.solve(Pose(position, leader.rotation.copy()))
    if found.status != "solved":
        where = ", ".join(f"{value:.3f}" for value in position)
        raise BadValue(f"the follower cannot start at ({where}) m, where the leader's home maps to: {found.status}")
    return found.q


def _surroundings(world: World, scenario: Scenario) -> dict[str, Any]:
    """The operator's hand on the leader, and a wall in front of the follower."""
    hand = ImpedanceHand(  # spec 003 §3.23 [A]; rotation assumed
        stiffness=300.0, damping=20.0, rotational_stiffness=15.0, rotational_damping=1.5, path=Path(scenario.moves)
    )
    x = float(world.ports["follower"].tool.position[0])
    wall = Wall(point=np.array([x + 0.05, 0.0, 0.0]), stiffness=5000.0, damping=50.0)  # assumed: tool against metal
    world.touch("leader", "hand", hand)
    world.touch("follower", "wall", wall)
    return {"hand": hand, "wall": wall, "watchdog": Watchdog(silence=0.1)}  # assumed


def _plants(world: World, shape: Hazardous, rng: np.random.Generator) -> dict[str, Any]:
    noise = Imperfections(force_noise=0.13, torque_noise=0.006)  # published, Table 3.1, at rest
    drives = Drives(np.array(VELOCITY_LIMIT), np.array(STEP_LIMIT), rate=shape.pd_rate, delay=0.05)  # §3.11 [A]
    return {
        "leader": SimulatedPlant(world, "leader", replace(noise, force_noise=0.0, torque_noise=0.0), rng.spawn(1)[0]),
        "follower": VelocityPlant(world, "follower", drives, noise, rng.spawn(1)[0]),
    }


def _stations(
    plants: dict[str, Any],
    robots: dict[str, Robot],
    placements: dict[str, Placement],
    solver: Solver,
    shape: Hazardous,
    period_ns: int,
) -> dict[str, Station]:
    """A leader that carries its weight and may be guided, and a follower that tracks within its drives' limits."""
    arms = {name: Arm.of(robot, placements[name], shape.gravity) for name, robot in robots.items()}
    guards = {"leader": Guard(force=150.0, moment=30.0), "follower": Guard(force=100.0, moment=30.0)}  # erratum E-18
    speed = robots["follower"].limits.velocity
    guards["leader"].watch(robots["leader"].limits)
    guards["follower"].watch(replace(robots["follower"].limits, velocity=1.05 * speed))  # drives are the tighter limit
    pd = LimitedPD(velocity_limit=np.array(VELOCITY_LIMIT), step_limit=np.array(STEP_LIMIT))  # P, D as published
    tracking = TrackingController(arms["follower"], solver, placements["follower"], speed, pd, shape.pd_rate)
    leader, follower = (plants[name] for name in ("leader", "follower"))
    return {
        "leader": Station("leader", "leader", leader, arms["leader"], guards["leader"], "free", period_ns),
        "follower": Station(
            "follower", "follower", follower, arms["follower"], guards["follower"], "hold", period_ns, tracking
        ),
    }


def _bridge(
    law: type[Coupling], stations: dict[str, Station], link: EmulatedLink, watchdog: Watchdog, mapped: bool
) -> Bridge:
    """The law between the stations: in one process, or two ends with the emulated link between them."""
    leader, follower = stations["leader"], stations["follower"]
    if link.perfect:
        return DirectBridge(_law(law, mapped), leader, follower, leader.period_ns)
    same = model_hash("hazardous", law.name)
    packets = [Packet(station.arm.nq, station.arm.nv, same) for station in (leader, follower)]
    to_leader, to_follower = connect(packets[0], packets[1], *link.channels)
    a = LinkEnd(leader, _law(law, mapped), to_leader, None, watchdog)
    b = LinkEnd(follower, _law(law, mapped), to_follower, None, watchdog)
    return LinkedBridge(a, b, leader.period_ns)


def _law(law: type[Coupling], mapped: bool) -> Coupling:
    """The law with the pair's scale; forces come back one to one, then through the operator's map if asked for."""
    made = law(mapping=WorkspaceMapping(motion_scale=MOTION_SCALE, force_scale=1.0 / MOTION_SCALE))
    if mapped and isinstance(made, PositionForce):
        made.force_map = ForceMap()  # published, Tables 4.1 and 4.2
    return made
