"""The youBot rig: an omega.6 pen leads the tool of a KUKA youBot by a spring and feels its force.

There is no force sensor anywhere. The pen's position is the tool's until it leaves the middle of
its workspace, where it drives the tool on; its orientation is the tool's. Only its translations can
push back. Values: sources/youbot (the published system) where it gives them; ``assumed`` marks the
rest. The published haptic experiments were run with the base standing, so the base is off by
default. The parts are in :mod:`farhand.rigs.youbot.parts`.
"""

from __future__ import annotations

from farhand.arm import Arm
from farhand.coupling import Coupling, law_named
from farhand.errors import Mismatch
from farhand.link.packet import model_hash
from farhand.loop.station import Station
from farhand.rigs import external_plants
from farhand.rigs.coupled import Arms, CoupledBuild
from farhand.rigs.rig import Options, Rig, configure
from farhand.rigs.youbot.parts import (
    PLACES,
    YouBot,
    make_law,
    make_plants,
    make_stations,
    surroundings,
    true_robots,
)
from farhand.rigs.youbot.scenarios import SCENARIOS
from farhand.rigs.youbot.startup import StartupBridge
from farhand.robots import Placement, load_robot
from farhand.world import Placed, World

TITLE = "an omega.6 pen leads the tool of a KUKA youBot by a spring and feels a tenth of its force"
DEFAULT_LAW = "position-position"
DEFAULT_SCENARIO = "wall"
ONE_PROCESS = (
    "the start-up sequence runs in one process: set rig.startup=false, or use a perfect link and"
    " no layer"
)


def build(options: Options) -> Rig:
    """Assemble the rig."""
    work = CoupledBuild("youbot", options, SCENARIOS, DEFAULT_SCENARIO)
    shape = YouBot()
    configure(shape, work.shaping)
    external_plants.check(shape.leader_plant, options, arms=False)
    device = external_plants.is_device(shape.leader_plant)
    law = law_named(options.law or (external_plants.DEVICE_LAW if device else DEFAULT_LAW))
    if device and shape.startup:
        plant = shape.leader_plant
        raise Mismatch(f"only the pen has a start-up: set rig.startup=false to lead with a {plant}")
    if shape.startup and options.side is not None:
        raise Mismatch(ONE_PROCESS)
    # Neither side measures a force, and the pen's mapping is no model.
    law().require(set())

    robots = {
        "leader": load_robot(external_plants.leader_robot(shape.leader_plant, "omega6")),
        "follower": load_robot("youbot", "mobile" if shape.base else "fixed"),
    }
    placements = {name: Placement(place) for name, place in PLACES.items()}
    true = true_robots(robots, shape)
    postures = {"leader": None, "follower": robots["follower"].postures.get(shape.posture)}
    placed = {n: Placed(true[n], placements[n], postures[n]) for n in options.roles}
    world = World(placed, shape.period_ns, shape.gravity)
    parts = surroundings(world, work.scenario, device)
    plants = make_plants(world, shape, work.rng)
    stations = make_stations(plants, robots, placements, shape)

    def law_of(role: str | None, arms: Arms) -> Coupling:
        made = make_law(law, shape)
        # Only the leader's map drives the tool on.
        if role == "follower":
            made.mapping.drives = False
        return made

    bridge = work.couple(
        law,
        law_of,
        stations,
        parts,
        models=lambda: {name: Arm.of(robot) for name, robot in robots.items()},
        identity=model_hash("youbot", law.name, shape.base, shape.leader_plant),
        direct=_startup_bridge if shape.startup else None,
    )
    if isinstance(bridge, StartupBridge):
        parts.startup = bridge.startup
    elif shape.startup:
        raise Mismatch(ONE_PROCESS)
    parameters = {**parts.settable(), "law": tuple(bridge.laws)}
    for name, station in stations.items():
        side = plants[name]
        own = {"guard": station.guard, **station.controller.parts, **side.settable}
        parameters[name] = {**side.plant.parameters, **own}
    session = work.session(law.name, stations.values(), bridge, [world], parameters)
    work.configure(session, shape)
    return work.rig(law.name, session, world, shape, parts)


def _startup_bridge(law: Coupling, leader: Station, follower: Station) -> StartupBridge:
    still = follower.controller.parts["still"]
    return StartupBridge(law, leader, follower, still, period_ns=leader.period_ns)
