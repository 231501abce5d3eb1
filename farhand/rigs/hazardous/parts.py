"""Both sides of the hazardous-environment rig, and its law: plants, sensors, stations, guards."""

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
    """The operator's side: an arm that carries its weight and may be guided by its handle."""

    station: Station
    parts: HandleParts
    parameters: dict[str, Any]


@dataclass
class Follower:
    """The tool's side: an arm that tracks within the limits of its drives."""

    station: Station
    drives: VelocityPlant  #: the arm with its drives, which step the world
    wrist: WristPlant  #: with the force sensor
    retreat: RetreatingController  #: controller that backs away from collisions
    parameters: dict[str, Any]  #: what a user may set
    #: limit of the sensor's temperature
    overheat: OverheatStop = field(default_factory=OverheatStop)
    cue: VibrationCue = field(default_factory=VibrationCue)  #: decides when the handle buzzes
    gripper: SimulatedJaws = field(default_factory=SimulatedJaws)  #: the jaws
    grip: GripperCommand = field(default_factory=GripperCommand)  #: speed of the jaws

    def __post_init__(self) -> None:
        """Let the user set what is made here."""
        for name in ("overheat", "cue", "gripper", "grip"):
            self.parameters[name] = vars(self)[name]


@dataclass
class Sides:
    """The sides in this process: both, or the one whose other runs elsewhere."""

    leader: Leader | None
    follower: Follower | None

    @property
    def stations(self) -> dict[str, Station]:
        """The stations by role."""
        sides = (self.leader, self.follower)
        return {side.station.role: side.station for side in sides if side is not None}

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set, by role."""
        sides = (self.leader, self.follower)
        return {side.station.role: side.parameters for side in sides if side is not None}


def make_sides(
    world: World, way: Following, placement: Placement, shape: Hazardous, rng: np.random.Generator
) -> Sides:
    """The sides whose robots are in the world."""
    # Each side has the same random numbers with and without the other.
    leader_rng = rng.spawn(1)[0]
    follower_rng = rng.spawn(1)[0]
    sides = Sides(None, None)
    if "leader" in world.ports:
        sides.leader = make_leader(world, way, placement, shape, leader_rng)
    if "follower" in world.ports:
        sides.follower = make_follower(world, way, shape, follower_rng)
    return sides


def make_leader(
    world: World, way: Following, placement: Placement, shape: Hazardous, rng: np.random.Generator
) -> Leader:
    """A leader that carries its weight, may be guided, and has a handle."""
    plant = SimulatedPlant(world, "leader", Imperfections(), rng)
    limits = way.leader.limits
    arm = Arm.of(way.leader, placement, shape.gravity)
    guard = Guard(force=150.0, moment=30.0)
    guard.watch(limits)
    parts = HandleParts()
    parts.wall.watch(limits.lower, limits.upper)
    parts.lock.angles = way.locked
    period_ns = shape.period_ns
    control = HandleController(arm, period_ns, parts)
    station = Station(
        "leader", "leader", plant, arm, guard, period_ns=period_ns, controller=control
    )
    return Leader(station, parts, {"plant": plant.imperfections, "guard": guard, **control.parts})


def make_follower(
    world: World, way: Following, shape: Hazardous, rng: np.random.Generator
) -> Follower:
    """A follower that takes joint velocities, with the published force sensor at its wrist."""
    robot, placement = way.robot, way.placement
    limits = np.array(way.velocity_limit), np.array(way.step_limit)
    # sources/hazardous §3.11 [A]
    drives = Drives(*limits, rate=shape.pd_rate, delay=0.05)
    plant = VelocityPlant(world, "follower", drives, Imperfections(), rng.spawn(1)[0])
    # [rad/s²]
    steepest = float(np.linalg.norm(way.step_limit * robot.limits.velocity * shape.pd_rate))
    model = Arm.of(robot, placement, shape.gravity)
    wrist = WristPlant(plant, load_sensor("schunk-ftm115"), model, steepest, shape.gravity, rng)
    arm = Arm.of(robot, placement, shape.gravity)
    # erratum E-18
    guard = Guard(force=100.0, moment=30.0)
    # The drives are the tighter limit.
    guard.watch(replace(robot.limits, velocity=1.05 * robot.limits.velocity))
    # sources/hazardous §3.14 [A], as the published filter must have been: 63 % in 126 ms
    smoothing = Smoothing()
    smoothed = SmoothedPlant(wrist, arm.nq, arm.nv, smoothing)
    tracking = way.controller(arm)
    retreat = RetreatingController(tracking, arm, guard, CollisionRetreat(), lambda: wrist.contact)
    period_ns = shape.period_ns
    station = Station(
        "follower", "follower", smoothed, arm, guard, period_ns=period_ns, controller=retreat
    )
    parameters = {
        "plant": plant.imperfections,
        "guard": guard,
        "drives": drives,
        "smoothing": smoothing,
        "sensor": wrist.faults,
        "compensation": wrist.compensation,
        **retreat.parts,
    }
    return Follower(station, plant, wrist, retreat, parameters)


MakeLaw = Callable[[WorkspaceMapping], Coupling]

HANDLE_DAMPING = 600.0
"""Of an admittance's handle, derived, [N·s/m].

The follower's drives act 50 ms late and its wrench is felt 126 ms late, so a wall of k N/m answers
a handle at v with k v τ, τ = 0.18 s. Against the rig's own 5000 N/m times 0.7, a lighter handle is
thrown back until the leader trips.
"""


def law_maker(law: type[Coupling], shape: Hazardous) -> MakeLaw:
    """A function that makes the law with a mapping.

    The position–force law gets the operator's force map if the shape has one; an admittance gets a
    handle heavy enough for the slow follower.
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
