"""The youBot rig: an omega.6 pen leads the tool of a KUKA youBot by one spring, and feels a tenth of its force.

There is no force sensor anywhere. The pen's position is the tool's until it leaves the middle of
its workspace, where it drives the tool on; its orientation is the tool's. Only its translations can
push back. Values: sources/youbot (the published system) where it gives them; ``assumed`` marks the
rest. The published haptic experiments were run with the base standing, so the base is off unless
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.assists import JointDamping, WallAssist, WheelCompensation
from farhand.control.joint.loops import JointMove
from farhand.control.tool.torque import Base, TorqueController, WholeBodyController
from farhand.control.trajectory.paths import HandPath
from farhand.coupling import Coupling, Spring, SpringCoupling, law_named
from farhand.errors import Mismatch
from farhand.friction import FRICTIONS, make
from farhand.link.packet import model_hash
from farhand.loop.station import Station
from farhand.mapping.pen import PenMapping
from farhand.parameters import parameter
from farhand.plants import Imperfections, SimulatedPlant
from farhand.plants.simulated.grippers import GripperDrive
from farhand.plants.simulated.haptic import HapticPlant, HapticProfile
from farhand.plants.simulated.mecanum import MecanumPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import Arms, CoupledBuild, hand_and_wall
from farhand.rigs.rig import Options, Rig, RigParts, Scenario, configure
from farhand.rigs.youbot.scenarios import SCENARIOS
from farhand.rigs.youbot.startup import StartupBridge
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import set_armature, set_damping
from farhand.safety import Guard, Watchdog
from farhand.safety.handle import JointWall
from farhand.world import ImpedanceHand, Placed, Wall, World

Array = np.ndarray

TITLE = "an omega.6 pen leads the tool of a KUKA youBot by a spring and feels a tenth of its force"
DEFAULT_LAW = "position-position"
DEFAULT_SCENARIO = "wall"
FLOOR = -0.30
"""Height of the floor below the pen's origin, [m]; assumed, to be seen together."""

# the pen's map counts from its own origin [m]
PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (0.0, 0.9, FLOOR)}
START = (0.35, 0.9, 0.35 + FLOOR)
"""The published first setpoint (0.35, 0, 0.35) m, seen from the robot's floor, in world, [m]."""


@dataclass
class YouBot:
    """What shapes the rig's parts."""

    # published
    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    base: bool = parameter(False, "-", "whether the base drives")  # published: it stood
    # published curves
    wheel_friction: str = parameter(
        "youbot-wheels", "-", "model of the wheels' friction", choices=("none", *FRICTIONS)
    )
    # published
    compensation: bool = parameter(True, "-", "whether the wheels' friction is compensated")
    # assumed
    arm_viscous: Array = parameter(
        (1.0, 1.0, 0.5, 0.2, 0.1), "N·m·s/rad", "viscous friction of the arm", 0.0, 100.0
    )
    # assumed, sources/youbot §2.9
    hand_mass: float = parameter(1.0, "kg", "mass of the hand on the pen", 0.0, 100.0)
    # assumed
    hand_inertia: float = parameter(2e-3, "kg·m²", "inertia of the hand on the pen", 0.0, 1.0)
    posture: str = parameter(
        "home", "-", "where the arm begins", choices=("home", "candle", "folded")
    )
    startup: bool = parameter(False, "-", "whether the start-up sequence comes first")
    # assumed
    pen_filter: float = parameter(50.0, "Hz", "cut-off of the pen's velocity", 0.0, 1000.0)
    leader_plant: str = parameter("simulated", "-", "what leads: simulated, spacemouse or gamepad")


def build(options: Options) -> Rig:
    """Assemble the rig."""
    work = CoupledBuild("youbot", options, SCENARIOS, DEFAULT_SCENARIO)
    shape = YouBot()
    configure(shape, work.shaping)
    external_plants.check(shape.leader_plant, options, arms=False)
    device = external_plants.is_device(shape.leader_plant)
    law = law_named(options.law or (external_plants.DEVICE_LAW if device else DEFAULT_LAW))
    if device and shape.startup:
        raise Mismatch(
            "the start-up sequence is the pen's: set rig.startup=false to lead with a "
            + shape.leader_plant
        )
    # Neither side measures a force, and the pen's mapping is no model.
    law().require(set())

    robots = {
        "leader": load_robot(external_plants.leader_robot(shape.leader_plant, "omega6")),
        "follower": load_robot("youbot", "mobile" if shape.base else "fixed"),
    }
    placements = {name: Placement(place) for name, place in PLACES.items()}
    true = _true(robots, shape)
    postures = {"leader": None, "follower": robots["follower"].postures.get(shape.posture)}
    period_ns = round(1e9 / shape.rate)
    placed = {n: Placed(true[n], placements[n], postures[n]) for n in options.roles}
    world = World(placed, period_ns, shape.gravity)
    parts = _surroundings(world, work.scenario, device)
    plants = _plants(world, shape, work.rng)
    stations = _stations(plants, robots, placements, shape, period_ns)
    if shape.startup and options.side is not None:
        raise Mismatch(ONE_PROCESS)

    def make_law(role: str | None, arms: Arms) -> Coupling:
        made = _law(law, shape)
        if role == "follower":
            # Only the leader's map drives the tool on.
            made.mapping.drives = False  # type: ignore[attr-defined]
        return made

    bridge = work.couple(
        law,
        make_law,
        stations,
        parts,
        models=lambda: {name: Arm.of(robot) for name, robot in robots.items()},
        identity=model_hash("youbot", law.name, shape.base, shape.leader_plant),
        direct=_startup_bridge if shape.startup else None,
    )
    if shape.startup and not isinstance(bridge, StartupBridge):
        raise Mismatch(ONE_PROCESS)
    parts.startup = bridge.startup if isinstance(bridge, StartupBridge) else None
    parameters = {**parts.settable(), "law": tuple(bridge.laws)}
    parameters |= {name: _parts(station, plants[name]) for name, station in stations.items()}
    session = work.session(law.name, stations.values(), bridge, [world], parameters)
    work.configure(session, shape)
    return work.rig(law.name, session, world, shape, parts)


PARTS = {
    "leader": {"profile": "device"},
    "follower": {"filter": "filter", "gripper": "gripper", "wheels": "wheels"},
}
"""Parts of the plants and what they are called; an input device has no profile, a standing robot no
wheels."""


def _parts(station: Station, plant: Any) -> dict[str, Any]:
    """What a user may set of one side."""
    named = {
        called: vars(plant)[part]
        for part, called in PARTS[station.name].items()
        if part in vars(plant)
    }
    return {**plant.parameters, "guard": station.guard, **station.controller.parts, **named}


def _true(robots: dict[str, Robot], shape: YouBot) -> dict[str, Robot]:
    """The robots as they are: a hand's mass on the pen, friction in the arm; their controllers know of neither."""
    hand = np.repeat([shape.hand_mass, shape.hand_inertia], 3)
    still = np.zeros(len(robots["follower"].actuated) - len(shape.arm_viscous))
    viscous = np.concatenate([still, shape.arm_viscous])
    return {
        "leader": robots["leader"].edited(set_armature(hand)),
        "follower": robots["follower"].edited(set_damping(viscous)),
    }


def _surroundings(world: World, scenario: Scenario, device: bool) -> RigParts:
    """The operator's hand on the pen, and a wall in front of the tool."""
    # sources/youbot §2.9 [A]; rotation assumed
    hand = ImpedanceHand(
        stiffness=200.0,
        damping=5.0,
        rotational_stiffness=1.0,
        rotational_damping=0.05,
        path=HandPath(scenario.moves),
    )
    # The operator's own hand holds an input device.
    hand.open = device
    # "Rigid" to a finger [S]; the watchdog is assumed.
    wall = Wall(stiffness=24_200.0, damping=100.0)
    return hand_and_wall(world, hand, wall, Watchdog(silence=0.1), ahead=0.02)


def _plants(world: World, shape: YouBot, rng: np.random.Generator) -> dict[str, Any]:
    """The pen as its driver presents it, and the robot; neither has a force sensor."""
    makers = {"leader": _leader, "follower": _mobile if shape.base else _standing}
    streams = {name: rng.spawn(1)[0] for name in makers}
    plants = {name: makers[name](world, shape, streams[name]) for name in world.ports}
    if "follower" in plants:
        plants["follower"].gripper = GripperDrive()
    return plants


def _leader(world: World, shape: YouBot, rng: np.random.Generator) -> Any:
    """What leads: an input device, or the pen."""
    placed = world.placed["leader"]
    device = external_plants.open_plant(
        shape.leader_plant, "leader", world, placed.robot, placed.placement, shape.gravity
    )
    return device or _pen(world, shape, rng)


def _pen(world: World, shape: YouBot, rng: np.random.Generator) -> HapticPlant:
    """The omega.6 in its operator's hand."""
    profile = HapticProfile.of(world.placed["leader"].robot)
    step = profile.position_step
    seen = Imperfections(
        wrench_sensor=False, encoder_step=step, velocity_from_position=shape.pen_filter
    )
    return HapticPlant(world, "leader", profile, None, seen, rng)


def _mobile(world: World, shape: YouBot, rng: np.random.Generator) -> MecanumPlant:
    """The robot that is moved by its wheels."""
    friction = None if shape.wheel_friction == "none" else make(shape.wheel_friction, 4)
    return MecanumPlant(
        world, "follower", None, friction, None, Imperfections(wrench_sensor=False), rng
    )


def _standing(world: World, shape: YouBot, rng: np.random.Generator) -> SimulatedPlant:
    """The arm on a base that stands."""
    return SimulatedPlant(world, "follower", Imperfections(wrench_sensor=False), rng)


def _stations(
    plants: dict[str, Any],
    robots: dict[str, Robot],
    placements: dict[str, Placement],
    shape: YouBot,
    period_ns: int,
) -> dict[str, Station]:
    """A pen that is free until the law pulls it, and a robot that spreads the spring over its joints."""
    guards = {name: Guard(force=200.0, moment=30.0) for name in robots}
    for name, robot in robots.items():
        guards[name].watch(_with_slack(robot))
    weightless = Arm.of(robots["leader"], placements["leader"], 0.0)  # the device carries itself
    # none as published
    pen = TorqueController(weightless, "free", period_ns, assist=JointDamping())
    arm = Arm.of(robots["follower"], placements["follower"], shape.gravity)
    first, limits = arm.nv - 5, robots["follower"].limits
    # assumed
    wall = JointWall(zone=np.radians(3.0), stiffness=40.0, damping=1.0, entry=np.radians(1.0))
    wall.watch(limits.lower[first:], limits.upper[first:])
    helpers: dict[str, Any] = {"joint_wall": WallAssist(wall, first)}
    if shape.base and shape.compensation:
        helpers["compensation"] = WheelCompensation(period=1e-9 * period_ns)
    body = WholeBodyController(arm, "hold", period_ns, True, Base(joints=first), helpers)
    body.still = JointMove()
    made = {"leader": (weightless, "free", pen), "follower": (arm, "hold", body)}
    return {
        name: Station(
            name,
            name,
            plants[name],
            model,
            guards[name],
            rest=rest,
            period_ns=period_ns,
            controller=controller,
        )
        for name, (model, rest, controller) in made.items()
        if name in plants
    }


def _with_slack(robot: Robot) -> Any:
    """Joint limits as the guard sees them: end stops give a little before they hold."""
    # assumed
    return replace(robot.limits, lower=robot.limits.lower - 0.02, upper=robot.limits.upper + 0.02)


ONE_PROCESS = (
    "the start-up sequence runs in one process: set rig.startup=false, or use a perfect link and"
    " no layer"
)


def _startup_bridge(law: Coupling, leader: Station, follower: Station) -> StartupBridge:
    still = follower.controller.parts["still"]
    return StartupBridge(law, leader, follower, still, period_ns=leader.period_ns)


def _law(law: type[Coupling], shape: YouBot) -> Coupling:
    """The law with the pen's map and the published spring."""
    if external_plants.is_device(shape.leader_plant):
        made = law()  # a handle in the air moves the tool from where it is, axis by axis
    else:
        made = law(mapping=PenMapping(start=np.array(START), period=1.0 / shape.rate))
    if isinstance(made, SpringCoupling):
        # published; damping assumed: critical at home
        made.spring = Spring(700.0, 110.0, 30.0, 3.0)
    return made
