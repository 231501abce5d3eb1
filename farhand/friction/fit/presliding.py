"""Stiffness and damping before sliding, by running the model along the recorded motion.

Many values are tried at once, as joints of one model. How much worse each one is than the best,
stretch by stretch of the recording, shows which of them the data can rule out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.friction.fit.breakaway import damping_rule
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.sliding import Estimate, SlidingCurve, predicted
from farhand.friction.models.model import Friction, make

if TYPE_CHECKING:
    from farhand.friction.fit.prepare import Prepared

Array = np.ndarray

MAX_RUN_SAMPLES = 4000
"""Samples along which the model is run."""

STRETCHES = 20
"""Pieces of the run whose squared errors count as independent."""

MIN_TICKS = 3.0
"""Ticks that the displacement before sliding must cover to be seen."""

BRISTLES = 100
"""Bristles of the bristle model."""

HIDDEN_STIFFNESS = 5.0
"""A stiffness that the encoder hides: this many times what breaks away within one tick."""

UNITS = {"damping": "N·m·s/rad", "deflection": "rad", "stiction": "-"}


@dataclass(frozen=True)
class Search:
    """What the data say about one parameter."""

    value: float  #: the best one
    low: float  #: the smallest that the data cannot rule out; 0 if none is small enough
    high: float  #: the largest; infinite if none is large enough

    @property
    def bounded(self) -> bool:
        """Whether the data limit it to both sides, to within a factor of two."""
        return self.low > 0.5 * self.value and self.high < 2.0 * self.value


def bristle_parameters(
    model: str,
    known: dict[str, Estimate],
    of_curve: dict[str, Estimate],
    curve: SlidingCurve,
    ready: Prepared,
) -> tuple[dict[str, Estimate], list[str]]:
    """Stiffness and the parameters that follow from it; notes on what the motion does not show.

    Args:
        model: name of the friction model.
        known: its parameters that the sliding curve gave.
        of_curve: all parameters of the sliding curve.
        curve: the sliding curve.
        ready: the recording.
    """
    motion = ready.motion
    top = of_curve["breakaway" if "breakaway" in of_curve else "coulomb"].value
    inertia = curve.terms.inertia if curve.terms.inertia is not None else curve.values["inertia"]
    target = motion.torque - _beside_friction(curve, motion)
    given = {name: one.value for name, one in known.items()}
    # The bristle model counts the stiffness of one bristle, all else here that of the contact.
    count = BRISTLES if model == "bristle" else 1.0
    grid = stiffness_grid(top, motion)
    fixed = _complete(model, given, grid, top, inertia)
    first = search(model, "stiffness", grid / count, fixed, motion, target)
    around = np.geomspace(0.6, 1.7, 21) * first.value
    fixed = _complete(model, given, around * count, top, inertia)
    best = search(model, "stiffness", around, fixed, motion, target)
    stiffness = best.value * count
    scale = stiffness / best.value
    limits = Search(stiffness, max(first.low, 0.0) * scale, first.high * scale)
    if best.low > 0.6 * best.value and np.isfinite(best.high):
        limits = Search(stiffness, best.low * scale, best.high * scale)
    visible = top / stiffness >= MIN_TICKS * motion.tick
    identified = visible and limits.bounded
    low: float | None = limits.low / count
    high: float | None = limits.high / count
    notes: list[str] = []
    if not identified:
        resolution = max(motion.tick, 1e-6 * float(np.ptp(motion.position)))
        stiffness = max(HIDDEN_STIFFNESS * top / resolution, limits.low)
        notes = [_why(top, motion.tick, visible, limits)]
        low = high = None
    out = {"stiffness": Estimate(stiffness / count, low, high, "N·m/rad", identified)}
    complete = _complete(model, given, np.array([stiffness]), top, inertia)
    for name, unit in UNITS.items():
        if name in complete:
            out[name] = Estimate(float(np.ravel(complete[name])[0]), None, None, unit, False)
    if "damping" in out and identified:
        others = {**given, **{name: one.value for name, one in out.items()}}
        out["damping"] = _damping(model, out["damping"], others, motion, target)
    return out, notes


def _beside_friction(curve: SlidingCurve, motion: Motion) -> Array:
    """Inertia, offset and gravity: the torque of the fit without friction, n [N·m]."""
    friction = ("coulomb", "peak", "viscous")
    values = {name: 0.0 if name in friction else value for name, value in curve.values.items()}
    return predicted(motion, replace(curve, values=values))


def _complete(
    model: str, given: dict[str, float], stiffness: Array, top: float, inertia: float
) -> dict[str, Any]:
    """Parameters that follow from the stiffness: damping by the usual rule, deflection."""
    out: dict[str, Any] = dict(given)
    declared = vars(make(model))
    if "damping" in declared:
        out["damping"] = damping_rule(inertia, stiffness) if model != "gms" else 0.0
    if model == "bristle":
        out["deflection"] = np.clip(3.0 * top / stiffness, 1e-9, 10.0)
    if model == "reset-integrator":
        out["deflection"] = np.clip(top / stiffness, 1e-9, 10.0)
        out["stiction"] = 0.0
    out.pop("stiffness", None)
    return {name: value for name, value in out.items() if name in declared}


def _damping(
    model: str, rule: Estimate, given: dict[str, float], motion: Motion, target: Array
) -> Estimate:
    """Damping by search around the rule; the rule itself if the data do not show it."""
    if rule.value <= 0.0:
        return rule
    values = np.geomspace(0.03, 30.0, 25) * rule.value
    fixed = {name: value for name, value in given.items() if name != "damping"}
    best = search(model, "damping", values, fixed, motion, target)
    if not best.bounded:
        return rule
    return replace(rule, value=best.value, low=best.low, high=best.high, identified=True)


def _why(top: float, tick: float, visible: bool, limits: Search) -> str:
    line = "stiffness before sliding is not identified: "
    if tick > 0.0 and not visible:
        return line + (
            f"one encoder tick is {tick:.3g} rad, and the joint breaks away within less than "
            f"{MIN_TICKS:g} of them; it is at least about {top / (MIN_TICKS * tick):.3g} N·m/rad"
        )
    if limits.low > 0.0:
        return line + f"the data only show that it is above {limits.low:.3g} N·m/rad"
    return line + "the recording has no slow reversals or ramps that show it"


def friction_along(friction: Friction, motion: Motion, rows: slice, applied: Array) -> Array:
    """Torque of the model along the motion, same for all joints, smoothed, n × joints [N·m]."""
    friction.reset()
    lanes = np.ones(friction.joints)
    velocity, pushed, dt = motion.velocity[rows].tolist(), applied[rows].tolist(), motion.step
    out = np.empty((len(velocity), friction.joints))
    for k, (v, push) in enumerate(zip(velocity, pushed, strict=True)):
        out[k] = friction.step(v * lanes, dt, push * lanes)
    return gaussian_filter1d(out, motion.width / motion.step, axis=0, mode="nearest")


def busiest_stretch(motion: Motion) -> slice:
    """The stretch of :data:`MAX_RUN_SAMPLES` with the most time near rest and reversals."""
    count = len(motion)
    if count <= MAX_RUN_SAMPLES:
        return slice(0, count)
    slow = np.abs(motion.velocity) < 0.1 * np.sqrt(np.mean(motion.velocity**2))
    turns = np.diff(np.sign(motion.velocity), prepend=0.0) != 0.0
    total = np.cumsum(slow + 20.0 * turns)
    start = int(np.argmax(total[MAX_RUN_SAMPLES:] - total[:-MAX_RUN_SAMPLES]))
    return slice(start, start + MAX_RUN_SAMPLES)


def search(
    model: str, name: str, values: Array, fixed: dict[str, Any], motion: Motion, target: Array
) -> Search:
    """Try increasing ``values`` of the parameter ``name``; ``target`` is friction, n [N·m]."""
    rows = busiest_stretch(motion)
    friction = make(model, joints=len(values), **{**fixed, name: values})
    error = target[rows, None] - friction_along(friction, motion, rows, target)
    parts = np.array([(part**2).sum(axis=0) for part in np.array_split(error, STRETCHES)])
    best = int(np.argmin(parts.sum(axis=0)))
    worse = parts - parts[:, [best]]
    score = worse.mean(axis=0) / (worse.std(axis=0) / np.sqrt(len(parts)) + 1e-300)
    alike = np.flatnonzero((score < 2.0) & np.isfinite(score) | (np.arange(len(values)) == best))
    low = 0.0 if alike[0] == 0 else float(np.sqrt(values[alike[0]] * values[alike[0] - 1]))
    last = alike[-1]
    high = np.inf if last == len(values) - 1 else float(np.sqrt(values[last] * values[last + 1]))
    return Search(float(values[best]), low, high)


def stiffness_grid(breakaway: float, motion: Motion, count: int = 24) -> Array:
    """Stiffnesses to try, [N·m/rad]."""
    travel = float(np.ptp(motion.position))
    smallest = max(motion.tick, 1e-6 * travel)
    softest = 0.3 * breakaway / (0.1 * travel + 10.0 * smallest)
    return np.geomspace(softest, 30.0 * breakaway / smallest, count)
