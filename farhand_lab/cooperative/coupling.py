"""Springs as the only link between arms: F-32, F-33, F-35, F-36, F-44, S-07, S-08 and X-20."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.direct_force import DirectForce, ForceLoop
from farhand.control.tool.task import PoseLoop, TaskController
from farhand.plants.plant import Sample
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import add_payload
from farhand.spatial import Array, rotation_from_vector
from farhand.world.touches import CompressionSpring, GuidedSpring, Tie, Tool, ToolSpring
from farhand_lab.cooperative.bench import DEGREE, GRAVITY, POSTURES, TABLE, BenchLog, advanced, path
from farhand_lab.cooperative.isolation import shared_between
from farhand_lab.cooperative.machines import trial, trips, turned
from farhand_lab.cooperative.sensing import FilterBench
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations


def random_tool(rng: np.random.Generator) -> Tool:
    """A tool at a random place with a random twist."""
    position = rng.normal(size=3) * 0.05
    rotation = rotation_from_vector(rng.normal(size=3) * 0.3)
    return Tool(position, rotation, rng.normal(size=6))


def _moved(tool: Tool, t: float) -> Tool:
    """Where a tool is after ``t`` [s]."""
    turn = rotation_from_vector(t * tool.twist[3:])
    return Tool(tool.position + t * tool.twist[:3], turn @ tool.rotation, tool.twist)


def power_gap(tie: Tie, rng: np.random.Generator) -> tuple[float, float]:
    """Largest unbalanced force or moment [N, N·m], and power against change of energy [W]."""
    a, b, on_a, on_b = random_tool(rng), random_tool(rng), np.zeros(6), np.zeros(6)
    tie.push(a, b, 0.0, on_a, on_b)
    gap = np.abs(on_a[:3] + on_b[:3]).max()
    # The moments of a spring of zero length do not balance
    if not isinstance(tie, ToolSpring):
        moments = on_a[3:] + on_b[3:] + np.cross(a.position, on_a[:3])
        gap = max(gap, np.abs(moments + np.cross(b.position, on_b[:3])).max())
    power, h = float(on_a @ a.twist + on_b @ b.twist), 1e-6
    stored = []
    for step in (-h, h):
        tie.push(_moved(a, step), _moved(b, step), 0.0, np.zeros(6), np.zeros(6))
        stored.append(tie.stored)
    return float(gap), abs(power + (stored[1] - stored[0]) / (2.0 * h))


def press(tie: Tie, length: float) -> float:
    """Force on the second of two aligned tools that are ``length`` [m] apart, [N]."""
    ends = [Tool(np.array([0.0, 0.0, z]), np.eye(3), np.zeros(6)) for z in (0.0, length)]
    on_a, on_b = np.zeros(6), np.zeros(6)
    tie.push(ends[0], ends[1], 0.0, on_a, on_b)
    return float(on_b[2])


@experiment("F-32", "F-33")
def springs() -> dict[str, Finding]:
    """200 random pairs of tools; power into both tools against the loss of stored energy."""
    rng, rows = generator("springs"), []
    for _ in range(200):
        ties: tuple[Tie, ...] = (
            ToolSpring(stiffness=200.0, rotational_stiffness=5.0),
            CompressionSpring(length=0.5),
            GuidedSpring(length=0.5),
        )
        rows += [power_gap(tie, rng) for tie in ties]
    gap, power = (max(column) for column in zip(*rows, strict=True))
    presses: tuple[Tie, ...] = (CompressionSpring(), GuidedSpring())
    pushes = [press(tie, 0.10) for tie in presses]
    tension = max(abs(press(tie, length)) for tie in presses for length in (0.18, 0.25))
    right = all(abs(push - 40.0) < 1e-9 for push in pushes)
    note = (
        f"power and stored energy differ by {power:.1e} W; moments balance for all but the spring "
        "of zero length"
    )
    compressed = f"compressed by 80 mm: {pushes[0]:.1f} N of 40 N"
    return {
        "F-32": Finding(gap, gap < 1e-12 and power < 1e-5, note),
        "F-33": Finding(tension, tension == 0.0 and right, compressed),
    }


class IdealArm:
    """An arm whose plant is the controller's own model; no dead zone."""

    def __init__(self, controller: TaskController) -> None:
        controller.zone.force = controller.zone.moment = 0.0
        controller.zone.refresh()
        self.controller = controller
        self.arm = controller.arm
        self.felt = np.zeros(6)
        self.request = ControlRequest()
        self.request.valid = True
        self.request.gain = 1.0
        self.request.wrench = self.felt
        self.tool = Tool(self.arm.position, self.arm.rotation, self.arm.twist)

    def accelerate(self, t: float) -> Array:
        """Joint acceleration at time ``t`` under the felt wrench, [rad/s²]."""
        torque = self.controller.step(self.request, round(t * 1e9)).value
        return np.linalg.solve(self.arm.M, torque - self.arm.bias + self.felt.dot(self.arm.J))


def _model() -> Arm:
    robot = load_robot("rx160").edited(add_payload(2.291, (0.0, 0.0, 0.07), (0.006, 0.006, 0.003)))
    return Arm.of(robot, gravity=GRAVITY)


@shared
def ideal_pair(name: str) -> tuple[BenchLog, BenchLog]:
    """Leader and follower of the published simulation with springs between their tools."""
    loop = ComputedTorque(_model(), PoseLoop(kp=100.0, kd=20.0, kpo=100.0, kdo=20.0))
    guide, step, sample = path(name), 0.004, Sample(6, 6)
    loop.follow(guide, 0)
    leader = IdealArm(loop)
    follower = IdealArm(DirectForce(_model(), ForceLoop(kp=100.0, kd=20.0, kd_moment=20.0)))
    spring = ToolSpring(stiffness=200.0, rotational_stiffness=5.0)
    q = np.array(POSTURES[name][0][0]) * DEGREE if name in POSTURES else TABLE
    state = np.concatenate([q, np.zeros(6), q, np.zeros(6)])
    ticks = round(guide.duration / step) + 1
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
            log.note(round(t * 1e9), sample, side.controller, loop.reference)
        state = advanced(rate, t, state, k1, step)
    return logs


def sizes(log: BenchLog) -> tuple[Array, Array]:
    """Distance [mm] and angle [°] from the leader's path, over time."""
    sine = np.minimum(np.linalg.norm(log.turn, axis=1), 1.0)
    return 1e3 * np.linalg.norm(log.error, axis=1), np.degrees(np.arcsin(sine))


@experiment("S-07", "S-08", "F-35")
def ideal_pairs() -> dict[str, Finding]:
    """Gains of 100 and 20, k_e = 200 N/m, k_t = 5 N·m; the leader cancels the spring's reaction."""
    led, followed = (sizes(log) for log in ideal_pair("T3.1"))
    most, rms = float(followed[0].max()), float(np.sqrt(np.mean(followed[0] ** 2)))
    ok7 = led[0].max() < 0.1 and most < 5.0
    note7 = f"leader {led[0].max():.1e} mm; follower {rms:.2f} RMS, {followed[1].max():.2f}° max"
    ends, words, near = [], [], []
    for name in ("T3.3", "T3.3 feasible"):
        log = ideal_pair(name)[1]
        away, angle = sizes(log)
        spike = float(log.time[int(np.argmax(np.gradient(np.gradient(angle))[10:-10] ** 2)) + 10])
        near.append(min(abs(spike - point.time) for point in path(name).points))
        ends.append((float(away[-1]), float(angle[-1])))
        words.append(
            f"{name}: end {away[-1]:.2f} mm, {angle[-1]:.2f}°, max {away.max():.1f} mm, "
            f"{angle.max():.2f}°, sharpest bend at {spike:.2f} s"
        )
    ok8 = all(mm <= 5.0 and deg <= 3.0 for mm, deg in ends) and max(near) <= 0.1
    return {
        "S-07": Finding(most, ok7, note7),
        "S-08": Finding(max(mm for mm, _ in ends), ok8, "; ".join(words)),
        "F-35": Finding(most, ok7 and ok8, "both simulations run as published"),
    }


def delay_of_filter() -> float:
    """Time to half of a step of the settled force filter with r = 500, [s]."""
    settled = FilterBench(500.0, 4000)
    rise = [settled.step(1.0) for _ in range(200)]
    return 0.004 * (1 + int(np.argmax(np.array(rise) >= 0.5)))


@experiment("X-20", "F-44")
def cooperation() -> Finding:
    """0.25 m towards the follower and 0.2 m back; 500 N/m on a rod; it keeps pressing with 20 N."""
    result = trial("pair")
    times = result.times("follower_1")
    force = result.signal("follower_1", "wrench_measured_in_world")[:, 0]
    speed = result.signal("follower_1", "twist_tool_in_world")[:, 0]
    x = result.signal("follower_1", "position_tool_in_world")[:, 0]
    driven = times > 5.0
    related = float(np.corrcoef(force[driven] - 20.0, speed[driven])[0, 1])
    angle = max(turned(result, arm) for arm in ("leader", "follower_1"))
    off = 1e3 * result.value("tracking_error_max")
    there, back = float(x.max() - x[times <= 5.0][-1]), float(x.max() - x[-1])
    tail, middle = force[times > times[-1] - 1.5], force[(times > 10.0) & (times < 11.5)]
    calm = float(np.ptp(tail)) < float(np.ptp(middle)) + 1.0
    delay = delay_of_filter()
    ok = angle < 10.0 and off < 50.0 and there > 0.2 and back > 0.15 and calm
    ok = ok and related > 0.8 and 0.15 <= delay <= 0.2 and not trips(result)
    note = (
        f"turned {angle:.2f}°; follower {there:.3f} m there, {back:.3f} m back; "
        f"correlation {related:.2f}; filter {delay:.3f} s; trips: {trips(result) or 'none'}"
    )
    return Finding(off, ok, note)


@experiment("F-36")
def isolation() -> Finding:
    """Walks all that a station and its job can reach, up to the world, telemetry and own port."""
    rig = build_rig("cooperative", Options(scenario="carry"))
    try:
        common, count = shared_between(rig)
        bridges = len(rig.session.bridges)
        names = ", ".join(sorted(common)[:5]) or "none"
        note = f"{count} objects checked; shared: {names}; bridges: {bridges}"
        return Finding(len(common), not bridges and not common, note)
    finally:
        rig.close()


MUTATIONS = Mutations()


@MUTATIONS.of(ToolSpring, "push", "F-32")
def spring_reaction_missing(push, self, a, b, t, wrench_a, wrench_b) -> None:
    """The leader does not feel the spring."""
    push(self, a, b, t, wrench_a, wrench_b)
    wrench_b.fill(0.0)


@MUTATIONS.of(CompressionSpring, "push", "F-33")
def spring_pulls(push, self, a, b, t, wrench_a, wrench_b) -> None:
    """The compression spring pulls too."""
    between = b.position - a.position
    length = float(np.linalg.norm(between))
    self.compression = self.length - length
    wrench_b[:3] = self.stiffness * self.compression * between / length
    wrench_a[:3] = -wrench_b[:3]


@MUTATIONS.of(ComputedTorque, "effort", "S-07 F-35")
def leader_cancels_wrong_way(effort, self, request) -> Array:
    """The leader adds the load instead of cancelling it."""
    return -effort(self, request)


SHARED_LAW = ForceLoop(kp=9.0, kd=700.0, mode="hold")


@MUTATIONS.of(DirectForce, "__init__", "F-36")
def arms_share_a_force_law(init, self, arm, force=None, *rest, **named) -> None:
    """One force law object serves two followers."""
    init(self, arm, SHARED_LAW, *rest, **named)
