"""How to move a joint to measure its friction: set points, and a published grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog, make_log
from farhand.friction.models.model import Friction

Array = np.ndarray

TABLE_3 = (
    (0.0, 0.5, 0.05, 10),
    (0.0, 0.5, 0.005, 100),
    (0.5, 0.75, 0.005, 50),
    (0.75, 2.0, 0.05, 25),
    (0.7, 4.0, 0.1, 33),
    (2.0, 10.0, 0.5, 16),
    (0.0, -1.5, 0.05, 30),
    (-1.0, -4.5, 0.1, 35),
    (-4.0, -10.0, 0.5, 13),
)
"""From, to, step [rad/s] and number of speeds, as published; the last row begins at −4 itself."""

SETTLE_S, RECORD_S, EXTRA_S = 50.0, 30.0, 10.0
"""Published times at each speed."""

GRID_S = 0.05
"""Time between set points while they change."""

SHARES = {
    "warm up": 0.1,
    "steady speeds": 0.45,
    "sweep": 0.15,
    "break-away ramps": 0.2,
    "presliding loops": 0.1,
}
"""Share of the time for each phase."""

MIN_TRAVEL_S = 0.04
"""Least travel over fastest speed: less needs more than 4 reversals per second."""

SPEEDS = 12
"""Steady speeds each way, evenly spaced by ratio."""

SLOWEST_SHARE = 0.01
"""The slowest of them over the fastest."""

INSTRUCTIONS = {
    "warm up": "velocity control, nothing attached; do not leave this out: friction falls as "
    "grease warms",
    "steady speeds": "velocity control; log t,position,velocity,torque at 200 Hz or more",
    "sweep": "velocity control; separates inertia from friction",
    "break-away ramps": "torque control; stop each ramp as soon as the joint slides, and wait for "
    "the next",
    "presliding loops": "torque control below break-away; only a fine encoder shows this",
}


@dataclass(frozen=True)
class ProtocolPhase:
    """One part of the measurement; between two rows the set point changes linearly."""

    name: str  #: see :data:`SHARES`
    mode: str  #: ``"velocity"`` [rad/s] or ``"torque"`` [N·m]
    time: Array  #: from its start, [s]
    setpoint: Array  #: at those times

    @property
    def duration(self) -> float:
        """How long it takes, [s]."""
        return float(self.time[-1])


def steady_grid() -> Array:
    """The 312 published speeds, [rad/s]; rows start one step beyond their first number."""
    speeds = []
    for start, stop, step, count in TABLE_3:
        way = np.sign(stop - start)
        first = start if start == -4.0 else start + way * step
        speeds.append(first + way * step * np.arange(count))
    return np.concatenate(speeds)


def protocol(
    fastest: float, torque: float, travel: float = np.inf, minutes: float = 30.0
) -> list[ProtocolPhase]:
    """Set points that show everything a fit needs.

    Args:
        fastest: speed to go up to, [rad/s].
        torque: highest torque of ramps, above break-away, [N·m].
        travel: how far the joint may turn, [rad]; it then goes to and fro.
        minutes: in all.
    """
    inputs = {"fastest speed": fastest, "torque": torque, "travel": travel, "minutes": minutes}
    for name, value in inputs.items():
        if not value > 0.0:
            raise BadValue(f"{name} = {value:g} must be above 0")
    if travel < MIN_TRAVEL_S * fastest:
        raise BadValue(
            f"travel = {travel:g} rad is too short to reach {fastest:g} rad/s and turn round; "
            f"allow at least {MIN_TRAVEL_S * fastest:.3g} rad, or go slower than "
            f"{travel / MIN_TRAVEL_S:.3g} rad/s"
        )
    seconds = {name: 60.0 * minutes * share for name, share in SHARES.items()}
    return [
        _sine("warm up", "velocity", 0.5 * fastest, seconds, travel),
        _steps(fastest, seconds["steady speeds"], travel),
        _sweep(fastest, seconds["sweep"], travel),
        _ramps(torque, seconds["break-away ramps"]),
        _sine("presliding loops", "torque", 0.3 * torque, seconds, np.inf),
    ]


def _sine(
    name: str, mode: str, amplitude: float, seconds: dict[str, float], travel: float
) -> ProtocolPhase:
    frequency = max(0.5 if mode == "torque" else 0.2, amplitude / (np.pi * travel))
    cycles = max(1, int(seconds[name] * frequency))
    time = np.arange(0.0, cycles / frequency + 0.5 * GRID_S, min(GRID_S, 0.05 / frequency))
    return ProtocolPhase(name, mode, time, amplitude * np.sin(2.0 * np.pi * frequency * time))


def _steps(fastest: float, seconds: float, travel: float) -> ProtocolPhase:
    """Holds at increasing speeds, to and fro within the travel."""
    speeds = np.geomspace(SLOWEST_SHARE, 1.0, SPEEDS) * fastest
    hold = seconds / (2 * SPEEDS)
    knots = [(0.0, 0.0)]
    for speed in speeds:
        # A fifth is left for ramps: from one speed to the next they do not cancel out.
        once = min(hold, 0.8 * travel / speed)
        for _ in range(max(1, int(hold / once))):
            for way in (1.0, -1.0):
                start = knots[-1][0]
                ramp = min(0.2, 0.1 * once)
                knots += [(start + ramp, way * speed), (start + once, way * speed)]
    knots.append((knots[-1][0] + ramp, 0.0))
    time, setpoint = np.array(knots).T
    return ProtocolPhase("steady speeds", "velocity", time, setpoint)


def _sweep(fastest: float, seconds: float, travel: float) -> ProtocolPhase:
    """A sine from slow to fast; its amplitude keeps both speed and travel within their limits."""
    time = np.arange(0.0, seconds, GRID_S)
    slow, quick = 0.1, 2.0  # [Hz]
    growth = (quick / slow) ** (time / seconds)
    phase = 2.0 * np.pi * slow * seconds / np.log(quick / slow) * (growth - 1.0)
    frequency = slow * growth
    amplitude = np.minimum(0.5 * fastest, np.pi * frequency * travel)
    setpoint = np.append((amplitude * np.sin(phase))[:-1], 0.0)
    return ProtocolPhase("sweep", "velocity", time, setpoint)


def _ramps(torque: float, seconds: float) -> ProtocolPhase:
    count = max(1, int(seconds / 60.0)) * 2
    each = seconds / count
    knots = [(0.0, 0.0)]
    for k in range(count):
        start = k * each
        end = torque * (-1) ** k
        knots += [(start + 0.8 * each, end), (start + 0.81 * each, 0.0), (start + each, 0.0)]
    time, setpoint = np.array(knots).T
    return ProtocolPhase("break-away ramps", "torque", time, setpoint)


def rows(phases: list[ProtocolPhase]) -> Iterator[tuple[float, str, float, str, str]]:
    """Lines of a protocol file: t, mode, setpoint, phase, instruction at the start of a phase."""
    start = 0.0
    for phase in phases:
        instruction = INSTRUCTIONS[phase.name]
        for time, value in zip(phase.time.tolist(), phase.setpoint.tolist(), strict=True):
            yield start + time, phase.mode, value, phase.name, instruction
            instruction = ""
        start += phase.duration + 1.0


def simulate(
    phases: list[ProtocolPhase],
    friction: Friction,
    inertia: float,
    tick: float,
    noise: float,
    rng: np.random.Generator,
) -> JointLog:
    """A log of the velocity-controlled phases on a simulated joint, at 500 Hz.

    Args:
        phases: of the protocol.
        friction: of the joint.
        inertia: [kg·m²].
        tick: of the encoder, [rad].
        noise: standard deviation of the torque over its root mean square, [-].
        rng: source of the noise.
    """
    from farhand.plants.simulated.one_joint import DriveFaults, OneJoint

    dt = 2e-3
    moves = [phase for phase in phases if phase.mode == "velocity"]
    grids = [np.interp(np.arange(0.0, p.duration, dt), p.time, p.setpoint) for p in moves]
    target = np.concatenate(grids)
    joint = OneJoint(friction, inertia, DriveFaults(encoder_step=tick), dt)
    gain, total = 250.0 * inertia, np.zeros(1)
    table = np.empty((len(target), 4))
    for k, speed in enumerate(target.tolist()):
        error = speed - joint.velocity
        total += error * dt
        measured = joint.measured_position[0], joint.measured_velocity[0]
        joint.step(gain * (error + 10.0 * total))
        table[k] = k * dt, *measured, joint.torque[0]
    table[:, 3] += noise * np.sqrt(np.mean(table[:, 3] ** 2)) * rng.standard_normal(len(table))
    return make_log(table, "simulated joint")
