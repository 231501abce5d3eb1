"""Computed torque of one arm: S-01, S-02, F-19, F-22, F-48 and the noise of F-49."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.paths import Reference
from farhand.mapping.ik import Pose, Solver
from farhand.parameters import assign
from farhand.plants.wrappers.filtered import Filters
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass
from farhand.spatial import rotation_from_vector
from farhand_lab.cooperative.bench import (
    DEGREE,
    GAINS,
    GRAVITY,
    POSTURES,
    ArmBench,
    BenchLog,
    BenchSetup,
    path,
    tracked,
)
from farhand_lab.cooperative.ideal import ScriptedPush, ideal
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.lyapunov import AttitudeMonitor
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray


START = np.array(POSTURES["T3.1"][0][0]) * DEGREE
HEAVIER = 1.2
"""How much more inertia the plant has than the model, [-]."""

RAW = {"r_velocity": 0.0, "r_wrench": 0.0}


def offset_start() -> Array:
    """Joints of a start 20 mm and 5° away from that of T3.1, [rad]."""
    robot = load_robot("rx160")
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(START, np.zeros(6))
    turn = rotation_from_vector(5 * DEGREE * np.array([1.0, 0.0, 0.0]))
    return Solver(robot).solve(Pose(arm.position + [0.0, 0.02, 0.0], turn @ arm.rotation), START).q


@shared
def perfect(gains: str, offset: bool) -> BenchLog:
    """T3.1 on the ideal plant, from its start or from an offset."""
    controller = ComputedTorque(
        Arm.of(load_robot("rx160"), gravity=GRAVITY), PoseLoop(**GAINS[gains])
    )
    controller.follow(path("T3.1"), 0)
    return ideal(controller, offset_start() if offset else START, 3.0 if offset else 5.5)


@shared
def heavier(gains: str) -> BenchLog:
    """T3.1 on a plant of 20 % more inertia and the same weight, from the offset; 4 ms, no filters, no friction."""
    robot = load_robot("rx160")
    setup = BenchSetup(
        robot.edited(scale_mass(HEAVIER)),
        robot,
        "",
        "",
        filters=Filters(**RAW),
        gravity=GRAVITY / HEAVIER,
    )
    setup.q = offset_start()
    return tracked("T3.1", PoseLoop(**GAINS[gains]), setup)


def settling(log: BenchLog) -> float:
    """When the offset along y stays below 5 %, [s]."""
    error = np.abs(log.error[:, 1]) / abs(log.error[0, 1])
    return float(log.time[np.flatnonzero(error > 0.05)[-1]])


@experiment("S-01", "F-19")
def leader_alone() -> dict[str, Finding]:
    """Decay on the ideal plant; the comparison with mismatch on MuJoCo at 4 ms."""
    exact = float(np.linalg.norm(perfect("G2", False).error, axis=1).max())
    slow, fast = settling(perfect("G1", True)), settling(perfect("G2", True))
    low, high = 1e3 * heavier("G1").rms, 1e3 * heavier("G2").rms
    ok = high < low and abs(slow / 1.58 - 1.0) < 0.1 and abs(fast / 0.47 - 1.0) < 0.1
    note = f"RMS {low:.2f} mm with G1, {high:.2f} mm with G2; settled after {slow:.2f} and {fast:.2f} s"
    figure = Figure("S-01: position error from a 20 mm offset", _plot)
    return {
        "S-01": Finding(high, ok, note, figures=(figure,)),
        "F-19": Finding(exact, ok and exact < 1e-6, f"largest error on the ideal plant; {note}"),
    }


def _plot() -> Any:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6, 3))
    axes = canvas.subplots()
    for gains in ("G1", "G2"):
        log = heavier(gains)
        axes.plot(log.time, 1e3 * np.linalg.norm(log.error, axis=1), label=gains)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("position error [mm]")
    axes.legend()
    return canvas


@shared
def noisy(r: float) -> BenchLog:
    """T3.1 with G2 and 0.05 rad/s of noise in the velocities, without friction; r of the filter, 0 for none."""
    setup = BenchSetup(
        gears="", gears_model="", filters=Filters(r_velocity=r, r_wrench=0.0), noise=0.05
    )
    return tracked("T3.1", PoseLoop(**GAINS["G2"]), setup, 3.0)


@experiment("S-02")
def velocity_noise() -> Finding:
    """Of the torques' change from tick to tick, as the weight would hide the noise; joints weighted by their limits."""
    limit = load_robot("rx160").limits.torque
    shake = [
        float(np.sqrt(np.mean((np.diff(noisy(r).torque, axis=0) / limit) ** 2)))
        for r in (0.0, 20.0)
    ]
    away = [1e3 * float(np.linalg.norm(noisy(r).error, axis=1).max()) for r in (0.0, 20.0)]
    ratio = shake[0] / shake[1]
    bounded = noisy(0.0).trip is None and noisy(20.0).trip is None and max(away) < 50.0
    note = f"largest error {away[0]:.1f} mm raw, {away[1]:.1f} mm filtered, 0.05 rad/s of noise (assumed)"
    return Finding(ratio, ratio >= 3.0 and bounded, note)


class TurningError:
    """A body that turns as the orientation loop asks: what is left of an arm when its model is exact."""

    def __init__(self, rotation: Array, rate: Array) -> None:
        self.rotation, self.twist = rotation, np.concatenate([np.zeros(3), rate])

    def advance(self, loop: PoseLoop, reference: Reference, h: float) -> None:
        """A fourth-order step of length h [s] on the rotation group."""

        def rate(turn: Array, velocity: Array) -> tuple[Array, Array]:
            self.rotation, self.twist[3:] = rotation_from_vector(turn) @ R0, velocity
            k = (
                velocity
                + 0.5 * np.cross(velocity, turn)
                + np.cross(turn, np.cross(turn, velocity)) / 12.0
            )
            return k, loop.orientation(self, reference, 0.0)  # type: ignore[arg-type]

        R0, w0, zero = self.rotation, self.twist[3:].copy(), np.zeros(3)
        k1, a1 = rate(zero, w0)
        k2, a2 = rate(0.5 * h * k1, w0 + 0.5 * h * a1)
        k3, a3 = rate(0.5 * h * k2, w0 + 0.5 * h * a2)
        k4, a4 = rate(h * k3, w0 + h * a3)
        self.rotation = rotation_from_vector(h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)) @ R0
        self.twist[3:] = w0 + h / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4)


@experiment("F-22")
def lyapunov() -> Finding:
    """Both laws, G2, random attitudes and rates, 25 steps of 6 ms; the monitor is that of the analysis folder."""
    rng, rise, fell, reference = generator("lyapunov"), 0.0, 0, Reference()
    for kind in ("axis-angle", "quaternion"):
        loop = PoseLoop(**GAINS["G2"], error=kind)
        for _ in range(100):
            body = TurningError(rotation_from_vector(rng.normal(size=3) * 1.2), rng.normal(size=3))
            monitor = AttitudeMonitor(loop)
            monitor.sample(body, reference)  # type: ignore[arg-type]
            first = monitor.value
            for _ in range(25):
                body.advance(loop, reference, 0.006)
                monitor.sample(body, reference)  # type: ignore[arg-type]
            rise, fell = max(rise, monitor.rise), fell + (monitor.value < first)
    return Finding(rise, rise <= 1e-9 and fell == 200, f"{fell} of 200 ended lower than they began")


def _steps(log: BenchLog, times: list[float]) -> float:
    """Largest change of a torque at these times, as a share of its limit, [-]."""
    limit = load_robot("rx160").limits.torque
    change = np.abs(np.diff(log.torque, axis=0)) / limit
    ticks = [round(t / 0.004) for t in times]
    return max(float(change[tick - 1 : tick + 2].max(initial=0.0)) for tick in ticks)


def switched(
    controller: TaskController,
    setup: BenchSetup,
    changes: list[tuple[float, str, object]],
    seconds: float,
) -> BenchLog:
    """A run in which settings are changed on the way; paths below the controller's parts, or ``filters``."""
    bench = ArmBench(setup, controller)
    todo = sorted(changes, key=lambda change: change[0])
    root = {**controller.parts, "filters": setup.filters}

    def at(t: float) -> None:
        while todo and t >= todo[0][0] - 1e-9:
            _, name, value = todo.pop(0)
            assign(root, name, value)

    return bench.run(seconds, at)


@experiment("F-48")
def live_changes() -> Finding:
    """Computed torque on TA.1 and a follower pushed with 5 N; the value is the largest change within one tick."""
    setup = BenchSetup()
    leader = ComputedTorque(
        setup.controllers_model(), PoseLoop(**GAINS["G7"]), setup.controllers_gears()
    )
    leader.follow(path("TA.1"), 0)
    # fmt: skip
    on_leader: list[tuple[float, str, object]] = [
        (1.0, "loop.kp", 100.0),
        (1.5, "loop.error", "quaternion"),
        (2.0, "loop.law", "sliding"),
        (2.5, "loop.law", "pid"),
        (2.8, "compensation.friction", False),
        (3.2, "filters.r_velocity", 500.0),
        (3.6, "options.cancel_load", False),
        (4.0, "loop.kp", 500.0),
    ]
    first = switched(leader, setup, on_leader, 5.0)
    pushed = BenchSetup(
        touches={"hand": ScriptedPush(np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), 0.5, 4.0)}
    )
    follower = DirectForce(pushed.controllers_model(), gears=pushed.controllers_gears())
    follower.force.kd, follower.force.kd_moment = 500.0, 100.0
    follower.force.refresh()
    # fmt: skip
    on_follower: list[tuple[float, str, object]] = [
        (1.5, "force.mode", "hold"),
        (2.0, "force.selection", "task"),
        (2.3, "force.kp", 35.0),
        (2.6, "force.mode", "hold-moment"),
        (2.9, "filters.r_wrench", 500.0),
        (3.2, "force.mode", "compliance"),
        (3.5, "zone.force", 5.0),
    ]
    second = switched(follower, pushed, on_follower, 4.5)
    steps = [
        100.0 * _steps(first, [t for t, *_ in on_leader]),
        100.0 * _steps(second, [t for t, *_ in on_follower]),
    ]
    trips = [log.trip.reason for log in (first, second) if log.trip]
    changes = len(on_leader) + len(on_follower)
    note = f"leader {steps[0]:.2f} %, follower {steps[1]:.2f} %; {changes} changes; trips: {trips or 'none'}"
    return Finding(max(steps), max(steps) <= 5.0 and not trips, note)


def _without_fade(original: Callable[..., None]) -> Callable[..., None]:
    return lambda self, torque: None


MUTATIONS = [
    Mutation(
        "no-drift-term",
        "J̇q̇ is left out of the computed torque",
        ("F-19",),
        lambda: changed(Arm, "drift", lambda old: property(lambda self: np.zeros(6))),
    ),
    Mutation(
        "no-fade",
        "changes take effect at once",
        ("F-48",),
        lambda: changed(TaskController, "_begin_fade", _without_fade),
    ),
    Mutation(
        "rate-sign",
        "the orientation loop feeds its rate back with the wrong sign",
        ("F-22",),
        lambda: changed(
            PoseLoop,
            "orientation",
            lambda old: (
                lambda self, arm, reference, dt: (
                    old(self, arm, reference, dt) + 2 * self.kdo * arm.twist[3:]
                )
            ),
        ),
    ),
]
"""Parts broken on purpose."""
