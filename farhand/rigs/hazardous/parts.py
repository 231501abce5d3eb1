"""Both sides of the hazardous-environment rig: plants with sensors, and stations with controllers and guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farhand.analysis.threshold import load_operators
from farhand.arm import Arm
from farhand.control.haptic.force_map import ForceMap, VibrationCue
from farhand.control.haptic.gripper import GripperCommand
from farhand.coupling import Admittance, Coupling, PositionForce
from farhand.loop.station import Station
from farhand.mapping import WorkspaceMapping
from farhand.plants import Imperfections, SimulatedPlant
from farhand.plants.simulated.grippers import SimulatedJaws
from farhand.plants.simulated.velocity import Drives, VelocityPlant
from farhand.plants.wrappers.filtered import SmoothedPlant, Smoothing
from farhand.plants.wrappers.instrumented import WristPlant
from farhand.rigs.hazardous.following import Following, Hazardous
from farhand.robots import Placement
from farhand.safety import Guard
from farhand.safety.handle import HandleController, HandleParts
from farhand.safety.retreating import CollisionRetreat, RetreatingController
from farhand.safety.watches import OverheatStop
from farhand.sensing import load_sensor
from farhand.world import World

Array = np.ndarray


@dataclass
class Leader:
    """The side of the operator.

    Attributes:
        station: that carries its weight and may be guided.
        parts: of the handle.
        parameters: what a user may set.
    """

    station: Station
    parts: HandleParts
    parameters: dict[str, Any]


@dataclass
class Follower:
    """The side of the tool.

    Attributes:
        station: that tracks within its drives' limits.
        drives: the arm with its drives, which runs the world.
        wrist: with the force sensor.
        retreat: the controller that leads away from collisions.
        overheat: when the sensor is too hot.
        cue: when the handle buzzes.
        gripper: the jaws.
        grip: how fast they move.
        parameters: what a user may set.
    """

    station: Station
    drives: VelocityPlant
    wrist: WristPlant
    retreat: RetreatingController
    overheat: OverheatStop = field(default_factory=OverheatStop)
    cue: VibrationCue = field(default_factory=VibrationCue)
    gripper: SimulatedJaws = field(default_factory=SimulatedJaws)
    grip: GripperCommand = field(default_factory=GripperCommand)
    parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add what is made here to the parameters."""
        self.parameters |= {
            "overheat": self.overheat,
            "cue": self.cue,
            "gripper": self.gripper,
            "grip": self.grip,
        }


@dataclass
class Sides:
    """What of the rig is in this process: both sides, or the one whose other runs elsewhere.

    Attributes:
        leader: the side of the operator, or None.
        follower: the side of the tool, or None.
    """

    leader: Leader | None
    follower: Follower | None

    @property
    def stations(self) -> dict[str, Station]:
        """Of the sides there are, by role."""
        return {
            side.station.role: side.station
            for side in (self.leader, self.follower)
            if side is not None
        }

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set, by role."""
        return {
            side.station.role: side.parameters
            for side in (self.leader, self.follower)
            if side is not None
        }


def make_sides(
    world: World, way: Following, placement: Placement, shape: Hazardous, rng: np.random.Generator
) -> Sides:
    """The sides whose robots are in the world; each has the same random numbers with and without the other."""
    of_leader, of_follower = rng.spawn(1)[0], rng.spawn(1)[0]
    leader = (
        make_leader(world, way, placement, shape, of_leader) if "leader" in world.ports else None
    )
    return Sides(
        leader, make_follower(world, way, shape, of_follower) if "follower" in world.ports else None
    )


def make_leader(
    world: World, way: Following, placement: Placement, shape: Hazardous, rng: np.random.Generator
) -> Leader:
    """A leader that carries its weight, may be guided, and has a handle."""
    plant, robot = SimulatedPlant(world, "leader", Imperfections(), rng), way.leader
    arm, guard, parts = (
        Arm.of(robot, placement, shape.gravity),
        Guard(force=150.0, moment=30.0),
        HandleParts(),
    )
    guard.watch(robot.limits)
    parts.wall.watch(robot.limits.lower, robot.limits.upper)
    parts.lock.angles = way.locked
    controller = HandleController(arm, shape.period_ns, parts)
    station = Station(
        "leader",
        "leader",
        plant,
        arm,
        guard,
        rest="free",
        period_ns=shape.period_ns,
        controller=controller,
    )
    return Leader(
        station, parts, {"plant": plant.imperfections, "guard": guard, **controller.parts}
    )


def make_follower(
    world: World, way: Following, shape: Hazardous, rng: np.random.Generator
) -> Follower:
    """A follower that takes joint velocities, with the published force sensor at its wrist."""
    robot, placement = way.robot, way.placement
    limits = np.array(way.velocity_limit), np.array(way.step_limit)
    drives = Drives(*limits, rate=shape.pd_rate, delay=0.05)  # sources/hazardous §3.11 [A]
    plant = VelocityPlant(world, "follower", drives, Imperfections(), rng.spawn(1)[0])
    # [rad/s²]
    steepest = float(np.linalg.norm(way.step_limit * robot.limits.velocity * shape.pd_rate))
    model = Arm.of(robot, placement, shape.gravity)
    wrist = WristPlant(plant, load_sensor("schunk-ftm115"), model, steepest, shape.gravity, rng)
    # erratum E-18
    arm, guard = (Arm.of(robot, placement, shape.gravity), Guard(force=100.0, moment=30.0))
    # the drives are the tighter limit
    guard.watch(replace(robot.limits, velocity=1.05 * robot.limits.velocity))
    # sources/hazardous §3.14 [A], as the published filter must have been: 63 % in 126 ms
    smoothing = Smoothing()
    retreat = RetreatingController(
        way.controller(arm), arm, guard, CollisionRetreat(), lambda: wrist.contact
    )
    smoothed = SmoothedPlant(wrist, arm.nq, arm.nv, smoothing)
    station = Station(
        "follower",
        "follower",
        smoothed,
        arm,
        guard,
        rest="hold",
        period_ns=shape.period_ns,
        controller=retreat,
    )
    parameters = {
        "plant": plant.imperfections,
        "guard": guard,
        "drives": drives,
        "smoothing": smoothing,
    }
    parameters |= {"sensor": wrist.faults, "compensation": wrist.compensation, **retreat.parts}
    return Follower(station, plant, wrist, retreat, parameters=parameters)


# The coupling of the hazardous-environment rig: the law with the mapping, in one process, over a
# link, or one end.

MakeLaw = Callable[[WorkspaceMapping], Coupling]

HANDLE_DAMPING = 600.0
"""Of an admittance's handle, derived, [N·s/m]: the follower's drives act 50 ms late and its wrench
is felt 126 ms late,
so a wall of k N/m answers a handle at v with k v τ, τ = 0.18 s; against the rig's own 5000 N/m
times 0.7, a lighter
one is thrown back until the leader trips."""


def law_maker(law: type[Coupling], shape: Hazardous) -> MakeLaw:
    """What makes the law with a mapping.

    The position–force law gets the operator's map if the shape says so, an admittance a handle that
    the slow follower bears.
    """
    people = load_operators()
    profiles = {"mean": people.limits(), **{name: people.limits(name) for name in people.names}}

    def make(mapping: WorkspaceMapping) -> Coupling:
        made = law(mapping=mapping)
        if shape.force_map and isinstance(made, PositionForce):
            # published, Tables 4.1 and 4.2; rounded means by default
            made.force_map = ForceMap(profiles=profiles)
            made.force_map.operator = shape.operator
            made.force_map.refresh()
        if isinstance(made, Admittance):
            made.damping = HANDLE_DAMPING
            made.refresh()
        return made

    return make
