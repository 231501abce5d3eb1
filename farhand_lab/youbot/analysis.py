"""The teleoperator as a two-port, task metrics and human factors: Y-51, Y-52, Y-53 and Y-55."""

from __future__ import annotations

import numpy as np

from farhand.analysis import two_port
from farhand.analysis.two_port import (
    HybridMatrix,
    PortSignals,
    hybrid_from,
    hybrid_of,
    static_hybrid_of,
)
from farhand.control.trajectory.paths import Move
from farhand.coupling import Side, Spring
from farhand.mapping.pen import PenMapping
from farhand.rigs import Options, build_rig
from farhand.spatial import rotation_from_vector
from farhand.world import Wall
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas
from farhand_lab.trial import run, with_moves
from farhand_lab.youbot import measures
from farhand_lab.youbot.bench import PEN_DAMPING, PEN_MASS, TICK, TOOL_DAMPING, TOOL_MASS, rig_law

Array = np.ndarray

KT, KF = 700.0, 10.0  # [N/m], [-]
D = 110.0  # of the rig's spring; assumed [N·s/m]
STIFFNESSES = np.array([70.0, 700.0, 7000.0, 24_200.0])  # of the published table [N/m]
PUBLISHED_T = np.array([0.0909, 0.0500, 0.00909, 0.00281])
FREQUENCIES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0])  # [Hz]


class BridgeTwoPort:
    """The rig's law along one axis, between the masses of pen and tool, at 1 kHz.

    Robot axes: a hand that moves by +x moves the pen by −x in the device's axes.

    Args:
        environment: stiffness that the tool pulls at, beside the force it is pushed with, [N/m].
        axis: along which it is shaken.
    """

    def __init__(self, environment: float = 0.0, axis: int = 0) -> None:
        self._environment, self._axis = environment, axis

    def respond(
        self, position_hand: Array, force_environment: Array, dt: float
    ) -> tuple[Array, Array]:
        """F_h and x_e for x_h and F_e, all along the axis, from rest."""
        velocity = np.gradient(position_hand, dt)
        own = PEN_MASS * np.gradient(velocity, dt) + PEN_DAMPING * velocity
        felt, moved = self._couple(position_hand, velocity, force_environment, dt)
        return own + felt, moved

    def _couple(
        self, position: Array, velocity: Array, force: Array, dt: float
    ) -> tuple[Array, Array]:
        law, axis = rig_law(), self._axis
        mapping = law.mapping
        assert isinstance(mapping, PenMapping)
        pen, tool, sign = Side("leader"), Side("follower"), mapping.matrix[axis, axis]
        tool.position[:] = start = mapping.start
        tool.rotation[:] = rotation_from_vector(mapping.turn)
        law.engage(pen, tool)
        felt, moved = np.zeros(len(position)), np.zeros(len(position))
        for k, push in enumerate(force.tolist()):
            pen.position[axis], pen.twist[axis] = sign * position[k], sign * velocity[k]
            on_pen, on_tool = law.step(pen, tool, dt)
            felt[k], moved[k] = -sign * on_pen.wrench[axis], tool.position[axis] - start[axis]
            push += self._environment * moved[k]
            speed = tool.twist[axis]
            speed += dt * (on_tool.wrench[axis] - TOOL_DAMPING * speed - push) / TOOL_MASS
            tool.twist[axis] = speed
            tool.position[axis] += dt * speed
        return felt, moved


def _felt_slope(environment: float, travel: float = 0.01) -> float:
    """Static F_h over x_h, by moving the hand against an environment and waiting, [N/m]."""
    rise = np.minimum(TICK * np.arange(2000) / 0.5, 1.0)
    felt, _ = BridgeTwoPort(environment).respond(travel * rise, np.zeros(2000), TICK)
    return float(felt[-100:].mean()) / travel


@shared
def static_matrix() -> HybridMatrix:
    """By holding a motion and a force."""
    return static_hybrid_of(BridgeTwoPort(), settle=4.0)


@shared
def matrix() -> HybridMatrix:
    """By shaking."""
    return hybrid_of(BridgeTwoPort(), FREQUENCIES, motion=0.03, force=2.0, settle=3.0)


def exact(frequency: Array) -> Array:
    """The matrix of the continuous model of sources/youbot §3.19 with the damper, n × 2 × 2."""
    s = 2j * np.pi * np.asarray(frequency)
    tool = TOOL_MASS * s * s + TOOL_DAMPING * s
    h = np.zeros((len(s), 2, 2), complex)
    spring = KT + D * s
    h[:, 1, 0], h[:, 1, 1] = spring / (spring + tool), -1.0 / (spring + tool)
    h[:, 0, 0] = PEN_MASS * s * s + PEN_DAMPING * s + spring / KF * (1.0 - h[:, 1, 0])
    h[:, 0, 1] = -spring / KF * h[:, 1, 1]
    return h


def _relative(measured: Array, expected: Array) -> float:
    """Largest error of any entry, relative to its own size over all frequencies."""
    return float((np.abs(measured - expected) / np.abs(expected).max(axis=0)).max())


@experiment("Y-51")
def two_port_matrix() -> Finding:
    """At rest, over frequency, and from two runs in unlike environments."""
    h = static_matrix().h[0].real
    ideal = np.array([[0.0, 1.0 / KF], [1.0, -1.0 / KT]])
    scale = np.array([[KT / KF, 1.0 / KF], [1.0, 1.0 / KT]])
    error = float((np.abs(h - ideal) / scale).max())
    dynamic = _relative(matrix().h, exact(FREQUENCIES))
    runs = _relative(_from_environments().h, exact(FREQUENCIES))
    lossy, lossless = matrix().passivity_margin().min(), _delayed().passivity_margin().min()
    ok = error <= 0.01 and dynamic < 0.05 and runs < 0.05 and lossy > -1e-3 and lossless < -0.01
    note = (
        f"h = [{h[0, 0]:.1e}, {h[0, 1]:.5f}; {h[1, 0]:.5f}, {h[1, 1]:.3e}]; 0.5–8 Hz within "
        f"{dynamic:.1%} of the continuous model, from two runs with unlike environments within "
        f"{runs:.1%}; Llewellyn {lossy:+.3f}, with 100 ms of delay each way {lossless:+.3f}"
    )
    return Finding(100.0 * error, ok, note)


def _from_environments() -> HybridMatrix:
    """The matrix from two runs in which the tool pulls at a soft and at a stiff spring."""
    times = TICK * np.arange(round(7.0 / TICK))
    x_h = two_port.multisine(FREQUENCIES, 0.003, times)
    runs = []
    for stiffness in (200.0, 2000.0):
        felt, moved = BridgeTwoPort(stiffness).respond(x_h, np.zeros(len(times)), TICK)
        runs.append(PortSignals(x_h, felt, moved, stiffness * moved, TICK).after(3.0))
    return hybrid_from(runs, FREQUENCIES)


def _delayed() -> HybridMatrix:
    """The same matrix with 100 ms of delay in both directions, which no damper here makes up."""
    h, delay = matrix().h.copy(), np.exp(-2j * np.pi * FREQUENCIES * 0.1)
    h[:, 0, 1] *= delay
    h[:, 1, 0] *= delay
    return HybridMatrix(matrix().frequency, h)


@experiment("Y-52")
def performance_measures() -> Finding:
    """From the static matrix; the felt impedance also by moving a hand against each environment."""
    static, dynamic = static_matrix(), matrix()
    T = np.array([measures.transparency(static, Z)[0].real for Z in STIFFNESSES])
    Z_h = np.array([measures.felt_impedance(static, Z)[0].real for Z in STIFFNESSES])
    direct = np.array([_felt_slope(Z) for Z in STIFFNESSES])
    stiffer = np.array([measures.felt_impedance(static, 1.001 * Z)[0].real for Z in STIFFNESSES])
    slopes = (stiffer - Z_h) / (1e-3 * STIFFNESSES)
    expected_slopes = np.array([measures.fidelity(static, Z)[0].real for Z in STIFFNESSES])
    error = float(np.abs(T / (KT / (KF * (KT + STIFFNESSES))) - 1.0).max())
    table = float(np.abs(T / PUBLISHED_T - 1.0).max())
    impedances = float(np.abs(Z_h / direct - 1.0).max())
    fidelities = float(np.abs(slopes / expected_slopes - 1.0).max())
    track = measures.position_tracking_error(static)[0]
    push = measures.force_tracking_error(static, KF)[0]
    band = measures.bandwidth(FREQUENCIES, measures.free_motion(dynamic))
    pressed = 1.0 / abs(measures.hard_contact(static)[0])
    scaling = measures.scaling_product(1.0, 1.0 / KF)
    ok = max(error, table) <= 0.01 and max(impedances, fidelities) < 0.01
    ok = ok and track < 1e-3 and push < 1e-3 and abs(pressed * KF - 1.0) < 0.01
    note = (
        f"T = {', '.join(f'{t:.4g}' for t in T)}; Z_h = {', '.join(f'{z:.4g}' for z in Z_h)} N/m; "
        f"position bandwidth {band:.2f} Hz; scaling product {scaling:g}; fidelity "
        f"{expected_slopes[0]:.3g} … {expected_slopes[-1]:.2g}"
    )
    figures = (Figure("Felt impedance over frequency", _plot),)
    return Finding(100.0 * table, ok, note, figures=figures)


def _plot():
    labels = "frequency [Hz]", "|F_h / x_h| [N/m]"
    figure, axes = canvas(*labels, "What the hand feels of four environments")
    for stiffness in STIFFNESSES:
        felt = measures.felt_impedance(matrix(), stiffness)
        axes.loglog(FREQUENCIES, np.abs(felt), marker=".", label=f"{stiffness:g} N/m touched")
    axes.loglog(FREQUENCIES, np.abs(matrix().h[:, 0, 0]), "k--", label="nothing touched")
    axes.legend()
    return figure


@shared
def contact_task(speed: float) -> tuple[Array, Array, Array]:
    """Time, tool and wall force of the rig, whose hand presses into the wall and leads back."""
    rig, start, press = build_rig("youbot", Options(scenario="wall")), 0.3, 0.030 / speed
    back = start + press + 0.5
    into, out = (-0.030, 0.0, 0.0), (0.015, 0.0, 0.0)
    with_moves(rig, Move(start, press, into), Move(back, 0.5 * press, out))
    wall, tool, rows = rig.parts.wall, rig.world.ports["follower"].tool, []
    assert isinstance(wall, Wall)
    origin = float(tool.position[0])
    rig.session.add(lambda _: rows.append((tool.position[0] - origin, wall.force)), 1_000_000)
    run(rig, back + 0.5 * press + 0.8)
    tools, forces = np.array(rows).T
    return TICK * np.arange(len(rows)), tools[:, None], forces[:, None]


def _judged(speed: float) -> measures.TaskResult:
    return measures.judge_task(*contact_task(speed), np.array([0.015]), 5e-4)


@experiment("Y-53")
def task_metrics() -> Finding:
    """A signal with known metrics, then one contact task of the rig at three speeds of the hand."""
    t = np.linspace(0.0, 4.0, 4001)
    position, force = np.exp(-t)[:, None], (3.0 * np.sin(np.pi * t / 4.0))[:, None]
    known = measures.judge_task(t, position, force, np.zeros(1), 0.1)
    closed = abs(known.completion_time - np.log(10.0)) < 2e-3
    closed &= abs(known.largest_force - 3.0) < 1e-6
    closed &= abs(known.squared_force_time - 18.0) < 1e-3
    closed &= abs(known.squared_force_sum * 1e-3 - 18.0) < 0.02
    # This one passes through the goal and never stays there
    passing = measures.judge_task(t, np.cos(4.0 * np.pi * t)[:, None], force, np.zeros(1), 0.1)
    runs = {speed: _judged(speed) for speed in (0.02, 0.05, 0.1)}
    times = [run.completion_time for run in runs.values()]
    pressed = all(run.completed and run.largest_force > 1.0 for run in runs.values())
    sensible = pressed and times == sorted(times, reverse=True)
    note = "; ".join(
        f"hand at {speed:g} m/s: {run.completion_time:.2f} s, {run.largest_force:.2f} N, "
        f"{run.squared_force_sum:.3g} N², {run.squared_force_time:.3g} N²·s"
        for speed, run in runs.items()
    )
    return Finding(times[1], closed and sensible and not passing.completed, note)


@experiment("Y-55")
def human_factor_report() -> Finding:
    """Wall from the static matrix, bandwidths from the shaken one, resolution of the pen.

    Each verdict must be that of the closed forms and the published thresholds.
    """
    wall = float(measures.felt_impedance(static_matrix(), 1e9)[0].real)
    position_step = 1e-5  # of the pen, better than 0.01 mm (data sheet, unverified) [m]
    display = measures.Display(
        wall_stiffness=wall,
        force_resolution=wall * position_step,
        largest_force=12.0,
        force_bandwidth=measures.bandwidth(FREQUENCIES, measures.hard_contact(matrix())),
        motion_bandwidth=measures.bandwidth(FREQUENCIES, measures.free_motion(matrix())),
        rate=1.0 / TICK,
    )
    judged = {judgement.name: judgement for judgement in measures.check(display)}
    share = 100.0 * judged["hard-wall stiffness"].share
    verdicts = {name: judgement.ok for name, judgement in judged.items()}
    expected = _expected_verdicts(position_step)
    unknown = all(judgement.ok is None for judgement in measures.check(measures.Display()))
    ideal = measures.Display(3e4, 0.01, 20.0, 30.0, 12.0, 4000.0)
    good = all(judgement.ok for judgement in measures.check(ideal))
    ok = abs(share - 100.0 * 70.0 / 24_200.0) < 0.003 and verdicts == expected and unknown and good
    note = "; ".join(map(str, judged.values()))
    note = f"{note}; bandwidths are those of {TOOL_MASS:g} kg and ζ = 0.7 at the tool, assumed"
    return Finding(share, ok, note)


def _expected_verdicts(position_step: float) -> dict[str, bool]:
    """The closed forms of the bridge beside the published thresholds (sources/youbot §3.20)."""
    fine = np.linspace(0.01, 40.0, 40_000)
    h = HybridMatrix(fine, exact(fine))
    return {
        "hard-wall stiffness": KT / KF >= 24_200.0,
        "force resolution": KT / KF * position_step <= 0.36,
        "force range": bool(12.0 >= 16.5),
        "force bandwidth": bool(measures.bandwidth(fine, measures.hard_contact(h)) >= 20.0),
        "motion bandwidth": bool(measures.bandwidth(fine, measures.free_motion(h)) >= 10.0),
        "vibration bandwidth": bool(0.5 / TICK >= 1000.0),
    }


MUTATIONS = Mutations()


@MUTATIONS.of(PenMapping, "back", "Y-51 Y-52")
def strong_feedback(back, self, wrench_b, out):
    """5 % too much force comes back."""
    back(self, wrench_b, out)
    out *= 1.05


@MUTATIONS.of(Spring, "pull", "Y-51 Y-52 Y-55")
def weak_spring(pull, self, error, rate):
    """The spring is 5 % too soft."""
    wrench = pull(self, error, rate)
    wrench *= 0.95
    return wrench


@MUTATIONS.of(measures, "judge_task", "Y-53")
def first_arrival(_, times, position, force, goal, tolerance):
    """Passing through the goal counts as there."""
    near = np.flatnonzero(np.linalg.norm(position - goal, axis=1) <= tolerance)
    squared = (force**2).sum(axis=1)
    done = float(times[near[0]]) if len(near) else np.inf
    sums = float(squared.sum()), float(np.trapezoid(squared, times))
    return measures.TaskResult(done, float(squared.max()) ** 0.5, *sums)


@MUTATIONS.of(measures, "check", "Y-55")
def wrong_wall(_, display):
    """The wall's threshold is N/cm."""
    return [measures.Judgement("hard-wall stiffness", display.wall_stiffness, 2420.0, "N/m", False)]
