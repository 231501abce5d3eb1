"""The sticking part of a fit: bristle stiffness and damping, by running the model along the recorded motion.

Many values are tried at once, as joints of one model. How much worse each one is than the best,
stretch by stretch of the recording, says which of them the data can tell apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.friction.fit.breakaway import damping_rule
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.static import Sliding, predicted
from farhand.friction.models.model import Friction, make

Array = np.ndarray

LONGEST = 4000
"""Samples along which the model is run."""

STRETCHES = 20
"""Pieces of the run whose squared errors count as independent."""

SEEN = 3.0
"""Ticks that the displacement before sliding must cover to be seen."""


@dataclass(frozen=True)
class Search:
    """What the data say about one parameter.

    Attributes:
        value: best one.
        low: smallest one that cannot be told from it; 0 if none is small enough.
        high: largest one; infinite if none is large enough.
    """

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether the data limit it to both sides, to within a factor of two."""
        return self.low > 0.5 * self.value and self.high < 2.0 * self.value


def friction_along(friction: Friction, motion: Motion, rows: slice, applied: Array) -> Array:
    """Torque of the model, all its joints moved alike, n × joints [N·m], smoothed like the measured torque."""
    friction.reset()
    lanes = np.ones(friction.joints)
    velocity, pushed, dt = motion.velocity[rows].tolist(), applied[rows].tolist(), motion.step
    out = np.empty((len(velocity), friction.joints))
    for k, (v, push) in enumerate(zip(velocity, pushed, strict=True)):
        out[k] = friction.step(v * lanes, dt, push * lanes)
    return gaussian_filter1d(out, motion.width / motion.step, axis=0, mode="nearest")


def busiest(motion: Motion) -> slice:
    """The stretch of at most :data:`LONGEST` samples with the most time near rest and reversals."""
    count = len(motion)
    if count <= LONGEST:
        return slice(0, count)
    slow = np.abs(motion.velocity) < 0.1 * np.sqrt(np.mean(motion.velocity**2))
    turns = np.diff(np.sign(motion.velocity), prepend=0.0) != 0.0
    total = np.cumsum(slow + 20.0 * turns)
    start = int(np.argmax(total[LONGEST:] - total[:-LONGEST]))
    return slice(start, start + LONGEST)


def search(
    model: str, name: str, values: Array, fixed: dict[str, Any], motion: Motion, target: Array
) -> Search:
    """Try these values of one parameter.

    Args:
        model: name of the friction model.
        name: of the parameter.
        values: in increasing order.
        fixed: the other parameters.
        motion: what the joint did.
        target: torque left to friction, n [N·m].
    """
    rows = busiest(motion)
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
    return np.geomspace(
        0.3 * breakaway / (0.1 * travel + 10.0 * smallest), 30.0 * breakaway / smallest, count
    )


# Presliding parameters of a fit: what the motion says about stiffness and damping, or why it says
# nothing.

if TYPE_CHECKING:
    from farhand.friction.fit.fit import Estimate
    from farhand.friction.fit.prepare import Prepared

BRISTLES = 100
"""Bristles of the bristle model."""

UNSEEN = 5.0
"""A stiffness that the encoder hides is set so high that the joint breaks away within this fraction
of a tick."""


def bristle_parameters(
    model: str,
    found: dict[str, Estimate],
    curve: dict[str, Estimate],
    whole: Sliding,
    ready: Prepared,
) -> tuple[dict[str, Estimate], list[str]]:
    """Stiffness and what goes with it, by running the model along the motion.

    Args:
        model: name of the friction model.
        found: parameters that the sliding curve gave.
        curve: all parameters of the sliding curve.
        whole: the sliding fit.
        ready: the recording.
    """
    from farhand.friction.fit.fit import Estimate

    motion = ready.motion
    top = curve["breakaway" if "breakaway" in curve else "coulomb"].value
    inertia = whole.terms.inertia if whole.terms.inertia is not None else whole.values["inertia"]
    target = motion.torque - _beside_friction(whole, motion)
    given = {name: one.value for name, one in found.items()}
    grid = stiffness_grid(top, motion)
    first = search(
        model,
        "stiffness",
        _own(model, grid),
        _complete(model, given, grid, top, inertia),
        motion,
        target,
    )
    around = np.geomspace(0.6, 1.7, 21) * first.value
    fixed = _complete(model, given, _whole(model, around), top, inertia)
    best = search(model, "stiffness", around, fixed, motion, target)
    stiffness = float(_whole(model, np.array([best.value]))[0])
    scale = stiffness / best.value
    seen = top / stiffness >= SEEN * motion.tick
    limits = Search(stiffness, max(first.low, 0.0) * scale, first.high * scale)
    if best.low > 0.6 * best.value and np.isfinite(best.high):
        limits = Search(stiffness, best.low * scale, best.high * scale)
    known = seen and limits.bounded
    notes = []
    if not known:
        stiffness = max(
            UNSEEN * top / max(motion.tick, 1e-6 * float(np.ptp(motion.position))), limits.low
        )
        notes.append(_why(top, motion.tick, seen, limits))
    low, high = (limits.low, limits.high) if known else (None, None)
    out = {"stiffness": Estimate(stiffness, low, high, "N·m/rad", known)}
    complete = _complete(model, given, np.array([stiffness]), top, inertia)
    for name in ("damping", "deflection", "stiction"):
        if name in complete:
            unit = {"damping": "N·m·s/rad", "deflection": "rad", "stiction": "-"}[name]
            out[name] = Estimate(float(np.ravel(complete[name])[0]), None, None, unit, False)
    if model == "bristle":
        one = out["stiffness"]
        low, high = (None if x is None else x / BRISTLES for x in (one.low, one.high))
        out["stiffness"] = Estimate(one.value / BRISTLES, low, high, one.unit, one.identified)
    if "damping" in out and known:
        others = {**given, **{name: one.value for name, one in out.items()}}
        out["damping"] = _damping(model, out["damping"], others, motion, target)
    return out, notes


def _beside_friction(whole: Sliding, motion: Any) -> Array:
    """Inertia, offset and gravity: what the fit asks for beside friction, n [N·m]."""
    friction = ("coulomb", "peak", "viscous")
    values = {name: 0.0 if name in friction else value for name, value in whole.values.items()}
    return predicted(motion, replace(whole, values=values))


def _own(model: str, stiffness: Array) -> Array:
    """The model's own parameter for a stiffness of the whole contact."""
    return stiffness / BRISTLES if model == "bristle" else stiffness


def _whole(model: str, own: Array) -> Array:
    return own * BRISTLES if model == "bristle" else own


def _complete(
    model: str, given: dict[str, float], stiffness: Array, top: float, inertia: float
) -> dict[str, Any]:
    """Parameters that follow from the stiffness: damping by the usual rule, deflection from the torque."""
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
    model: str, one: Estimate, given: dict[str, float], motion: Any, target: Array
) -> Estimate:
    """Damping by search around the rule; kept at the rule if the data do not say."""
    if one.value <= 0.0:
        return one
    values = np.geomspace(0.03, 30.0, 25) * one.value
    fixed = {name: value for name, value in given.items() if name != "damping"}
    found = search(model, "damping", values, fixed, motion, target)
    if not found.bounded:
        return one
    return replace(one, value=found.value, low=found.low, high=found.high, identified=True)


def _why(top: float, tick: float, seen: bool, limits: Search) -> str:
    """Why the stiffness is not known, in one line."""
    if tick > 0.0 and not seen:
        return (
            f"stiffness before sliding is not identified: one encoder tick is {tick:.3g} rad, and the joint breaks "
            f"away within less than {SEEN:g} of them; it is at least about {top / (SEEN * tick):.3g} N·m/rad"
        )
    if limits.low > 0.0:
        return f"stiffness before sliding is not identified: the data only say it is above {limits.low:.3g} N·m/rad"
    return "stiffness before sliding is not identified: the recording has no slow reversals or ramps that show it"
