"""The hazardous-environment rig: a KUKA iiwa 14 leads a Schunk Powerball that takes joint velocities and nothing else.

The operator guides the leader by a handle. The pose goes over the link, is mapped into the
follower's workspace and tracked within the drives' limits; what the follower's wrist sensor
measures comes back, cleaned, as force. Values: sources/hazardous (the published system) where it
gives them; ``assumed`` marks the rest. The parts are in
:mod:`farhand.rigs.hazardous_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.control.trajectory.paths import HandPath
from farhand.coupling import law_named
from farhand.link.layers import make_layer
from farhand.loop.session import Session
from farhand.loop.telemetry import Telemetry
from farhand.mapping.robot_pair import IIWA_POWERBALL
from farhand.plants.simulated.velocity import POWERBALL_STEP, POWERBALL_VELOCITY
from farhand.rigs.coupled import emulated_link, metrics_of, remote_bridge
from farhand.rigs.hazardous.following import PLACES, Hazardous, following
from farhand.rigs.hazardous.parts import law_maker, make_bridge, make_ends, make_sides
from farhand.rigs.hazardous.scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.hazardous.watching import watch
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
from farhand.robots import Placement, load_robot
from farhand.robots.edits import set_damping
from farhand.safety import Watchdog
from farhand.world import ImpedanceHand, Placed, Wall, World

DEFAULT_LAW = "position-force"
MOTION_SCALE = IIWA_POWERBALL.motion_scale
"""Reach of the follower over reach of the leader, sources/hazardous §2.4 (Table 2.2), [-]."""

VELOCITY_LIMIT, STEP_LIMIT = POWERBALL_VELOCITY, POWERBALL_STEP


def build(options: Options) -> Rig:
    """Assemble the rig."""
    scenario = choose(SCENARIOS, options, DEFAULT_SCENARIO)
    shape = Hazardous()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    rng = np.random.default_rng(options.seed)
    law = law_named(options.law or DEFAULT_LAW)
    # the follower's drives hide its dynamics: no models
    law().require({"leader-wrench", "follower-wrench"})

    robot = load_robot("iiwa14").edited(set_damping(shape.leader_viscous))
    places = {name: Placement(place) for name, place in PLACES.items()}
    way = following(shape, robot, places["follower"])
    postures = {"leader": robot.home, "follower": way.posture()}
    robots = {"leader": robot, "follower": way.robot}
    placed = {name: Placed(robots[name], places[name], postures[name]) for name in options.roles}
    world = World(placed, shape.period_ns, shape.gravity)
    parameters = _surroundings(world, scenario)
    sides = make_sides(world, way, places["leader"], shape, rng)
    layer = make_layer(options.layer, law)
    parameters |= {} if layer is None else {"layer": layer}
    make, stations = law_maker(law, shape), sides.stations
    ends = make_ends(make, way, stations, parameters["watchdog"], law.name, layer)
    if options.side is None:
        bridge = make_bridge(
            make, way, stations, ends, emulated_link(options, parameters, settings, rng)
        )
    else:
        bridge = remote_bridge(ends(options.side), shape.period_ns, options, parameters)
    parameters |= {"law": tuple(bridge.laws), **sides.parameters}

    telemetry = Telemetry()
    watches = watch(telemetry, sides, bridge)
    described = {
        "rig": "hazardous",
        "law": law.name,
        "seed": options.seed,
        "scenario": scenario.name,
    }
    # its servo runs in every step of the world
    carried = [world if sides.follower is None else sides.follower.drives]
    session = Session(
        stations.values(), [bridge], carried, telemetry, options.clock, None, parameters, described
    )
    session.parts += watches
    configure_parts(session, shape, settings)
    if sides.follower is not None:
        sides.follower.wrist.calibrate()  # with the faults that were set
    post_scenario(session, scenario, options)
    return Rig(
        "hazardous",
        law.name,
        options,
        scenario,
        session,
        world,
        metrics_of(session, world, options),
        shape,
    )


def _surroundings(world: World, scenario: Scenario) -> dict[str, Any]:
    """The operator's hand on the leader, and a wall in front of the follower, where they are in this process."""
    hand = ImpedanceHand(  # sources/hazardous §3.23 [A]; rotation assumed
        stiffness=300.0,
        damping=20.0,
        rotational_stiffness=15.0,
        rotational_damping=1.5,
        path=HandPath(scenario.moves),
    )
    wall = Wall(stiffness=5000.0, damping=50.0)  # assumed: tool against metal
    if "leader" in world.ports:
        world.touch("leader", "hand", hand)
    if "follower" in world.ports:
        wall.point = np.array([float(world.ports["follower"].tool.position[0]) + 0.05, 0.0, 0.0])
        wall.refresh()
        world.touch("follower", "wall", wall)
    return {"hand": hand, "wall": wall, "watchdog": Watchdog(silence=0.1)}  # assumed
