"""The follower's joint control on the rig's own drives: C-16 to C-20."""

from __future__ import annotations

import math

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.loops import LimitedPD
from farhand.plants.simulated.velocity import POWERBALL_STEP, POWERBALL_VELOCITY, VelocityPlant
from farhand.robots import load_robot
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.follower import Driven
from farhand_lab.hazardous.joint_servo import JointServo
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas
from farhand_lab.tuning import SweepRow, Ultimate, find_ultimate, sweep, ziegler_nichols

Array = np.ndarray

SECONDS = 90.0  # of task motion, as in the published sweep
FAST_MOVE_S = 0.6
"""Shortest move of a task that often needs more speed than the limits allow."""

FIXED_SIGMA = 0.047  # σ_e(10; 0) with one fixed reference, sources/hazardous X-06, [rad]
SHORTEST_MOVES_S = (0.4, 0.6, 0.8, 1.2)  # of references from much too fast to slow
JUDGED_MOVES_S = (0.7, 0.75)  # on either side of the cross-check's σ_e(10; 0)
TASKS = 400
"""Random tasks of 90 s behind the verdict; with one, the ratio of two gains scatters by 3 %."""

LISTED = 10
"""Tasks behind the numbers that are only shown."""

PUBLISHED_PAIRS = ((5, 0), (10, 0), (15, 0), (10, 0.1), (10, 0.3), (10, 0.5), (10, 0.75))
PUBLISHED_SIGMA = (0.146, 0.093, 0.097, 0.096, 0.116, 0.074, 0.128)  # [rad], thesis Table 2.5
HOME = np.array([0.0, 0.2, -1.6, 0.0, -1.3, 0.0])  # [rad], elbow above


@shared
def task_motion(shortest: float, number: int = 0) -> Array:
    """Joint references of a pick-and-place task, n × 6, [rad]: moves from home, and pauses.

    A move lasts from ``shortest`` to 3.3 times as long, [s]. It ends with 3 s at rest. Each number
    is another task.
    """
    rng = generator(f"hazardous-task {number}" if number else "hazardous-task")
    dt = JointServo().period
    parts: list[Array] = []
    q = HOME
    while sum(map(len, parts)) * dt < SECONDS - 3.0:
        goal = HOME + rng.uniform(-0.5, 0.5, 6)
        s = np.arange(round(shortest * rng.uniform(1.0, 3.3) / dt)) * dt
        s = (s / s[-1])[:, None]
        parts.append(q + s**3 * (10.0 + s * (6.0 * s - 15.0)) * (goal - q))
        parts.append(np.tile(goal, (round(rng.uniform(0.1, 0.6) / dt), 1)))
        q = goal
    return np.concatenate([*parts, np.tile(q, (round(3.0 / dt), 1))])


class Tracked:
    """A reference followed by limited PD on the rig's drives, or on joints that stand for them.

    Attributes:
        error: reference minus position before every step, n × … × joints, [rad].
        command: relative velocities sent, likewise, [-].
        limited: where the step limit held the command back.
    """

    def __init__(self, reference: Array, controller: LimitedPD, servo: JointServo | Driven) -> None:
        errors, commands, limited = [], [], []
        for target in reference:
            errors.append(target - servo.q)
            commands.append(controller.step(target, servo.q, servo.period))
            limited.append(controller.limited)
            servo.step(commands[-1])
        self.error = np.array(errors)
        self.command = np.array(commands)
        self.limited = np.array(limited)


def _tracked(reference: Array, p: float, d: float) -> Tracked:
    """Follow with gains p and d on the rig's drives."""
    driven = Driven(reference[0])
    driven.pd.proportional, driven.pd.derivative = p, d
    return Tracked(reference, driven.pd, driven)


@experiment("C-16")
def limited_pd() -> Finding:
    """Counts broken limits in the log of the rig's loop and drives; then the tool at rest."""
    reference = task_motion(FAST_MOVE_S)
    driven = Driven(reference[0])
    result, limits = Tracked(reference, driven.pd, driven), driven.limits
    steps = np.abs(np.diff(result.command, axis=0, prepend=0.0))
    too_fast = np.abs(result.command) > np.array(POWERBALL_VELOCITY) + 1e-9
    broken = int(too_fast.sum() + (steps > np.array(POWERBALL_STEP) + 1e-9).sum())
    arm, tools = Arm.of(load_robot("lwa4p")), []
    for q in (reference[-1], driven.q):
        arm.update(q, np.zeros(6))
        tools.append(arm.position.copy())
    left = 1e3 * float(np.linalg.norm(tools[1] - tools[0]))
    note = (
        f"{broken} violations in {6 * len(reference)} commands; the step limit held "
        f"{result.limited.mean():.1%} of them back; drives: {driven.fault or 'not switched off'}; "
        "they hold position exactly, so nothing is left of the error"
    )
    ok = broken == 0 and driven.fault is None and left <= 5.0 and bool(result.limited.any())
    return Finding(left, ok and bool(limits.latch), note)


@experiment("C-17")
def trip_and_latch() -> Finding:
    """Every joint of the rig, by a step and by a velocity; nothing moves until the restart."""
    good = sum(_trips(joint, kind) for joint in range(6) for kind in ("step", "velocity"))
    note = "at exactly the limit no joint trips; a tripped arm ignores a second of commands"
    return Finding(good, good == 12, note)


def _trips(joint: int, kind: str) -> bool:
    """Whether the drives trip and latch when a limit is exceeded by a tenth."""
    driven, one = Driven(HOME), np.eye(6)[joint]
    fastest, step = POWERBALL_VELOCITY[joint], POWERBALL_STEP[joint]
    for u in (*np.arange(0.0, fastest + 1e-12, step), fastest):
        driven.step(u * one)
    fine = driven.fault is None
    too_fast = fastest + min(0.1 * fastest, 0.9 * step)
    driven.step((too_fast if kind == "velocity" else fastest - 1.1 * step) * one)
    # The drives look at the bus within the next period
    driven.step(fastest * one)
    named = (driven.fault or "").startswith(f"joint {joint + 1} switched the arm off")
    for _ in range(60):
        driven.step(np.zeros(6))
    stopped = driven.q
    for _ in range(60):
        driven.step(0.5 * step * one)
    latched = driven.fault is not None and np.abs(driven.q - stopped).max() < 1e-4
    driven.plant.restart()
    driven.step(np.zeros(6))
    for _ in range(20):
        driven.step(step * one)
    moved = driven.q[joint] - stopped[joint]
    return fine and named and latched and driven.fault is None and moved > 1e-3


def sampled_ultimate(servo: JointServo) -> Ultimate:
    r"""Closed form for a delay of m whole periods.

    .. math:: K_u = 2 \sin(\pi/(4m + 2))/(v_{max} T), \qquad T_u = (4m + 2)\,T
    """
    n = 4 * round(servo.delay / servo.period) + 2
    gain = 2.0 * math.sin(math.pi / n) / (servo.speed * servo.period)
    return Ultimate(gain, n * servo.period)


@shared
def tuned() -> Ultimate:
    """The auto-tuner's result on the rig's drives after a kick too small for any limit."""
    dt = JointServo().period
    reference = np.tile(HOME + 1e-3, (round(6.0 / dt), 1))

    def respond(gains: Array) -> Array:
        errors = []
        for gain in gains:
            driven = Driven(HOME)
            driven.pd.proportional, driven.pd.derivative = float(gain), 0.0
            errors.append(Tracked(reference, driven.pd, driven).error[:, 0])
        return np.array(errors).T

    return find_ultimate(respond, 15.0, 30.0, dt)


@experiment("C-18")
def auto_tune() -> Finding:
    """By raising P; compared with the approximation and the exact closed form."""
    servo, ultimate = JointServo(), tuned()
    expected = math.pi / (2.0 * (servo.delay + 0.5 * servo.period) * servo.speed)
    exact = sampled_ultimate(servo)
    gains = ziegler_nichols(ultimate, "PD")
    table = abs(gains.proportional - 0.8 * ultimate.gain)
    table += abs(gains.derivative - gains.proportional * ultimate.period / 8.0)
    ok = abs(ultimate.gain / expected - 1.0) <= 0.05 and table < 1e-12
    ok = ok and abs(ultimate.gain / exact.gain - 1.0) <= 0.01
    ok = ok and abs(ultimate.period / exact.period - 1.0) <= 0.02
    reference = task_motion(FAST_MOVE_S)
    shares = [_tracked(reference, p, d).limited.mean() for p, d in ((20.0, 3.0), (10.0, 0.5))]
    note = (
        f"closed form {exact.gain:.2f} and {exact.period:.3f} s, T_u {ultimate.period:.3f} s; PD "
        f"gives P {gains.proportional:.1f}, D {gains.derivative:.2f}; the published (20; 3) is "
        f"held back by the step limit in {shares[0]:.0%} of all commands, (10; 0.5) in "
        f"{shares[1]:.1%}"
    )
    return Finding(ultimate.gain, ok and shares[0] > 2.0 * shares[1], note)


def _side_by_side(shortest: float, tasks: int) -> Array:
    """References of several tasks, cut to the shortest, n × tasks × 1 × 6, [rad]."""
    motions = [task_motion(shortest, number) for number in range(tasks)]
    return np.stack([motion[: min(map(len, motions))] for motion in motions], axis=1)[:, :, None]


@shared
def swept(shortest: float) -> list[SweepRow]:
    """The published pairs of gains on the same :data:`LISTED` references, all of which count."""
    reference = _side_by_side(shortest, LISTED)

    def errors(p: Array, d: Array) -> Array:
        servo = JointServo()
        servo.place(np.broadcast_to(reference[0], (LISTED, len(p), 6)))
        error = Tracked(reference, LimitedPD(p[:, None], d[:, None]), servo).error
        return error.reshape(-1, len(p), 6)

    return sweep(errors, PUBLISHED_PAIRS)


JUDGED = ((5.0, 0.0), (10.0, 0.0), (10.0, 0.5))


@shared
def spread(shortest: float, tasks: int) -> Array:
    """Variance of the joint errors of every task under the JUDGED gains, [rad²]."""
    reference, gains = _side_by_side(shortest, tasks), np.array(JUDGED)
    controller, servo = LimitedPD(gains[:, :1], gains[:, 1:]), JointServo()
    servo.place(np.broadcast_to(reference[0], (tasks, len(gains), 6)))
    total, squares = np.zeros(servo.q.shape), np.zeros(servo.q.shape)
    for target in reference:
        error = target - servo.q
        total += error
        squares += error * error
        servo.step(controller.step(target, servo.q, servo.period))
    return (squares / len(reference) - (total / len(reference)) ** 2).mean(axis=-1)


def _at_cross_check(spreads: Array, values: Array | None = None) -> Array:
    """The two ratios, or ``values``, where σ_e(10; 0) is that of the cross-check.

    Args:
        spreads: shortest moves × tasks × gains, [rad²]; the tasks are pooled.
        values: interpolated in place of the ratios, one row per shortest move.
    """
    sigma = np.sqrt(spreads.mean(axis=1))
    rows = sigma[:, [0, 2]] / sigma[:, 1:2] if values is None else values
    order = np.argsort(sigma[:, 1])
    return np.array([np.interp(FIXED_SIGMA, sigma[order, 1], column[order]) for column in rows.T])


@experiment("C-19")
def gain_sweep() -> Finding:
    """Fixed references as fast as the cross-check's; a person moved in the published runs.

    Where no limit acts, e = q̇_r / (P v_max) and the ratio is 2; where limits always act it is 1
    for all gains. The tasks are random: the ratio passes when it lies above 1.3 by two
    standard errors (jackknife over the tasks).
    """
    spreads = np.array([spread(move, TASKS) for move in JUDGED_MOVES_S])
    ratio, with_d = _at_cross_check(spreads)
    gain = 1.0 - with_d
    left_out = np.array(
        [_at_cross_check(np.delete(spreads, task, axis=1))[0] for task in range(TASKS)]
    )
    doubt = 2.0 * float(np.sqrt((TASKS - 1) * left_out.var()))
    shortest = float(_at_cross_check(spreads, np.array(JUDGED_MOVES_S)[:, None])[0])
    rows = swept(shortest)
    sigmas = [(row.proportional, row.derivative, row.sigma_all) for row in rows]
    listed = ", ".join(f"({p:g}; {d:g}) {sigma:.3f}" for p, d, sigma in sigmas)
    sigma = np.sqrt([spread(move, LISTED).mean(axis=0) for move in SHORTEST_MOVES_S])
    own, copied = rig_spread(JUDGED_MOVES_S[0]), np.sqrt(spread(JUDGED_MOVES_S[0], 1)[0])
    apart = float(np.abs(own / copied - 1.0).max())
    others = ", ".join(f"{slow / fast:.2f} at {fast:.3f} rad" for slow, fast, _ in sigma)
    note = (
        f"± {doubt:.3f} (two standard errors over {TASKS} random tasks). The reference is not "
        f"given; moves of at least {shortest:.2f} s make σ_e(10; 0) the {FIXED_SIGMA:g} rad of the "
        f"cross-check. σ_e in rad: {listed}; D = 0.5 improves it by {gain:.1%} (cross-check 1–3 %, "
        "published 20 % with unlike references). The ratio goes from 1 (limits decide) to 2 (gains "
        f"decide): by σ_e(10; 0) it is {others}; the verdict is a close one. The rig's own drives "
        f"on one of the tasks: {own[0] / own[1]:.3f}, σ_e {100.0 * apart:.2f} % from the joints "
        "that stand for them in the others"
    )
    plot = Figure("The published sweep on one reference", lambda: _sweep_plot(rows))
    ok = ratio - doubt >= 1.3 and gain >= 0.0 and apart <= 0.01
    return Finding(float(ratio), bool(ok), note, figures=(plot,))


@shared
def rig_spread(shortest: float) -> Array:
    """Standard deviations of the joint errors of one task under the JUDGED gains, [rad]."""
    reference = task_motion(shortest)
    errors = [_tracked(reference, *gains).error for gains in JUDGED]
    return np.sqrt([error.var(axis=0).mean() for error in errors])


def _overshoots(p: float, d: float) -> Array:
    """Of every joint after a step of 0.3 rad, as a share of the step, [-]."""
    reference = np.tile(HOME + 0.3, (round(3.0 / JointServo().period), 1))
    driven = Driven(HOME)
    driven.pd.proportional, driven.pd.derivative = p, d
    result = Tracked(reference, driven.pd, driven)
    return np.maximum(-result.error.min(axis=0), 0.0) / 0.3


@experiment("C-20")
def overshoot() -> Finding:
    """The value of D: overshoot of the joints is vibration at the force sensor."""
    with_d, without = 100.0 * _overshoots(10.0, 0.5), 100.0 * _overshoots(10.0, 0.0)
    words = [", ".join(f"{value:.1f}" for value in values) for values in (with_d, without)]
    note = (
        f"joints 1–6 in %: (10; 0.5) {words[0]}; (10; 0) {words[1]}; (20; 3) up to "
        f"{100 * _overshoots(20, 3).max():.1f}"
    )
    return Finding(float(with_d.max()), bool(with_d.max() <= 1.0 and without.min() >= 3.0), note)


def _sweep_plot(rows: list[SweepRow]):
    labels = "P; D", "σ of the joint error [rad]"
    figure, axes = canvas(*labels, "P = 5 is clearly worst; D changes little")
    x = np.arange(len(rows))
    axes.bar(x - 0.2, [row.sigma_all for row in rows], 0.4, label="one fixed reference")
    axes.bar(x + 0.2, PUBLISHED_SIGMA, 0.4, label="published, a person each time")
    axes.set_xticks(x, [f"{row.proportional:g}; {row.derivative:g}" for row in rows])
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(LimitedPD, "step", "C-16")
def step_limit(step, self, target, measured, dt):
    """Commands may jump twice as far."""
    before = self.step_limit
    self.step_limit = 2.0 * before
    try:
        return step(self, target, measured, dt)
    finally:
        self.step_limit = before


@MUTATIONS.of(LimitedPD, "step", "C-16 C-18")
def weak_p(step, self, target, measured, dt):
    """A tenth of the proportional gain."""
    return step(self, measured + 0.1 * (target - measured), measured, dt)


@MUTATIONS.of(VelocityPlant, "_take", "C-17")
def no_latch(take, self, now_ns):
    """The drives never switch off."""
    self.drives.latch = False
    take(self, now_ns)


@MUTATIONS.of(LimitedPD, "step", "C-20")
def no_d(step, self, target, measured, dt):
    """The derivative part is missing."""
    self._error = None
    return step(self, target, measured, dt)


@MUTATIONS.of(VelocityPlant, "_take", "C-18 C-20")
def short_delay(take, self, now_ns):
    """Half the delay."""
    self.drives.delay = 0.025
    take(self, now_ns)


@MUTATIONS.of(VelocityPlant, "_take", "C-19")
def slow_drives(take, self, now_ns):
    """The rig's drives act 30 ms later."""
    self.drives.delay = 0.08
    take(self, now_ns)


@MUTATIONS.of(LimitedPD, "__post_init__", "C-19")
def stuck_gain(post_init, self):
    """Every pair of gains is tracked with P = 10."""
    post_init(self)
    self.proportional = 0.0 * np.asarray(self.proportional) + 10.0
