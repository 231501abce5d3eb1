"""Property suite: what a friction model can and cannot do, measured through its interface alone.

Every test drives ``step`` and looks at the torque, so a model of a user's own can be put through it
as well as the ones here. :func:`examine` runs them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from farhand.friction.models.implicit import advance
from farhand.friction.models.model import FloatArray, Friction, make

Build = Callable[[int], Friction]
"""Makes a model with that many joints."""

DT = 1e-3
JUMPS = 1e-6
"""A model that resists fully after so short a way has no presliding, [rad]; the loops then use a
default stroke."""
STROKE = 3e-4
JOINTS = 200
"""Joints that share out the random motion."""


@dataclass(frozen=True)
class Properties:
    """What a model did in the suite.

    Attributes:
        presliding: way in which torque grows to 80 % of its peak when motion starts, [rad].
        rate_dependence: largest difference between a presliding loop and the same ten times as
            fast, of its peak, [-].
        memory_gap: how far an inner loop fails to close, of the peak, [-].
        inner_loop: width of that loop, of the peak, [-]; zero where it is traced forth and back on
            one line.
        lag: torque while velocity rises minus while it falls, at the same velocity, [N·m].
        lag_fast: the same at five times the acceleration, [N·m].
        lag_noise: standard error of the two, for a model with chance in it, [N·m].
        minimum_speed: where sliding friction is smallest, [rad/s]; nan where it has no minimum
            inside the range.
        minimum_depth: how far it falls until there, as a share of its highest value below that
            speed, [-].
        curve_error: largest difference between ``steady`` and the torque after long sliding, of the
            peak, [-].
        finite: whether every torque of the random motion was a number.
        least_dissipated: lowest value of supplied work minus energy stored during the random
            motion, [J].
        returned: largest amount by which that value fell from its highest before, as a share of all
            that was dissipated, [-].
    """

    presliding: float
    rate_dependence: float
    memory_gap: float
    inner_loop: float
    lag: float
    lag_fast: float
    lag_noise: float
    minimum_speed: float
    minimum_depth: float
    curve_error: float
    finite: bool
    least_dissipated: float
    returned: float

    @property
    def verdicts(self) -> dict[str, bool]:
        """The properties as yes or no, in the words of the table in docs/friction.md."""
        bends = self.presliding > JUMPS
        return {
            "presliding": bends,
            "rate-independent": bends and self.rate_dependence < 0.01,
            "non-local memory": bends and self.memory_gap < 1e-6 and self.inner_loop > 0.01,
            "frictional lag": self.lag_fast > max(self.lag, 1e-6, 4.0 * self.lag_noise),
            "Stribeck minimum": self.minimum_depth > 0.0,
            "dissipative": self.finite and self.least_dissipated >= -1e-9,
        }


def examine(
    build: Build | str, seconds: float = 1000.0, rng: np.random.Generator | None = None
) -> Properties:
    """Put a model through the whole suite.

    Args:
        build: makes the model for a number of joints; or its name.
        seconds: length of the random motion, [s].
        rng: source of the random motion.
    """
    name = build
    chosen: Build = (lambda n: make(name, n)) if isinstance(name, str) else name
    speed, depth = stribeck_minimum(chosen)
    stroke = presliding(chosen)
    gap, width = memory(chosen, stroke)
    (slow, _), (fast, noise) = lag(chosen, 1.0), lag(chosen, 5.0)
    finite, least, returned = dissipation(chosen, seconds, rng or np.random.default_rng(0))
    return Properties(
        presliding=stroke,
        rate_dependence=rate_dependence(chosen, stroke),
        memory_gap=gap,
        inner_loop=width,
        lag=slow,
        lag_fast=fast,
        lag_noise=noise,
        minimum_speed=speed,
        minimum_depth=depth,
        curve_error=curve_error(chosen),
        finite=finite,
        least_dissipated=least,
        returned=returned,
    )


def table(rows: Mapping[str, Properties]) -> str:
    """The verdicts as a Markdown table, one line per model."""
    words = list(next(iter(rows.values())).verdicts)
    lines = [f"| model | {' | '.join(words)} |", "| --- |" + " --- |" * len(words)]
    for name, found in rows.items():
        marks = ("yes" if yes else "–" for yes in found.verdicts.values())
        lines.append(f"| `{name}` | {' | '.join(marks)} |")
    return "\n".join(lines)


def along(friction: Friction, displacement: FloatArray, dt: float) -> FloatArray:
    """Torque [N·m] of one joint led along displacements [rad], a step of ``dt`` [s] apart."""
    friction.reset()
    none = np.zeros(friction.joints)
    return np.array(
        [
            friction.step(np.full(friction.joints, d / dt), dt, none)[0]
            for d in np.diff(displacement)
        ]
    )


def presliding(build: Build) -> float:
    """How far a joint goes, slowly, until friction has 80 % of its peak, [rad]; 0 where it is there at once."""
    friction, speed = build(1), 1e-3  # [rad/s]
    ways = np.geomspace(1e-8, 0.03, 500)
    steps = np.diff(ways, prepend=0.0)
    force = np.array([friction.step(np.array([speed]), d / speed, np.zeros(1))[0] for d in steps])
    reached = ways[np.argmax(force >= 0.8 * force.max())]
    return float(reached) if reached > JUMPS and force.max() > 0.0 else 0.0


def rate_dependence(build: Build, stroke: float) -> float:
    """Loops of that amplitude [rad] at 1 Hz and at 10 Hz through the same displacements, [-]."""
    loop = (stroke or STROKE) * np.sin(np.linspace(0.0, 6.0 * np.pi, 3001))
    slow, fast = along(build(1), loop, DT), along(build(1), loop, 0.1 * DT)
    return _share(np.abs(fast - slow).max(), np.abs(fast).max())


def memory(build: Build, stroke: float) -> tuple[float, float]:
    """Lead the joint out, back a part, out a part and back again: by how much the inner loop fails to close, [-].

    A model whose only memory is its present torque cannot come back to the same point: it forgot
    where it turned. Also returned is the loop's width in its middle, [-]: a spring closes it
    trivially, because it has none.
    """
    corners = np.array([0.0, 1.0, 0.3, 0.7, 0.3])
    counts = np.round(400 * np.abs(np.diff(corners))).astype(int)  # all at one speed
    legs = [
        np.linspace(a, b, n + 1)[1:] for a, b, n in zip(corners, corners[1:], counts, strict=False)
    ]
    force = along(build(1), (stroke or STROKE) * np.concatenate([[0.0], *legs]), 0.01)
    first, out = counts[:2].sum() - 1, counts[:3].sum() - 1
    gap, width = abs(force[-1] - force[first]), abs(force[first + 80] - force[out + 80])
    return _share(gap, np.abs(force).max()), _share(width, np.abs(force).max())


def lag(build: Build, frequency: float) -> tuple[float, float]:
    """Torque at 0.15 rad/s while accelerating minus while braking, sliding all the time, and its error, [N·m].

    Args:
        build: makes the model.
        frequency: of the velocity's swing, [Hz].
    """
    friction = build(16)
    t = DT / frequency * np.arange(1, 3001)  # three swings of a thousand steps
    velocity = 0.15 + 0.1 * np.sin(2.0 * np.pi * frequency * t)
    force = np.array([friction.step(np.full(16, v), t[0], np.zeros(16)) for v in velocity])
    difference = force[2000 - 1] - force[2500 - 1]  # both at 0.15 rad/s, in the third swing
    return float(difference.mean()), float(difference.std() / 4.0)


def sliding(build: Build, speeds: FloatArray) -> FloatArray:
    """Torque in long sliding at each of these speeds [rad/s], mean over half a second and four joints, [N·m]."""
    each = np.repeat(speeds, 4)
    friction, none = build(len(each)), np.zeros(len(each))
    force = np.array([friction.step(each, DT, none) for _ in range(1000)])
    return force[500:].mean(axis=0).reshape(-1, 4).mean(axis=1)


def stribeck_minimum(build: Build) -> tuple[float, float]:
    """Where sliding friction is least after its first fall [rad/s], and how deep that is [-]; (nan, 0) without one."""
    speeds = np.geomspace(0.02, 10.0, 200)
    force = sliding(build, speeds)
    peak, least = force[0], 0
    for k, torque in enumerate(force):
        if least and torque > 1.1 * force[least]:
            return float(speeds[least]), float(1.0 - force[least] / peak)
        if torque < 0.9 * peak and (not least or torque < force[least]):
            least = k
        elif not least:
            peak = max(peak, torque)
    return float("nan"), 0.0


def curve_error(build: Build) -> float:
    """How far ``steady`` is from what long sliding gives, both directions, of the peak, [-]."""
    speeds = np.concatenate([-np.geomspace(0.02, 10.0, 60), np.geomspace(0.02, 10.0, 60)])
    measured, said = sliding(build, speeds), build(len(speeds)).steady(speeds)
    return float(np.abs(measured - said).max() / np.abs(said).max())


def dissipation(
    build: Build, seconds: float, rng: np.random.Generator, joints: int = JOINTS
) -> tuple[bool, float, float]:
    """Random motion at 1 ms, from creep to 10 rad/s with pauses, shared out over joints that move at the same time.

    Models that need the applied torque are pushed at random instead, with an inertia between.

    Args:
        build: makes the model.
        seconds: of motion, over all joints, [s].
        rng: source of the motion.
        joints: that share it out.

    Returns:
        whether all torques are numbers; the least of supplied work minus stored energy, [J]; the
            largest fall of that
        value as a share of its last, [-].
    """
    steps = round(seconds / joints / DT)
    friction = build(joints)
    wander = random_motion(steps, joints, rng)
    velocity, inertia = np.zeros(joints), np.full(joints, 0.01)
    supplied, highest, lowest, fall = (
        np.zeros(joints),
        np.zeros(joints),
        np.zeros(joints),
        np.zeros(joints),
    )
    for value in wander:
        if friction.needs_applied:
            velocity, force = advance(friction, velocity, DT, 0.3 * value, inertia)
        else:
            velocity = value
            force = friction.step(velocity, DT)
        supplied += force * velocity * DT
        dissipated = supplied - friction.stored
        np.minimum(lowest, dissipated, out=lowest)
        np.maximum(highest, dissipated, out=highest)
        np.maximum(fall, highest - dissipated, out=fall)
    finite = bool(np.isfinite(supplied).all() and np.isfinite(dissipated).all())
    return finite, float(lowest.min()), float((fall / np.maximum(np.abs(dissipated), 1e-300)).max())


def random_motion(steps: int, joints: int, rng: np.random.Generator) -> FloatArray:
    """Velocities [rad/s]: coloured noise of many sizes and speeds, with pauses, steps × joints."""
    size, time = np.geomspace(1e-4, 5.0, joints), rng.uniform(0.01, 0.5, joints)
    noise = rng.standard_normal((steps, joints))
    keep = np.exp(-DT / time)
    motion = np.stack(
        [lfilter([np.sqrt(1.0 - k * k)], [1.0, -k], noise[:, j]) for j, k in enumerate(keep)],
        axis=1,
    )
    paused = np.repeat(rng.random((steps // 500 + 1, joints)) < 0.2, 500, axis=0)[:steps]
    return np.where(paused, 0.0, size * motion)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else 0.0
