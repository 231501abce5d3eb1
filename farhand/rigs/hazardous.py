"""The hazardous-environment rig: a KUKA iiwa 14 leads a Schunk Powerball that takes joint velocities and nothing else.

The operator guides the leader by a handle. The pose goes over the link, is mapped into the follower's workspace and
tracked within the drives' limits; what the follower's wrist sensor measures comes back, cleaned, as force. Values: spec
003 (the published system) where it gives them; ``assumed`` marks the rest. The parts are in
:mod:`farhand.rigs.hazardous_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.control.trajectory import Path
from farhand.coupling import law_named
from farhand.link.emulation import EmulatedLink
from farhand.link.layers import make_layer
from farhand.mapping.robot_pair import IIWA_POWERBALL
from farhand.parameters import assign_all
from farhand.plants.drive_limits import POWERBALL_STEP, POWERBALL_VELOCITY
from farhand.rigs.hazardous_parts.coupled import law_maker, make_bridge
from farhand.rigs.hazardous_parts.following import following
from farhand.rigs.hazardous_parts.scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.hazardous_parts.shape import PLACES, Hazardous
from farhand.rigs.hazardous_parts.sides import make_follower, make_leader
from farhand.rigs.hazardous_parts.watching import watch
from farhand.rigs.rig import Options, Rig, Scenario, choose, configure, configure_parts, split_settings
from farhand.robots import Placement, load_robot
from farhand.robots.edits import set_damping
from farhand.safety import Watchdog
from farhand.session import Session
from farhand.telemetry import Telemetry
from farhand.world import ImpedanceHand, Placed, Wall, World

DEFAULT_LAW = "position-force"
MOTION_SCALE = IIWA_POWERBALL.motion_scale
"""Reach of the follower over reach of the leader, spec 003 §2.4 (Table 2.2), [-]."""

VELOCITY_LIMIT, STEP_LIMIT = POWERBALL_VELOCITY, POWERBALL_STEP


def build(options: Options) -> Rig:
    """Assemble the rig."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shape = Hazardous()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    rng = np.random.default_rng(options.seed)
    law = law_named(options.law or DEFAULT_LAW)
    law().require({"leader-wrench", "follower-wrench"})  # the follower's drives hide its dynamics: no models

    robot = load_robot("iiwa14").edited(set_damping(shape.leader_viscous))
    places = {name: Placement(place) for name, place in PLACES.items()}
    way = following(shape, robot, places["follower"])
    placed = {
        "leader": Placed(robot, places["leader"], robot.home),
        "follower": Placed(way.robot, places["follower"], way.posture()),
    }
    world = World(placed, shape.period_ns, shape.gravity)
    parameters = _surroundings(world, scenario)
    leader = make_leader(world, way, places["leader"], shape, rng.spawn(1)[0])
    follower = make_follower(world, way, shape, rng.spawn(1)[0])
    parameters["link"] = link = EmulatedLink(options.delay, options.jitter, options.loss, rng=rng.spawn(1)[0])
    assign_all({"link": link}, [(path, value) for path, value in settings if path.startswith("link.")])
    layer = make_layer(options.layer, law)
    link.connected = not link.perfect or layer is not None
    stations = leader.station, follower.station
    bridge = make_bridge(law_maker(law, shape), way, *stations, link, parameters["watchdog"], law.name, layer)
    parameters |= {"law": tuple(bridge.laws), "leader": leader.parameters, "follower": follower.parameters}
    parameters |= {} if layer is None else {"layer": layer}

    telemetry = Telemetry()
    watches = watch(telemetry, leader, follower, bridge)
    described = {"rig": "hazardous", "law": law.name, "seed": options.seed, "scenario": scenario.name}
    carried = [follower.drives]  # its servo runs in every step of the world
    session = Session(stations, [bridge], carried, telemetry, options.clock, None, parameters, described)
    session.parts += watches
    configure_parts(session, shape, settings)
    for command in scenario.commands:
        session.commands.post_text(command)
    return Rig("hazardous", law.name, options, scenario, session, world, Metrics(session, world), shape)


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
