"""Computed torque of one arm, and variants: S-01, S-02, F-19, F-21 to F-25, F-48, X-10 to X-13."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.tool import computed_torque
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce
from farhand.control.tool.task import PoseLoop, TaskController
from farhand.control.trajectory.paths import Reference
from farhand.mapping.ik import Pose, Solver
from farhand.parameters import assign
from farhand.plants.wrappers.filtered import Filters
from farhand.rigs.cooperative.arms import gripping_robot
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass
from farhand.safety.guard import Guard
from farhand.spatial import Array, rotation_from_vector, rotation_vector
from farhand_lab.cooperative.bench import (
    DEGREE,
    GAINS,
    GRAVITY,
    POSTURES,
    TORQUE_LIMIT,
    ArmBench,
    BenchLog,
    BenchSetup,
    ScriptedPush,
    gains,
    ideal,
    path,
    published,
    tracked,
)
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.lyapunov import AttitudeMonitor
from farhand_lab.mutation import Mutation, Mutations, changed
from farhand_lab.plots import canvas

START = np.array(POSTURES["T3.1"][0][0]) * DEGREE
HEAVIER = 1.2
"""How much more inertia the plant has than the model, [-]."""


def offset_start() -> Array:
    """Joints 20 mm and 5° away from the start of T3.1, [rad]."""
    robot = load_robot("rx160")
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(START, np.zeros(6))
    turn = rotation_from_vector(5 * DEGREE * np.array([1.0, 0.0, 0.0]))
    return Solver(robot).solve(Pose(arm.position + [0.0, 0.02, 0.0], turn @ arm.rotation), START).q


@shared
def perfect(name: str, offset: bool) -> BenchLog:
    """T3.1 on the ideal plant, from its start or from an offset."""
    arm = Arm.of(load_robot("rx160"), gravity=GRAVITY)
    controller = ComputedTorque(arm, PoseLoop(**GAINS[name]))
    controller.follow(path("T3.1"), 0)
    return ideal(controller, offset_start() if offset else START, 3.0 if offset else 5.5)


@shared
def heavier(name: str) -> BenchLog:
    """T3.1 from the offset, 20 % more inertia and equal weight; no filters, no friction."""
    robot = load_robot("rx160")
    heavy = robot.edited(scale_mass(HEAVIER))
    raw = Filters(r_velocity=0.0, r_wrench=0.0)
    setup = BenchSetup(heavy, robot, "", "", filters=raw, gravity=GRAVITY / HEAVIER)
    setup.q = offset_start()
    return tracked("T3.1", PoseLoop(**GAINS[name]), setup)


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
    note = (
        f"RMS {low:.2f} mm with G1, {high:.2f} mm with G2; "
        f"settled after {slow:.2f} and {fast:.2f} s"
    )
    figure = Figure("S-01: position error from a 20 mm offset", _plot)
    return {
        "S-01": Finding(high, ok, note, figures=(figure,)),
        "F-19": Finding(exact, ok and exact < 1e-6, f"largest error on the ideal plant; {note}"),
    }


def _plot() -> Any:
    figure, axes = canvas("time [s]", "position error [mm]")
    for name in ("G1", "G2"):
        log = heavier(name)
        axes.plot(log.time, 1e3 * np.linalg.norm(log.error, axis=1), label=name)
    axes.legend()
    return figure


@shared
def noisy(r: float, noise: float = 0.05) -> BenchLog:
    """T3.1 with G2, velocity noise [rad/s] and no friction; r of the filter, 0 for none."""
    filters = Filters(r_velocity=r, r_wrench=0.0)
    setup = BenchSetup(gears="", gears_model="", filters=filters, noise=noise)
    return tracked("T3.1", PoseLoop(**GAINS["G2"]), setup, 3.0)


@experiment("S-02")
def velocity_noise() -> Finding:
    """Torques over their limits minus those of the same run without noise: its weight is large."""
    raw, filtered = noisy(0.0), noisy(20.0)
    shake = [
        float(np.sqrt(np.mean(((log.torque - noisy(r, 0.0).torque) / TORQUE_LIMIT) ** 2)))
        for r, log in ((0.0, raw), (20.0, filtered))
    ]
    away = [1e3 * float(np.linalg.norm(log.error, axis=1).max()) for log in (raw, filtered)]
    ratio = shake[0] / shake[1]
    bounded = raw.trip is None and filtered.trip is None and max(away) < 50.0
    whole = [float(np.sqrt(np.mean((log.torque / TORQUE_LIMIT) ** 2))) for log in (raw, filtered)]
    note = (
        f"of the torque that the noise adds, {shake[0]:.1%} of the limits RMS raw, {shake[1]:.1%} "
        f"filtered; whole torques, mostly weight, {whole[0]:.1%} and {whole[1]:.1%}; largest error "
        f"{away[0]:.1f} mm raw, {away[1]:.1f} mm filtered, 0.05 rad/s of noise (assumed); "
        "docs/errata.md, S-02"
    )
    return Finding(ratio, ratio >= 3.0 and bounded, note, corrected=True)


class TurningError:
    """A body that turns as the orientation loop commands: an arm with an exact model."""

    def __init__(self, rotation: Array, rate: Array) -> None:
        self.rotation = rotation
        self.twist = np.concatenate([np.zeros(3), rate])

    def advance(self, loop: PoseLoop, reference: Reference, h: float) -> None:
        """A fourth-order step of length h [s] on the rotation group."""

        def rate(turn: Array, velocity: Array) -> tuple[Array, Array]:
            self.rotation, self.twist[3:] = rotation_from_vector(turn) @ R0, velocity
            # Inverse of the exponential's derivative, to second order
            k = velocity + 0.5 * np.cross(velocity, turn)
            k = k + np.cross(turn, np.cross(turn, velocity)) / 12.0
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
    """Both laws, G2, random attitudes and rates, 25 steps of 6 ms."""
    rng, reference = generator("lyapunov"), Reference()
    rise, fell = 0.0, 0
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
    change = np.abs(np.diff(log.torque, axis=0)) / TORQUE_LIMIT
    ticks = [round(t / 0.004) for t in times]
    return max(float(change[tick - 1 : tick + 2].max(initial=0.0)) for tick in ticks)


def switched(
    controller: TaskController,
    setup: BenchSetup,
    changes: list[tuple[float, str, object]],
    seconds: float,
) -> BenchLog:
    """A run with changes of settings: time [s], path below the controller or ``filters``, value."""
    todo = sorted(changes, key=lambda change: change[0])
    root = {**controller.parts, "filters": setup.filters}

    def at(t: float) -> None:
        while todo and t >= todo[0][0] - 1e-9:
            _, name, value = todo.pop(0)
            assign(root, name, value)

    return ArmBench(setup, controller).run(seconds, at)


ON_LEADER: list[tuple[float, str, object]] = [
    (1.0, "loop.kp", 100.0),
    (1.5, "loop.error", "quaternion"),
    (2.0, "loop.law", "sliding"),
    (2.5, "loop.law", "pid"),
    (2.8, "compensation.friction", False),
    (3.2, "filters.r_velocity", 500.0),
    (3.6, "options.cancel_load", False),
    (4.0, "loop.kp", 500.0),
]
ON_FOLLOWER: list[tuple[float, str, object]] = [
    (1.5, "force.mode", "hold"),
    (2.0, "force.selection", "task"),
    (2.3, "force.kp", 35.0),
    (2.6, "force.mode", "hold-moment"),
    (2.9, "filters.r_wrench", 500.0),
    (3.2, "force.mode", "compliance"),
    (3.5, "zone.force", 5.0),
]


@experiment("F-48")
def live_changes() -> Finding:
    """Computed torque on TA.1, and a follower pushed with 5 N; the largest change in one tick."""
    setup = BenchSetup()
    leader = setup.computed_torque(PoseLoop(**GAINS["G7"]))
    leader.follow(path("TA.1"), 0)
    first = switched(leader, setup, ON_LEADER, 5.0)
    hand = ScriptedPush(np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), 0.5, 4.0)
    pushed = BenchSetup(touches={"hand": hand})
    follower = DirectForce(pushed.controllers_model(), gears=pushed.controllers_gears())
    follower.force.kd, follower.force.kd_moment = 500.0, 100.0
    follower.force.refresh()
    second = switched(follower, pushed, ON_FOLLOWER, 4.5)
    runs = ((first, ON_LEADER), (second, ON_FOLLOWER))
    steps = [100.0 * _steps(log, [t for t, *_ in changes]) for log, changes in runs]
    trips = [log.trip.reason for log in (first, second) if log.trip]
    note = (
        f"leader {steps[0]:.2f} %, follower {steps[1]:.2f} %; "
        f"{len(ON_LEADER) + len(ON_FOLLOWER)} changes; trips: {trips or 'none'}"
    )
    return Finding(max(steps), max(steps) <= 5.0 and not trips, note)


@experiment("F-25", "X-10")
def ik_feedback() -> Finding:
    """T4.1 with G7; the larger of the two relative differences of Σpos and Σori.

    Fed with the arm's present pose, inverse kinematics gives back its joints. The other reading,
    the reference's pose, is tried on TA.1: the wrist lags by half a turn, so the model is then
    that of another arm.
    """
    plain, by_ik = published("T4.1", gains("G7")), published("T4.1", gains("G7"), "ik")
    pairs = [(plain.metrics[k], by_ik.metrics[k]) for k in (0, 2)]
    apart = 100.0 * max(abs(b / a - 1.0) for a, b in pairs)
    short = published("TA.1", gains("G7")).metrics[0]
    other = published("TA.1", gains("G7"), "reference").metrics[0]
    note = (
        f"Σpos [m], then Σori: {'; '.join(f'{a:.2f} against {b:.2f}' for a, b in pairs)}; "
        f"fed with the reference's pose, TA.1: {short:.1f} against {other:.1f} m"
    )
    return Finding(apart, apart < 2.0, note)


def _settles(kind: str, kpo: float) -> float:
    """Time in which a free body turns back from 150° to 5°, [s]."""
    loop, reference = PoseLoop(kpo=kpo, kdo=70.0, error=kind), Reference()
    start = rotation_from_vector(np.radians(150.0) * np.array([0.6, 0.0, 0.8]))
    body = TurningError(start, np.zeros(3))
    for step in range(1500):
        body.advance(loop, reference, 0.01)
        if np.linalg.norm(rotation_vector(body.rotation)) < np.radians(5.0):
            return 0.01 * (step + 1)
    return np.inf


@experiment("F-21", "X-11")
def quaternion() -> Finding:
    """Ratio of RMS |O_e| at equal gains: half the stiffness near zero explains the publication."""
    axis = published("T4.1", gains("G8")).rms_turn
    equal = published("T4.1", gains("G8", error="quaternion")).rms_turn / axis
    double = published("T4.1", gains("G8", error="quaternion", kpo=400.0)).rms_turn / axis
    sine, half = _settles("axis-angle", 200.0), _settles("quaternion", 400.0)
    note = f"at 2 k_po {double:.2f}; from 150° settled after {half:.2f} s against {sine:.2f} s"
    ok = equal > 1.0 and abs(double - 1.0) < 0.1 and half < sine
    return Finding(equal, ok, note)


@shared
def loaded(force: tuple[float, float, float], r: float, cancel: bool, seconds: float) -> BenchLog:
    """An arm without any loop, pushed for 4 s; its weight is compensated, the load on request."""
    load = ScriptedPush(np.array([*force, 0.0, 0.0, 0.0]), 0.0, 4.0)
    filters = Filters(r_wrench=r)
    setup = BenchSetup(gripping_robot(), gears_model="", touches={"load": load}, filters=filters)
    idle = PoseLoop(kp=0.0, kd=0.0, kpo=0.0, kdo=0.0)
    controller = ComputedTorque(setup.controllers_model(), idle)
    controller.options.cancel_load = cancel
    return ArmBench(setup, controller).run(seconds)


def _kick(r: float) -> float:
    """How far the tool jumps back when a push of 100 N ends, [mm]."""
    log, gone = loaded((0.0, 100.0, 0.0), r, True, 5.0), 1000
    if log.trip is not None:
        return np.inf
    return 1e3 * float((log.position[gone - 1, 1] - log.position[gone - 1 :, 1]).max())


@experiment("F-24", "X-12")
def external_load() -> Finding:
    """20 N upwards and 100 N sideways for 4 s on a floating arm; the drift with compensation."""
    lifted = [loaded((0.0, 0.0, 20.0), 20.0, cancel, 4.0).position for cancel in (False, True)]
    drift = [1e3 * float(np.linalg.norm(np.ptp(position, axis=0))) for position in lifted]
    kicks = [_kick(r) for r in (0.0, 20.0, 500.0)]
    ok = drift[0] >= 10.0 * drift[1] and kicks[0] < 0.01 < 0.1 < kicks[1] < kicks[2]
    shown = ", ".join(f"{kick:.2f}" for kick in kicks)
    note = f"drift without {drift[0]:.0f} mm; kicks at r = 0, 20, 500: {shown} mm"
    return Finding(drift[1], ok, note)


@shared
def slid(**changes: Any) -> BenchLog:
    """TA.1 with G8 and changes, rotors known; torques are cut at their limits and do not trip."""
    loop = PoseLoop(**{**GAINS["G8"], **changes})
    return tracked("TA.1", loop, BenchSetup(robot=gripping_robot()), guard=Guard(force=660.0))


@experiment("F-23", "X-13")
def sliding() -> Finding:
    """How much less the torques vary with a layer of 1 rad/s."""
    pid, relay, layer = slid(), slid(law="sliding"), slid(law="sliding", layer=1.0)
    pd = slid(kpo=1000.0, kdo=110.0)
    variation = [float(np.abs(np.diff(log.torque, axis=0)).sum()) for log in (relay, layer)]
    ratio, match = variation[0] / variation[1], pd.metrics[2] / layer.metrics[2]
    traded = relay.metrics[2] < pid.metrics[2] and relay.metrics[0] > pid.metrics[0]
    ok = traded and ratio >= 5.0 and abs(match - 1.0) < 0.15
    note = (
        f"Σori {relay.metrics[2]:.2f} against {pid.metrics[2]:.2f}, Σpos {relay.metrics[0]:.2f} "
        f"against {pid.metrics[0]:.2f} m; PD {pd.metrics[2]:.2f} against {layer.metrics[2]:.2f} "
        "with the layer (without it the relay chatters); torques cut at their limits, which the "
        "relay reaches"
    )
    return Finding(ratio, ok, note)


@contextmanager
def _no_drift() -> Iterator[None]:
    """Arms whose J̇q̇ is zero, however their terms are computed."""

    def change(compute):
        def broken(self, *given):
            done = compute(self, *given)
            self.drift[:] = 0.0
            return done

        return broken

    with changed(Arm, "compute", change), changed(Arm, "take", change):
        yield


MUTATIONS = Mutations(
    [Mutation("no-drift-term", "J̇q̇ is left out of the computed torque", ("F-19",), _no_drift)]
)


@MUTATIONS.of(TaskController, "_begin_fade", "F-48")
def no_fade(begin_fade, self: TaskController, torque: Array) -> None:
    """Changes take effect at once."""


@MUTATIONS.of(PoseLoop, "orientation", "F-22")
def rate_sign(orientation, self: PoseLoop, arm: Arm, reference: Reference, dt: float) -> Array:
    """The orientation loop feeds its rate back with the wrong sign."""
    return orientation(self, arm, reference, dt) + 2 * self.kdo * arm.twist[3:]


@MUTATIONS.of(ComputedTorque, "effort", "X-12 F-24")
def load_added(effort, self: ComputedTorque, request: Any) -> Array:
    """The measured load is added instead of cancelled."""
    return -effort(self, request)


@MUTATIONS.of(PoseLoop, "_sign", "X-13 F-23")
def layer_ignored(sign, self: PoseLoop, s: Array) -> Array:
    """The relay jumps in spite of its boundary layer."""
    return np.sign(s)


@MUTATIONS.of(computed_torque, "Pose", "X-10 F-25")
def ik_of_the_wrong_pose(pose, position: Array, rotation: Array) -> Pose:
    """The model is fed with a pose 0.3 m away from the reference."""
    return pose(position - np.array([0.0, 0.0, 0.3]), rotation)
