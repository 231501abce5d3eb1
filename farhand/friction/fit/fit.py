"""Identify a joint's friction from a recording of any motion, and say how far the result can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.friction.fit.coverage import NARROW, RESOLVED, warnings_of
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.lugre import LugreFit, fit_lugre, moving, wide_motion
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import Prepared, prepare
from farhand.friction.fit.presliding import friction_along
from farhand.friction.fit.static import (
    Sliding,
    Terms,
    fit_sliding,
    half_interval,
    predicted,
    speed_bounds,
)
from farhand.friction.fit.trust import check_log, trusted
from farhand.friction.models.model import FRICTIONS, Friction, make

Array = np.ndarray

TERMS: dict[str, Terms] = {
    "coulomb": Terms(viscous=False),
    "viscous": Terms(dry=False),
    "coulomb-viscous": Terms(),
    "stiction": Terms(),
    "stribeck": Terms(stribeck=True),
    "kfm": Terms(stribeck=True, shape=None),
    "karnopp": Terms(stribeck=True, shape=None),
    "threshold": Terms(stribeck=True, shape=None),
    "armstrong": Terms(stribeck=True, rational=True),
    "dahl": Terms(viscous=False),
    "bristle": Terms(viscous=False),
    "reset-integrator": Terms(viscous=False),
    "lugre": Terms(stribeck=True, shape=None),
    "leuven": Terms(stribeck=True, shape=None),
    "maxwell-slip": Terms(viscous=False),
    "gms": Terms(stribeck=True, shape=None),
}
"""The sliding curve of every model that can be fitted."""

AUTO = ("viscous", "coulomb", "coulomb-viscous", "stribeck", "kfm", "lugre")
"""Models that ``auto`` compares, simplest first; a later one must be better by enough to win."""

MIN_HOLDOUT_GAIN = 0.1
"""By this share of the hold-out error …"""

MIN_GAIN_OF_TORQUE = 0.002
"""… and by this share of the torque."""

HELD_OUT = 0.2
"""Share of the recording that the hold-out fit does not see."""

LEAD_IN = 300
"""Samples before the hold-out stretch over which a model with memory finds its state."""

PLAIN = 1.1
"""A curve without a peak is taken if its error is below this multiple of that with a peak as wide
as the speeds."""

CURVE_POINTS = 121
IDENTIFIED = 0.5
"""Half of an interval as a share of the value, above which a parameter counts as not identified."""


@dataclass(frozen=True)
class Estimate:
    """One parameter.

    Attributes:
        value: best estimate.
        low: lower end of the 95 % interval; None if the data do not bound it.
        high: upper end.
        unit: of all three.
        identified: whether the data determine it.
    """

    value: float
    low: float | None
    high: float | None
    unit: str
    identified: bool


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes:
        model: its name.
        parameters: of the friction model, by name.
        inertia: [kg·m²]; given or found.
        offset: constant torque beside friction, [N·m].
        gravity: torque that goes with sine and cosine of the position, [N·m].
        friction: the model itself, one joint.
        rms_error: root mean square of what the model leaves of the torque while the joint slides,
            [N·m].
        holdout_error: likewise, over a stretch that the fit had not seen, [N·m].
        rms_torque: of the torque, [N·m].
        warnings: what the data cannot tell, and what is odd about them, one line each.
        motion: what the joint did.
        used: which samples of it were used.
        modelled: torque that the model asks for, n [N·m].
        held_out: which samples the hold-out fit did not see.
        compared: hold-out error of other models, [N·m], where they were tried.
        data: the recording as it was used, with signs and times put right.
    """

    model: str
    parameters: dict[str, Estimate]
    inertia: Estimate
    offset: Estimate
    gravity: tuple[float, float] | None
    friction: Friction
    rms_error: float
    holdout_error: float
    rms_torque: float
    warnings: tuple[str, ...]
    motion: Motion = field(repr=False)
    used: Array = field(repr=False)
    modelled: Array = field(repr=False)
    held_out: Array = field(repr=False)
    compared: dict[str, float] = field(default_factory=dict)
    data: JointLog | None = field(default=None, repr=False)

    @property
    def curve(self) -> Array:
        """Steady torque over velocity, n × 2, as far as the recording went and denser near rest."""
        fastest = float(np.abs(self.motion.velocity[self.used]).max())
        half = fastest * np.linspace(0.0, 1.0, CURVE_POINTS // 2 + 1)[1:] ** 2
        speeds = np.concatenate([-half[::-1], half])
        return np.column_stack([speeds, self.friction.steady(speeds)])


def fit(
    found: JointLog, model: str = "kfm", inertia: float | None = None, gravity: bool = False
) -> Fit:
    """Fit a friction model, and inertia if it is not given.

    Args:
        found: any motion of the joint.
        model: one of :data:`TERMS`, or ``"auto"`` for the one with the least hold-out error.
        inertia: seen from the joint, [kg·m²]; found from the data if None.
        gravity: also find a torque that goes with sine and cosine of the position.

    Raises:
        UnknownName: no such model.
        OutOfRange: an inertia that no joint has.
        BadValue: data from which nothing can be found.
    """
    if model != "auto" and model not in TERMS:
        raise UnknownName("friction model", model, [*TERMS, "auto"])
    if inertia is not None and not 0.0 <= inertia <= 1e6:
        raise OutOfRange("inertia", f"{inertia:g}", 0.0, 1e6, "kg·m²")
    check_log(found)
    ready = prepare(found, inertia)
    if model != "auto":
        return _fit(ready, model, inertia, gravity)
    tried = {name: _fit(ready, name, inertia, gravity, compared=True) for name in AUTO}
    best = AUTO[0]
    for name in AUTO[1:]:
        gain = tried[best].holdout_error - tried[name].holdout_error
        if (
            gain > MIN_HOLDOUT_GAIN * tried[best].holdout_error
            and gain > MIN_GAIN_OF_TORQUE * tried[best].rms_torque
        ):
            best = name
    return replace(tried[best], compared={name: one.holdout_error for name, one in tried.items()})


def _fit(
    ready: Prepared, model: str, inertia: float | None, gravity: bool, compared: bool = False
) -> Fit:
    motion, used = ready.motion, ready.used
    terms = replace(TERMS[model], inertia=inertia, gravity=gravity, offset=ready.coverage.both_ways)
    if ready.coverage.spread < NARROW and terms.dry:
        terms = replace(terms, viscous=False, stribeck=False)
    whole = _plainest(motion, terms, used)
    terms = whole.terms
    parameters, notes = _parameters(model, whole, ready)
    bristles = model == "lugre" and terms.stribeck
    wide = wide_motion(ready.data, motion) if bristles else motion
    found = fit_lugre(wide, whole, moving(wide)) if bristles else None
    if found is not None:
        whole, parameters, notes = found.sliding, parameters | _together(found, ready), []
    friction = _made(model, {name: one.value for name, one in parameters.items()})
    modelled = _modelled(friction, whole, motion)
    error = _rms((motion.torque - modelled)[used])
    held_out = _block(motion, used)
    unseen = _holdout(model, terms, ready, parameters, held_out)
    found_inertia = _inertia(whole, inertia, ready)
    result = Fit(
        model=model,
        parameters=parameters,
        inertia=found_inertia,
        offset=_offset(whole),
        gravity=(whole.values["gravity_sine"], whole.values["gravity_cosine"]) if gravity else None,
        friction=friction,
        rms_error=error,
        holdout_error=unseen,
        rms_torque=_rms(motion.torque[used]),
        warnings=(),
        motion=motion,
        used=used,
        modelled=modelled,
        held_out=held_out,
        data=ready.data,
    )
    marked, doubts = trusted(result, whole, ready, compared)
    lines = warnings_of(result, whole, ready.coverage)
    return replace(marked, warnings=(*ready.notes, *doubts, *lines, *notes))


def _plainest(motion: Motion, terms: Terms, used: Array) -> Sliding:
    """The fitted curve; without its peak where that only bends the curve as a whole and explains nothing more."""
    whole = fit_sliding(motion, terms, used)
    if terms.stribeck and whole.values["stribeck_velocity"] > 0.98 * speed_bounds(motion, used)[1]:
        plain = fit_sliding(motion, replace(terms, stribeck=False), used)
        return plain if plain.rms < PLAIN * whole.rms else whole
    return whole


def _fields(model: str) -> dict[str, Any]:
    return {f.name: f.metadata for f in fields(FRICTIONS[model]) if "unit" in f.metadata}


def _made(model: str, values: dict[str, Any]) -> Friction:
    return make(model, **{name: value for name, value in values.items() if name in _fields(model)})


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def _estimate(
    value: float, half: float, unit: str, low: float = 0.0, known: bool = True
) -> Estimate:
    sure = known and half < IDENTIFIED * abs(value)
    return Estimate(value, max(value - half, low), value + half, unit, bool(sure))


def _inertia(whole: Sliding, given: float | None, ready: Prepared) -> Estimate:
    if given is not None:
        return Estimate(given, given, given, "kg·m²", True)
    value = whole.values["inertia"]
    # noise of the acceleration makes inertia look smaller
    half = whole.half("inertia") + ready.motion.haze * value
    return _estimate(value, half, "kg·m²", known=ready.coverage.accelerates)


def _offset(whole: Sliding) -> Estimate:
    if "offset" not in whole.values:
        return Estimate(0.0, None, None, "N·m", False)
    value, half = whole.values["offset"], whole.half("offset")
    return Estimate(value, value - half, value + half, "N·m", True)


def _parameters(
    model: str, whole: Sliding, ready: Prepared
) -> tuple[dict[str, Estimate], list[str]]:
    """Estimates of the model's own parameters, and what the presliding search has to say."""
    declared = _fields(model)
    curve = _curve_parameters(whole, ready)
    out = {name: one for name, one in curve.items() if name in declared}
    notes: list[str] = []
    if "breakaway" in declared and "breakaway" not in out:
        out["breakaway"] = replace(out["coulomb"], identified=False, low=None, high=None)
    if "fresh_breakaway" in declared:
        out["fresh_breakaway"] = replace(out["breakaway"], identified=False, low=None, high=None)
    if "stiffness" in declared:
        from farhand.friction.fit.presliding import bristle_parameters

        more, notes = bristle_parameters(model, out, curve, whole, ready)
        out |= more
    if "viscous" in declared and "viscous" not in out:
        out["viscous"] = Estimate(0.0, None, None, "N·m·s/rad", False)
    for name, metadata in declared.items():
        if (
            name not in out
            and isinstance(default := getattr(make(model), name), np.ndarray)
            and default.shape == (1,)
        ):
            out[name] = Estimate(float(default[0]), None, None, metadata["unit"], False)
    return out, notes


def _together(found: LugreFit, ready: Prepared) -> dict[str, Estimate]:
    """Estimates of LuGre friction fitted as a whole; the way to sliding shows the peak, held speeds or not."""
    curve = _curve_parameters(
        found.sliding, replace(ready, coverage=replace(ready.coverage, resolved=0.0))
    )
    stiffness = _estimate(*found.stiffness, "N·m/rad")
    return {**curve, "stiffness": stiffness, "damping": _estimate(*found.damping, "N·m·s/rad")}


def _curve_parameters(whole: Sliding, ready: Prepared) -> dict[str, Estimate]:
    """Estimates of the sliding curve; break-away friction is Coulomb friction plus the peak."""
    values, out = whole.values, {}
    for name, unit in (("coulomb", "N·m"), ("viscous", "N·m·s/rad")):
        if name in values:
            out[name] = _estimate(values[name], whole.half(name), unit)
    top = 0.98 * speed_bounds(ready.motion, whole.used)[1]
    # all speeds lie on the falling side of the curve
    if values.get("stribeck_velocity", 0.0) > top:
        out = {name: replace(one, identified=False) for name, one in out.items()}
    if ready.coverage.spread < NARROW:
        out = {name: replace(one, identified=False, low=0.0) for name, one in out.items()}
    if "coulomb" in out and out["coulomb"].value < 1e-9:
        out["coulomb"] = replace(out["coulomb"], value=1e-9)
    if whole.terms.stribeck:
        i, k = list(values).index("coulomb"), list(values).index("peak")
        C = whole.covariance
        known = ready.coverage.resolved < RESOLVED * values["stribeck_velocity"]
        known &= "stribeck_velocity" not in whole.bounded and whole.half("peak") < values["peak"]
        spread = half_interval(C[i, i] + C[k, k] + 2.0 * C[i, k], whole.freedom)
        top = max(values["coulomb"] + values["peak"], out["coulomb"].value)
        out["breakaway"] = _estimate(top, spread, "N·m", known=known)
        speed = values["stribeck_velocity"]
        out["stribeck_velocity"] = _estimate(
            speed, whole.half("stribeck_velocity"), "rad/s", known=known
        )
        if "shape" in values:
            sure = known and "shape" not in whole.bounded
            out["shape"] = _estimate(values["shape"], whole.half("shape"), "-", known=sure)
    return {name: one if one.identified else _unbounded(one) for name, one in out.items()}


def _unbounded(one: Estimate) -> Estimate:
    """An interval that would pretend to know is left out where the motion never showed the parameter."""
    wide = (
        one.low is not None
        and one.high is not None
        and one.high - one.low >= IDENTIFIED * abs(one.value)
    )
    return one if wide else replace(one, low=None, high=None)


def _modelled(
    friction: Friction, whole: Sliding, motion: Motion, rows: slice | None = None
) -> Array:
    """Torque that the whole model asks for, n [N·m]; a model with memory is run along ``rows`` only."""
    sliding = predicted(motion, whole)
    if friction.order == 0 and friction.state.size == 0:
        return sliding
    rest = sliding - motion.smooth(_static(whole, motion))
    rows = rows or slice(0, len(motion))
    sliding[rows] = rest[rows] + friction_along(friction, motion, rows, motion.torque - rest)[:, 0]
    return sliding


def _static(whole: Sliding, motion: Motion) -> Array:
    """The fitted curve at every sample, not smoothed, n [N·m]."""
    values, v, terms = whole.values, motion.velocity, whole.terms
    force = values.get("coulomb", 0.0) * np.sign(v) + values.get("viscous", 0.0) * v
    if terms.stribeck:
        shape = values.get("shape", terms.shape or 2.0)
        force = force + values["peak"] * np.sign(v) * terms.fall(
            np.abs(v) / values["stribeck_velocity"], shape
        )
    return force


def _block(motion: Motion, used: Array) -> Array:
    """A contiguous fifth of the recording: the one whose speeds the rest covers best, errors unseen."""
    edges = np.linspace(0, len(motion), int(round(1.0 / HELD_OUT)) + 1).astype(int)
    best, block = -1.0, np.zeros(len(motion), dtype=bool)
    bins = np.quantile(motion.velocity[used], np.linspace(0.0, 1.0, 13))
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        mask = np.zeros(len(motion), dtype=bool)
        mask[low:high] = True
        inside = np.histogram(motion.velocity[used & mask], bins)[0] > 0
        outside = np.histogram(motion.velocity[used & ~mask], bins)[0] > 0
        score = np.count_nonzero(inside & outside) - 3.0 * np.count_nonzero(inside & ~outside)
        if score > best and np.count_nonzero(used & mask) > 10:
            best, block = score, mask
    return block if best >= 0.0 else mask


def _holdout(
    model: str, terms: Terms, ready: Prepared, parameters: dict[str, Estimate], block: Array
) -> float:
    """Error over the block of a fit that has not seen it; stiffness is the one found before."""
    motion, used = ready.motion, ready.used
    reach = int(np.ceil(4.0 * motion.width / motion.step))
    near = np.convolve(block, np.ones(2 * reach + 1), mode="same") > 0.0
    seen = used & ~near
    if np.count_nonzero(seen) < 30 or not np.any(used & block):
        raise BadValue(
            "the joint slides for too short a time to keep a part of the recording for checking; log more"
        )
    part = fit_sliding(motion, terms, seen)
    names = _fields(model)
    fresh = {
        name: one.value for name, one in _curve_parameters(part, ready).items() if name in names
    }
    if model == "lugre" and terms.stribeck and parameters["stiffness"].identified:
        wide, ends = wide_motion(ready.data, motion), motion.time[near][[0, -1]]
        away = (wide.time < ends[0]) | (wide.time > ends[1])
        again = fit_lugre(wide, part, moving(wide) & away, parameters["stiffness"].value)
        if again is not None:
            part, fresh = (
                again.sliding,
                {name: one.value for name, one in _together(again, ready).items()},
            )
    kept = {name: one.value for name, one in parameters.items() if name in names}
    friction = _made(model, {**kept, **fresh, **_consistent(kept, fresh)})
    inside = np.flatnonzero(block)
    rows = slice(max(0, int(inside[0]) - LEAD_IN), int(inside[-1]) + 1)
    return _rms((motion.torque - _modelled(friction, part, motion, rows))[used & block])


def _consistent(kept: dict[str, float], fresh: dict[str, float]) -> dict[str, float]:
    """Break-away friction is never below Coulomb friction."""
    if "breakaway" in kept and "coulomb" in fresh:
        top = max(fresh.get("breakaway", kept["breakaway"]), fresh["coulomb"])
        return {name: top for name in ("breakaway", "fresh_breakaway") if name in kept}
    return {}
