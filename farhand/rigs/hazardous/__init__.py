"""The hazardous-environment rig: a KUKA iiwa 14 leads a Schunk Powerball by joint velocities.

The operator guides the leader by a handle. The pose goes over the link, is mapped into the
follower's workspace and tracked within the drives' limits; what the follower's wrist sensor
measures comes back, cleaned, as force. Values: sources/hazardous (the published system) where it
gives them; ``assumed`` marks the rest. The parts are in :mod:`farhand.rigs.hazardous.parts`.
"""

from __future__ import annotations

from farhand.control.trajectory.paths import HandPath
from farhand.coupling import law_named
from farhand.link.packet import model_hash
from farhand.loop.telemetry import Telemetry
from farhand.mapping.workspace import IIWA_POWERBALL
from farhand.parameters import describe
from farhand.rigs.coupled import CoupledBuild, hand_and_wall
from farhand.rigs.hazardous.following import PLACES, Hazardous, following
from farhand.rigs.hazardous.parts import law_maker, make_sides
from farhand.rigs.hazardous.scenarios import DEFAULT_SCENARIO, SCENARIOS
from farhand.rigs.hazardous.watching import watch
from farhand.rigs.rig import Options, Rig, RigParts, Scenario, configure
from farhand.robots import Placement, load_robot
from farhand.robots.edits import set_damping
from farhand.safety import Watchdog
from farhand.world import ImpedanceHand, Placed, Wall, World

TITLE = "an iiwa 14 leads a Powerball, which takes joint velocities and may meet a wall"
DEFAULT_LAW = "position-force"
MOTION_SCALE = IIWA_POWERBALL.motion_scale
"""Reach of the follower over reach of the leader, sources/hazardous §2.4 (Table 2.2), [-]."""


def build(options: Options) -> Rig:
    """Assemble the rig."""
    work = CoupledBuild("hazardous", options, SCENARIOS, DEFAULT_SCENARIO)
    shape = Hazardous()
    configure(shape, work.shaping)
    law = law_named(options.law or DEFAULT_LAW)
    # The follower's drives hide its dynamics: no models.
    law().require({"leader-wrench", "follower-wrench"})

    robot = load_robot("iiwa14").edited(set_damping(shape.leader_viscous))
    places = {name: Placement(place) for name, place in PLACES.items()}
    way = following(shape, robot, places["follower"])
    postures = {"leader": robot.home, "follower": way.posture()}
    robots = {"leader": robot, "follower": way.robot}
    placed = {name: Placed(robots[name], places[name], postures[name]) for name in options.roles}
    world = work.world(placed, shape.period_ns, shape.gravity)
    parts = _surroundings(world, work.scenario)
    sides = make_sides(world, way, places["leader"], shape, work.rng)
    make = law_maker(law, shape)
    # Two sides compare the rate by itself.
    rows = [row for row in describe({"rig": shape}) if row[0] != "rig.rate"]
    bridge = work.couple(
        law,
        lambda role, arms: make(way.mapping(arms["leader"], arms["follower"], role != "leader")),
        sides.stations,
        parts,
        models=way.models,
        identity=model_hash("hazardous", law.name, *(f"{row[0]}={row[1]}" for row in rows)),
        needs_models=way.needs_models,
    )
    parameters = {**parts.settable(), "law": tuple(bridge.laws), **sides.parameters}

    telemetry = Telemetry()
    watches = watch(telemetry, sides, bridge)
    # The follower's servo runs in every step of the world, and carries the world along.
    physics = world if sides.follower is None else sides.follower.drives
    session = work.session(
        law.name, sides.stations.values(), bridge, [physics], parameters, telemetry=telemetry
    )
    for step in watches:
        session.add(step, bridge.period_ns)
    work.configure(session, shape)
    if sides.follower is not None:
        # After the settings, so that the sensor's faults count.
        sides.follower.wrist.calibrate()
    return work.rig(law.name, session, world, shape, parts)


def _surroundings(world: World, scenario: Scenario) -> RigParts:
    """The operator's hand on the leader, and a wall in front of the follower."""
    # sources/hazardous §3.23 [A]; rotation assumed
    hand = ImpedanceHand(
        stiffness=300.0,
        damping=20.0,
        rotational_stiffness=15.0,
        rotational_damping=1.5,
        path=HandPath(scenario.moves),
    )
    # Assumed: a tool against metal, and a short watchdog.
    wall = Wall(stiffness=5000.0, damping=50.0)
    return hand_and_wall(world, hand, wall, Watchdog(silence=0.1), ahead=0.05)
