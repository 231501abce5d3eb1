"""The foundation's own physics: rest, energy, contact, delay, outage, bad numbers. The judge is mechanics."""

from __future__ import annotations

import mujoco
import numpy as np

from farhand.arm import Arm
from farhand.coupling.position_position import PositionPosition
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot, q_to_pinocchio, robot_names, v_to_pinocchio
from farhand.world.walls import Wall
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.trial import Run, dual_arm, run, spoiled

Array = np.ndarray


@shared
def pressing(law: str, delay: float = 0.0) -> Run:
    """The hand pushes the follower into the wall and stays."""
    return run(dual_arm(law, "press", delay=delay))


@shared
def outage() -> Run:
    """The link is cut for 1 s while the follower moves; the operator engages again 2 s after it is back."""
    cut = ("link.outage_start", 1.2), ("link.outage_length", 1.0)
    return run(dual_arm("position-position", "free", *cut, delay=20.0), 6.0, "4.2:engage")


@experiment("P-01")
def rest() -> Finding:
    """Nobody touches the arms; gravity is on and compensated by the model."""
    result = run(dual_arm("position-force", "rest"), 60.0)
    moved = max(
        float(np.abs(q - q[0]).max())
        for q in (result.signal(s, "q") for s in ("leader", "follower"))
    )
    return Finding(moved, moved <= 1e-6)


@experiment("P-02")
def energy_balance() -> Finding:
    """Work of hand, wall, actuators and friction against the energy of the links."""
    error = pressing("position-force").value("energy_balance_error")
    return Finding(error, error <= 1e-3)


@experiment("P-03")
def energy_balance_delayed() -> Finding:
    """The same with 20 ms of round trip."""
    error = pressing("position-force", 20.0).value("energy_balance_error")
    return Finding(error, error <= 1e-3)


@experiment("P-04")
def static_reflection() -> Finding:
    """Static contact under position–force: what the follower touches is what the hand feels."""
    result = pressing("position-force")
    ratio = _pushed(result, "leader") / _pushed(result, "follower")
    return Finding(
        ratio,
        abs(ratio - 1.0) <= 0.01,
        figures=(Figure("The hand feels the wall", lambda: _force_plot(result)),),
    )


@experiment("P-05")
def series_spring() -> Finding:
    """Hand, coupling and wall are three springs in series between the reference and the wall's surface."""
    result = pressing("position-position")
    law, parts = result.rig.session.bridges[0].laws[0], result.rig.session.parameters
    assert isinstance(law, PositionPosition)
    compliance = (
        1.0 / parts["hand"].stiffness + 1.0 / law.spring.stiffness + 1.0 / parts["wall"].stiffness
    )
    start = float(result.signal("follower", "position_tool_in_world")[0, 0])
    predicted = (start + 0.42 - parts["wall"].point[0]) / compliance
    force = -_pushed(result, "follower")
    return Finding(force, abs(force / predicted - 1.0) <= 0.01, f"predicted {predicted:.2f} N")


@experiment("P-06")
def reciprocity() -> Finding:
    """The wrenches that position–position asks of both arms are equal and opposite at every tick."""
    result = pressing("position-position")
    both = result.signal("leader", "wrench_commanded_in_world") + result.signal(
        "follower", "wrench_commanded_in_world"
    )
    largest = float(np.abs(both).max())
    return Finding(largest, largest <= 1e-9)


@experiment("P-07")
def outage_stops() -> Finding:
    """From the cut to rest: 0.2 s until silence is noticed, then a bounded ramp; and it stays."""
    result = outage()
    t, v = result.times("follower"), np.abs(result.signal("follower", "v")).max(axis=1)
    moving = t[(v > 1e-3) & (t >= 1.2) & (t < 4.2)]
    stopped = float(moving[-1] - 1.2) if len(moving) else 0.0
    return Finding(
        stopped,
        0.0 < stopped <= 0.6,
        figures=(Figure("Cut, stop, wait, engage", lambda: _outage_plot(result)),),
    )


@experiment("P-08")
def reengage() -> Finding:
    """The leader has moved on during the outage; the follower stays where it stopped and takes new offsets."""
    result = outage()
    t, p = result.times("follower"), result.signal("follower", "position_tool_in_world")
    before, after = p[t < 4.2][-1], p[t >= 4.2]
    moved = float(np.linalg.norm(after - before, axis=1).max())
    engaged = result.signal("coupling", "engagement")[-1, 0] == 1.0
    apart = float(result.signal("coupling", "engagement")[(t > 3.0) & (t < 4.2)].max())
    return Finding(
        moved,
        moved <= 1e-3 and engaged and apart == 0.0,
        f"engagement {apart:g} before the command",
    )


@experiment("P-09")
def engines_agree() -> Finding:
    """Mass matrix, bias and tool pose of every robot at random states."""
    worst = max(_engine_difference(name) for name in robot_names())
    return Finding(worst, worst <= 1e-10)


@experiment("P-10")
def nan_holds() -> Finding:
    """The follower's position becomes NaN in mid-move; the follower's true speed 1 s later."""
    result = run(spoiled(dual_arm("position-force", "free"), "follower", "nan-position", 1.2), 2.2)
    speed = float(np.abs(result.rig.world.ports["follower"].v).max())
    tripped = [record.trip.kind for record in result.rig.session.trips]
    return Finding(
        speed, speed <= 1e-2 and tripped == ["invalid"], f"trips: {', '.join(tripped) or 'none'}"
    )


@experiment("P-11")
def determinism() -> Finding:
    """Noise, jitter and loss on; joint positions of the whole run compared."""
    logs = [_noisy(seed).tobytes() for seed in (7, 7, 8)]
    return Finding(
        logs[0] == logs[1] and logs[0] != logs[2], logs[0] == logs[1] and logs[0] != logs[2]
    )


@experiment("P-12")
def delay_is_true() -> Finding:
    """Forty milliseconds of round trip are twenty each way."""
    age = run(dual_arm("unilateral", "free", delay=40.0), 2.0).value("link_age_mean")
    return Finding(age, abs(age - 0.020) <= 0.001)


@experiment("P-13")
def elastic_wall() -> Finding:
    """Work of the wall over a whole contact, in and out, against the most it ever held."""
    result = run(dual_arm("position-force", "wall"), 14.0)
    wall: Wall = result.rig.session.parameters["wall"]
    peak = 0.5 * result.value("contact_force_max") ** 2 / wall.stiffness
    kept = abs(result.value("energy_wall_on_follower"))
    return Finding(kept / peak, kept <= 0.01 * peak and peak > 0.1)


def _pushed(result: Run, station: str) -> float:
    """Mean x force on a station's tool over the last half second, [N]."""
    return float(result.signal(station, "wrench_measured_in_world")[-500:, 0].mean()) * (
        1.0 if station == "follower" else -1.0
    )


def _noisy(seed: int) -> Array:
    options = Options(
        law="position-force", scenario="free", seed=seed, delay=20.0, jitter=5.0, loss=0.05
    )
    return run(build_rig("dual-arm", options), 1.0).signal("follower", "q")


def _engine_difference(name: str) -> float:
    """Largest difference in M, weight, bias and tool position over 20 random states of a robot.

    A floating base's velocity is in other axes in each engine: M and weight are compared through
    the map between them, the bias, which has that map's rate in it, on fixed bases only. Springs at
    joints are not in MuJoCo's bias.
    """
    robot = load_robot(name)
    model, arm = robot.compile(), Arm.of(robot)
    data, rng, worst = mujoco.MjData(model), np.random.default_rng(0), 0.0
    for _ in range(20):
        data.qpos[:], data.qvel[:] = rng.normal(size=model.nq), rng.normal(size=model.nv)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        to = np.array([v_to_pinocchio(model, data.qpos, column) for column in np.eye(model.nv)]).T
        arm.update(q_to_pinocchio(model, data.qpos), to @ data.qvel)
        pairs = [(M, to.T @ arm.M @ to), (data.site(robot.tool).xpos, arm.position)]
        if model.nq == model.nv:
            pairs.append((data.qfrc_bias.copy(), arm.bias - arm.spring))
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        pairs.append((data.qfrc_bias, to.T @ (arm.gravity - arm.spring)))
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in pairs))
    return worst


def _force_plot(result: Run):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for station, label in (("leader", "hand on leader"), ("follower", "wall on follower, negated")):
        sign = 1.0 if station == "leader" else -1.0
        axes.plot(
            result.times(station),
            sign * result.signal(station, "wrench_measured_in_world")[:, 0],
            label=label,
        )
    axes.set(
        xlabel="time [s]",
        ylabel="force along x [N]",
        title="Pressed against the wall, the hand feels the wall's force",
    )
    axes.legend()
    return figure


def _outage_plot(result: Run):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for station in ("leader", "follower"):
        z = result.signal(station, "position_tool_in_world")[:, 2]
        axes.plot(result.times(station), 1e3 * (z - z[0]), label=station)
    axes.axvspan(1.2, 2.2, alpha=0.2, label="link cut")
    axes.axvline(4.2, linestyle=":", label="engage")
    axes.set(
        xlabel="time [s]",
        ylabel="height above start [mm]",
        title="The follower stops when the link is cut, and waits to be asked",
    )
    axes.legend()
    return figure
