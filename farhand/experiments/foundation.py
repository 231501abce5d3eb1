"""The foundation's own physics: rest, energy, contact, delay, outage, bad numbers. The judge is mechanics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.arm import Arm
from farhand.bridge import LinkEnd
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.experiments.harness import Figure, Finding, experiment, shared
from farhand.experiments.mutation import Mutation, patched
from farhand.link.network import EmulatedNetwork
from farhand.mapping import WorkspaceMapping
from farhand.plants.faulty import FaultyPlant
from farhand.plants.simulated import SimulatedPlant
from farhand.rigs import Options, Rig, build_rig
from farhand.robots import load_robot, robot_names
from farhand.safety import Guard
from farhand.station import Station
from farhand.world.walls import Wall
from farhand.world.world import Port

Array = np.ndarray

GROUP = "foundation"
MECHANICS = "rigid-body mechanics"
QUIET = [(f"{side}.plant.{noise}", 0.0) for side in ("leader", "follower") for noise in ("force_noise", "torque_noise")]


@dataclass
class Run:
    """What is left of a run: its signals by stream and channel, its metrics and its rig (closed)."""

    rig: Rig
    metrics: dict[str, dict[str, object]]

    def value(self, name: str) -> float:
        """A metric's number."""
        return float(self.metrics[name]["value"])  # type: ignore[arg-type]

    def times(self, stream: str) -> Array:
        """Times of a stream, [s]."""
        return self.rig.metrics.history.times(stream)

    def signal(self, stream: str, channel: str) -> Array:
        """A channel's values, one row per record."""
        return self.rig.metrics.history.signal(stream, channel)


def run(options: Options, seconds: float, *commands: str, spoil: tuple[str, str, float] | None = None) -> Run:
    """Run the dual-arm rig; ``spoil`` is (station, fault, from when [s])."""
    rig = build_rig("dual-arm", options)
    if spoil is not None:
        station = next(s for s in rig.session.stations if s.name == spoil[0])
        station.plant = FaultyPlant(station.plant, spoil[1], round(spoil[2] * 1e9))
    for command in commands:
        rig.session.commands.post_text(command)
    rig.session.run(seconds, rig.metrics.pull)
    result = Run(rig, rig.metrics.result())
    rig.close()
    return result


@shared
def pressing(law: str, delay: float = 0.0) -> Run:
    """The hand pushes the follower into the wall and stays."""
    return run(Options(law=law, scenario="press", delay=delay, settings=[*QUIET]), 8.0)


@shared
def outage() -> Run:
    """The link is cut for 1 s while the follower moves; the operator engages again 2 s after it is back."""
    cut = [("link.outage_start", 1.2), ("link.outage_length", 1.0)]
    return run(
        Options(law="position-position", scenario="free", delay=20.0, settings=[*QUIET, *cut]), 6.0, "4.2:engage"
    )


@experiment(
    "P-01", "Two arms at rest stay at rest", group=GROUP, unit="rad", criterion="≤ 1e-6 in 60 s", source=MECHANICS
)
def rest() -> Finding:
    """Nobody touches the arms; gravity is on and compensated by the model."""
    result = run(Options(law="position-force", scenario="rest"), 60.0)
    moved = max(float(np.abs(q - q[0]).max()) for q in (result.signal(s, "q") for s in ("leader", "follower")))
    return Finding(moved, moved <= 1e-6)


@experiment("P-02", "Energy balance closes in contact", group=GROUP, unit="-", criterion="≤ 0.1 %", source=MECHANICS)
def energy_balance() -> Finding:
    """Work of hand, wall, actuators and friction against the energy of the links."""
    error = pressing("position-force").value("energy_balance_error")
    return Finding(error, error <= 1e-3)


@experiment(
    "P-03",
    "Energy balance closes over a delayed link",
    group=GROUP,
    unit="-",
    criterion="≤ 0.1 % at 20 ms",
    source=MECHANICS,
)
def energy_balance_delayed() -> Finding:
    """The same with 20 ms of round trip."""
    error = pressing("position-force", 20.0).value("energy_balance_error")
    return Finding(error, error <= 1e-3)


@experiment("P-04", "Hand force equals wall force", group=GROUP, unit="-", criterion="ratio 1 ± 1 %", source=MECHANICS)
def static_reflection() -> Finding:
    """Static contact under position–force: what the follower touches is what the hand feels."""
    result = pressing("position-force")
    ratio = _pushed(result, "leader") / _pushed(result, "follower")
    return Finding(
        ratio, abs(ratio - 1.0) <= 0.01, figures=(Figure("The hand feels the wall", lambda: _force_plot(result)),)
    )


@experiment(
    "P-05",
    "Position–position is a spring in series",
    group=GROUP,
    unit="N",
    criterion="1 % of prediction",
    source=MECHANICS,
)
def series_spring() -> Finding:
    """Hand, coupling and wall are three springs in series between the reference and the wall's surface."""
    result = pressing("position-position")
    law, parts = result.rig.session.bridges[0].laws[0], result.rig.session.parameters
    assert isinstance(law, PositionPosition)
    compliance = 1.0 / parts["hand"].stiffness + 1.0 / law.spring.stiffness + 1.0 / parts["wall"].stiffness
    start = float(result.signal("follower", "position_tool_in_world")[0, 0])
    predicted = (start + 0.42 - parts["wall"].point[0]) / compliance
    force = -_pushed(result, "follower")
    return Finding(force, abs(force / predicted - 1.0) <= 0.01, f"predicted {predicted:.2f} N")


@experiment("P-06", "Action equals reaction", group=GROUP, unit="N", criterion="≤ 1e-9", source=MECHANICS)
def reciprocity() -> Finding:
    """The wrenches that position–position asks of both arms are equal and opposite at every tick."""
    result = pressing("position-position")
    both = result.signal("leader", "wrench_commanded_in_world") + result.signal("follower", "wrench_commanded_in_world")
    largest = float(np.abs(both).max())
    return Finding(largest, largest <= 1e-9)


@experiment(
    "P-07",
    "A link outage stops the follower",
    group=GROUP,
    unit="s",
    criterion="at rest ≤ 0.6 s after the cut",
    source="design",
)
def outage_stops() -> Finding:
    """From the cut to rest: 0.2 s until silence is noticed, then a bounded ramp; and it stays."""
    result = outage()
    t, v = result.times("follower"), np.abs(result.signal("follower", "v")).max(axis=1)
    moving = t[(v > 1e-3) & (t >= 1.2) & (t < 4.2)]
    stopped = float(moving[-1] - 1.2) if len(moving) else 0.0
    return Finding(
        stopped, 0.0 < stopped <= 0.6, figures=(Figure("Cut, stop, wait, engage", lambda: _outage_plot(result)),)
    )


@experiment(
    "P-08", "Engaging again makes no jump", group=GROUP, unit="m", criterion="follower moves ≤ 1 mm", source="design"
)
def reengage() -> Finding:
    """The leader has moved on during the outage; the follower stays where it stopped and takes new offsets."""
    result = outage()
    t, p = result.times("follower"), result.signal("follower", "position_tool_in_world")
    before, after = p[t < 4.2][-1], p[t >= 4.2]
    moved = float(np.linalg.norm(after - before, axis=1).max())
    engaged = result.signal("coupling", "engagement")[-1, 0] == 1.0
    apart = float(result.signal("coupling", "engagement")[(t > 3.0) & (t < 4.2)].max())
    return Finding(moved, moved <= 1e-3 and engaged and apart == 0.0, f"engagement {apart:g} before the command")


@experiment("P-09", "MuJoCo equals Pinocchio", group=GROUP, unit="-", criterion="≤ 1e-10", source="design")
def engines_agree() -> Finding:
    """Mass matrix, bias and tool pose of every robot at random states."""
    worst = max(_engine_difference(name) for name in robot_names())
    return Finding(worst, worst <= 1e-10)


@experiment(
    "P-10",
    "NaN from a plant trips and holds still",
    group=GROUP,
    unit="rad/s",
    criterion="speed ≤ 1e-2",
    source="design",
)
def nan_holds() -> Finding:
    """The follower's position becomes NaN in mid-move; the follower's true speed 1 s later."""
    result = run(
        Options(law="position-force", scenario="free", settings=[*QUIET]), 2.2, spoil=("follower", "nan-position", 1.2)
    )
    speed = float(np.abs(result.rig.world.ports["follower"].v).max())
    tripped = [record.trip.kind for record in result.rig.session.trips]
    return Finding(speed, speed <= 1e-2 and tripped == ["invalid"], f"trips: {', '.join(tripped) or 'none'}")


@experiment(
    "P-11",
    "Same seed, same log to the bit",
    group=GROUP,
    unit="-",
    criterion="equal; another seed differs",
    source="design",
)
def determinism() -> Finding:
    """Noise, jitter and loss on; joint positions of the whole run compared."""
    logs = [_noisy(seed).tobytes() for seed in (7, 7, 8)]
    return Finding(logs[0] == logs[1] and logs[0] != logs[2], logs[0] == logs[1] and logs[0] != logs[2])


@experiment(
    "P-12", "Delay is what was asked for", group=GROUP, unit="s", criterion="mean age 0.020 ± 0.001 s", source="design"
)
def delay_is_true() -> Finding:
    """Forty milliseconds of round trip are twenty each way."""
    age = run(Options(law="unilateral", scenario="free", delay=40.0), 2.0).value("link_age_mean")
    return Finding(age, abs(age - 0.020) <= 0.001)


@experiment(
    "P-13",
    "An elastic wall gives back what it took",
    group=GROUP,
    unit="-",
    criterion="≤ 1 % of its peak energy",
    source=MECHANICS,
)
def elastic_wall() -> Finding:
    """Work of the wall over a whole contact, in and out, against the most it ever held."""
    result = run(Options(law="position-force", scenario="wall", settings=[*QUIET]), 14.0)
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
    options = Options(law="position-force", scenario="free", seed=seed, delay=20.0, jitter=5.0, loss=0.05)
    return run(options, 1.0).signal("follower", "q")


def _engine_difference(name: str) -> float:
    """Largest difference in M, bias and tool position over 20 random states of a robot."""
    robot = load_robot(name)
    model, arm = robot.compile(), Arm.of(robot)
    data, rng, worst = mujoco.MjData(model), np.random.default_rng(0), 0.0
    for _ in range(20):
        data.qpos[:], data.qvel[:] = rng.normal(size=model.nq), rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        arm.update(data.qpos, data.qvel)
        tool = data.site(robot.tool).xpos
        pairs = ((M, arm.M), (data.qfrc_bias, arm.bias), (tool, arm.position))
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in pairs))
    return worst


def _force_plot(result: Run):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for station, label in (("leader", "hand on leader"), ("follower", "wall on follower, negated")):
        sign = 1.0 if station == "leader" else -1.0
        axes.plot(result.times(station), sign * result.signal(station, "wrench_measured_in_world")[:, 0], label=label)
    axes.set(
        xlabel="time [s]", ylabel="force along x [N]", title="Pressed against the wall, the hand feels the wall's force"
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


@contextlib.contextmanager
def _attribute(target: type, name: str, change) -> Iterator[None]:
    """Replace a method by ``change(original)``."""
    with patched(target, name, change(getattr(target, name))):
        yield


def _felt(factor: float):
    def wrong(step):
        def broken(self, a, b, dt):
            on_a, on_b = step(self, a, b, dt)
            on_a.wrench *= factor
            return on_a, on_b

        return broken

    return wrong


def _no_gravity(act):
    def broken(self: Station, now_ns: int) -> None:
        act(self, now_ns)
        self._torque -= 0.01 * self.arm.gravity
        self.plant.write(self._command, now_ns)

    return broken


def _end_velocity(account):
    def broken(self: Port, h: float, constrained: bool) -> None:
        self._v_before[:] = -0.9 * self.v
        account(self, h, constrained)

    return broken


def _deaf(receive):
    def broken(self: LinkEnd, now_ns: int) -> None:
        self.silence = 1e9
        receive(self, now_ns)

    return broken


def _stuck_offsets(capture):
    def broken(self: WorkspaceMapping, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        if not self.offset_position.any():
            capture(self, p_a, R_a, p_b, R_b)

    return broken


def _sticky_wall(push):
    def broken(self: Wall, tool, t, wrench):
        push(self, tool, t, wrench)
        if tool.twist[0] < 0.0:
            wrench *= 0.8

    return broken


def _no_armature(of):
    def broken(robot, *rest, **named):
        arm = of(robot, *rest, **named)
        arm.model.armature = 0.5 * arm.model.armature
        return arm

    return broken


def _blind(check):
    def broken(self: Guard, sample, now_ns):
        np.nan_to_num(sample.q, copy=False)
        return check(self, sample, now_ns)

    return broken


def _instant(send):
    def broken(self: EmulatedNetwork, now_ns: int, data: bytes) -> None:
        send(self, now_ns - self.delay_ns, data)

    return broken


def _unseeded(degrade):
    def broken(self: SimulatedPlant, sample):
        self._rng = np.random.default_rng()
        degrade(self, sample)

    return broken


MUTATIONS = [
    Mutation(
        "gravity",
        "the controller compensates 99 % of gravity",
        ("P-01",),
        lambda: _attribute(Station, "act", _no_gravity),
    ),
    Mutation(
        "ledger",
        "work is counted with the wrong velocity",
        ("P-02", "P-03"),
        lambda: _attribute(Port, "account", _end_velocity),
    ),
    Mutation(
        "weak reflection", "the hand feels 95 %", ("P-04",), lambda: _attribute(PositionForce, "step", _felt(0.95))
    ),
    Mutation(
        "reaction",
        "the leader is pulled with 99 %",
        ("P-05", "P-06"),
        lambda: _attribute(PositionPosition, "step", _felt(0.97)),
    ),
    Mutation("watchdog", "silence is never noticed", ("P-07",), lambda: _attribute(LinkEnd, "receive", _deaf)),
    Mutation(
        "offsets",
        "offsets are captured only once",
        ("P-08",),
        lambda: _attribute(WorkspaceMapping, "capture", _stuck_offsets),
    ),
    Mutation(
        "armature", "Pinocchio has half the rotor inertia", ("P-09",), lambda: patched(Arm, "of", _no_armature(Arm.of))
    ),
    Mutation("nan check", "NaN is read as zero", ("P-10",), lambda: _attribute(Guard, "check", _blind)),
    Mutation(
        "seed", "noise ignores the seed", ("P-11",), lambda: _attribute(SimulatedPlant, "_degrade_wrench", _unseeded)
    ),
    Mutation("network", "packets arrive at once", ("P-12",), lambda: _attribute(EmulatedNetwork, "send", _instant)),
    Mutation(
        "wall", "the wall keeps a fifth on the way out", ("P-13",), lambda: _attribute(Wall, "push", _sticky_wall)
    ),
]
