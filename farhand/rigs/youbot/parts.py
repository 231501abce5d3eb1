"""The parts of the youBot rig: its shape, robots, hand and wall, plants, stations and law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.assists import JointDamping, WallAssist, WheelCompensation
from farhand.control.joint.loops import JointMove
from farhand.control.tool.torque import Base, TorqueController, WholeBodyController
from farhand.control.trajectory.paths import HandPath
from farhand.coupling import Coupling, Spring, SpringCoupling
from farhand.friction import FRICTIONS, make
from farhand.loop.station import Station
from farhand.mapping.pen import PenMapping
from farhand.parameters import parameter
from farhand.plants import Imperfections, Plant, SimulatedPlant
from farhand.plants.simulated.grippers import GripperDrive
from farhand.plants.simulated.mecanum import MecanumPlant
from farhand.rigs import external_plants
from farhand.rigs.coupled import hand_and_wall, haptic_pen, in_hand, with_slack
from farhand.rigs.rig import RigParts, Scenario
from farhand.robots import Placement, Robot
from farhand.robots.edits import set_damping
from farhand.safety import Guard, Watchdog
from farhand.safety.handle import JointWall
from farhand.world import ImpedanceHand, Wall, World

Array = np.ndarray

FLOOR = -0.30
"""Height of the floor below the pen's origin, [m]; assumed, to be seen together."""

# The pen's map counts from its own origin.
PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (0.0, 0.9, FLOOR)}
"""Where pen and robot stand, [m]."""

START = (0.35, 0.9, 0.35 + FLOOR)
"""The published first setpoint (0.35, 0, 0.35) m, seen from the robot's floor, in world, [m]."""

POSTURES = ("home", "candle", "folded")


@dataclass
class YouBot:
    """What shapes the rig's parts."""

    # published
    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    # published: it stood
    base: bool = parameter(False, "-", "whether the base drives")
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
    posture: str = parameter("home", "-", "where the arm begins", choices=POSTURES)
    startup: bool = parameter(False, "-", "whether the start-up sequence comes first")
    # assumed
    pen_filter: float = parameter(50.0, "Hz", "cut-off of the pen's velocity", 0.0, 1000.0)
    leader_plant: str = parameter("simulated", "-", "what leads: simulated, spacemouse or gamepad")

    @property
    def period_ns(self) -> int:
        """Time between ticks, [ns]."""
        return round(1e9 / self.rate)


@dataclass
class SidePlant:
    """One side's plant, with the settable parts that only this kind of plant has."""

    plant: Plant
    settable: dict[str, Any]


def true_robots(robots: dict[str, Robot], shape: YouBot) -> dict[str, Robot]:
    """The robots as they are: a hand on the pen, friction in the arm, unknown to controllers."""
    standing = np.zeros(len(robots["follower"].actuated) - len(shape.arm_viscous))
    viscous = np.concatenate([standing, shape.arm_viscous])
    return {
        "leader": in_hand(robots["leader"], shape.hand_mass, shape.hand_inertia),
        "follower": robots["follower"].edited(set_damping(viscous)),
    }


def surroundings(world: World, scenario: Scenario, device: bool) -> RigParts:
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


def make_plants(world: World, shape: YouBot, rng: np.random.Generator) -> dict[str, SidePlant]:
    """The pen or input device, and the robot; neither has a force sensor."""
    makers = {"leader": _leader, "follower": _follower}
    # Each side has the same random numbers with and without the other.
    streams = {name: rng.spawn(1)[0] for name in makers}
    return {name: makers[name](world, shape, streams[name]) for name in world.ports}


def _leader(world: World, shape: YouBot, rng: np.random.Generator) -> SidePlant:
    placed = world.placed["leader"]
    device = external_plants.open_plant(
        shape.leader_plant, "leader", world, placed.robot, placed.placement, shape.gravity
    )
    if device is not None:
        return SidePlant(device, {})
    pen = haptic_pen(world, shape.pen_filter, rng)
    return SidePlant(pen, {"device": pen.profile})


def _follower(world: World, shape: YouBot, rng: np.random.Generator) -> SidePlant:
    """The robot on its wheels, or the arm on a base that stands."""
    faults = Imperfections(wrench_sensor=False)
    gripper = GripperDrive()
    if not shape.base:
        standing = SimulatedPlant(world, "follower", faults, rng)
        standing.gripper = gripper
        return SidePlant(standing, {"gripper": gripper})
    friction = None if shape.wheel_friction == "none" else make(shape.wheel_friction, 4)
    mobile = MecanumPlant(world, "follower", None, friction, None, faults, rng)
    mobile.gripper = gripper
    settable = {"filter": mobile.filter, "gripper": gripper, "wheels": mobile.wheels}
    return SidePlant(mobile, settable)


def make_stations(
    plants: dict[str, SidePlant],
    robots: dict[str, Robot],
    placements: dict[str, Placement],
    shape: YouBot,
) -> dict[str, Station]:
    """A pen that is free until the law pulls it, and a robot whose joints share the spring."""
    period_ns = shape.period_ns
    # The device carries its own weight.
    weightless = Arm.of(robots["leader"], placements["leader"], 0.0)
    # No damping is published.
    pen = TorqueController(weightless, "free", period_ns, assist=JointDamping())
    arm = Arm.of(robots["follower"], placements["follower"], shape.gravity)
    first = arm.nv - 5
    limits = robots["follower"].limits
    # assumed
    wall = JointWall(zone=np.radians(3.0), stiffness=40.0, damping=1.0, entry=np.radians(1.0))
    wall.watch(limits.lower[first:], limits.upper[first:])
    helpers: dict[str, Any] = {"joint_wall": WallAssist(wall, first)}
    if shape.base and shape.compensation:
        helpers["compensation"] = WheelCompensation(period=1e-9 * period_ns)
    body = WholeBodyController(arm, "hold", period_ns, True, Base(joints=first), helpers)
    body.still = JointMove()
    controllers = {"leader": pen, "follower": body}
    stations = {}
    for name, side in plants.items():
        control = controllers[name]
        guard = Guard(force=200.0, moment=30.0)
        guard.watch(with_slack(robots[name].limits))
        stations[name] = Station(
            name, name, side.plant, control.arm, guard, period_ns=period_ns, controller=control
        )
    return stations


def make_law(law: type[Coupling], shape: YouBot) -> Coupling:
    """The law with the pen's map and the published spring."""
    if external_plants.is_device(shape.leader_plant):
        # A handle in the air moves the tool from where it is, axis by axis.
        made = law()
    else:
        made = law(mapping=PenMapping(start=np.array(START), period=1.0 / shape.rate))
    if isinstance(made, SpringCoupling):
        # Published; the damping is assumed: critical at home.
        made.spring = Spring(700.0, 110.0, 30.0, 3.0)
    return made
