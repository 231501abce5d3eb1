"""Bench: one RX160 with its gears, spring and load cell under one controller, and what is left of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.paths import Reference, Trajectory, Waypoint
from farhand.friction import Gears
from farhand.mapping.ik import Solver
from farhand.plants import SimulatedPlant
from farhand.plants.plant import Sample
from farhand.plants.wrappers.filtered import FilteredPlant, Filters
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.robots import Robot, load_robot
from farhand.robots.edits import add_payload, move_tool, set_armature
from farhand.safety.guard import Guard, Trip
from farhand.spatial import attitude_error, rotation_from_zyx
from farhand.world.gear_friction import GearFriction
from farhand.world.touch import Touch
from farhand.world.world import Placed, World
from farhand_lab.harness import generator, shared

Array = np.ndarray

GRAVITY = 9.804
"""Stated in the thesis, (4.6), [m/s²]."""
PERIOD_NS = 4_000_000
PLANT_NS = 500_000
DEGREE = np.pi / 180.0

GAINS: dict[str, dict[str, Any]] = {
    "G1": {"kp": 9.0, "kd": 6.0, "kpo": 9.0, "kdo": 6.0},
    "G2": {"kp": 100.0, "kd": 20.0, "kpo": 100.0, "kdo": 20.0},
    "G6": {"kp": 400.0, "kd": 25.0, "kpo": 400.0, "kdo": 25.0},
    "G7": {"kp": 500.0, "kd": 35.0, "kpo": 200.0, "kdo": 70.0},
    "G8": {"kp": 500.0, "kd": 35.0, "ki": 1000.0, "kpo": 200.0, "kdo": 70.0},
}
"""Published gain sets of the position-controlled arm (sources/cooperative §2.12)."""

POSTURES = {
    "T3.1": ([(0, -20, 110, 0, 90, 0), (45,) * 6, (45,) * 6], [0.0, 5.0, 6.0]),
    "TA.1": ([(0, -20, 90, 0, 20, 0), (45,) * 6], [0.0, 5.0]),
    "T4.1": (
        [
            (0, -20, 90, 0, 20, 0),
            (0, -20, 90, 0, 20, 0),
            (45,) * 6,
            (0, 0, 90, 45, 0, 45),
            (0, -20, 90, 0, 20, 0),
        ],
        [0.0, 2.0, 7.0, 15.0, 20.0],
    ),
}
"""Published way-points in joints [°] and their times [s], followed in task space
(sources/cooperative §2.13)."""

POSES = {
    "T3.2": [(0.0, (1.0, 0.0, 0.55), (0, 90, 0)), (1.688, (1.5, 0.0, 0.55), (0, 90, 0))],
    "T3.3": [
        (0.0, (1.0, 0.0, 0.55), (0, 90, 0)),
        (2.0, (1.5, 0.0, 0.55), (0, 90, 0)),
        (7.0, (1.0, 0.5, 1.0), (90, 0, 0)),
        (12.0, (0.0, 1.0, 1.0), (90, 0, 0)),
        (15.0, (1.0, 0.0, 0.55), (180, 0, 0)),
    ],
    "T3.3 feasible": [
        (0.0, (1.0, 0.0, 0.55), (0, 90, 0)),
        (2.0, (1.4, 0.0, 0.55), (0, 90, 0)),
        (7.0, (1.0, 0.5, 1.0), (60, 90, 0)),
        (12.0, (0.3, 1.0, 1.0), (90, 90, 0)),
        (15.0, (1.0, 0.0, 0.55), (0, 90, 0)),
    ],
}
"""Published way-points as time [s], position [m] and roll, pitch, yaw [°], and a feasible variant
of the last."""

MEASURED = (1.0, 1.0, 1.0, 12.0 / 168.4421, 1.0, 1.0, 1.0)
"""Share of Zengin's dry friction that the published arm is taken to have: his own measurement, but
for joint 4, whose
168 N·m no motor of 58 N·m could overcome; the thesis found that 12 N·m are right there
(Fig. 4.8)."""

TABLE = np.array([0.0, 43.314, 120.516, 0.0, -73.83, 0.0]) * DEGREE
"""Joints at the first way-point of T3.2 and T3.3, [rad]."""


def path(name: str, robot: Robot | None = None) -> Trajectory:
    """A published trajectory of the flange or of a robot's own tool."""
    if name in POSES:
        points = [
            (t, np.array(p), rotation_from_zyx(np.array(a) * DEGREE)) for t, p, a in POSES[name]
        ]
        return Trajectory([Waypoint(*point) for point in points])
    rows, times = POSTURES[name]
    arm = Arm.of(robot or load_robot("rx160"), gravity=GRAVITY)
    return Trajectory.through_joints(arm, [np.array(row) * DEGREE for row in rows], times)


def gripping(variant: str = "rx160", tool: float = 0.1773) -> Robot:
    """An RX160 with outer cell, inner cell, adapter and gripper, the tool point ``tool`` [m] beyond the flange."""
    cell = 0.0333
    edits = [
        add_payload(0.804, (0.0, 0.0, 0.0136)),
        # turned by the mounting's 45°
        add_payload(1.487, (0.0011, 0.0151, cell + 0.0622), (0.006, 0.006, 0.003)),
        move_tool((0.0, 0.0, tool)),
    ]
    return load_robot("rx160", variant).edited(*edits)


class NoisyVelocity(WrappedPlant):
    """A plant whose velocities are noisy.

    Args:
        plant: the plant.
        sigma: standard deviation, one number or one per joint, [rad/s].
    """

    def __init__(self, plant: SimulatedPlant, sigma: Array | float) -> None:
        super().__init__(plant)
        self._rng, self._sigma = generator("velocity noise"), np.broadcast_to(sigma, (6,))
        self._sample = Sample(6, 6)

    def read(self, now_ns: int) -> Sample:
        """The plant's sample with noise on top."""
        raw, sample = self._plant.read(now_ns), self._sample
        sample.time_ns, sample.values[:], sample.has_wrench = (
            raw.time_ns,
            raw.values,
            raw.has_wrench,
        )
        sample.v[:] += self._sigma * self._rng.standard_normal(6)
        return sample


@dataclass
class BenchSetup:
    """What stands on the bench; the defaults are the arm as the source's experiments have it.

    Attributes:
        robot: the plant's.
        model: the controller's; the plant's by default.
        gears: the plant's friction set; "" for none.
        share: factor on the dry part of the plant's seven gear terms, [-].
        gears_model: the controller's; "" for none.
        filters: of velocity and wrench.
        noise: standard deviation of the velocities, [rad/s].
        q: where the arm starts, [rad]; at the start of the trajectory, or home.
        touches: what touches the tool, by name.
        rotors: whether the controller knows the rotors' inertia.
        gravity: the plant's, [m/s²].
    """

    robot: Robot = field(default_factory=lambda: load_robot("rx160"))
    model: Robot | None = None
    gears: str = "reduced"
    gears_model: str = "reduced"
    share: tuple[float, ...] = (1.0,) * 7
    filters: Filters = field(default_factory=Filters)
    noise: float = 0.0
    q: Array | None = None
    touches: dict[str, Touch] = field(default_factory=dict)
    rotors: bool = True
    gravity: float = GRAVITY

    def controllers_model(self) -> Arm:
        """The controller's model of the arm."""
        robot = self.model or self.robot
        return Arm.of(robot if self.rotors else robot.edited(set_armature(0.0)), gravity=GRAVITY)

    def controllers_gears(self) -> Gears | None:
        """The controller's friction curves."""
        return Gears(set=self.gears_model) if self.gears_model else None


class BenchLog:
    """What is left of a run, one row per tick of 4 ms.

    Attributes:
        time: [s].
        q: joints, [rad].
        v: true joint velocities, [rad/s].
        position: of the tool, [m].
        rotation: of the tool.
        error: reference minus tool, [m].
        turn: axis-angle error |O_e| = sin α, [-].
        angle: α, [rad].
        torque: commanded, [N·m].
        wrench: as the controller sees it, [N] and [N·m]; zero where there is none.
        trip: why the run ended early, or None.
    """

    def __init__(self, ticks: int) -> None:
        self.time, self.q, self.v, self.torque = (
            np.zeros(ticks),
            *(np.zeros((ticks, 6)) for _ in range(3)),
        )
        self.position, self.error = np.zeros((ticks, 3)), np.zeros((ticks, 3))
        self.rotation, self.turn, self.wrench = (
            np.zeros((ticks, 3, 3)),
            np.zeros((ticks, 3)),
            np.zeros((ticks, 6)),
        )
        self.trip: Trip | None = None
        self.rows = 0

    def note(
        self, now_ns: int, sample: Sample, controller: TaskController, reference: Reference
    ) -> None:
        """Write one row."""
        row, arm = self.rows, controller.arm
        self.time[row], self.q[row], self.v[row] = now_ns * 1e-9, sample.q, sample.v
        self.position[row], self.rotation[row] = arm.position, arm.rotation
        self.error[row] = reference.position - arm.position
        self.turn[row] = attitude_error(arm.rotation, reference.rotation, "axis-angle")
        self.torque[row] = controller.command.value
        self.wrench[row] = 0.0 if sample.wrench is None else sample.wrench
        self.rows += 1

    def close(self) -> None:
        """Cut what was not filled."""
        for name in ("time", "q", "v", "torque", "position", "error", "rotation", "turn", "wrench"):
            setattr(self, name, getattr(self, name)[: self.rows])

    @property
    def metrics(self) -> tuple[float, float, float, float]:
        """The published four: Σ|x_e| [m], |x_e| at the end [m], Σ|O_e| and |O_e| at the end [-]."""
        away, turned = np.linalg.norm(self.error, axis=1), np.linalg.norm(self.turn, axis=1)
        return float(away.sum()), float(away[-1]), float(turned.sum()), float(turned[-1])

    @property
    def rms(self) -> float:
        """Root mean square of |x_e|, [m]."""
        return float(np.sqrt(np.mean(np.sum(self.error**2, axis=1))))

    @property
    def rms_turn(self) -> float:
        """Root mean square of |O_e|, [-]."""
        return float(np.sqrt(np.mean(np.sum(self.turn**2, axis=1))))


class ArmBench:
    """One arm, ready to run.

    Args:
        setup: what stands on it.
        controller: made for :meth:`BenchSetup.controllers_model`.
        guard: limits; those of the robot, with torques that trip, by default.
    """

    def __init__(
        self, setup: BenchSetup, controller: TaskController, guard: Guard | None = None
    ) -> None:
        self.setup, self.controller = setup, controller
        start = setup.robot.home if setup.q is None else setup.q
        self.world = World({"arm": Placed(setup.robot, q=np.array(start))}, PLANT_NS, setup.gravity)
        if setup.gears:
            self.world.add_friction(
                "arm", GearFriction(Gears(set=setup.gears, share=np.array(setup.share)))
            )
        for name, touch in setup.touches.items():
            self.world.touch("arm", name, touch)
        raw = SimulatedPlant(self.world, "arm")
        raw.imperfections.actuator_limit = 0.0
        self.plant = FilteredPlant(
            NoisyVelocity(raw, setup.noise) if setup.noise else raw, 6, 6, setup.filters
        )
        self.guard = guard or Guard(force=660.0, torque_trips=True)
        self.guard.watch(setup.robot.limits)
        self.port = self.world.ports["arm"]
        self._now_ns = 0
        self.measure: Callable[[Array | None, Arm], Array | None] = lambda wrench, arm: wrench

    def run(self, seconds: float, at: Callable[[float], None] | None = None) -> BenchLog:
        """Run on for that long, or until something trips.

        Args:
            seconds: how long, [s].
            at: called with the time before every tick; may change settings.
        """
        ticks = round(seconds * 1e9) // PERIOD_NS + 1
        log, asked, controller, arm = (
            BenchLog(ticks),
            ControlRequest(),
            self.controller,
            self.controller.arm,
        )
        asked.gain = 1.0
        for _ in range(ticks):
            now_ns = self._now_ns
            if at is not None:
                at(now_ns * 1e-9)
            sample = self.plant.read(now_ns)
            asked.valid = self.guard.check(sample, now_ns)
            arm.update(sample.q, sample.v)
            asked.wrench = self.measure(sample.wrench, arm)
            command = controller.step(asked, now_ns)
            self.guard.limit(command.value, now_ns)
            self.plant.write(command, now_ns)
            log.note(now_ns, sample, controller, controller.reference)
            self._now_ns += PERIOD_NS
            if self.guard.trip is not None:
                log.trip = self.guard.trip
                break
        log.close()
        return log


def tracked(
    name: str,
    loop: PoseLoop,
    setup: BenchSetup | None = None,
    seconds: float | None = None,
    guard: Guard | None = None,
    **options: object,
) -> BenchLog:
    """Follow a published trajectory by computed torque and keep the log.

    Args:
        name: of the trajectory.
        loop: the gains.
        setup: the bench.
        seconds: how long; the trajectory's own time by default.
        guard: limits; those of the robot, with torques that trip, by default.
        options: of the controller, by name.
    """
    setup = setup or BenchSetup()
    guide = path(name, setup.robot)
    if setup.q is None:
        setup.q = TABLE if name in POSES else np.array(POSTURES[name][0][0]) * DEGREE
    solver = Solver(setup.robot) if options.get("model", "measured") != "measured" else None
    controller = ComputedTorque(
        setup.controllers_model(), loop, setup.controllers_gears(), solver=solver
    )
    for key, value in options.items():
        setattr(controller.options, key, value)
    bench = ArmBench(setup, controller, guard)
    controller.follow(guide, 0)
    return bench.run(guide.duration if seconds is None else seconds)


@shared
def published(name: str, gains: tuple[tuple[str, Any], ...], model: str = "measured") -> BenchLog:
    """A trajectory on the arm as the source's experiments must have had it, with gains of :func:`gains`.

    The plant's friction is the one measured on it, the controller's the reduced one; the controller
    knows no rotors.
    """
    setup = BenchSetup(robot=gripping(), gears="zengin", share=MEASURED, rotors=False)
    return tracked(name, PoseLoop(**dict(gains)), setup, model=model)


def gains(base: str = "G7", **changes: Any) -> tuple[tuple[str, Any], ...]:
    """A published gain set with changes, as a key of :func:`published`."""
    return tuple(sorted({**GAINS[base], **changes}.items()))
