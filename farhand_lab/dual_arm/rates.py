"""What the rates of the published five threads do to the coupling, in virtual time.

Every number is a finding of a model with an assumed hand, rotor inertia and friction, without dry
friction, sensor errors or hardware latency. None is a statement about the original hardware.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import Move
from farhand.plants import JointTorque
from farhand.plants.drivers.worker import Latest, Stamped, Timing
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand.world import Placed, World
from farhand_lab.dual_arm.pair import PLACES
from farhand_lab.dual_arm.signals import least_singular_values
from farhand_lab.dual_arm.threads import (
    GRAVITY,
    STEP_NS,
    CommunicationThread,
    EmulatedThreads,
    Outgoing,
    Rates,
    SimulationThread,
    Stepper,
    ThreadSetup,
    period,
)
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

MODEL = "a finding of this model, not of the original hardware"
LIFT = (Move(0.5, 1.5, (0.0, 0.0, 0.2), label="+z"),)
QUICK_LIFT = (Move(0.5, 0.5, (0.0, 0.0, 0.2), label="+z, quickly"),)
STRETCH = (
    Move(0.5, 3.0, (0.0, 0.0, 0.4), label="+z"),
    Move(4.0, 3.0, (0.0, 0.0, -0.4), label="-z"),
)
PRESS = (Move(0.5, 2.0, (0.42, 0.0, 0.0), label="+x, into the wall"),)
SLOW_PRESS = (Move(0.5, 2.5, (0.42, 0.0, 0.0), label="+x, into the wall"),)

CURVE = (20.0, 30.0, 40.0, 47.0, 55.0, 65.0, 75.0, 100.0, 200.0, 500.0, 1000.0)  # [Hz]
SENSITIVITY_RATES = (40.0, 47.0, 75.0, 200.0, 1000.0)  # [Hz]
# peak ‖e_p‖ [mm] by rate [Hz]
PROTOTYPE = {47.0: 56.4, 75.0: 35.0, 100.0: 28.0, 200.0: 16.5, 500.0: 7.6, 1000.0: 3.5}
ASSUMED: dict[str, tuple[float, float]] = {
    "armature": (0.05, 0.2),  # [kg·m²]
    "friction": (0.5, 2.0),  # [-]
    "hand_stiffness": (500.0, 2000.0),  # [N/m]
}
# standard deviation of the wall's force in the last second, [N]
STILL = 1.0
SHAKING = 20.0
THREAD_RATES = (20.0, 157.0, 1000.0)  # slowest, published, fastest, [Hz]


@dataclass(frozen=True)
class ThreadTrace:
    """Both arms as they were, every millisecond."""

    t: Array  #: time, [s]
    error: Array  #: follower minus mapped leader, [m] ×3 and [rad] ×3
    leader: Array  #: tool position, [m]
    follower: Array  #: tool position, [m]
    hand: Array  #: wrench of the hand on the leader, [N], [N·m]
    force: Array  #: of the wall, [N]
    q: Array  #: joints of the leader at the regulator's ticks, [rad]
    counts: tuple[int, int, int]  #: how often regulator, communication and simulation ran

    @property
    def distance(self) -> Array:
        """‖e_p‖, [mm]."""
        return 1e3 * np.linalg.norm(self.error[:, :3], axis=1)

    @property
    def peak(self) -> float:
        """Largest ‖e_p‖, [mm]; infinite if the run diverged."""
        return float(self.distance.max()) if np.isfinite(self.error).all() else np.inf

    @property
    def angle(self) -> float:
        """Largest rotation error, [deg]."""
        return float(np.degrees(np.linalg.norm(self.error[:, 3:], axis=1).max()))

    @property
    def final_force(self) -> Array:
        """The wall's force within the last second, [N]."""
        return self.force[self.t > self.t[-1] - 1.0]

    @property
    def shake(self) -> float:
        """Standard deviation of :attr:`final_force`, [N]; infinite if the run diverged."""
        return float(self.final_force.std()) if np.isfinite(self.error).all() else np.inf

    def settled(self, below: float = 1.0) -> float:
        """When ‖e_p‖ exceeded ``below`` [mm] for the last time, [s]; 0 if never."""
        late = self.t[self.distance > below]
        return float(late[-1]) if len(late) else 0.0


def emulate(setup: ThreadSetup, seconds: float) -> ThreadTrace:
    """One run of the emulated threads."""
    threads = EmulatedThreads(setup)
    threads.run(seconds)
    history = threads.history
    names = ("error", "leader", "follower", "hand", "wall")
    truth = {name: history.signal("truth", name).copy() for name in names}
    cycles = len(history.times("coupling"))
    return ThreadTrace(
        t=history.times("truth").copy(),
        force=truth.pop("wall")[:, 0],
        q=history.signal("leader", "q").copy(),
        counts=(cycles, threads.communication.messages, threads.simulation.loops),
        **truth,
    )


trace = shared(emulate)


@experiment("D-22")
def singular_pose() -> Finding:
    """The hand pulls the leader up until the elbow is straight, and back; 3 s each way."""
    run = trace(ThreadSetup(moves=STRETCH), 8.0)
    back = 1e3 * float(np.linalg.norm(run.leader[-1] - run.leader[0]))
    arm = Arm.of(load_robot("ur5e", "cb"), PLACES["leader"], GRAVITY)
    least = float(least_singular_values(arm, run.q[::5]).min())
    note = (
        f"{run.angle:.2f}°, leader back within {back:.2f} mm, smallest singular value of J₁ on the "
        f"way {least:.3f}; {MODEL}"
    )
    return Finding(run.peak, run.peak < 10.0 and back < 2.0 and least < 0.05, note)


@experiment("D-28")
def time_base() -> Finding:
    """The rig's world at loops of random length; the emulated thread at 20, 157 and 1000 Hz."""
    worst = 0
    robot = load_robot("point3")
    world, rng = World({"point": Placed(robot)}, STEP_NS), generator("lengths of a world's loops")
    for rate in THREAD_RATES:
        began_ns, passed_ns = world.now_ns, 0
        while passed_ns < 60_000_000_000:
            passed_ns += int(rng.integers(period(rate) // 2, 3 * period(rate) // 2))
            world.advance(began_ns + passed_ns)
            worst = max(worst, abs(began_ns + passed_ns - world.now_ns))
    for rate in THREAD_RATES:
        thread = SimulationThread(_point(), period(rate))
        for to_ns in range(0, 60_000_000_001, 1_000_000_000):
            published_ns = thread.read(to_ns).time_ns
            worst = max(worst, abs(published_ns - thread.simulated_ns))
    rng = generator("loop lengths")
    for rate in np.geomspace(20.0, 1000.0, 8):
        lengths = rng.integers(period(rate) // 2, 3 * period(rate) // 2, int(60 * rate))
        stepper = Stepper(STEP_NS)
        simulated = STEP_NS * np.cumsum([stepper.due(int(length)) for length in lengths])
        worst = max(worst, int(np.abs(np.cumsum(lengths) - simulated).max()))
    return Finding(1e-6 * worst, worst <= STEP_NS, "at the moments the loop publishes")


@experiment("D-31")
def tracking() -> Finding:
    """The published rates; also without the force sensor, and in 0.5 s."""
    run = trace(ThreadSetup(moves=LIFT), 8.0)
    blind = trace(ThreadSetup(moves=LIFT, sensor=False), 8.0)
    quick = trace(ThreadSetup(moves=QUICK_LIFT), 8.0)
    settled = run.settled()
    note = (
        f"{run.angle:.2f}°, < 1 mm from {settled:.2f} s; without the sensor {blind.peak:.2f} mm "
        f"(prototype 9.49); in 0.5 s {quick.peak:.1f} mm (15.5). Between its loops the follower is "
        f"where the last one left it: 6.4 ms at 0.25 m/s are 1.6 mm; {MODEL}"
    )
    return Finding(run.peak, run.peak < 5.0 and settled < 2.5, note)


@experiment("D-48")
def determinism() -> Finding:
    """One message in ten lost, so that the seed matters."""
    logs = [
        emulate(ThreadSetup(moves=QUICK_LIFT, drop=0.1, seed=seed), 1.5).error.tobytes()
        for seed in (7, 7, 8)
    ]
    cycles, messages, loops = trace(ThreadSetup(moves=LIFT), 8.0).counts
    rated = abs(cycles - 8.0 * 47.0) <= 1.0 and abs(messages - 8.0 * 119.0) <= 1.0
    rated = rated and abs(loops - 8.0 * 157.0) <= 1.0
    ok = logs[0] == logs[1] and logs[0] != logs[2] and rated
    note = f"in 8 s {cycles} regulator cycles, {messages} messages, {loops} simulation loops"
    return Finding(ok, ok, note)


@experiment("D-49")
def robot_interface() -> Finding:
    """Messages watched one by one, then the coupling across them at the interface's rate."""
    on_grid, errors = True, []
    for rate in (125.0, 500.0):
        for drop in (0.0, 0.1):
            on_grid &= _keeps_the_grid(rate, drop)
            rates = Rates(rate, rate, 100.0, 1000.0)
            errors.append(trace(ThreadSetup(rates, LIFT, drop=drop), 3.0).peak)
    listed = ", ".join(f"{error:.2f}" for error in errors)
    note = f"{listed} mm for 125, 125 with losses, 500, 500 with losses"
    ok = on_grid and max(errors) < 5.0
    return Finding(max(errors), ok, note if on_grid else f"messages off the grid; {note}")


@experiment("D-56")
def time_dilation() -> Finding:
    """One 1 ms step per loop: 157 loops a second are 0.157 s of simulated time."""
    literal = trace(ThreadSetup(moves=LIFT, stepping="literal"), 8.0)
    elapsed = trace(ThreadSetup(moves=LIFT), 8.0)
    lag, half = _correlation_delay(literal), _half_way_delay(literal)
    decay = literal.settled() - 2.0
    ok = literal.peak > 80.0 and min(lag, half) > 0.5
    ok = ok and 2.0 <= decay <= 5.0 and elapsed.peak < 5.0
    note = (
        f"{literal.angle:.2f}°, delay {lag:.2f} s by correlation, {half:.2f} s half way, decay "
        f"{decay:.1f} s after the move, elapsed {elapsed.peak:.2f} mm: the thesis's symptoms may "
        f"come from its time base; a hypothesis, {MODEL}"
    )
    plot = Figure("One step per loop", lambda: _dilation_plot(literal, elapsed))
    return Finding(literal.peak, ok, note, figures=(plot,))


def _point() -> RigidPlant:
    robot = load_robot("point3")
    return RigidPlant("point", Arm.of(robot, gravity=0.0), robot.home, STEP_NS)


def _keeps_the_grid(rate: float, drop: float) -> bool:
    """Whether torques and states pass only on the grid, and as many are lost as set."""
    plant, period_ns = _point(), period(rate)
    link = CommunicationThread(plant, period_ns, drop=drop, rng=generator("losses"))
    command, on_grid, changes, before = JointTorque(3), True, 0, 0.0
    for k in range(1, 4000):
        now_ns = k * STEP_NS
        sample = link.read(now_ns)
        fresh = drop > 0.0 or now_ns - sample.time_ns < period_ns
        on_grid &= sample.time_ns % period_ns == 0 and fresh
        if plant.torque[0] != before:
            on_grid &= now_ns % period_ns == 0
            before = float(plant.torque[0])
            changes += 1
        command.value[:] = float(k)
        link.write(command, now_ns)
    spread = 4.0 * np.sqrt(link.messages * drop * (1.0 - drop))
    lost_as_set = all(abs(lost - drop * link.messages) <= spread for lost in link.dropped)
    return on_grid and lost_as_set and abs(changes - link.messages + link.dropped[1]) <= 1


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
    title = "One 1 ms step per loop: the follower lives in slow motion"
    figure, axes = canvas("time [s]", "height [mm]", title)
    for run, name in ((elapsed, "as much as has passed"), (literal, "one step per loop")):
        for arm, track, style in (("leader", run.leader, "--"), ("follower", run.follower, "-")):
            z = track[:, 2]
            axes.plot(run.t, 1e3 * (z - z[0]), style, label=f"{arm}, {name}")
    axes.legend()
    return figure


def at(rate: float, sensor: bool = True) -> ThreadSetup:
    """Regulator at ``rate`` [Hz], all other threads at least as fast."""
    rates = Rates(rate, max(500.0, rate), max(100.0, rate), 1000.0)
    return ThreadSetup(rates, PRESS, sensor=sensor)


def pressed(rate: float, **assumed: float) -> ThreadTrace:
    """The hand presses the follower into the wall and stays."""
    return trace(replace(at(rate), **assumed), 4.5 if assumed else 6.0)  # type: ignore[arg-type]


@experiment("D-55")
def error_against_rate() -> Finding:
    """Pressed into the 6000 N/m wall at every rate; the value is the peak at 1 kHz."""
    peaks = {rate: pressed(rate).peak for rate in CURVE}
    fast = [peaks[rate] for rate in (100.0, 200.0, 500.0, 1000.0)]
    falls = all(later < earlier for earlier, later in zip(fast, fast[1:], strict=False))
    near = all(abs(peaks[rate] / PROTOTYPE[rate] - 1.0) <= 0.1 for rate in PROTOTYPE)
    slow, still = pressed(47.0), pressed(75.0)
    bounded = SHAKING < slow.shake < np.inf and slow.peak < 100.0
    figures = (
        Figure("Contact error against rate", _curve_plot),
        Figure("Wall force at 47 and 75 Hz", lambda: _cycle_plot(slow, still)),
    )
    listed = ", ".join(f"{rate:g} Hz {value:.1f}" for rate, value in peaks.items())
    note = (
        f"peaks [mm]: {listed.replace('inf', 'diverges')}; at 47 Hz "
        f"{slow.final_force.mean():.0f} ± {slow.final_force.std():.0f} N; steady force at 1 kHz "
        f"{pressed(1000.0).final_force.mean():.2f} N (prototype 86.57; ρ = 0.01 takes the rest). "
        f"{_other_rows()}. {_sensitivity()}. {_without_latency()}; {MODEL}"
    )
    ok = falls and near and bounded and still.shake < STILL
    return Finding(fast[-1], ok, note, figures=figures)


def _other_rows() -> str:
    """The other rows of the prototype's contact table, beside ours."""
    wild = trace(ThreadSetup(moves=SLOW_PRESS), 8.0)
    literal = trace(ThreadSetup(moves=SLOW_PRESS, stepping="literal"), 8.0)
    blind = {rate: trace(at(rate, sensor=False), 6.0).final_force for rate in (47.0, 75.0, 100.0)}
    bouncing = ", ".join(
        f"{rate:g} Hz {force.mean():.1f} ± {force.std():.1f} N" for rate, force in blind.items()
    )
    hand = np.abs(wild.hand[:, :3]).max()
    return (
        f"Published rates, elapsed: peak {wild.peak:.0f} mm, {hand:.0f} N (274, 299: chaotic); "
        f"literal: {literal.peak:.0f} mm, then {literal.final_force.mean():.1f} N (206, 86.6). "
        f"Without the sensor: {bouncing} (9.2 ± 15.2, 9.0 ± 8.5, 8.8 ± 0.1)"
    )


def _sensitivity() -> str:
    """What the assumed numbers change."""
    rows = []
    for name, values in ASSUMED.items():
        for value in values:
            shake = pressed(47.0, **{name: value}).shake
            peak = pressed(1000.0, **{name: value}).peak
            rows.append(f"{name} {value:g}: ± {shake:.0f} N at 47 Hz, {peak:.1f} mm at 1 kHz")
    return "Sensitivity: " + "; ".join(rows)


def _without_latency() -> str:
    """What depends on the assumption that torques come out one period after the inputs."""
    runs = {rate: pressed(rate, latency=0.0) for rate in (47.0, 1000.0)}
    rows = ", ".join(
        f"{rate:g} Hz {run.peak:.1f} mm ± {run.shake:.0f} N" for rate, run in runs.items()
    )
    return (
        "All this takes the prototype's torques as out one period after their inputs "
        "(sources/dual-arm §4.0) and its arms as stepped by (4.2); out at once there is no limit "
        f"cycle: {rows}"
    )


def _curve_plot():
    title = "Contact error against rate, 6000 N/m wall (a model, not the original hardware)"
    labels = "rate of the regulator [Hz]", "largest position error in contact [mm]"
    figure, axes = canvas(*labels, title, height=4.2, xscale="log", yscale="log")
    for name, colour in zip(ASSUMED, ("tab:orange", "tab:green", "tab:purple"), strict=True):
        for value, style in zip(ASSUMED[name], (":", "--"), strict=True):
            peaks = [pressed(rate, **{name: value}).peak for rate in SENSITIVITY_RATES]
            label = f"{name.replace('_', ' ')} {value:g}"
            axes.plot(SENSITIVITY_RATES, peaks, style, color=colour, label=label)
    axes.plot(CURVE, [pressed(rate).peak for rate in CURVE], "ko-", label="as assumed")
    axes.plot(list(PROTOTYPE), list(PROTOTYPE.values()), "x", color="tab:red", label="prototype")
    still = [rate for rate in CURVE if pressed(rate).shake < STILL]
    axes.axvspan(CURVE[0], min(still), alpha=0.15, label="shakes or diverges")
    axes.legend(fontsize="small")
    return figure


def _cycle_plot(slow: ThreadTrace, still: ThreadTrace):
    title = "Below the threshold the contact never comes to rest"
    figure, axes = canvas("time [s]", "wall force [N]", title)
    for run, label in ((slow, "47 Hz"), (still, "75 Hz")):
        axes.plot(run.t, run.force, label=label)
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(Stepper, "due", "D-22 D-28 D-31")
def one_step_per_loop(due, self, elapsed_ns):
    """The simulation makes one step per loop and calls it elapsed time."""
    return 1


@MUTATIONS.of(World, "advance", "D-28")
def one_step_per_call(advance, self, to_ns):
    """The world makes one step however much time has passed."""
    advance(self, self.now_ns + self.step_ns)


@MUTATIONS.of(Stepper, "due", "D-28")
def no_remainder(due, self, elapsed_ns):
    """The rest of a step is dropped."""
    return elapsed_ns // self.step_ns


@MUTATIONS.of(Stepper, "due", "D-56")
def literal_stepping(due, self, elapsed_ns):
    """One step per loop follows the wall's time all the same."""
    steps, self._carried_ns = divmod(self._carried_ns + elapsed_ns, self.step_ns)
    return steps


@MUTATIONS.of(Outgoing, "put", "D-55")
def no_latency(put, self, out_ns, value):
    """Torques are out before they are computed."""
    put(self, 0, value)


@MUTATIONS.of(CommunicationThread, "read", "D-49")
def no_message_grid(read, self, now_ns):
    """Reads look at the arm, not at the last message."""
    self.advance(now_ns)
    return self._plant.read(now_ns)


@MUTATIONS.of(CommunicationThread, "_lost", "D-48 D-49")
def no_losses(lost, self, way):
    """No message is ever lost."""
    return False


@MUTATIONS.of(CommunicationThread, "_lost", "D-48")
def losses_without_seed(lost, self, way):
    """Which messages are lost does not follow from the seed."""
    self._rng = np.random.default_rng()
    return lost(self, way)


@MUTATIONS.of(Latest, "_record", "D-46")
def shared_buffer(record, self, value):
    """Published values are not copied."""
    return Stamped(value, self._producer, time.monotonic_ns(), self._number)


@MUTATIONS.of(Timing, "of", "D-47")
def wrong_rate_monitor(of, times_ns):
    """Variance of the intervals, and their maximum for the 99th percentile."""
    intervals = np.diff(np.asarray(times_ns, dtype=float)) * 1e-9
    return Timing(1.0 / float(intervals.mean()), float(intervals.var()), float(intervals.max()))
