"""Safety of the follower, and its gripper: C-52, C-55, C-59."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.control.haptic.gripper import GripperCommand
from farhand.control.joint.limited_pd import LimitedPD
from farhand.errors import BadValue
from farhand.safety.collision import CollisionRetreat, Phase
from farhand.safety.interlock import OverheatStop
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.joint_servo import JointServo
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray

LEVER = 0.5  # [m], from the pushing joint to the tool
YIELD = 1.0 / (1.0 / 2e4 + 1.0 / 1e5)
"""Arm of 2e4 N/m against metal of 1e5 N/m (assumed), in series, [N/m]."""

STALL = 100.0  # [N], E-18
WALL = 0.05  # [m] ahead of the tool
# of joint 2, Table 2.3
LIMITS: dict[str, Any] = {"velocity_limit": np.array([0.5]), "step_limit": np.array([0.06])}


@shared
def collision() -> dict[str, Array]:
    """The operator leads the tool at 0.1 m/s through a wall that is not there for him; one row per control step."""
    servo, controller, retreat = JointServo(**LIMITS), LimitedPD(**LIMITS), CollisionRetreat()
    dt, noise, rows, last = servo.period, generator("hazardous-collision"), [], 0.0
    for i in range(round(3.0 / dt)):
        tool = LEVER * float(servo.q[0])
        force = YIELD * max(tool - WALL, 0.0)
        felt = np.array([-force, 0.0, 0.0]) + noise.normal(0.0, 2.5, 3)
        asked = LEVER * servo.speed * abs(float(controller.command[0]))
        goal = retreat.step(np.array([tool, 0.0, 0.0]), abs(tool - last) / dt, asked, felt, dt)
        last, phase = tool, list(Phase).index(retreat.phase)
        wanted = min(0.1 * i * dt, 0.15) if goal is None else float(goal[0])
        servo.step(controller.step(np.array([wanted / LEVER]), servo.q, dt))
        servo.q = np.minimum(servo.q, (WALL + STALL / YIELD) / LEVER)  # the motors stall
        rows.append((i * dt, tool, force, phase, wanted))
    return dict(zip(("t", "tool", "force", "phase", "wanted"), np.array(rows).T, strict=True))


@experiment("C-52")
def collision_retreat() -> Finding:
    """From 60 N until the tool moves away; the operator keeps asking to go on throughout."""
    log = collision()
    hit = float(log["t"][log["force"] > 60.0][0])
    retreating = log["t"][log["phase"] == 1.0]
    if not len(retreating):
        return Finding(float("nan"), False, "no retreat")
    told = float(retreating[0]) - hit
    away = log["t"][1:][(np.diff(log["tool"]) < 0.0) & (log["t"][1:] > retreating[0])]
    start = float(away[0]) - hit if len(away) else float("inf")
    apart = 1e3 * (WALL - float(log["tool"][-1]))
    note = (
        f"until the tool moves away; it is told to after {1e3 * told:.0f} ms (the arm stalls after "
        f"{1e3 * (told - 0.05):.0f} ms, then 50 ms of patience, in which it takes back what presses on), the step "
        f"limit needs {1e3 * (start - told - 0.05):.0f} ms more, and the drives act 50 ms late; separation "
        f"{apart:.1f} mm, peak force {log['force'].max():.0f} N"
    )
    plot = Figure("Hit, notice, back off, hold", lambda: _collision_plot(log))
    ok = 0.0 <= start <= 0.150 and apart >= 5.0 and log["phase"][-1] == 2.0
    return Finding(1e3 * start, bool(ok), note, figures=(plot,))


def _grasp(stiffness: float, limited: bool) -> tuple[float, float, float]:
    """Largest and final grip force [N] of an object that meets the jaws after 5 mm, and the final opening's speed."""
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
        f"holds {final:.2f} N at {1e3 * abs(v):.2f} mm/s; without the force {blind:.0f} N; objects up to "
        f"{whole:.0f} N/m stay below 3 N (reading 20 ms old)"
    )
    ok = ring and largest <= 3.0 and abs(final - 2.0) <= 0.1 and blind > 3.0
    return Finding(largest, bool(ok), note)


@experiment("C-59")
def overheat() -> Finding:
    """All joints at full speed when the sensor passes 120 °C: time to standstill, without a trip of the drives."""
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
    ok = (
        early
        and 0.0 < stopped < 0.5
        and not servo.tripped.any()
        and all(log)
        and stop.check(100.0, False, 0)
    )
    flagged = not stop.check(None, True, 0) and stop.trip is not None
    note = "latched while it cooled down; reset refused while hot; the sensor's own flag stops too; drives not tripped"
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
    upper.plot(log["t"], 1e3 * log["wanted"], ":", label="asked for")
    upper.plot(log["t"], 1e3 * log["tool"], label="tool, by its joints")
    upper.axhline(1e3 * WALL, color="k", linewidth=0.8, label="wall")
    lower.plot(log["t"], log["force"])
    lower.axhline(60.0, color="k", linestyle=":")
    upper.set(ylabel="position [mm]", title="A stuck arm backs off and waits")
    lower.set(xlabel="time [s]", ylabel="force [N]")
    upper.legend()
    return figure


def _forgetful(check):
    def broken(self: OverheatStop, temperature, flag, now_ns):
        self.trip = None
        return check(self, temperature, flag, now_ns)

    return broken


def _careless(velocity):
    def broken(self: GripperCommand, ring, force):
        return velocity(self, ring, None)

    return broken


def _pressing_on(step):
    def broken(self: CollisionRetreat, *args):
        goal = step(self, *args)
        return None if self.phase is Phase.CLEAR else goal

    return broken


def _into_the_wall(begin):
    def broken(self: CollisionRetreat, position, force):
        begin(self, position, -force)

    return broken


MUTATIONS = [
    Mutation(
        "press on",
        "a tool suspected of being stuck is pushed on",
        ("C-52",),
        lambda: changed(CollisionRetreat, "step", _pressing_on),
    ),
    Mutation(
        "wrong way out",
        "the retreat goes into the wall",
        ("C-52",),
        lambda: changed(CollisionRetreat, "begin", _into_the_wall),
    ),
    Mutation(
        "overheat latch",
        "a cooled sensor forgets",
        ("C-59",),
        lambda: changed(OverheatStop, "check", _forgetful),
    ),
    Mutation(
        "grip force",
        "the grip force is not looked at",
        ("C-55",),
        lambda: changed(GripperCommand, "velocity", _careless),
    ),
]
