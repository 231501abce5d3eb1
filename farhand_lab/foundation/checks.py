"""Physics of the foundation: rest, energy, contact, delay, outage, invalid numbers."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from farhand.arm import Arm
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.link.network import EmulatedNetwork
from farhand.loop.station import Station
from farhand.mapping import WorkspaceMapping
from farhand.plants.plant import Sample
from farhand.plants.simulated.port import SimulatedPlant
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot, q_to_pinocchio, robot_names, v_to_pinocchio
from farhand.safety import Guard, Watchdog
from farhand.spatial import Array
from farhand.world.ledger import Ledger
from farhand.world.touches import Tool, Wall
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas
from farhand_lab.trial import Run, dual_arm, inject_fault, run


@shared
def pressing(law: str, delay: float = 0.0) -> Run:
    """The hand pushes the follower into the wall and stays."""
    return run(dual_arm(law, "press", delay=delay))


@shared
def outage() -> Run:
    """The link is cut for 1 s during a move; the operator engages again 2 s after it is back."""
    cut = ("link.outage_start", 1.2), ("link.outage_length", 1.0)
    return run(dual_arm("position-position", "free", *cut, delay=20.0), 6.0, "4.2:engage")


@experiment("P-01")
def rest() -> Finding:
    """Nobody touches the arms; gravity is on and compensated by the model."""
    result = run(dual_arm("position-force", "rest"), 60.0)
    joints = [result.signal(station, "q") for station in ("leader", "follower")]
    moved = max(float(np.abs(q - q[0]).max()) for q in joints)
    return Finding(moved, moved <= 1e-6)


@experiment("P-02", "P-03")
def energy_balance() -> dict[str, Finding]:
    """Work of hand, wall, actuators and friction against the energy of the links."""
    delays = {"P-02": 0.0, "P-03": 20.0}
    runs = {id: pressing("position-force", delay) for id, delay in delays.items()}
    errors = {id: result.value("energy_balance_error") for id, result in runs.items()}
    return {id: Finding(error, error <= 1e-3) for id, error in errors.items()}


@experiment("P-04")
def static_reflection() -> Finding:
    """Static contact under position–force: the hand feels the follower's contact force."""
    result = pressing("position-force")
    ratio = _pushed(result, "leader") / _pushed(result, "follower")
    figure = Figure("The hand feels the wall", lambda: _force_plot(result))
    return Finding(ratio, abs(ratio - 1.0) <= 0.01, figures=(figure,))


@experiment("P-05")
def series_spring() -> Finding:
    """Hand, coupling and wall are three springs in series between reference and wall surface."""
    result = pressing("position-position")
    law, parts = result.rig.session.bridges[0].laws[0], result.rig.session.parameters
    assert isinstance(law, PositionPosition)
    wall = parts["wall"]
    compliance = 1.0 / parts["hand"].stiffness + 1.0 / law.spring.stiffness + 1.0 / wall.stiffness
    start = float(result.signal("follower", "position_tool_in_world")[0, 0])
    predicted = (start + 0.42 - wall.point[0]) / compliance
    force = -_pushed(result, "follower")
    return Finding(force, abs(force / predicted - 1.0) <= 0.01, f"predicted {predicted:.2f} N")


@experiment("P-06")
def reciprocity() -> Finding:
    """Position–position commands equal and opposite wrenches at every tick."""
    result, channel = pressing("position-position"), "wrench_commanded_in_world"
    both = result.signal("leader", channel) + result.signal("follower", channel)
    largest = float(np.abs(both).max())
    return Finding(largest, largest <= 1e-9)


@experiment("P-07")
def outage_stops() -> Finding:
    """From the cut to rest: 0.2 s until the watchdog expires, then a bounded ramp; and it stays."""
    result = outage()
    t, v = result.times("follower"), np.abs(result.signal("follower", "v")).max(axis=1)
    moving = t[(v > 1e-3) & (t >= 1.2) & (t < 4.2)]
    stopped = float(moving[-1] - 1.2) if len(moving) else 0.0
    figure = Figure("Cut, stop, wait, engage", lambda: _outage_plot(result))
    return Finding(stopped, 0.0 < stopped <= 0.6, figures=(figure,))


@experiment("P-08")
def reengage() -> Finding:
    """The leader moves on during the outage; the follower stays and captures new offsets."""
    result = outage()
    t, p = result.times("follower"), result.signal("follower", "position_tool_in_world")
    before, after = p[t < 4.2][-1], p[t >= 4.2]
    moved = float(np.linalg.norm(after - before, axis=1).max())
    engagement = result.signal("coupling", "engagement")
    apart = float(engagement[(t > 3.0) & (t < 4.2)].max())
    ok = moved <= 1e-3 and engagement[-1, 0] == 1.0 and apart == 0.0
    return Finding(moved, ok, f"engagement {apart:g} before the command")


@experiment("P-09")
def engines_agree() -> Finding:
    """Mass matrix, bias and tool pose of every robot at random states."""
    worst = max(_engine_difference(name) for name in robot_names())
    return Finding(worst, worst <= 1e-10)


@experiment("P-10")
def nan_holds() -> Finding:
    """The follower's position becomes NaN during a move; its true speed 1 s later."""
    rig = inject_fault(dual_arm("position-force", "free"), "follower", "nan-position", 1.2)
    result = run(rig, 2.2)
    speed = float(np.abs(result.rig.world.ports["follower"].v).max())
    kinds = [record.trip.kind for record in result.rig.session.trips]
    ok = speed <= 1e-2 and kinds == ["invalid"]
    return Finding(speed, ok, f"trips: {', '.join(kinds) or 'none'}")


@experiment("P-11")
def determinism() -> Finding:
    """Noise, jitter and loss on; joint positions of the whole run compared."""
    logs = [_noisy(seed).tobytes() for seed in (7, 7, 8)]
    same = logs[0] == logs[1] and logs[0] != logs[2]
    return Finding(same, same)


@experiment("P-12")
def delay_is_true() -> Finding:
    """Forty milliseconds of round trip are twenty each way."""
    age = run(dual_arm("unilateral", "free", delay=40.0), 2.0).value("link_age_mean")
    return Finding(age, abs(age - 0.020) <= 0.001)


@experiment("P-13")
def elastic_wall() -> Finding:
    """Work of the wall over a whole contact, in and out, against its largest stored energy."""
    result = run(dual_arm("position-force", "wall"), 14.0)
    wall = result.rig.parts.wall
    assert wall is not None
    peak = 0.5 * result.value("contact_force_max") ** 2 / wall.stiffness
    kept = abs(result.value("energy_wall_on_follower"))
    return Finding(kept / peak, kept <= 0.01 * peak and peak > 0.1)


def _pushed(result: Run, station: str) -> float:
    """Mean x force on a tool over the last half second, negated for the leader, [N]."""
    force = float(result.signal(station, "wrench_measured_in_world")[-500:, 0].mean())
    return force if station == "follower" else -force


def _noisy(seed: int) -> Array:
    options = Options(law="position-force", scenario="free", seed=seed)
    options.delay, options.jitter, options.loss = 20.0, 5.0, 0.05
    return run(build_rig("dual-arm", options), 1.0).signal("follower", "q")


def _engine_difference(name: str) -> float:
    """Largest difference in M, weight, bias and tool position over 20 random states of a robot.

    The two engines use other axes for the velocity of a floating base, so M and weight are compared
    through the map between them; the bias contains the rate of that map and is compared on fixed
    bases only. MuJoCo's bias does not include joint springs.
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


def _force_plot(result: Run) -> Any:
    title = "Pressed against the wall, the hand feels the wall's force"
    figure, axes = canvas("time [s]", "force along x [N]", title)
    for station, sign, label in (
        ("leader", 1.0, "hand on leader"),
        ("follower", -1.0, "wall on follower, negated"),
    ):
        force = result.signal(station, "wrench_measured_in_world")[:, 0]
        axes.plot(result.times(station), sign * force, label=label)
    axes.legend()
    return figure


def _outage_plot(result: Run) -> Any:
    title = "The follower stops when the link is cut, and waits for the operator"
    figure, axes = canvas("time [s]", "height above start [mm]", title)
    for station in ("leader", "follower"):
        z = result.signal(station, "position_tool_in_world")[:, 2]
        axes.plot(result.times(station), 1e3 * (z - z[0]), label=station)
    axes.axvspan(1.2, 2.2, alpha=0.2, label="link cut")
    axes.axvline(4.2, linestyle=":", label="engage")
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(Station, "act", "P-01")
def gravity(act, self: Station, now_ns: int) -> None:
    """The controller compensates 99 % of gravity."""
    act(self, now_ns)
    self._commanded -= 0.01 * self.arm.gravity
    self.plant.write(self.controller.command, now_ns)


@MUTATIONS.of(Ledger, "end", "P-02 P-03")
def ledger(end, self: Ledger) -> bool:
    """Work is counted with the wrong velocity."""
    self._books[: self._nv] *= -0.9
    return end(self)


@MUTATIONS.of(PositionForce, "step", "P-04")
def weak_reflection(step, self: PositionForce, a, b, dt: float):
    """The hand feels 95 %."""
    on_a, on_b = step(self, a, b, dt)
    on_a.wrench *= 0.95
    return on_a, on_b


@MUTATIONS.of(PositionPosition, "step", "P-05 P-06")
def reaction(step, self: PositionPosition, a, b, dt: float):
    """The leader is pulled with 97 %."""
    on_a, on_b = step(self, a, b, dt)
    on_a.wrench *= 0.97
    return on_a, on_b


@MUTATIONS.of(Watchdog, "has_expired", "P-07")
def watchdog(has_expired, self: Watchdog, silent_ns: int) -> bool:
    """Silence is never noticed."""
    return False


@MUTATIONS.of(WorkspaceMapping, "capture", "P-08")
def offsets(capture, self: WorkspaceMapping, *poses: Array) -> None:
    """Offsets are captured only once."""
    if not self.offset_position.any():
        capture(self, *poses)


@MUTATIONS.of(Arm, "of", "P-09")
def armature(of, *inputs: Any, **named: Any) -> Arm:
    """Pinocchio has half the rotor inertia."""
    arm = of(*inputs, **named)
    arm.model.armature = 0.5 * arm.model.armature
    arm.refresh()
    return arm


@MUTATIONS.of(Guard, "check", "P-10")
def nan_check(check, self: Guard, sample: Sample, now_ns: int) -> bool:
    """NaN is read as zero."""
    np.nan_to_num(sample.q, copy=False)
    return check(self, sample, now_ns)


@MUTATIONS.of(SimulatedPlant, "_next_noise", "P-11")
def seed(next_noise, self: SimulatedPlant, sigma: Array) -> Array:
    """Noise ignores the seed."""
    self._rng = np.random.default_rng()
    noise: Array = next_noise(self, sigma)
    return noise


@MUTATIONS.of(EmulatedNetwork, "send", "P-12")
def network(send, self: EmulatedNetwork, now_ns: int, data: bytes) -> None:
    """Packets arrive at once."""
    send(self, now_ns - self.delay_ns, data)


@MUTATIONS.of(Wall, "push", "P-13")
def wall(push, self: Wall, tool: Tool, t: float, wrench: Array) -> None:
    """The wall keeps a fifth on the way out."""
    push(self, tool, t, wrench)
    if tool.twist[0] < 0.0:
        wrench *= 0.8
