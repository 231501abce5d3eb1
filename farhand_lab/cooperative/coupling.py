"""Springs between arms, and that nothing else joins them: F-32, F-33, F-35, F-36, F-44, S-07, S-08 and X-20."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce, ForceLoop
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.tool.task import TaskController
from farhand.plants.plant import Sample
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import add_payload
from farhand.sensing.kalman import ScalarKalman
from farhand.spatial import rotation_from_vector, zyx_from_rotation
from farhand.world.springs import CompressionSpring, GuidedSpring, ToolSpring
from farhand.world.touch import Tie, Tool
from farhand_lab.cooperative.bench import DEGREE, GRAVITY, POSTURES, TABLE, BenchLog, path
from farhand_lab.cooperative.isolation import shared_between
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, changed
from farhand_lab.trial import Run, run

Array = np.ndarray


def tool(rng: np.random.Generator) -> Tool:
    """A tool somewhere, moving somehow."""
    return Tool(
        rng.normal(size=3) * 0.05,
        rotation_from_vector(rng.normal(size=3) * 0.3),
        rng.normal(size=6),
    )


def _moved(tool: Tool, t: float) -> Tool:
    """Where a tool is after ``t`` [s]."""
    turn = rotation_from_vector(t * tool.twist[3:])
    return Tool(tool.position + t * tool.twist[:3], turn @ tool.rotation, tool.twist)


def power_gap(tie: Tie, rng: np.random.Generator) -> tuple[float, float]:
    """Largest unbalanced force and moment [N, N·m], and of power against the change of the stored energy [W]."""
    a, b, on_a, on_b = tool(rng), tool(rng), np.zeros(6), np.zeros(6)
    tie.push(a, b, 0.0, on_a, on_b)
    moments = on_a[3:] + on_b[3:] + np.cross(a.position, on_a[:3]) + np.cross(b.position, on_b[:3])
    gap = max(
        np.abs(on_a[:3] + on_b[:3]).max(),
        np.abs(moments).max() if not isinstance(tie, ToolSpring) else 0.0,
    )
    power, h = float(on_a @ a.twist + on_b @ b.twist), 1e-6
    stored = []
    for step in (-h, h):
        tie.push(_moved(a, step), _moved(b, step), 0.0, np.zeros(6), np.zeros(6))
        stored.append(tie.stored)
    return float(gap), abs(power + (stored[1] - stored[0]) / (2.0 * h))


@experiment("F-32", "F-33")
def springs() -> dict[str, Finding]:
    """200 random pairs of tools; power into both tools against the loss of stored energy by central differences."""
    rng, gaps, powers = generator("springs"), [], []
    for _ in range(200):
        ties: tuple[Tie, ...] = (
            ToolSpring(stiffness=200.0, rotational_stiffness=5.0),
            CompressionSpring(length=0.5),
            GuidedSpring(length=0.5),
        )
        for tie in ties:
            gap, power = power_gap(tie, rng)
            gaps.append(gap)
            powers.append(power)
    pulled = []
    presses: tuple[Tie, ...] = (CompressionSpring(), GuidedSpring())
    for spring in presses:
        for length in (0.10, 0.18, 0.25):
            ends = [Tool(np.array([0.0, 0.0, z]), np.eye(3), np.zeros(6)) for z in (0.0, length)]
            on_a, on_b = np.zeros(6), np.zeros(6)
            spring.push(ends[0], ends[1], 0.0, on_a, on_b)
            pulled.append(float(on_b[2]))
    pushes, tension = (pulled[0], pulled[3]), max(abs(pulled[k]) for k in (1, 2, 4, 5))
    note = f"power and stored energy differ by {max(powers):.1e} W; moments balance for all but the spring of zero length"
    right = all(abs(push - 40.0) < 1e-9 for push in pushes)
    return {
        "F-32": Finding(max(gaps), max(gaps) < 1e-12 and max(powers) < 1e-5, note),
        "F-33": Finding(
            tension, tension == 0.0 and right, f"compressed by 80 mm: {pushes[0]:.1f} N of 40 N"
        ),
    }


def ideal_leader(gains: float = 100.0, damping: float = 20.0) -> ComputedTorque:
    """The leader of the published simulation."""
    loop = PoseLoop(kp=gains, kd=damping, kpo=gains, kdo=damping)
    return _silent(ComputedTorque(_model(), loop))  # type: ignore[return-value]


def ideal_follower() -> DirectForce:
    """The follower of the published simulation."""
    return _silent(DirectForce(_model(), ForceLoop(kp=100.0, kd=20.0, kd_moment=20.0)))  # type: ignore[return-value]


def _model() -> Arm:
    robot = load_robot("rx160").edited(add_payload(2.291, (0.0, 0.0, 0.07), (0.006, 0.006, 0.003)))
    return Arm.of(robot, gravity=GRAVITY)


def _silent(controller: TaskController) -> TaskController:
    controller.zone.force = controller.zone.moment = 0.0
    controller.zone.refresh()
    return controller


class IdealArm:
    """An arm whose plant is the controller's own model."""

    def __init__(self, controller: TaskController) -> None:
        self.controller, self.arm, self.asked, self.felt = (
            controller,
            controller.arm,
            ControlRequest(),
            np.zeros(6),
        )
        self.tool = Tool(self.arm.position, self.arm.rotation, self.arm.twist)
        self.asked.valid, self.asked.gain, self.asked.wrench = True, 1.0, self.felt

    def accelerate(self, t: float) -> Array:
        """Joint acceleration at time ``t`` under what it feels, [rad/s²]."""
        torque = self.controller.step(self.asked, round(t * 1e9)).value
        return np.linalg.solve(self.arm.M, torque - self.arm.bias + self.felt.dot(self.arm.J))


@shared
def ideal_pair(name: str) -> tuple[BenchLog, BenchLog]:
    """Leader and follower with the springs between their tools, every term known, in continuous time."""
    leader, follower, guide = IdealArm(ideal_leader()), IdealArm(ideal_follower()), path(name)
    q = np.array(POSTURES[name][0][0]) * DEGREE if name in POSTURES else TABLE
    leader.controller.follow(guide, 0)  # type: ignore[attr-defined]
    spring, step, sample = (
        ToolSpring(stiffness=200.0, rotational_stiffness=5.0),
        0.004,
        Sample(6, 6),
    )
    state, ticks = (
        np.concatenate([q, np.zeros(6), q, np.zeros(6)]),
        round(guide.duration / step) + 1,
    )
    logs = BenchLog(ticks), BenchLog(ticks)

    def rate(t: float, y: Array) -> Array:
        leader.arm.update(y[:6], y[6:12])
        follower.arm.update(y[12:18], y[18:])
        spring.push(leader.tool, follower.tool, t, leader.felt, follower.felt)
        return np.concatenate([y[6:12], leader.accelerate(t), y[18:], follower.accelerate(t)])

    for tick in range(ticks):
        t = tick * step
        k1 = rate(t, state)
        for log, side, part in zip(logs, (leader, follower), (state[:12], state[12:]), strict=True):
            sample.motion[:] = part
            sample.set_wrench(side.felt)
            log.note(round(t * 1e9), sample, side.controller, leader.controller.reference)
        k2 = rate(t + 0.5 * step, state + 0.5 * step * k1)
        k3 = rate(t + 0.5 * step, state + 0.5 * step * k2)
        state = state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(t + step, state + step * k3))
    return logs


def sizes(log: BenchLog) -> tuple[Array, Array]:
    """Distance [mm] and angle [°] from the leader's path, over time."""
    return 1e3 * np.linalg.norm(log.error, axis=1), np.degrees(
        np.arcsin(np.minimum(np.linalg.norm(log.turn, axis=1), 1.0))
    )


@experiment("S-07", "S-08", "F-35")
def ideal_pairs() -> dict[str, Finding]:
    """k_p = k_pf = 100, k_d = k_df = 20, k_e = 200 N/m, k_t = 5 N·m; the leader cancels the spring's reaction."""
    led, followed = (sizes(log) for log in ideal_pair("T3.1"))
    ok7 = led[0].max() < 0.1 and followed[0].max() < 5.0
    rms = float(np.sqrt(np.mean(followed[0] ** 2)))
    note7 = f"leader {led[0].max():.1e} mm; follower {rms:.2f} RMS, {followed[1].max():.2f}° max"
    ends, words, near = [], [], []
    for name in ("T3.3", "T3.3 feasible"):
        log = ideal_pair(name)[1]
        away, angle = sizes(log)
        spike = float(log.time[int(np.argmax(np.gradient(np.gradient(angle))[10:-10] ** 2)) + 10])
        times = [point.time for point in path(name).points]
        near.append(min(abs(spike - t) for t in times))
        ends.append((float(away[-1]), float(angle[-1])))
        words.append(f"{name}: end {away[-1]:.2f} mm, {angle[-1]:.2f}°, max {away.max():.1f} mm, {angle.max():.2f}°, "
                     f"sharpest bend at {spike:.2f} s")  # fmt: skip
    ok8 = all(mm <= 5.0 and deg <= 3.0 for mm, deg in ends) and max(near) <= 0.1
    return {
        "S-07": Finding(float(followed[0].max()), ok7, note7),
        "S-08": Finding(max(mm for mm, _ in ends), ok8, "; ".join(words)),
        "F-35": Finding(float(followed[0].max()), ok7 and ok8, "both simulations run as published"),
    }


@shared
def pair() -> Run:
    """The rig with the compression spring, published gains G13."""
    return run(build_rig("cooperative", Options(scenario="pair")))


def delay_of_filter(r: float = 500.0) -> float:
    """Time to half of a step of the published force filter, once settled, [s]."""
    kalman = ScalarKalman(np.array([0.125]), np.array([r]), np.zeros(1), np.zeros(1))
    for _ in range(4000):
        kalman.step(np.zeros(1))
    rise = [float(np.asarray(kalman.step(np.ones(1)))[0]) for _ in range(200)]
    return 0.004 * (1 + int(np.argmax(np.array(rise) >= 0.5)))


def angles(found: Run, arm: str) -> float:
    """Largest roll, pitch or yaw of a tool from where it began, [°]."""
    rows = found.signal(arm, "rotation_tool_in_world").reshape(-1, 3, 3)[::10]
    rows = np.swapaxes(rows, 1, 2)
    return float(max(np.abs(zyx_from_rotation(rows[0].T @ R)).max() for R in rows)) / DEGREE


@experiment("X-20", "F-44")
def cooperation() -> dict[str, Finding]:
    """0.25 m towards the follower in 5 s and 0.2 m back; 500 N/m on a rod; the follower keeps pressing with 20 N."""
    found = pair()
    times, force = (
        found.times("follower_1"),
        found.signal("follower_1", "wrench_measured_in_world")[:, 0],
    )
    speed = found.signal("follower_1", "twist_tool_in_world")[:, 0]
    way = found.signal("follower_1", "position_tool_in_world")[:, 0]
    driven = times > 5.0
    related = float(np.corrcoef(force[driven] - 20.0, speed[driven])[0, 1])
    turned = max(angles(found, arm) for arm in ("leader", "follower_1"))
    off = 1e3 * found.value("tracking_error_max")
    there, back = float(way.max() - way[times <= 5.0][-1]), float(way.max() - way[-1])
    tail, middle = force[times > times[-1] - 1.5], force[(times > 10.0) & (times < 11.5)]
    calm = float(np.ptp(tail)) < float(np.ptp(middle)) + 1.0
    delay = delay_of_filter()
    ok = (
        turned < 10.0
        and off < 50.0
        and there > 0.2
        and back > 0.15
        and calm
        and related > 0.8
        and 0.15 <= delay <= 0.2
    )
    note = (
        f"turned {turned:.2f}°; follower {there:.3f} m there, {back:.3f} m back; correlation {related:.2f}; filter "
        f"{delay:.3f} s; trips: {[r.trip.reason for r in found.rig.session.trips] or 'none'}"
    )
    ok &= not found.rig.session.trips
    return {id: Finding(off, ok, note) for id in ("X-20", "F-44")}


@experiment("F-36")
def isolation() -> Finding:
    """Walks everything that a station and its job can reach, up to the world, the telemetry and its own port."""
    rig = build_rig("cooperative", Options(scenario="carry"))
    try:
        common, looked = shared_between(rig)
        ok = not rig.session.bridges and not common
        same = ", ".join(sorted(common)[:5]) or "none"
        note = f"{looked} objects looked at; shared: {same}; bridges: {len(rig.session.bridges)}"
        return Finding(len(common), ok, note)
    finally:
        rig.close()


MUTATIONS = [
    Mutation(
        "spring-reaction-missing",
        "the leader does not feel the spring",
        ("F-32",),
        lambda: changed(
            ToolSpring,
            "push",
            lambda old: lambda self, a, b, t, wa, wb: (old(self, a, b, t, wa, wb), wb.fill(0.0))[0],
        ),
    ),
    Mutation(
        "spring-pulls",
        "the compression spring pulls too",
        ("F-33",),
        lambda: changed(CompressionSpring, "push", lambda old: _pulling),
    ),
    Mutation(
        "leader-cancels-wrong-way",
        "the leader adds the load in place of cancelling it",
        ("S-07", "F-35"),
        lambda: changed(
            ComputedTorque, "effort", lambda old: lambda self, asked: -old(self, asked)
        ),
    ),
    Mutation(
        "arms-share-a-force-law",
        "one force law object serves two followers",
        ("F-36",),
        lambda: changed(DirectForce, "__init__", _sharing),
    ),
]
"""Parts broken on purpose."""


def _pulling(
    self: CompressionSpring, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array
) -> None:
    between = b.position - a.position
    length = float(np.linalg.norm(between))
    self.compression = self.length - length
    wrench_b[:3] = self.stiffness * self.compression * between / length
    wrench_a[:3] = -wrench_b[:3]


def _sharing(old: object) -> object:
    law = ForceLoop(kp=9.0, kd=700.0, mode="hold")

    def init(
        self: DirectForce, arm: Arm, force: ForceLoop | None = None, *rest: object, **named: object
    ) -> None:
        old(self, arm, law, *rest, **named)  # type: ignore[operator]

    return init
