"""What the rates of the published five threads do to the coupling, in virtual time.

Every number here is a finding of a model with an assumed hand, rotor inertia and friction, without
dry friction, sensor errors or hardware latency; none is a statement about the original hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import Move
from farhand.plants import JointTorque
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand_lab.dual_arm.plant_threads import CommunicationThread, SimulationThread, Stepper
from farhand_lab.dual_arm.threads import (
    GRAVITY,
    PLACES,
    EmulatedThreads,
    Rates,
    ThreadSetup,
    period,
)
from farhand_lab.harness import Figure, Finding, experiment, generator, shared

Array = np.ndarray

MODEL = "a finding of this model, not of the original hardware"
LIFT = (Move(0.5, 1.5, (0.0, 0.0, 0.2), label="+z"),)
QUICK_LIFT = (Move(0.5, 0.5, (0.0, 0.0, 0.2), label="+z, quickly"),)
STRETCH = (
    Move(0.5, 3.0, (0.0, 0.0, 0.4), label="+z"),
    Move(4.0, 3.0, (0.0, 0.0, -0.4), label="-z"),
)
H_NS = 1_000_000  # published step of the simulated arm


@dataclass(frozen=True)
class ThreadTrace:
    """Both arms as they were, every millisecond.

    Attributes:
        t: time, [s].
        error: follower minus mapped leader, [m] ×3 and [rad] ×3.
        leader: tool position, [m].
        follower: tool position, [m].
        hand: wrench of the hand on the leader, [N], [N·m].
        force: of the wall, [N].
        depth: of the follower in the wall, [m].
        q: joints of the leader at the regulator's ticks, [rad].
        counts: how often regulator, communication and simulation ran.
    """

    t: Array
    error: Array
    leader: Array
    follower: Array
    hand: Array
    force: Array
    depth: Array
    q: Array
    counts: tuple[int, int, int]

    @property
    def distance(self) -> Array:
        """‖e_p‖, [mm]."""
        return 1e3 * np.linalg.norm(self.error[:, :3], axis=1)

    @property
    def angle(self) -> float:
        """Largest rotation error, [deg]."""
        return float(np.degrees(np.linalg.norm(self.error[:, 3:], axis=1).max()))

    def settled(self, below: float = 1.0) -> float:
        """When ‖e_p‖ exceeded ``below`` [mm] for the last time, [s]; 0 if never."""
        late = self.t[self.distance > below]
        return float(late[-1]) if len(late) else 0.0

    def end(self, values: Array, window: float = 1.0) -> Array:
        """The part of a signal within the last ``window`` seconds."""
        return values[self.t > self.t[-1] - window]


def emulate(setup: ThreadSetup, seconds: float) -> ThreadTrace:
    """One run of the emulated threads."""
    threads = EmulatedThreads(setup)
    threads.run(seconds)
    threads.close()
    history = threads.history
    leader, follower, hand, wall, error = (
        history.signal("truth", name).copy()
        for name in ("leader", "follower", "hand", "wall", "error")
    )
    counts = (
        len(history.times("coupling")),
        threads.communication.messages,
        threads.simulation.loops,
    )
    q = history.signal("leader", "q").copy()
    return ThreadTrace(
        history.times("truth").copy(),
        error,
        leader,
        follower,
        hand,
        wall[:, 0],
        wall[:, 1],
        q,
        counts,
    )


trace = shared(emulate)


@experiment("D-22")
def singular_pose() -> Finding:
    """The hand pulls the leader up until the elbow is straight, and back; 3 s each way."""
    run = trace(ThreadSetup(moves=STRETCH), 8.0)
    worst, back = (
        float(run.distance.max()),
        1e3 * float(np.linalg.norm(run.leader[-1] - run.leader[0])),
    )
    least = _least_singular_value(run.q)
    ok = bool(np.isfinite(run.error).all()) and worst < 10.0 and back < 2.0 and least < 0.05
    note = f"{run.angle:.2f}°, leader back within {back:.2f} mm, smallest singular value of J₁ on the way {least:.3f}"
    return Finding(worst, ok, f"{note}; {MODEL}")


@experiment("D-28")
def time_base() -> Finding:
    """Even loops of an arm at 20, 157 and 1000 Hz, and the step count alone for loops of random length."""
    worst = 0
    for rate in (20.0, 157.0, 1000.0):
        thread = SimulationThread(_point(), period(rate))
        for to_ns in range(0, 60_000_000_001, 1_000_000_000):
            published_ns = thread.read(to_ns).time_ns
            worst = max(worst, abs(published_ns - thread.simulated_ns))
    rng = generator("loop lengths")
    for rate in np.geomspace(20.0, 1000.0, 8):
        lengths = rng.integers(period(rate) // 2, 3 * period(rate) // 2, int(60 * rate))
        stepper = Stepper(H_NS)
        simulated = H_NS * np.cumsum([stepper.due(int(length)) for length in lengths])
        worst = max(worst, int(np.abs(np.cumsum(lengths) - simulated).max()))
    return Finding(1e-6 * worst, worst <= H_NS, "at the moments the loop publishes")


@experiment("D-31")
def tracking() -> Finding:
    """Regulator 47, communication 119, simulation 157, force sensor 86 Hz; also without the sensor and in 0.5 s."""
    run = trace(ThreadSetup(moves=LIFT), 8.0)
    blind, quick = (
        trace(ThreadSetup(moves=LIFT, sensor=False), 8.0),
        trace(ThreadSetup(moves=QUICK_LIFT), 8.0),
    )
    worst, settled = float(run.distance.max()), run.settled()
    note = (
        f"{run.angle:.2f}°, < 1 mm from {settled:.2f} s; without the sensor {blind.distance.max():.2f} mm "
        f"(prototype 9.49); in 0.5 s {quick.distance.max():.1f} mm (15.5). Between its loops the follower is where "
        f"the last one left it: 6.4 ms at 0.25 m/s are 1.6 mm; {MODEL}"
    )
    return Finding(worst, worst < 5.0 and settled < 2.5, note)


@experiment("D-48")
def determinism() -> Finding:
    """One message in ten lost, so that the seed matters."""
    logs = [
        emulate(ThreadSetup(moves=QUICK_LIFT, drop=0.1, seed=seed), 1.5).error.tobytes()
        for seed in (7, 7, 8)
    ]
    counts = trace(ThreadSetup(moves=LIFT), 8.0).counts
    rated = all(
        abs(count - 8.0 * rate) <= 1.0
        for count, rate in zip(counts, (47.0, 119.0, 157.0), strict=True)
    )
    ok = logs[0] == logs[1] and logs[0] != logs[2] and rated
    return Finding(
        ok,
        ok,
        f"in 8 s {counts[0]} regulator cycles, {counts[1]} messages, {counts[2]} simulation loops",
    )


@experiment("D-49")
def robot_interface() -> Finding:
    """Messages watched one by one, then the coupling across them, regulator at the interface's rate."""
    watched = [_watch(rate, drop) for rate in (125.0, 500.0) for drop in (0.0, 0.1)]
    worst, sizes = 0.0, []
    for rate in (125.0, 500.0):
        for drop in (0.0, 0.1):
            rates = Rates(rate, rate, 100.0, 1000.0)
            sizes.append(float(trace(ThreadSetup(rates, LIFT, drop=drop), 3.0).distance.max()))
            worst = max(worst, sizes[-1])
    note = (
        ", ".join(f"{size:.2f}" for size in sizes)
        + " mm for 125, 125 with losses, 500, 500 with losses"
    )
    return Finding(
        worst,
        all(watched) and worst < 5.0,
        note if all(watched) else f"messages off the grid; {note}",
    )


@experiment("D-56")
def time_dilation() -> Finding:
    """The same lift with one 1 ms step per loop: 157 loops a second are 0.157 s of simulated time."""
    literal, elapsed = (
        trace(ThreadSetup(moves=LIFT, stepping="literal"), 8.0),
        trace(ThreadSetup(moves=LIFT), 8.0),
    )
    peak, prompt = float(literal.distance.max()), float(elapsed.distance.max())
    lag, half, decay = (
        _correlation_delay(literal),
        _half_way_delay(literal),
        literal.settled() - 2.0,
    )
    ok = peak > 80.0 and min(lag, half) > 0.5 and 2.0 <= decay <= 5.0 and prompt < 5.0
    note = (
        f"{literal.angle:.2f}°, delay {lag:.2f} s by correlation, {half:.2f} s half way, decay {decay:.1f} s after the "
        f"move, elapsed {prompt:.2f} mm: the thesis's symptoms may come from its time base; a hypothesis, {MODEL}"
    )
    return Finding(
        peak,
        ok,
        note,
        figures=(Figure("One step per loop", lambda: _dilation_plot(literal, elapsed)),),
    )


def _least_singular_value(q: Array) -> float:
    arm = Arm.of(load_robot("ur5e", "cb"), PLACES["leader"], GRAVITY)
    least = np.inf
    for row in q[::5]:
        arm.update(row, np.zeros(arm.nv))
        least = min(least, float(np.linalg.svd(arm.J, compute_uv=False)[-1]))
    return least


def _point() -> RigidPlant:
    robot = load_robot("point3")
    return RigidPlant("point", Arm.of(robot, gravity=0.0), robot.home, H_NS)


def _watch(rate: float, drop: float) -> bool:
    """Whether torques and states passed an interface on its grid only, and no more and no less was lost than asked."""
    plant, period_ns = _point(), period(rate)
    link = CommunicationThread(plant, period_ns, drop=drop, rng=generator("losses"))
    command, on_grid, changes, before = JointTorque(3), True, 0, 0.0
    for k in range(1, 4000):
        now_ns = k * H_NS
        sample = link.read(now_ns)
        on_grid &= sample.time_ns % period_ns == 0 and (
            drop > 0.0 or now_ns - sample.time_ns < period_ns
        )
        if plant.torque[0] != before:
            on_grid &= now_ns % period_ns == 0
            before, changes = float(plant.torque[0]), changes + 1
        command.value[:] = float(k)
        link.write(command, now_ns)
    spread = 4.0 * np.sqrt(link.messages * drop * (1.0 - drop))
    lost_as_asked = all(abs(lost - drop * link.messages) <= spread for lost in link.dropped)
    return on_grid and lost_as_asked and abs(changes - link.messages + link.dropped[1]) <= 1


def _correlation_delay(run: ThreadTrace) -> float:
    """Shift that best lays the follower's speed over the leader's, [s]."""
    speeds = [np.linalg.norm(np.diff(p, axis=0), axis=1) for p in (run.leader, run.follower)]
    correlation = np.correlate(speeds[1], speeds[0], "full")
    return 1e-3 * float(np.argmax(correlation) - (len(speeds[0]) - 1))


def _half_way_delay(run: ThreadTrace) -> float:
    """Between the two arms passing half of the lift, [s]."""
    passed = [run.t[np.argmax(p[:, 2] - p[0, 2] > 0.1)] for p in (run.leader, run.follower)]
    return float(passed[1] - passed[0])


def _dilation_plot(literal: ThreadTrace, elapsed: ThreadTrace):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for run, name in ((elapsed, "as much as has passed"), (literal, "one step per loop")):
        for arm, style in (("leader", "--"), ("follower", "-")):
            z = getattr(run, arm)[:, 2]
            axes.plot(run.t, 1e3 * (z - z[0]), style, label=f"{arm}, {name}")
    axes.set(
        xlabel="time [s]",
        ylabel="height [mm]",
        title="One 1 ms step per loop: the follower lives in slow motion",
    )
    axes.legend()
    return figure
