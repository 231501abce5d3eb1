"""The shape of the cooperative rig, and one of its arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.control.tool.internal_force import nominal_shares
from farhand.control.tool.task import TaskController
from farhand.friction import Gears
from farhand.loop.station import Station
from farhand.parameters import parameter
from farhand.plants import Imperfections, SimulatedPlant
from farhand.plants.wrappers.filtered import FilteredPlant, Filters
from farhand.plants.wrappers.instrumented import InstrumentedPlant
from farhand.plants.wrappers.wrapped import DrivePlant, Lifeline
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import add_payload, move_tool
from farhand.safety import Guard
from farhand.sensing import Conditioner, ForceSensor, Mounting, load_handle, load_sensor
from farhand.world import World
from farhand.world.joints import GearFriction

Array = np.ndarray

COUPLINGS = {
    "beam": "one leader and some followers hold one rigid beam",
    "spring": "a leader and a follower face each other with a spring between their tools",
    "human": "a person guides an object that followers carry",
}
"""What lies between the arms."""

JOBS = ("carry", "weigh", "centre", "lift", "share")
"""What followers do with an object: with a leader; or with a person, SM-1 to SM-4."""

FRICTION_SETS = ("none", "zengin", "akbas", "reduced")

GRIPS = {
    1: ((0.0, -0.1),),
    2: ((-0.8, -0.1), (0.8, 0.1)),
    3: ((-0.8, -0.1), (0.8, -0.1), (0.0, 0.1)),
    4: ((-0.8, -0.1), (0.8, 0.1), (0.8, -0.1), (-0.8, 0.1)),
    5: ((-0.8, -0.1), (0.8, 0.1), (0.8, -0.1), (-0.8, 0.1), (0.0, -0.1)),
}
"""Where arms hold a beam of 2 m × 0.2 m, from its centre; the leader first; assumed, [m]."""

REACH, HEIGHT = 1.1773, 0.55
"""From an arm's base to its tool in posture ``table``, and how high that is, [m]."""


@dataclass
class Cooperative:
    """What shapes the rig's parts."""

    coupling: str = parameter("beam", "-", "what lies between the arms", choices=tuple(COUPLINGS))
    job: str = parameter("carry", "-", "what followers do with an object", choices=JOBS)
    followers: int = parameter(3, "-", "number of followers", 1, 4)
    # sources/cooperative §1.2 [R]
    rate: float = parameter(250.0, "Hz", "rate of the controllers", 50.0, 2000.0)
    # sources/cooperative §3.28
    plant_rate: float = parameter(2000.0, "Hz", "rate of the physics", 250.0, 20_000.0)
    # stated in the source
    gravity: float = parameter(9.804, "m/s²", "downward acceleration", 0.0, 30.0)
    # given by the task
    mass: float = parameter(20.0, "kg", "mass of what is carried", 0.01, 1000.0)
    # assumed
    size: Array = parameter((2.0, 0.2, 0.1), "m", "edges of what is carried", 0.01, 10.0)
    off_centre: float = parameter(0.0, "m", "centre of mass off the middle, along x", -1.0, 1.0)
    # assumed
    travel: Array = parameter((0.2, 0.1, 0.15), "m", "how far it is carried", -5.0, 5.0)
    tempo: float = parameter(1.0, "-", "time of the path over its normal time", 0.1, 100.0)
    # assumed
    misfit: float = parameter(3e-4, "m", "how far jaws close beside where they stand", -0.05, 0.05)
    # published
    friction: str = parameter("reduced", "-", "friction of the gears", choices=FRICTION_SETS)
    grip: str = parameter("pads", "-", "how arms hold a beam", choices=("pads", "contact"))
    spring: str = parameter("compression", "-", "kind of spring", choices=("compression", "ideal"))

    @property
    def period_ns(self) -> int:
        """Time between ticks, [ns]."""
        return round(1e9 / self.rate)

    @property
    def plant_ns(self) -> int:
        """Step of the physics, [ns]."""
        return round(1e9 / self.plant_rate)

    @property
    def names(self) -> list[str]:
        """Names of all arms, the leader's first."""
        followers = [f"follower_{number + 1}" for number in range(self.followers)]
        return followers if self.coupling == "human" else ["leader", *followers]

    @property
    def places(self) -> Array:
        """Where the arms take hold, from the object's middle, n × 3, [m]."""
        return np.array([[x, y, 0.0] for x, y in GRIPS[len(self.names)]])

    @property
    def shares(self) -> Array:
        """Share of the weight that each arm carries, [-]."""
        return nominal_shares(self.places)


CELL, GRIPPER = "ati-delta-si-660-60", "rx160-gripper"
TOOL, JAWS = 0.1773, 0.144
"""From the flange to the point between the jaws, and from the load cell's interface to it,
sources/cooperative §2.3 [P2], [m]."""
OUTER = 0.804
"""Mass of the cell on the flange's side, sources/cooperative §2.9 [P2], [kg]."""

TOOL_MASS = 2.291
"""All of cell, adapter and gripper, sources/cooperative §4.3, [kg]."""


def mounting() -> Mounting:
    """Pose of the cell in the tool frame, sources/cooperative §2.3 [P2]; one for every arm."""
    turn = Rotation.from_euler("z", 45.0, degrees=True).as_matrix()
    return Mounting(np.array([0.0, 0.0, -JAWS]), turn)


Makes = Callable[[Arm, Gears | None], TaskController]


@dataclass
class TeamArm:
    """One arm: an RX160 with gears, gripper, load cell, filters, drives, guard and controller."""

    station: Station
    controller: TaskController
    cell: InstrumentedPlant  #: the plant with the load cell, before the filters
    filters: Filters  #: of velocity and wrench
    lifeline: Lifeline  #: the signal without which its drives stop
    parameters: dict[str, Any]  #: what a user may set

    @property
    def name(self) -> str:
        """The name of its station."""
        return self.station.name


def gripping_robot(variant: str = "rx160") -> Robot:
    """An RX160 with load cell and gripper, its tool point between the jaws."""
    seen = load_sensor(CELL).internals + load_handle(GRIPPER).load
    mounted = mounting()
    com = mounted.rotation @ seen.com + mounted.position
    edits = (
        move_tool((0.0, 0.0, TOOL)),
        add_payload(OUTER, (0.0, 0.0, 0.0136 - TOOL)),
        add_payload(seen.mass, com, (0.006, 0.006, 0.003)),  # sources/cooperative §2.9 [R]
    )
    return load_robot("rx160", variant).edited(*edits)


def make_arm(
    world: World,
    name: str,
    shape: Cooperative,
    makes: Makes,
    filters: Filters,
    rng: np.random.Generator,
) -> TeamArm:
    """An arm that stands in the world, with everything it needs to work.

    Args:
        world: where it stands.
        name: its name there; ``leader`` or anything else.
        shape: of the rig.
        makes: function from model and friction curves to its controller.
        filters: of velocity and wrench.
        rng: of its sensor's noise.
    """
    placed = world.placed[name]
    robot, placement = placed.robot, placed.placement
    # It trips instead of saturating.
    plant = SimulatedPlant(world, name, Imperfections(actuator_limit=0.0), rng.spawn(1)[0])
    profile, load = load_sensor(CELL), load_handle(GRIPPER).load
    sensor = ForceSensor(profile, mounting(), load, gravity=shape.gravity, rng=rng.spawn(1)[0])
    conditioner = Conditioner(profile, mounting(), load, shape.gravity)
    # The cell was zeroed before the run, the gripper's weight known.
    conditioner.set_bias(np.zeros(6))
    cell = InstrumentedPlant(plant, sensor, conditioner, Arm.of(robot, placement, shape.gravity))
    filtered = FilteredPlant(cell, 6, 6, filters)
    lifeline = Lifeline()
    drive = DrivePlant(filtered, 6, lifeline)
    gears = None
    if shape.friction != "none":
        world.add_friction(name, GearFriction(Gears(set=shape.friction)))
        gears = Gears(set=shape.friction)
    arm = Arm.of(robot, placement, shape.gravity)
    controller = makes(arm, gears)
    # The range of the cell; beyond their torque the drives shut down.
    guard = Guard(force=660.0, moment=60.0, torque_trips=True)
    guard.watch(robot.limits)
    role = "leader" if name == "leader" else "follower"
    period_ns = shape.period_ns
    station = Station(name, role, drive, arm, guard, period_ns=period_ns, controller=controller)
    own = {"plant": plant.imperfections, "guard": guard, "filters": filters, "drive": lifeline}
    return TeamArm(station, controller, cell, filters, lifeline, {**own, **controller.parts})


def placement_at(x: float, y: float, facing: float) -> Placement:
    """On the floor, turned by ``facing`` about z, [m] and [rad]."""
    half = facing / 2.0
    return Placement((x, y, 0.0), (0.0, 0.0, float(np.sin(half)), float(np.cos(half))))
