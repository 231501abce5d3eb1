"""Safety of follower and leader, and the gripper: C-52 to C-55, C-59."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from farhand.control.haptic.gripper import GripperCommand
from farhand.control.haptic.impedance import CartesianImpedance
from farhand.control.joint.loops import LimitedPD
from farhand.errors import BadValue
from farhand.safety.handle import DeadMan, JointWall
from farhand.safety.retreating import CollisionRetreat, Phase
from farhand.safety.watches import OverheatStop
from farhand.spatial import rotation_from_vector
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.haptics import MASS, TICK, SimulatedHandle
from farhand_lab.hazardous.joint_servo import JointServo
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

LEVER = 0.5  # [m], from the pushing joint to the tool
YIELD = 1.0 / (1.0 / 2e4 + 1.0 / 1e5)
"""Arm of 2e4 N/m against metal of 1e5 N/m (assumed), in series, [N/m]."""

STALL = 100.0  # [N], E-18
WALL = 0.05  # [m] ahead of the tool
# Of joint 2, Table 2.3
LIMITS: dict[str, Any] = {"velocity_limit": np.array([0.5]), "step_limit": np.array([0.06])}


@shared
def collision() -> dict[str, Array]:
    """The operator leads the tool at 0.1 m/s into a wall; one row per control step."""
    servo, controller, retreat = JointServo(**LIMITS), LimitedPD(**LIMITS), CollisionRetreat()
    dt, noise, rows, last = servo.period, generator("hazardous-collision"), [], 0.0
    for i in range(round(3.0 / dt)):
        tool = LEVER * float(servo.q[0])
        force = YIELD * max(tool - WALL, 0.0)
        felt = np.array([-force, 0.0, 0.0]) + noise.normal(0.0, 2.5, 3)
        commanded = LEVER * servo.speed * abs(float(controller.command[0]))
        place, speed = np.array([tool, 0.0, 0.0]), abs(tool - last) / dt
        goal = retreat.step(place, speed, commanded, felt, dt)
        last, phase = tool, list(Phase).index(retreat.phase)
        target = min(0.1 * i * dt, 0.15) if goal is None else float(goal[0])
        servo.step(controller.step(np.array([target / LEVER]), servo.q, dt))
        # The motors stall
        servo.q = np.minimum(servo.q, (WALL + STALL / YIELD) / LEVER)
        rows.append((i * dt, tool, force, phase, target))
    return dict(zip(("t", "tool", "force", "phase", "target"), np.array(rows).T, strict=True))


@experiment("C-52")
def collision_retreat() -> Finding:
    """From 60 N until the tool moves away; the operator keeps asking to go on throughout."""
    log = collision()
    hit = float(log["t"][log["force"] > 60.0][0])
    retreating = log["t"][log["phase"] == 1.0]
    if not len(retreating):
        return Finding(float("nan"), False, "no retreat")
    begun = float(retreating[0]) - hit
    away = log["t"][1:][(np.diff(log["tool"]) < 0.0) & (log["t"][1:] > retreating[0])]
    start = float(away[0]) - hit if len(away) else float("inf")
    apart = 1e3 * (WALL - float(log["tool"][-1]))
    note = (
        f"until the tool moves away; it is commanded to after {1e3 * begun:.0f} ms (the arm stalls "
        f"after {1e3 * (begun - 0.05):.0f} ms, then 50 ms of patience, in which it takes back what "
        f"presses on), the step limit needs {1e3 * (start - begun - 0.05):.0f} ms more, and the "
        f"drives act 50 ms late; separation {apart:.1f} mm, peak force {log['force'].max():.0f} N"
    )
    plot = Figure("Hit, notice, back off, hold", lambda: _collision_plot(log))
    ok = 0.0 <= start <= 0.150 and apart >= 5.0 and log["phase"][-1] == 2.0
    return Finding(1e3 * start, bool(ok), note, figures=(plot,))


def _grasp(stiffness: float, limited: bool) -> tuple[float, float, float]:
    """Largest and final grip force [N] on an object 5 mm away, and the last speed [m/s]."""
    command = GripperCommand(force_limit=2.0)
    closed, readings, force, largest, v = 0.0, [0.0] * 3, 0.0, 0.0, 0.0
    for _ in range(300):  # 100 Hz; a reading is 20 ms old
        v = command.velocity(1, readings[-3] if limited else None)
        closed += 0.01 * v
        force = stiffness * max(closed - 0.005, 0.0)
        largest = max(largest, force)
        readings.append(force)
    return largest, force, v


@experiment("C-55")
def gripper() -> Finding:
    """An object of 2000 N/m that breaks at 3 N; without the force limit the same ring breaks it."""
    command = GripperCommand()
    ring = [command.velocity(s, 0.0) for s in (-1, 1, 0)] == [-command.speed, command.speed, 0.0]
    largest, final, v = _grasp(2000.0, True)
    blind = _grasp(2000.0, False)[0]
    whole = max(
        (k for k in np.arange(500.0, 20_001.0, 500.0) if _grasp(k, True)[0] <= 3.0), default=0.0
    )
    note = (
        f"holds {final:.2f} N at {1e3 * abs(v):.2f} mm/s; without the force {blind:.0f} N; objects "
        f"up to {whole:.0f} N/m stay below 3 N (reading 20 ms old)"
    )
    ok = ring and largest <= 3.0 and abs(final - 2.0) <= 0.1 and blind > 3.0
    return Finding(largest, bool(ok), note)


@experiment("C-59")
def overheat() -> Finding:
    """All joints at full speed when the sensor passes 120 °C: time to rest, no drive trip."""
    servo, controller, stop = JointServo(), LimitedPD(), OverheatStop()
    dt, log = servo.period, []
    for i in range(round(12.0 / dt)):
        t = i * dt
        temperature = 115.0 + t if t < 8.0 else 123.0 - 20.0 * (t - 8.0)
        free = stop.check(temperature, False, round(t * 1e9))
        servo.step(controller.step(servo.q + 1.0 if free else servo.q, servo.q, dt))
        if t < 8.0 and not free:
            log.append(_refused(stop))
        if np.abs(servo.v).max() > 1e-6:
            moving = t + dt
    stopped = moving - stop.trip.time_ns * 1e-9 if stop.trip else float("nan")
    early = stop.trip is not None and abs(stop.trip.time_ns * 1e-9 - 5.0) < 2.0 * dt
    stop.reset()
    ok = early and 0.0 < stopped < 0.5 and not servo.tripped.any() and all(log)
    ok = ok and stop.check(100.0, False, 0)
    flagged = not stop.check(None, True, 0) and stop.trip is not None
    note = (
        "latched while it cooled down; reset refused while hot; the sensor's own flag stops too; "
        "drives not tripped"
    )
    return Finding(1e3 * stopped, bool(ok and flagged), note)


def _refused(stop: OverheatStop) -> bool:
    """Whether a reset is refused."""
    try:
        stop.reset()
    except BadValue:
        return True
    return False


def _collision_plot(log: dict[str, Array]):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 4.0), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(log["t"], 1e3 * log["target"], ":", label="commanded")
    upper.plot(log["t"], 1e3 * log["tool"], label="tool, by its joints")
    upper.axhline(1e3 * WALL, color="k", linewidth=0.8, label="wall")
    lower.plot(log["t"], log["force"])
    lower.axhline(60.0, color="k", linestyle=":")
    upper.set(ylabel="position [mm]", title="A stuck arm backs off and waits")
    lower.set(xlabel="time [s]", ylabel="force [N]")
    upper.legend()
    return figure


SPEED = 0.25  # [m/s], largest the hand intends, as in sources/hazardous §3.23
FREQUENCIES = (0.5, 1.0, 1.5, 2.0, 3.0)  # [Hz], from a calm to a hurried hand
PHASES = 4  # moments of half a period at which the handle is let go
STOP_LIMIT_S = 0.1
# Model mass over true mass of the leader; known to a fifth (assumed)
BELIEVED = (0.8, 1.2)
STEADY = 1.0  # [s] of motion before
UPDATES = round(1.0 / (350.0 * TICK))  # ticks between updates of the leader
IIWA = np.radians([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 175.0])
HANDLE_LEVER = 0.8  # [m], of the hand's push about the joint
INERTIA = MASS[0] * HANDLE_LEVER**2  # [kg·m²]


def _pushed(speed: float, dt: float = 1e-3) -> tuple[float, float]:
    """Smallest clearance [rad] of any joint, and largest change of wall torque in a tick [N·m].

    Every joint of the leader enters its wall at ``speed`` [rad/s] under 30 N at 0.8 m, at both ends
    of its range.
    """
    wall = JointWall()
    wall.watch(-IIWA, IIWA)
    ends = np.array([[1.0], [-1.0]])
    q, v = ends * (IIWA - wall.zone - 0.02), ends * np.full(7, speed)
    torque, jump, clear = np.zeros((2, 7)), 0.0, np.inf
    for _ in range(round(1.5 / dt)):
        before, torque = torque, wall.torque(q, v)
        jump = max(jump, float(np.abs(torque - before).max()))
        v = v + dt * (ends * 30.0 * HANDLE_LEVER + torque - 8.0 * HANDLE_LEVER**2 * v) / INERTIA
        q = q + dt * v
        clear = min(clear, float(wall.clearance(q).min()))
    return clear, jump


@experiment("C-53")
def joint_wall() -> Finding:
    """Seven joints enter both walls at 0.25 m/s; torque steps must shrink with the tick."""
    speed = 0.25 / HANDLE_LEVER
    (clear, coarse), fine = _pushed(speed), _pushed(speed, 5e-4)[1]
    hand = np.arange(0.25, 3.0, 0.25)
    held = [s for s in hand if np.degrees(_pushed(s / HANDLE_LEVER)[0]) >= 1.0]
    note = (
        f"largest torque change {coarse:.2f} N·m in 1 ms, {fine:.2f} in 0.5 ms; holds 1° up to a "
        f"hand speed of {max(held, default=0.0):.2f} m/s; at rest the closed form gives "
        f"{10.0 - np.degrees(24.0 / 200.0):.1f}°"
    )
    degrees = float(np.degrees(clear))
    return Finding(degrees, bool(degrees >= 1.0 and fine < 0.6 * coarse), note)


class HeldHandle:
    """A leader with a dead-man switch, led along a sine in x by a hand.

    Args:
        frequency: of the sine, [Hz]; its largest speed is :data:`SPEED`.
        known: mass that the controller believes over the true one, [-].
    """

    def __init__(self, frequency: float = 2.0, known: float = 1.0) -> None:
        self.handle, self.spring = SimulatedHandle(), CartesianImpedance()
        self.guard = DeadMan(mass=known * MASS[0])
        #: time, x, speed, acceleration, enabled, one per tick
        self.rows: list[tuple[float, float, float, float, bool]] = []
        self._omega = 2.0 * np.pi * frequency
        self._tick, self._enabled = 0, False
        self._read: Array = np.zeros(6)

    def run(self, seconds: float, gripped: bool, push: float = 0.0) -> None:
        """Continue for this long [s], with a push along x [N] that grows within 0.3 s."""
        begin = self._tick
        for self._tick in range(begin, begin + round(seconds / TICK)):
            x, v = self.handle.x, self.handle.v
            rotation = rotation_from_vector(x[3:])
            if self._tick % UPDATES == 0:
                # The device measures no velocity
                dt = UPDATES * TICK
                state = x[:3], rotation, (x - self._read) / dt
                self._enabled = self.guard.step(self.spring, 5.0 if gripped else 0.0, *state, dt)
                self._read = x.copy()
            hand = np.zeros(6)
            t = self._tick * TICK
            if gripped:
                phase = self._omega * t
                target, speed = SPEED / self._omega * np.sin(phase), SPEED * np.cos(phase)
                hand[0] = 300.0 * (target - x[0]) + 20.0 * (speed - v[0])
            hand[0] += push * min((self._tick - begin) * TICK / 0.3, 1.0)
            self.handle.step(hand + self.spring.wrench(x[:3], rotation, v))
            self.rows.append((t, x[0], v[0], (self.handle.v[0] - v[0]) / TICK, self._enabled))
        self._tick += 1


class Release(NamedTuple):
    """One release: speed [m/s], stopping time [s], drift [m], accelerations [m/s²]."""

    speed: float
    stopped: float
    drift: float
    spike: float
    free: float

    @property
    def allowed(self) -> float:
        """The largest acceleration by docs/errata.md C-54, [m/s²]."""
        return max(self.free, 1.5 * self.speed / STOP_LIMIT_S)


@shared
def released(
    frequency: float, phase: int = 0, known: float = 1.0
) -> tuple[float, dict[str, Array]]:
    """Time of release [s] and the log: motion, release, a push of 20 N, a new grip."""
    held = HeldHandle(frequency, known)
    moment = STEADY + phase / (2.0 * PHASES * frequency)
    held.run(moment, True)
    held.run(0.3, False)
    held.run(0.6, False, 20.0)
    held.run(0.3, True)
    return moment, dict(zip(("t", "x", "v", "a", "enabled"), np.array(held.rows).T, strict=True))


def _let_go(frequency: float, phase: int = 0, known: float = 1.0) -> Release:
    """Rest is below 5 mm/s."""
    at, log = released(frequency, phase, known)
    t = log["t"]
    loose, pushed = (t >= at) & (t < at + 0.3), (t >= at + 0.3) & (t < at + 0.9)
    moving = t[loose & (np.abs(log["v"]) > 0.005)]
    rest = float(log["x"][loose][-1])
    before = (t > 0.5 * STEADY) & (t < at)
    return Release(
        speed=abs(float(log["v"][loose][0])),
        stopped=float(moving[-1]) - at if len(moving) else 0.0,
        drift=float(np.abs(log["x"][pushed] - rest).max()),
        spike=float(np.abs(log["a"][loose]).max()),
        free=float(np.abs(log["a"][before]).max()),
    )


@experiment("C-54")
def dead_man() -> Finding:
    """A hand of 0.5 to 3 Hz lets go at four moments of half a period; the worst counts.

    Rest and drift are judged with the leader's mass known, and with a fifth too little and too
    much; acceleration with the mass known, since its bound comes from a stop that knows it.
    """
    exact = list(itertools.product(FREQUENCIES, range(PHASES), (1.0,)))
    cases = exact + list(itertools.product(FREQUENCIES[1::2], range(PHASES), BELIEVED))
    releases = {case: _let_go(*case) for case in cases}
    stopped = max(r.stopped for r in releases.values())
    drift = max(r.drift for r in releases.values())
    known = [releases[case] for case in exact]
    harder = sorted({case[0] for case in exact if releases[case].spike > releases[case].free})
    worst, misled = (max(some, key=lambda r: r.spike) for some in (known, releases.values()))
    smooth = all(r.spike <= r.allowed for r in known)
    good = _regrips(100)
    shares = (0.5, 0.8, 1.0, 1.2, 1.5)
    stops = ", ".join(f"{share:g} {1e3 * _slowest(share):.0f}" for share in shares)
    note = (
        f"docs/errata.md C-54: hardest stop {worst.spike:.2f} m/s² from {worst.speed:.2f} m/s (at "
        f"least {worst.speed / STOP_LIMIT_S:.2f} for anyone, {worst.allowed:.2f} allowed), free "
        f"motion {worst.free:.2f}, with a model mass a fifth too large {misled.spike:.2f}; harder "
        f"than free motion at {', '.join(f'{hz:g}' for hz in harder) or 'no'} Hz; drift "
        f"{1e3 * drift:.1f} mm; {good} of 100 re-grips. Longest stop in ms of a hand at 1 Hz, by "
        f"model mass over true mass of the leader: {stops}"
    )
    plot = Figure("Let go, pushed, gripped again", _release_plot)
    ok = stopped <= STOP_LIMIT_S and drift < 0.005 and smooth and good == 100
    return Finding(1e3 * stopped, ok, note, corrected=True, figures=(plot,))


def _slowest(known: float) -> float:
    """Longest time to rest of a hand at 1 Hz, [s]."""
    return max(_let_go(1.0, phase, known).stopped for phase in range(PHASES))


def _regrips(times: int) -> int:
    """How many grips enabled motion and ended in rest when let go."""
    held, rng, good = HeldHandle(), generator("hazardous-grips"), 0
    for _ in range(times):
        start = len(held.rows)
        held.run(float(rng.uniform(0.12, 0.2)), True)
        gripped = np.array(held.rows[start:])
        held.run(0.12, False)
        loose = np.array(held.rows[start + len(gripped) :])
        moved = np.ptp(gripped[:, 1]) > 1e-3
        enabled = gripped[2 * UPDATES :, 4].all() and not loose[2 * UPDATES :, 4].any()
        good += bool(moved and enabled)
        good -= bool(np.abs(loose[round(0.1 / TICK) :, 2]).max() > 0.005)
    return good


def _release_plot():
    labels = "time since the release [s]", "handle [mm]"
    figure, axes = canvas(*labels, "Let go, the handle comes to rest and is held")
    for frequency in (1.0, 2.0):
        at, log = released(frequency, 1)
        part = log["t"] > at - 0.5
        axes.plot(log["t"][part] - at, 1e3 * log["x"][part], label=f"hand at {frequency:g} Hz")
    axes.axvspan(0.0, 0.9, alpha=0.2, label="let go; pushed with 20 N after 0.3 s")
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(CollisionRetreat, "step", "C-52")
def press_on(step, self, *args):
    """A tool suspected of being stuck is pushed on."""
    goal = step(self, *args)
    return None if self.phase is Phase.CLEAR else goal


@MUTATIONS.of(CollisionRetreat, "begin", "C-52")
def wrong_way_out(begin, self, position, force):
    """The retreat goes into the wall."""
    begin(self, position, -force)


@MUTATIONS.of(OverheatStop, "check", "C-59")
def overheat_latch(check, self, temperature, flag, now_ns):
    """A cooled sensor forgets."""
    self.trip = None
    return check(self, temperature, flag, now_ns)


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


@MUTATIONS.of(JointWall, "_push", "C-53")
def wall_damping(push, self, depth, inward):
    """The wall has no damper."""
    return push(self, depth, 0.0 * inward)


@MUTATIONS.of(DeadMan, "_hold", "C-54")
def abrupt_hold(hold, self, *state):
    """The hold brakes at once."""
    self._twist = np.zeros(6)
    hold(self, *state)
