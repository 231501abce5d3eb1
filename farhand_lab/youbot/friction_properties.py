"""Property suite: what a friction model can and cannot do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter

from farhand.friction import FRICTIONS
from farhand.friction.models.implicit import advance
from farhand.friction.models.model import Array, Friction, make

Build = Callable[[int], Friction]
"""Makes a model with that many joints."""

DT = 1e-3
MIN_PRESLIDING_RAD = 1e-6
"""Below this way a model has no presliding; the loops then have the default stroke."""
DEFAULT_STROKE_RAD = 3e-4
JOINTS = 200
"""Joints that divide the random motion among them."""
MAX_CREATED_J = 1e-9
"""Energy that rounding may create."""
SOAK_JOINTS = 4
"""Joints that move side by side in the soak."""


@dataclass(frozen=True)
class Properties:
    """What a model did in the suite; shares are of the peak torque."""

    presliding: float  #: way until 80 % of the peak torque when motion starts, [rad]
    #: difference of a presliding loop and one ten times as fast, a share, [-]
    rate_dependence: float
    memory_gap: float  #: how far an inner loop fails to close, a share, [-]
    inner_loop: float  #: width of that loop, a share, [-]; zero if it has none
    lag: float  #: torque while velocity rises minus while it falls, at the same velocity, [N·m]
    lag_fast: float  #: the same at five times the acceleration, [N·m]
    lag_noise: float  #: standard error of the two, for a random model, [N·m]
    minimum_speed: float  #: where sliding friction is smallest, [rad/s]; nan without a minimum
    #: how far it falls until there, as a share of its highest value before, [-]
    minimum_depth: float
    curve_error: float  #: difference of ``steady`` and long sliding, a share, [-]
    finite: bool  #: whether every torque of the random motion was a number
    least_dissipated: float  #: least supplied work minus stored energy of the random motion, [J]
    returned: float  #: largest fall of that value, as a share of all that was dissipated, [-]

    @property
    def verdicts(self) -> dict[str, bool]:
        """The properties as yes or no, in the words of the table in docs/friction.md."""
        bends = self.presliding > MIN_PRESLIDING_RAD
        return {
            "presliding": bends,
            "rate-independent": bends and self.rate_dependence < 0.01,
            "non-local memory": bends and self.memory_gap < 1e-6 and self.inner_loop > 0.01,
            "frictional lag": self.lag_fast > max(self.lag, 1e-6, 4.0 * self.lag_noise),
            "Stribeck minimum": self.minimum_depth > 0.0,
            "dissipative": self.finite and self.least_dissipated >= -MAX_CREATED_J,
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
    for name, properties in rows.items():
        marks = ("yes" if yes else "–" for yes in properties.verdicts.values())
        lines.append(f"| `{name}` | {' | '.join(marks)} |")
    return "\n".join(lines)


def along(friction: Friction, displacement: Array, dt: float) -> Array:
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
    """Way in slow motion until 80 % of the peak torque, [rad]; 0 without presliding."""
    friction, speed = build(1), 1e-3  # [rad/s]
    ways = np.geomspace(1e-8, 0.03, 500)
    steps = np.diff(ways, prepend=0.0)
    force = np.array([friction.step(np.array([speed]), d / speed, np.zeros(1))[0] for d in steps])
    reached = ways[np.argmax(force >= 0.8 * force.max())]
    return float(reached) if reached > MIN_PRESLIDING_RAD and force.max() > 0.0 else 0.0


def rate_dependence(build: Build, stroke: float) -> float:
    """Loops of that amplitude [rad] at 1 Hz and at 10 Hz through the same displacements, [-]."""
    loop = (stroke or DEFAULT_STROKE_RAD) * np.sin(np.linspace(0.0, 6.0 * np.pi, 3001))
    slow, fast = along(build(1), loop, DT), along(build(1), loop, 0.1 * DT)
    return _share(np.abs(fast - slow).max(), np.abs(fast).max())


def memory(build: Build, stroke: float) -> tuple[float, float]:
    """How far an inner loop fails to close, and its width, both over the peak, [-].

    A model whose only memory is its present torque cannot come back to the same point: it forgot
    where it turned. Also returned is the loop's width in its middle, [-]: a spring closes it
    trivially, because it has none.
    """
    corners = np.array([0.0, 1.0, 0.3, 0.7, 0.3])
    counts = np.round(400 * np.abs(np.diff(corners))).astype(int)  # all at one speed
    legs = [
        np.linspace(a, b, n + 1)[1:] for a, b, n in zip(corners, corners[1:], counts, strict=False)
    ]
    force = along(build(1), (stroke or DEFAULT_STROKE_RAD) * np.concatenate([[0.0], *legs]), 0.01)
    first, out = counts[:2].sum() - 1, counts[:3].sum() - 1
    gap, width = abs(force[-1] - force[first]), abs(force[first + 80] - force[out + 80])
    return _share(gap, np.abs(force).max()), _share(width, np.abs(force).max())


def lag(build: Build, frequency: float) -> tuple[float, float]:
    """Torque while accelerating minus while braking at 0.15 rad/s, and its error, [N·m].

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


def sliding(build: Build, speeds: Array) -> Array:
    """Torque after long sliding at these speeds [rad/s], mean of four joints, [N·m]."""
    each = np.repeat(speeds, 4)
    friction, none = build(len(each)), np.zeros(len(each))
    force = np.array([friction.step(each, DT, none) for _ in range(1000)])
    return force[500:].mean(axis=0).reshape(-1, 4).mean(axis=1)


def stribeck_minimum(build: Build) -> tuple[float, float]:
    """Speed of least sliding friction [rad/s] and its depth [-]; (nan, 0) without one."""
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
    measured, curve = sliding(build, speeds), build(len(speeds)).steady(speeds)
    return float(np.abs(measured - curve).max() / np.abs(curve).max())


def dissipation(
    build: Build, seconds: float, rng: np.random.Generator, joints: int = JOINTS
) -> tuple[bool, float, float]:
    """Random motion at 1 ms, from creep to 10 rad/s with pauses, on many joints at once.

    Models that need the applied torque are pushed at random instead, with an inertia between.

    Args:
        build: makes the model.
        seconds: of motion, summed over all joints, [s].
        rng: source of the motion.
        joints: number that move at the same time.

    Returns:
        whether all torques are numbers; the least supplied work minus stored energy, [J]; the
        largest fall of that value as a share of its last, [-].
    """
    steps = round(seconds / joints / DT)
    friction = build(joints)
    wander = random_motion(steps, joints, rng)
    velocity, inertia = np.zeros(joints), np.full(joints, 0.01)
    supplied, highest, lowest, fall = np.zeros((4, joints))
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
    returned = fall / np.maximum(np.abs(dissipated), 1e-300)
    return finite, float(lowest.min()), float(returned.max())


def random_motion(steps: int, joints: int, rng: np.random.Generator) -> Array:
    """Velocities [rad/s]: coloured noise of many sizes and speeds, with pauses, steps × joints."""
    size, time = np.geomspace(1e-4, 5.0, joints), rng.uniform(0.01, 0.5, joints)
    noise = rng.standard_normal((steps, joints))
    keep = np.exp(-DT / time)
    columns = zip(keep, noise.T, strict=True)
    motion = np.stack([lfilter([np.sqrt(1.0 - k * k)], [1.0, -k], n) for k, n in columns], axis=1)
    paused = np.repeat(rng.random((steps // 500 + 1, joints)) < 0.2, 500, axis=0)[:steps]
    return np.where(paused, 0.0, size * motion)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else 0.0


def light(name: str) -> Build:
    """The model with few bristles, if it has any."""
    few: dict[str, Any] = {"bristles": 20} if name == "bristle" else {}
    return lambda joints: make(name, joints, **few)


def soak(seconds: float = 1000.0, names: list[str] | None = None) -> int:
    """Random motion of every model for this long [s], printed; 0 if all passed."""
    failed = []
    for name in names or list(FRICTIONS):
        start = time.perf_counter()
        rng = np.random.default_rng(0)
        finite, least, _ = dissipation(light(name), SOAK_JOINTS * seconds, rng, SOAK_JOINTS)
        good = finite and least >= -MAX_CREATED_J
        failed += [] if good else [name]
        row = f"{name:18} {seconds:g} s × {SOAK_JOINTS} joints: least balance {least:.1e} J"
        verdict = f"{'ok' if good else 'FAILED'} after {time.perf_counter() - start:.0f} s"
        print(f"{row}, {verdict}", flush=True)
    print(f"{len(failed)} failed" + (f": {', '.join(failed)}" if failed else ""))
    return bool(failed)
