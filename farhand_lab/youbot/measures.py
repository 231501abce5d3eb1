"""Measures of a teleoperator: transparency, task metrics, and what a human hand needs."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from farhand.analysis.two_port import HybridMatrix
from farhand.errors import BadValue

Array = np.ndarray

Impedance = complex | Array
"""Force over displacement of an environment, [N/m]: one number, or one per frequency."""


def free_motion(hybrid: HybridMatrix) -> Array:
    """x_e / x_h with nothing to touch, [-]."""
    return hybrid.h[:, 1, 0]


def hard_contact(hybrid: HybridMatrix) -> Array:
    """F_e / F_h against something that does not give way, [-]."""
    h = hybrid.h
    return -h[:, 1, 0] / (h[:, 0, 0] * h[:, 1, 1] - h[:, 0, 1] * h[:, 1, 0])


def position_tracking_error(hybrid: HybridMatrix, scale: float = 1.0) -> Array:
    """Size of 1 − x_e/(s x_h) in free motion, [-]."""
    return np.abs(1.0 - free_motion(hybrid) / scale)


def force_tracking_error(hybrid: HybridMatrix, scale: float = 1.0) -> Array:
    """Size of 1 − F_e/(s F_h) in hard contact, [-]; s: force of the follower over the hand's."""
    return np.abs(1.0 - hard_contact(hybrid) / scale)


def bandwidth(frequency: Array, response: Array) -> float:
    """First frequency at which the size has fallen by 3 dB, [Hz]; infinite if it never has.

    Between samples the size is interpolated, along the logarithm of frequency where there is one.
    """
    frequency, size = np.asarray(frequency, dtype=float), np.abs(response)
    order = np.argsort(frequency)
    frequency, size = frequency[order], size[order]
    limit = size[0] / np.sqrt(2.0)
    below = np.flatnonzero(size < limit)
    if not len(below):
        return np.inf
    k = int(below[0])
    share = (size[k - 1] - limit) / (size[k - 1] - size[k])
    low, high = float(frequency[k - 1]), float(frequency[k])
    return low * (high / low) ** share if low > 0.0 else share * high


def scaling_product(motion_scale: float, force_scale: float) -> float:
    """Position ratio times force ratio, [-]; below 1 it helps stability like damping."""
    return motion_scale * force_scale


def felt_impedance(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """F_h / x_h with an environment F_e = Z_e x_e, [N/m]."""
    h, Z = hybrid.h, np.asarray(environment)
    return h[:, 0, 0] + h[:, 0, 1] * h[:, 1, 0] * Z / (1.0 - h[:, 1, 1] * Z)


def transparency(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """Felt impedance over that of the environment, [-]; 1 is ideal."""
    return felt_impedance(hybrid, environment) / np.asarray(environment)


def fidelity(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """How much more is felt of an environment that is a little stiffer, ∂Z_h/∂Z_e, [-]."""
    h = hybrid.h
    return h[:, 0, 1] * h[:, 1, 0] / (1.0 - h[:, 1, 1] * np.asarray(environment)) ** 2


def felt_inertia(
    hybrid: HybridMatrix, own: float = 0.0, band: tuple[float, float] = (1.0, 3.0)
) -> float:
    """What the hand has to accelerate in free motion beyond the leader's own mass, [kg].

    Fitted over the band [Hz] to −ω² m, the part of h_11 in phase with acceleration.

    Args:
        hybrid: with frequencies in the band.
        own: what the leader alone presents, [kg].
        band: lowest and highest frequency, [Hz].

    Raises:
        BadValue: no frequency lies in the band.
    """
    chosen = (hybrid.frequency >= band[0]) & (hybrid.frequency <= band[1])
    if not chosen.any():
        raise BadValue(
            f"no frequency between {band[0]:g} and {band[1]:g} Hz to judge the felt inertia by"
        )
    squared = hybrid.omega[chosen] ** 2
    return float(-(hybrid.h[chosen, 0, 0].real @ squared) / (squared @ squared)) - own


def range_match(
    leader: tuple[float, float], follower: tuple[float, float], scale: float = 1.0
) -> float:
    """Share of the follower's range that the leader's range, scaled, covers, [-]."""
    low, high = sorted((scale * leader[0], scale * leader[1]))
    shared = min(high, follower[1]) - max(low, follower[0])
    return max(shared, 0.0) / (follower[1] - follower[0])


@dataclass(frozen=True)
class TaskResult:
    """What one run of a task says."""

    completion_time: float  #: until the tool stays at the goal, [s]; infinite if it never does
    largest_force: float  #: [N]
    squared_force_sum: float  #: Σ |F|² over all samples, as published; depends on their rate, [N²]
    squared_force_time: float  #: ∫ |F|² dt, which does not, [N²·s]

    @property
    def completed(self) -> bool:
        """Whether the goal was reached and kept."""
        return math.isfinite(self.completion_time)

    def to_json(self) -> dict[str, dict[str, object]]:
        """The metrics as ``{name: {value, unit}}``; a task that was not completed has no time."""
        time = self.completion_time if self.completed else None
        metrics = {
            "completion_time": (time, "s"),
            "largest_force": (self.largest_force, "N"),
            "squared_force_sum": (self.squared_force_sum, "N²"),
            "squared_force_time": (self.squared_force_time, "N²·s"),
        }
        return {name: {"value": value, "unit": unit} for name, (value, unit) in metrics.items()}


def judge_task(
    times: Array, position: Array, force: Array, goal: Array, tolerance: float
) -> TaskResult:
    """Judge a task that consists of bringing the tool to a goal and keeping it there.

    Args:
        times: n, increasing, [s].
        position: n × d of the tool, [m].
        force: n × d on what it touches, [N].
        goal: d, [m].
        tolerance: largest distance from the goal that counts as there, [m].

    Raises:
        BadValue: arrays of unlike length, or fewer than two samples.
    """
    if len(times) < 2 or not len(times) == len(position) == len(force):
        lengths = f"{len(times)}, {len(position)} and {len(force)}"
        raise BadValue(f"times, positions and forces need one length of 2 or more, not {lengths}")
    away = np.flatnonzero(np.linalg.norm(position - goal, axis=1) > tolerance)
    there = 0 if not len(away) else int(away[-1]) + 1
    completion = float(times[there] - times[0]) if there < len(times) else math.inf
    squared = np.einsum("ij,ij->i", force, force)
    largest = math.sqrt(float(squared.max()))
    return TaskResult(
        completion, largest, float(squared.sum()), float(np.trapezoid(squared, times))
    )


TABLE = Path(__file__).parent / "human_factors.toml"


@cache
def thresholds() -> dict[str, Any]:
    """What a hand notices and can do, by name; units in the data file."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Display:
    """What a teleoperator shows to a hand; None where it is not known."""

    wall_stiffness: float | None = None  #: felt at a wall that does not give way, [N/m]
    force_resolution: float | None = None  #: smallest force step it displays, [N]
    largest_force: float | None = None  #: [N]
    force_bandwidth: float | None = None  #: up to where forces are displayed, [Hz]
    motion_bandwidth: float | None = None  #: up to where motion is followed, [Hz]
    rate: float | None = None  #: of the force loop, [Hz]


@dataclass(frozen=True)
class Judgement:
    """One criterion."""

    name: str  #: what is judged
    value: float | None  #: of the teleoperator; None where it is not known
    limit: float  #: what a hand needs
    unit: str  #: of both
    ok: bool | None  #: whether it is met; None where the value is not known

    @property
    def share(self) -> float:
        """Value over limit, [-]."""
        return math.nan if self.value is None else self.value / self.limit

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: not known (needs {self.limit:g} {self.unit})"
        word = "met" if self.ok else "missed"
        share = f"{100.0 * self.share:.3g} % of {self.limit:g} {self.unit}"
        return f"{self.name}: {self.value:.4g} {self.unit}, {word} ({share})"


def check(display: Display) -> list[Judgement]:
    """Judge a display by the thresholds of a hand."""
    t = thresholds()
    # A loop displays vibrations up to half of its rate
    vibration = None if display.rate is None else 0.5 * display.rate
    least = [
        ("hard-wall stiffness", display.wall_stiffness, t["wall_stiffness"], "N/m"),
        ("force range", display.largest_force, t["controllable_force"][0], "N"),
        ("force bandwidth", display.force_bandwidth, t["force_bandwidth"], "Hz"),
        ("motion bandwidth", display.motion_bandwidth, t["motion_bandwidth"], "Hz"),
        ("vibration bandwidth", vibration, t["vibration_bandwidth"], "Hz"),
    ]
    judged = [Judgement(*item, None if item[1] is None else item[1] >= item[2]) for item in least]
    step, limit = display.force_resolution, t["force_resolution_absolute"]
    fine = None if step is None else step <= limit
    judged.insert(1, Judgement("force resolution", step, limit, "N", fine))
    return judged


def noticed(force: float, change: float) -> bool:
    """Whether a hand notices a change of a displayed force, both [N]."""
    t = thresholds()
    return abs(change) >= max(t["force_jnd"] * abs(force), t["force_resolution_absolute"])
