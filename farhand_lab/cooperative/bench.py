"""One RX160 under a controller: on the bench with gears and load cell, or as an ideal plant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.task import PoseLoop, TaskController
from farhand.control.trajectory.paths import Reference, Trajectory, Waypoint
from farhand.friction import Gears
from farhand.mapping.ik import Solver
from farhand.plants import SimulatedPlant
from farhand.plants.plant import Sample
from farhand.plants.wrappers.filtered import FilteredPlant, Filters
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.rigs.cooperative.arms import gripping_robot
from farhand.robots import Robot, load_robot
from farhand.robots.edits import set_armature
from farhand.safety.guard import Guard, Trip
from farhand.spatial import Array, attitude_error, rotation_from_zyx
from farhand.world.joints import GearFriction
from farhand.world.touches import Tool, Touch
from farhand.world.world import Placed, World
from farhand_lab.harness import generator, shared

GRAVITY = 9.804
"""Stated in the thesis, (4.6), [m/s²]."""
PERIOD_NS = 4_000_000
PLANT_NS = 500_000
DEGREE = np.pi / 180.0
TORQUE_LIMIT = np.array([692.0, 574.0, 242.0, 58.0, 29.0, 29.0])
"""Of the RX160, [N·m]."""

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
        [*[(0, -20, 90, 0, 20, 0)] * 2, (45,) * 6, (0, 0, 90, 45, 0, 45), (0, -20, 90, 0, 20, 0)],
        [0.0, 2.0, 7.0, 15.0, 20.0],
    ),
}
"""Published way-points, joints [°] and times [s], followed in task space
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
"""Published way-points: time [s], position [m] and roll, pitch, yaw [°]; the last is ours."""

MEASURED = (1.0, 1.0, 1.0, 12.0 / 168.4421, 1.0, 1.0, 1.0)
"""Assumed share of Zengin's measured dry friction, per gear term, [-].

His 168 N·m at joint 4 is more than its motor's 58 N·m; the thesis found 12 N·m there (Fig. 4.8)."""

TABLE = np.array([0.0, 43.314, 120.516, 0.0, -73.83, 0.0]) * DEGREE
"""Joints at the first way-point of T3.2 and T3.3, [rad]."""


def path(name: str, robot: Robot | None = None) -> Trajectory:
    """A published trajectory of the flange or of a robot's own tool."""
    if name in POSES:
        return Trajectory(
            [
                Waypoint(t, np.array(p), rotation_from_zyx(np.array(angles) * DEGREE))
                for t, p, angles in POSES[name]
            ]
        )
    rows, times = POSTURES[name]
    arm = Arm.of(robot or load_robot("rx160"), gravity=GRAVITY)
    return Trajectory.through_joints(arm, [np.array(row) * DEGREE for row in rows], times)


class NoisyVelocity(WrappedPlant):
    """A plant with velocity noise of standard deviation ``sigma``, [rad/s]."""

    def __init__(self, plant: SimulatedPlant, sigma: float) -> None:
        super().__init__(plant)
        self._rng = generator("velocity noise")
        self._sigma = sigma
        self._sample = Sample(6, 6)

    def read(self, now_ns: int) -> Sample:
        """The plant's sample plus noise."""
        raw = self._plant.read(now_ns)
        sample = self._sample
        sample.time_ns = raw.time_ns
        sample.values[:] = raw.values
        sample.has_wrench = raw.has_wrench
        sample.v[:] += self._sigma * self._rng.standard_normal(6)
        return sample


@dataclass
class BenchSetup:
    """What stands on the bench; the defaults are the arm of the published experiments."""

    robot: Robot = field(default_factory=lambda: load_robot("rx160"))
    model: Robot | None = None  #: robot of the controller's model; the plant's by default
    gears: str = "reduced"  #: the plant's friction set; "" for none
    gears_model: str = "reduced"  #: the controller's friction set; "" for none
    #: factor on the dry part of the plant's seven gear terms, [-]
    share: tuple[float, ...] = (1.0,) * 7
    filters: Filters = field(default_factory=Filters)
    noise: float = 0.0  #: standard deviation of the velocities, [rad/s]
    q: Array | None = None  #: start posture, [rad]; the start of the trajectory or home by default
    touches: dict[str, Touch] = field(default_factory=dict)  #: what touches the tool, by name
    rotors: bool = True  #: whether the controller knows the rotors' inertia
    gravity: float = GRAVITY  #: of the plant, [m/s²]

    def controllers_model(self) -> Arm:
        """The controller's model of the arm."""
        robot = self.model or self.robot
        return Arm.of(robot if self.rotors else robot.edited(set_armature(0.0)), gravity=GRAVITY)

    def controllers_gears(self) -> Gears | None:
        """The controller's friction curves."""
        return Gears(set=self.gears_model) if self.gears_model else None

    def computed_torque(self, loop: PoseLoop, solver: Solver | None = None) -> ComputedTorque:
        """A computed-torque controller with this model and these friction curves."""
        model = self.controllers_model()
        return ComputedTorque(model, loop, self.controllers_gears(), solver=solver)


class BenchLog:
    """The log of a run, one row per tick of 4 ms.

    Attributes:
        time: [s].
        q: joints, [rad].
        v: joint velocities as measured, [rad/s].
        torque: commanded, [N·m].
        position: of the tool, [m].
        rotation: of the tool.
        error: reference minus tool, [m].
        turn: axis-angle error |O_e| = sin α, [-].
        wrench: as the controller sees it, [N] and [N·m]; zero without a sensor.
        trip: why the run ended early, or None.
    """

    def __init__(self, ticks: int) -> None:
        self.time = np.zeros(ticks)
        self.q, self.v, self.torque, self.wrench = np.zeros((4, ticks, 6))
        self.position, self.error, self.turn = np.zeros((3, ticks, 3))
        self.rotation = np.zeros((ticks, 3, 3))
        self.trip: Trip | None = None
        self.rows = 0

    def note(
        self, now_ns: int, sample: Sample, controller: TaskController, reference: Reference
    ) -> None:
        """Write one row."""
        row, arm = self.rows, controller.arm
        self.time[row] = now_ns * 1e-9
        self.q[row] = sample.q
        self.v[row] = sample.v
        self.position[row] = arm.position
        self.rotation[row] = arm.rotation
        self.error[row] = reference.position - arm.position
        self.turn[row] = attitude_error(arm.rotation, reference.rotation, "axis-angle")
        self.torque[row] = controller.command.value
        self.wrench[row] = 0.0 if sample.wrench is None else sample.wrench
        self.rows += 1

    def close(self) -> None:
        """Cut off the rows that were not written."""
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, Array)}
        vars(self).update({name: value[: self.rows] for name, value in arrays.items()})

    @property
    def metrics(self) -> tuple[float, float, float, float]:
        """The published four: Σ|x_e| [m], |x_e| at the end [m], Σ|O_e| and |O_e| at the end [-]."""
        away = np.linalg.norm(self.error, axis=1)
        turned = np.linalg.norm(self.turn, axis=1)
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
        setup: what stands on the bench.
        controller: made for :meth:`BenchSetup.controllers_model`.
        guard: limits; those of the robot, with torques that trip, by default.
    """

    def __init__(
        self, setup: BenchSetup, controller: TaskController, guard: Guard | None = None
    ) -> None:
        self.setup = setup
        self.controller = controller
        start = setup.robot.home if setup.q is None else setup.q
        self.world = World({"arm": Placed(setup.robot, q=np.array(start))}, PLANT_NS, setup.gravity)
        if setup.gears:
            gears = Gears(set=setup.gears, share=np.array(setup.share))
            self.world.add_friction("arm", GearFriction(gears))
        for name, touch in setup.touches.items():
            self.world.touch("arm", name, touch)
        raw = SimulatedPlant(self.world, "arm")
        raw.imperfections.actuator_limit = 0.0
        source = NoisyVelocity(raw, setup.noise) if setup.noise else raw
        self.plant = FilteredPlant(source, 6, 6, setup.filters)
        self.guard = guard or Guard(force=660.0, torque_trips=True)
        self.guard.watch(setup.robot.limits)
        self._now_ns = 0
        self.measure: Callable[[Array | None, Arm], Array | None] = lambda wrench, arm: wrench

    def run(self, seconds: float, at: Callable[[float], None] | None = None) -> BenchLog:
        """Run for ``seconds`` or until something trips; ``at`` gets the time before every tick."""
        ticks = round(seconds * 1e9) // PERIOD_NS + 1
        log = BenchLog(ticks)
        controller = self.controller
        request = ControlRequest()
        request.gain = 1.0
        for _ in range(ticks):
            now_ns = self._now_ns
            if at is not None:
                at(now_ns * 1e-9)
            sample = self.plant.read(now_ns)
            request.valid = self.guard.check(sample, now_ns)
            controller.arm.update(sample.q, sample.v)
            request.wrench = self.measure(sample.wrench, controller.arm)
            command = controller.step(request, now_ns)
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
    """Follow a published trajectory by computed torque, for its own time by default.

    ``options`` are settings of the controller; for ``guard`` see :class:`ArmBench`.
    """
    setup = setup or BenchSetup()
    guide = path(name, setup.robot)
    if setup.q is None:
        setup.q = TABLE if name in POSES else np.array(POSTURES[name][0][0]) * DEGREE
    solver = Solver(setup.robot) if options.get("model", "measured") != "measured" else None
    controller = setup.computed_torque(loop, solver)
    for key, value in options.items():
        setattr(controller.options, key, value)
    bench = ArmBench(setup, controller, guard)
    controller.follow(guide, 0)
    return bench.run(guide.duration if seconds is None else seconds)


@shared
def published(name: str, gains: tuple[tuple[str, Any], ...], model: str = "measured") -> BenchLog:
    """A trajectory on the arm that the published experiments must have had, with :func:`gains`.

    The plant has the measured friction, the controller the reduced one and no rotor inertia.
    """
    setup = BenchSetup(robot=gripping_robot(), gears="zengin", share=MEASURED, rotors=False)
    return tracked(name, PoseLoop(**dict(gains)), setup, model=model)


def gains(base: str = "G7", **changes: Any) -> tuple[tuple[str, Any], ...]:
    """A published gain set with changes, as a key of :func:`published`."""
    return tuple(sorted({**GAINS[base], **changes}.items()))


class ScriptedPush:
    """A wrench on the tool, in world axes [N] and [N·m], from ``start`` to ``end`` [s]."""

    stored = 0.0

    def __init__(self, wrench: Array, start: float = 0.0, end: float = np.inf) -> None:
        self.wrench = np.asarray(wrench, dtype=float)
        self.start, self.end = start, end

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """The wrench at time ``t`` [s]."""
        wrench[:] = self.wrench if self.start <= t < self.end else 0.0


class Leash:
    r"""A spring to the tool from an ideal leader, who is always on the path ``guide``.

    .. math:: f = k_e (x_m - x)\ \mathrm{[N]}, \qquad \tau = k_t O_e(R, R_m)\ \mathrm{[N·m]}
    """

    stored = 0.0

    def __init__(self, guide: Trajectory, stiffness: float = 200.0, torsion: float = 5.0) -> None:
        self.guide, self.stiffness, self.torsion = guide, stiffness, torsion
        self.reference = Reference()

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards the leader's pose at time ``t`` [s]."""
        leader = self.reference
        self.guide.at(t, leader)
        wrench[:3] = self.stiffness * (leader.position - tool.position)
        wrench[3:] = self.torsion * attitude_error(tool.rotation, leader.rotation, "axis-angle")


def ideal(
    controller: TaskController,
    q: Array,
    seconds: float,
    touch: Leash | ScriptedPush | None = None,
    noise: Array | None = None,
    step: float = 0.004,
) -> BenchLog:
    """Run the law in continuous time with every dynamic term cancelled, by fourth-order steps.

    The controller must not integrate, as it would count every stage. The arm starts at ``q``
    [rad], at rest; ``noise`` of the measured wrench has one row per ``step`` [s].
    """
    arm, felt, error = controller.arm, np.zeros(6), np.zeros(6)
    request = ControlRequest()
    request.valid, request.gain = True, 1.0
    tool = Tool(arm.position, arm.rotation, arm.twist)
    sample, ticks = Sample(6, 6), round(seconds / step) + 1
    log, state = BenchLog(ticks), np.concatenate([q, np.zeros(6)])
    reference = touch.reference if isinstance(touch, Leash) else controller.reference

    def rate(t: float, y: Array) -> Array:
        arm.update(y[:6], y[6:])
        if touch is not None:
            touch.push(tool, t, felt)
            request.wrench = felt + error
        torque = controller.step(request, round(t * 1e9)).value
        return np.concatenate([y[6:], np.linalg.solve(arm.M, torque - arm.bias + felt.dot(arm.J))])

    for tick in range(ticks):
        t = tick * step
        if noise is not None:
            error[:] = noise[tick]
        k1 = rate(t, state)
        sample.motion[:] = state
        sample.set_wrench(felt)
        log.note(round(t * 1e9), sample, controller, reference)
        state = advanced(rate, t, state, k1, step)
    return log


def advanced(
    rate: Callable[[float, Array], Array], t: float, state: Array, k1: Array, h: float
) -> Array:
    """The state after a classical fourth-order step whose first slope is ``k1``."""
    k2 = rate(t + 0.5 * h, state + 0.5 * h * k1)
    k3 = rate(t + 0.5 * h, state + 0.5 * h * k2)
    k4 = rate(t + h, state + h * k3)
    return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
