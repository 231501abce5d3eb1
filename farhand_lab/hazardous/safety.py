"""Safety of the rig's follower and leader, and its gripper: C-52 to C-55, C-59."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from farhand.control.haptic.gripper import GripperCommand
from farhand.control.trajectory.paths import Move
from farhand.rigs import Options, build_rig
from farhand.safety.guard import Guard
from farhand.safety.handle import DeadMan, JointWall
from farhand.safety.watches import OverheatStop
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas
from farhand_lab.trial import Run, run, with_moves

Array = np.ndarray
Settings = tuple[tuple[str, object], ...]


@shared
def rammed() -> Run:
    """The rig's own scenario: a strong hand rams the follower into the wall."""
    return run(build_rig("hazardous", Options(scenario="collision")), 5.0)


@dataclass(frozen=True)
class Collision:
    """A collision of the rig; times since 60 N, [s]."""

    hit: float  #: when the force passed 60 N, since the start of the run
    asked: float  #: until the arm was commanded to retreat
    away: float  #: until the tool moved away
    kind: str  #: of the trip
    apart: float  #: from wall to tool at the end, [m]
    peak: float  #: largest force, [N]


def collision() -> Collision:
    """Times and distances of :func:`rammed`."""
    result = rammed()
    rig = result.rig
    assert rig.parts.wall is not None
    t, tool = result.times("follower"), result.signal("follower", "position_tool_in_world")[:, 0]
    force = np.linalg.norm(result.signal("operator", "wrench_contact_raw_in_world")[:, :3], axis=1)
    hit = int(np.argmax(force > 60.0))
    trip = rig.session.trips[0].trip
    away = np.flatnonzero(np.diff(tool[hit:]) < 0.0)
    return Collision(
        hit=float(t[hit]),
        asked=trip.time_ns * 1e-9 - float(t[hit]),
        away=float(t[hit + away[0] + 1] - t[hit]) if len(away) else float("inf"),
        kind=trip.kind,
        apart=float(rig.parts.wall.point[0] - tool[-1]),
        peak=float(force.max()),
    )


@experiment("C-52")
def collision_retreat() -> Finding:
    """From 60 N until the tool moves away; the operator keeps asking to go on throughout."""
    if not rammed().rig.session.trips:
        return Finding(float("nan"), False, "no trip and no retreat")
    seen, rig = collision(), rammed().rig
    assert rig.parts.wall is not None
    stiffness, late = rig.parts.wall.stiffness, rig.session.parameters["follower"]["drives"].delay
    held = any("holds after its retreat" in text for _, text in rig.metrics.history.events)
    note = (
        f"until the tool moves away. It is commanded to {1e3 * seen.asked:.0f} ms after 60 N, by "
        f"the trip {seen.kind!r} (the collision detector waits for a tool that stands, and this "
        f"one still moves into the wall of {1e-3 * stiffness:g} kN/m); the drives act "
        f"{1e3 * late:.0f} ms late and need {1e3 * (seen.away - seen.asked - late):.0f} ms more "
        "to turn within their step limits; "
        f"separation {1e3 * seen.apart:.1f} mm, peak force {seen.peak:.0f} N"
    )
    plot = Figure("Hit, notice, back off, hold", _collision_plot)
    ok = 0.0 <= seen.away <= 0.150 and seen.apart >= 0.005 and held
    return Finding(1e3 * seen.away, bool(ok), note, figures=(plot,))


def _collision_plot():
    from matplotlib.figure import Figure as Canvas

    result = rammed()
    figure = Canvas(figsize=(7, 4.0), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    t = result.times("follower")
    assert result.rig.parts.wall is not None
    wall = result.rig.parts.wall.point[0]
    upper.plot(t, 1e3 * (result.signal("follower", "position_tool_in_world")[:, 0] - wall))
    upper.axhline(0.0, color="k", linewidth=0.8, label="wall")
    force = result.signal("operator", "wrench_contact_raw_in_world")[:, :3]
    lower.plot(result.times("operator"), np.linalg.norm(force, axis=1))
    lower.axhline(60.0, color="k", linestyle=":")
    upper.set(ylabel="tool beyond the wall [mm]", title="A tool that rams a wall backs off")
    lower.set(xlabel="time [s]", ylabel="force [N]")
    upper.legend()
    return figure


@shared
def grasped(*settings: tuple[str, object]) -> tuple[Array, Array, Array]:
    """Times [s], openings [m] and grip forces [N] of the rig's scenario ``grasp``."""
    result = run(build_rig("hazardous", Options(scenario="grasp", settings=list(settings))))
    jaws = result.signal("operator", "gripper")
    return result.times("operator"), jaws[:, 0], jaws[:, 1]


@experiment("C-55")
def gripper() -> Finding:
    """An object of 2000 N/m that breaks at 3 N; without the force limit the same ring breaks it."""
    t, opening, stronger = grasped(("follower.grip.force_limit", GripperCommand().force_limit))
    # Nobody turns the ring, it closes, and it opens
    speeds = [
        float(np.diff(opening[(t >= begin) & (t < end)]).mean()) * 1e3
        for begin, end in ((0.0, 0.4), (0.6, 1.2), (6.1, 6.4))
    ]
    speed = GripperCommand().speed
    ring = bool(np.allclose(speeds, [0.0, -speed, speed], atol=1e-6))
    force = grasped()[2]
    held = float(force[(t > 5.0) & (t < 6.0)].mean())
    note = (
        f"holds {held:.2f} N with the scenario's limit of 2 N, {stronger.max():.0f} N with that of "
        f"the rig; jaws at {', '.join(f'{1e3 * v:.1f}' for v in speeds)} mm/s with the ring in the "
        "middle, at close and at open"
    )
    ok = ring and force.max() <= 3.0 and abs(held - 2.0) <= 0.1 and stronger.max() > 3.0
    return Finding(float(force.max()), bool(ok), note)


HOT: Settings = (
    ("follower.sensor.final", 160.0),
    ("follower.sensor.heating", 0.8),
    ("follower.sensor.slope", 0.0),
)
"""A sensor that passes 120 °C after a second, in full motion, and does not drift meanwhile."""


@experiment("C-59")
def overheat() -> Finding:
    """The rig's sensor passes 120 °C in motion: time to rest; resets while hot and when cool."""
    rig = build_rig("hazardous", Options(scenario="free", settings=list(HOT)))
    result = run(rig, 4.5, "2.5:reset", "3:set follower.sensor.final=21", "3.5:reset", "3.6:engage")
    trips = [(record.trip.kind, record.trip.time_ns * 1e-9) for record in rig.session.trips]
    t, v = result.times("follower"), np.abs(result.signal("follower", "v")).max(axis=1)
    gain = result.signal("coupling", "engagement")[:, 0]
    coupled = dict(zip((2.9, 3.4, 4.4), np.interp((2.9, 3.4, 4.4), t, gain), strict=True))
    if not trips:
        return Finding(float("nan"), False, "no trip")
    first = trips[0][1]
    at = float(np.interp(first, t, v))
    stopped = float(t[(v > 1e-3) & (t < 3.0)].max()) - first
    hot = 160.0 - 139.0 * np.exp(-first / 0.8)
    note = (
        f"tripped at {hot:.1f} °C while a joint moved at {at:.2f} rad/s; a reset while hot trips "
        f"again, a cooled sensor stays tripped until it is reset; drives not tripped"
    )
    ok = [kind for kind, _ in trips] == ["overheat", "overheat"] and abs(trips[1][1] - 2.5) < 0.01
    ok = ok and 119.9 < hot < 121.0 and at > 0.05 and 0.0 < stopped < 0.5
    ok = ok and coupled[2.9] == coupled[3.4] == 0.0 and coupled[4.4] == 1.0
    return Finding(1e3 * stopped, bool(ok and rig.session.stations[1].plant.fault is None), note)


PUSHED = Move(0.2, 4.0, (-0.48, 0.0, 0.09), label="to the limit of joint 4")


@shared
def pushed(rate: float, *settings: tuple[str, object]) -> Run:
    """The rig's leader, led with the rig's hand towards the limit of joint 4."""
    made = [("rig.rate", rate), *settings]
    rig = build_rig("hazardous", Options(scenario="free", law="none", settings=made))
    return run(with_moves(rig, PUSHED), 6.0)


def _clearance(result: Run) -> float:
    """Smallest distance of any joint from its limit, [rad]."""
    limits = result.rig.world.placed["leader"].robot.limits
    q = result.signal("leader", "q")
    return float(np.minimum(q - limits.lower, limits.upper - q).min())


def _steps(result: Run) -> float:
    """Largest change of the torque on joint 4 in a tick, after the take-over, [N·m]."""
    torque = result.signal("leader", "torque_commanded")[:, 3]
    return float(np.abs(np.diff(torque))[result.times("leader")[1:] > 0.5].max())


@experiment("C-53")
def joint_wall() -> Finding:
    """Torque steps must shrink with the tick; without the wall the same push is stopped."""
    result = pushed(1000.0)
    degrees = float(np.degrees(_clearance(result)))
    coarse, fine = _steps(result), _steps(pushed(2000.0))
    force = float(
        np.linalg.norm(result.signal("leader", "wrench_measured_in_world")[-100:, :3], axis=1).min()
    )
    none = pushed(1000.0, ("leader.wall.stiffness", 0.0), ("leader.wall.damping", 0.0))
    without = [record.trip.reason for record in none.rig.session.trips]
    note = (
        f"held with {force:.0f} N; largest torque change {coarse:.3f} N·m in 1 ms, {fine:.3f} in "
        f"0.5 ms; trips: {len(result.rig.session.trips)}; without the wall: "
        f"{without[0] if without else 'none'}"
    )
    ok = degrees >= 1.0 and force >= 30.0 and fine < 0.6 * coarse
    return Finding(degrees, bool(ok and not result.rig.session.trips and without), note)


SPEED = 0.25  # [m/s], largest the hand intends, as in sources/hazardous §3.23
FREQUENCIES = (0.5, 1.0, 1.5, 2.0, 3.0)  # [Hz], from a calm to a hurried hand
PHASES = 4  # moments of half a period at which the handle is let go
STOP_LIMIT_S = 0.1
STEADY = 1.0  # [s] of motion before


def _strokes(frequency: float, until: float) -> list[Move]:
    """Back and forth along y, with :data:`SPEED` in the middle of every stroke."""
    length = 0.5 / frequency
    # The largest speed of a move is 15/8 of its mean
    way = SPEED * length * 8.0 / 15.0
    count = int(np.ceil(until / length)) + 1
    return [Move(k * length, length, (0.0, (-1) ** k * way, 0.0)) for k in range(count)]


@dataclass(frozen=True)
class Release:
    """One release: speed [m/s], stopping time [s], accelerations [m/s²]."""

    speed: float
    stopped: float
    spike: float
    free: float

    @property
    def allowed(self) -> float:
        """The largest acceleration by docs/errata.md C-54, [m/s²]."""
        return max(self.free, 1.5 * self.speed / STOP_LIMIT_S)


@shared
def released(frequency: float, phase: int) -> tuple[float, Run]:
    """The rig, let go in motion: when, [s], and the run."""
    moment = round(STEADY + phase / (2.0 * PHASES * frequency), 3)
    rig = build_rig("hazardous", Options(scenario="free"))
    commands = f"{moment}:set leader.handle.grip=0", f"{moment}:set hand.open=true"
    rig = with_moves(rig, *_strokes(frequency, moment))
    return moment, run(rig, moment + 0.4, *commands)


def _let_go(frequency: float, phase: int) -> Release:
    """Rest is below 5 mm/s."""
    at, result = released(frequency, phase)
    t = result.times("leader")
    velocity = result.signal("leader", "twist_tool_in_world")[:, :3]
    speed = np.linalg.norm(velocity, axis=1)
    acceleration = np.linalg.norm(np.diff(velocity, axis=0, prepend=velocity[:1]), axis=1) * 1e3
    moving = t[(t >= at) & (speed > 0.005)]
    return Release(
        speed=float(speed[t < at][-1]),
        stopped=float(moving[-1]) - at if len(moving) else 0.0,
        spike=float(acceleration[t >= at].max()),
        free=float(acceleration[(t > 0.5 * STEADY) & (t < at)].max()),
    )


@shared
def held_drift() -> tuple[float, float]:
    """How far 20 N move a leader that was let go, [mm], and the force at the end, [N]."""
    rig = build_rig("hazardous", Options(scenario="free"))
    rig = with_moves(rig, Move(0.2, 1.0, (0.0, 0.1, 0.0)))
    soft = ("set hand.stiffness=20", "set hand.damping=5", "set hand.open=false")
    push = [f"1.6:{word}" for word in soft] + ["1.7:set hand.drag=0,1,0"]
    result = run(rig, 2.8, "0.7:set leader.handle.grip=0", "0.7:set hand.open=true", *push)
    t, tool = result.times("leader"), result.signal("leader", "position_tool_in_world")
    rest = tool[np.searchsorted(t, 1.6)]
    force = result.signal("leader", "wrench_measured_in_world")[-100:, :3].mean(axis=0)
    moved = np.linalg.norm(tool[t > 1.6] - rest, axis=1).max()
    return 1e3 * float(moved), float(np.linalg.norm(force))


@shared
def regrips(times: int) -> int:
    """How many grips in a row coupled the rig again in motion."""
    rig = build_rig("hazardous", Options(scenario="free"))
    rig = with_moves(rig, *_strokes(1.0, 1.0 + 0.5 * times))
    commands = [
        f"{1.0 + 0.5 * k + later:g}:set leader.handle.grip={grip}"
        for k in range(times)
        for later, grip in ((0.0, 0), (0.2, 10))
    ]
    result = run(rig, 1.0 + 0.5 * times, *commands)
    coupled = [text for _, text in rig.metrics.history.events if "gripped again: coupled" in text]
    return len(coupled) if not result.rig.session.trips else 0


@experiment("C-54")
def dead_man() -> Finding:
    """The rig's hand at 0.5 to 3 Hz lets go at four moments of half a period; the worst counts."""
    cases = list(itertools.product(FREQUENCIES, range(PHASES)))
    releases = {case: _let_go(*case) for case in cases}
    slowest = max(releases, key=lambda case: releases[case].stopped)
    late = sum(one.stopped > STOP_LIMIT_S for one in releases.values())
    stopped, hardest = releases[slowest].stopped, max(releases.values(), key=lambda r: r.spike)
    hard = sum(one.spike > one.allowed for one in releases.values())
    (drift, force), good = held_drift(), regrips(100)
    believed, (kg, turning) = DeadMan(), _presented()
    note = (
        f"{late} of {len(cases)} releases take longer than 100 ms, the slowest at {slowest[0]:g} "
        f"Hz from {releases[slowest].speed:.2f} m/s: the hold assumes {believed.mass:g} kg and "
        f"{believed.inertia:g} kg·m², the leader presents {kg.min():.0f} to {kg.max():.0f} kg and "
        f"{turning.min():.2f} to {turning.max():.2f} kg·m², which the hold's spring has to make up "
        f"for. Hardest stop {hardest.spike:.2f} m/s² from "
        f"{hardest.speed:.2f} m/s ({hardest.allowed:.2f} allowed by docs/errata.md C-54, "
        f"{hard} stops are harder than allowed); drift {drift:.1f} mm under {force:.0f} N; "
        f"{good} of 100 re-grips"
    )
    plot = Figure("Let go", _release_plot)
    ok = stopped <= STOP_LIMIT_S and drift < 5.0 and hard == 0 and good == 100
    return Finding(1e3 * stopped, ok, note, corrected=True, figures=(plot,))


def _presented() -> tuple[Array, Array]:
    """Masses [kg] and inertias [kg·m²] that the leader presents along and about three axes."""
    arm = released(1.0, 0)[1].rig.session.stations[0].arm
    presented = np.diag(np.linalg.inv(arm.J @ np.linalg.solve(arm.M, arm.J.T)))
    return presented[:3], presented[3:]


def _release_plot():
    labels = "time since the release [s]", "speed of the handle [m/s]"
    figure, axes = canvas(*labels, "Let go, the handle comes to rest and is held")
    for frequency in (0.5, 1.0, 2.0):
        at, result = released(frequency, 2)
        t = result.times("leader")
        speed = np.linalg.norm(result.signal("leader", "twist_tool_in_world")[:, :3], axis=1)
        axes.plot(t[t > at - 0.3] - at, speed[t > at - 0.3], label=f"hand at {frequency:g} Hz")
    axes.axvline(STOP_LIMIT_S, color="0.6", linewidth=0.8)
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(OverheatStop, "check", "C-59")
def overheat_limit(check, self, temperature, flag, now_ns):
    """The sensor is believed to be 20 °C cooler, and its own flag is not looked at."""
    return check(self, temperature - 20.0, False, now_ns)


@MUTATIONS.of(GripperCommand, "velocity", "C-55")
def grip_force(velocity, self, ring, force):
    """The grip force is not looked at."""
    return velocity(self, ring, None)


@MUTATIONS.of(JointWall, "_push", "C-53")
def wall_entry(push, self, depth, inward):
    """The wall's damper is there at once."""
    return np.where(
        depth > 0.0, self.stiffness * depth + self.damping * np.maximum(inward, 0.0), 0.0
    )


@MUTATIONS.of(JointWall, "torque", "C-53")
def soft_wall(torque, self, q, v):
    """The wall has a tenth of its torque."""
    return 0.1 * torque(self, q, v)


@MUTATIONS.of(Guard, "_trip", "C-53")
def no_stop(_, self, *reason):
    """Limits stop nothing, so that no stop means nothing."""
