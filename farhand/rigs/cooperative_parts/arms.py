"""One arm of the cooperative rig: an RX160 with gears, gripper, load cell, filters, drives, guard and a controller.

Nothing here knows of any other arm: what an arm gets is its own plant's samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.control.task import TaskController
from farhand.friction import Gears
from farhand.plants import Imperfections, SimulatedPlant
from farhand.plants.drive import DrivePlant, Lifeline
from farhand.plants.filtered import FilteredPlant, Filters
from farhand.plants.instrumented import InstrumentedPlant
from farhand.rigs.cooperative_parts.shape import Cooperative
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import add_payload, move_tool
from farhand.safety import Guard
from farhand.sensing import Conditioner, ForceSensor, Mounting, load_handle, load_sensor
from farhand.station import Station
from farhand.world import World
from farhand.world.gear_friction import GearFriction

Array = np.ndarray

CELL, GRIPPER = "ati-delta-si-660-60", "rx160-gripper"
TOOL, JAWS = 0.1773, 0.144
"""From the flange to the point between the jaws, and from the load cell's interface to it, spec 004 §2.3 [P2], [m]."""
OUTER = 0.804
"""Mass of the cell on the flange's side, spec 004 §2.9 [P2], [kg]."""

TOOL_MASS = 2.291
"""All of cell, adapter and gripper, spec 004 §4.3, [kg]."""


def mounting() -> Mounting:
    """Where the cell sits in the tool frame, spec 004 §2.3 [P2]; a new one for every arm."""
    return Mounting(np.array([0.0, 0.0, -JAWS]), Rotation.from_euler("z", 45.0, degrees=True).as_matrix())


Makes = Callable[[Arm, Gears | None], TaskController]


@dataclass
class TeamArm:
    """One arm.

    Attributes:
        station: with plant, model, guard and controller.
        controller: the station's.
        cell: the plant with the load cell, before the filters.
        filters: of velocity and wrench.
        lifeline: what its drives expect.
        parameters: what a user may set.
    """

    station: Station
    controller: TaskController
    cell: InstrumentedPlant
    filters: Filters
    lifeline: Lifeline
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """Of the arm and its station."""
        return self.station.name


def gripping_robot(variant: str = "rx160") -> Robot:
    """An RX160 with load cell and gripper, its tool point between the jaws."""
    gripper, inner = load_handle(GRIPPER).load, load_sensor(CELL).internals
    seen, mounted = inner + gripper, mounting()
    com = mounted.rotation @ seen.com + mounted.position
    edits = (
        move_tool((0.0, 0.0, TOOL)),
        add_payload(OUTER, (0.0, 0.0, 0.0136 - TOOL)),
        add_payload(seen.mass, com, (0.006, 0.006, 0.003)),  # inertia recommended, spec 004 §2.9
    )
    return load_robot("rx160", variant).edited(*edits)


def make_arm(
    world: World, name: str, shape: Cooperative, makes: Makes, filters: Filters, rng: np.random.Generator
) -> TeamArm:
    """Put an arm that stands in the world to work.

    Args:
        world: where it stands.
        name: its name there; ``leader`` or anything else.
        shape: of the rig.
        makes: makes its controller from its model and friction curves.
        filters: of velocity and wrench.
        rng: of its sensor's noise.
    """
    placed = world.placed[name]
    robot, placement = placed.robot, placed.placement
    plant = SimulatedPlant(
        world, name, Imperfections(actuator_limit=0.0), rng.spawn(1)[0]
    )  # it trips, it does not saturate
    profile, load = load_sensor(CELL), load_handle(GRIPPER).load
    sensor = ForceSensor(profile, mounting(), load, gravity=shape.gravity, rng=rng.spawn(1)[0])
    conditioner = Conditioner(profile, mounting(), load, shape.gravity)
    conditioner.set_bias(np.zeros(6))  # zeroed before the run, the gripper's weight known
    cell = InstrumentedPlant(plant, sensor, conditioner, Arm.of(robot, placement, shape.gravity))
    filtered, lifeline = FilteredPlant(cell, 6, 6, filters), Lifeline()
    drive = DrivePlant(filtered, 6, lifeline, cell)
    gears = None
    if shape.friction != "none":
        world.rub(name, GearFriction(Gears(set=shape.friction)))
        gears = Gears(set=shape.friction)
    arm = Arm.of(robot, placement, shape.gravity)
    controller = makes(arm, gears)
    guard = Guard(force=660.0, moment=60.0, torque_trips=True)  # range of the cell; the drives shut down
    guard.watch(robot.limits)
    role = "leader" if name == "leader" else "follower"
    station = Station(name, role, drive, arm, guard, "hold", shape.period_ns, controller)
    parameters = {"plant": plant.imperfections, "guard": guard, "filters": filters, "drive": lifeline}
    return TeamArm(station, controller, cell, filters, lifeline, {**parameters, **controller.parts})


def placement_at(x: float, y: float, facing: float) -> Placement:
    """On the floor, turned by ``facing`` about z, [m] and [rad]."""
    return Placement((x, y, 0.0), (0.0, 0.0, float(np.sin(facing / 2.0)), float(np.cos(facing / 2.0))))
