"""Presliding parameters of a fit: what the motion says about stiffness and damping, or why it says nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.friction.breakaway import damping_rule
from farhand.friction.fit_presliding import SEEN, Search, search, stiffness_grid
from farhand.friction.fit_static import Sliding, predicted
from farhand.friction.model import make

if TYPE_CHECKING:
    from farhand.friction.fit import Estimate
    from farhand.friction.fit_prepare import Prepared

Array = np.ndarray

BRISTLES = 100
"""Bristles of the bristle model."""

UNSEEN = 5.0
"""A stiffness that the encoder hides is set so high that the joint breaks away within this fraction of a tick."""


def bristle_parameters(
    model: str, found: dict[str, Estimate], curve: dict[str, Estimate], whole: Sliding, ready: Prepared
) -> tuple[dict[str, Estimate], list[str]]:
    """Stiffness and what goes with it, by running the model along the motion.

    Args:
        model: name of the friction model.
        found: parameters that the sliding curve gave.
        curve: all parameters of the sliding curve.
        whole: the sliding fit.
        ready: the recording.
    """
    from farhand.friction.fit import Estimate

    motion = ready.motion
    top = curve["breakaway" if "breakaway" in curve else "coulomb"].value
    inertia = whole.terms.inertia if whole.terms.inertia is not None else whole.values["inertia"]
    target = motion.torque - _beside_friction(whole, motion)
    given = {name: one.value for name, one in found.items()}
    grid = stiffness_grid(top, motion)
    first = search(model, "stiffness", _own(model, grid), _complete(model, given, grid, top, inertia), motion, target)
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
        stiffness = max(UNSEEN * top / max(motion.tick, 1e-6 * float(np.ptp(motion.position))), limits.low)
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


def _complete(model: str, given: dict[str, float], stiffness: Array, top: float, inertia: float) -> dict[str, Any]:
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


def _damping(model: str, one: Estimate, given: dict[str, float], motion: Any, target: Array) -> Estimate:
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
