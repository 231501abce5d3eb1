"""Identify a joint's friction from a recording of any motion, with intervals and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.friction.fit.coverage import NARROW, RESOLVED, check_log
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.lugre import LugreFit, fit_lugre, moving, wide_motion
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import Prepared, prepare
from farhand.friction.fit.presliding import bristle_parameters, friction_along
from farhand.friction.fit.sliding import (
    Estimate,
    SlidingCurve,
    Terms,
    fit_sliding,
    half_interval,
    predicted,
    speed_bounds,
)
from farhand.friction.fit.trust import coverage_warnings, mark_untrusted
from farhand.friction.models.model import FRICTIONS, Friction, make

Array = np.ndarray
Progress = Callable[[int, int, str], None]

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
MIN_GAIN_OF_TORQUE = 0.002
"""Enough is this share of the hold-out error, and this share of the torque."""

HELD_OUT_SHARE = 0.2
"""Share of the recording that the hold-out fit does not see."""

LEAD_IN_SAMPLES = 300
"""Samples before the hold-out stretch over which a model with memory finds its state."""

MAX_PLAIN_ERROR = 1.1
"""A peak as wide as the speeds is dropped if the error without it is below this multiple."""

CURVE_POINTS = 121

MAX_RELATIVE_INTERVAL = 0.5
"""Half of an interval over the value, above which a parameter counts as not identified."""


@dataclass(frozen=True)
class Fit:
    """A fitted model. Errors are root mean squares while the joint slides, [N·m]."""

    model: str  #: its name
    parameters: dict[str, Estimate]  #: of the friction model, by name
    inertia: Estimate  #: [kg·m²]; given or estimated
    offset: Estimate  #: constant torque beside friction, [N·m]
    gravity: tuple[float, float] | None  #: torque times sine and cosine of the position, [N·m]
    friction: Friction  #: the model itself, one joint
    rms_error: float  #: torque minus model
    holdout_error: float  #: likewise, over a stretch that the fit had not seen
    rms_torque: float  #: of the torque
    motion: Motion = field(repr=False)
    used: Array = field(repr=False)  #: which samples of the motion were used
    modelled: Array = field(repr=False)  #: torque of the model, n [N·m]
    held_out: Array = field(repr=False)  #: which samples the hold-out fit did not see
    warnings: tuple[str, ...] = ()  #: what is not identified, what is unusual; one line each
    compared: dict[str, float] = field(default_factory=dict)  #: hold-out errors of other models
    data: JointLog | None = field(default=None, repr=False)  #: the recording, corrected

    @property
    def curve(self) -> Array:
        """Steady torque over velocity, n × 2, as far as the recording went and denser near rest."""
        fastest = float(np.abs(self.motion.velocity[self.used]).max())
        half = fastest * np.linspace(0.0, 1.0, CURVE_POINTS // 2 + 1)[1:] ** 2
        speeds = np.concatenate([-half[::-1], half])
        return np.column_stack([speeds, self.friction.steady(speeds)])


def fit(
    log: JointLog,
    model: str = "kfm",
    inertia: float | None = None,
    gravity: bool = False,
    *,
    progress: Progress = lambda done, total, name: None,
) -> Fit:
    """Fit a friction model, and inertia if it is not given.

    Args:
        log: any motion of the joint.
        model: one of :data:`TERMS`, or ``"auto"`` for the one with the least hold-out error.
        inertia: at the joint, [kg·m²]; estimated if None.
        gravity: also estimate a torque that follows sine and cosine of the position.
        progress: called with how many models are fitted, of how many, and the name of the next.

    Raises:
        UnknownName: no such model.
        OutOfRange: an inertia that no joint has.
        BadValue: the data do not allow a fit.
    """
    if model != "auto" and model not in TERMS:
        raise UnknownName("friction model", model, [*TERMS, "auto"])
    if inertia is not None and not 0.0 <= inertia <= 1e6:
        raise OutOfRange("inertia", f"{inertia:g}", 0.0, 1e6, "kg·m²")
    check_log(log)
    ready = prepare(log, inertia)
    if model != "auto":
        return _fit(ready, model, inertia, gravity)
    tried: dict[str, Fit] = {}
    for name in AUTO:
        progress(len(tried), len(AUTO), name)
        tried[name] = _fit(ready, name, inertia, gravity, compared=True)
    best = tried[AUTO[0]]
    for other in tried.values():
        gain = best.holdout_error - other.holdout_error
        if gain > max(MIN_HOLDOUT_GAIN * best.holdout_error, MIN_GAIN_OF_TORQUE * best.rms_torque):
            best = other
    return replace(best, compared={name: one.holdout_error for name, one in tried.items()})


def _fit(
    ready: Prepared, model: str, inertia: float | None, gravity: bool, compared: bool = False
) -> Fit:
    motion, used = ready.motion, ready.used
    terms = replace(TERMS[model], inertia=inertia, gravity=gravity, offset=ready.coverage.both_ways)
    if ready.coverage.spread < NARROW and terms.dry:
        terms = replace(terms, viscous=False, stribeck=False)
    curve = _simplest_curve(motion, terms, used)
    parameters, notes = _parameters(model, curve, ready)
    if model == "lugre" and curve.terms.stribeck:
        wide = wide_motion(ready.data, motion)
        whole = fit_lugre(wide, curve, moving(wide))
        if whole is not None:
            curve, parameters, notes = whole.curve, parameters | _lugre_estimates(whole, ready), []
    friction = _make(model, {name: one.value for name, one in parameters.items()})
    modelled = _modelled(friction, curve, motion)
    held_out = _holdout_block(motion, used)
    loads = (curve.values["gravity_sine"], curve.values["gravity_cosine"]) if gravity else None
    result = Fit(
        model=model,
        parameters=parameters,
        inertia=_inertia(curve, ready),
        offset=_offset(curve),
        gravity=loads,
        friction=friction,
        rms_error=_rms((motion.torque - modelled)[used]),
        holdout_error=_holdout_error(model, curve.terms, ready, parameters, held_out),
        rms_torque=_rms(motion.torque[used]),
        motion=motion,
        used=used,
        modelled=modelled,
        held_out=held_out,
        data=ready.data,
    )
    marked, doubts = mark_untrusted(result, curve, ready, compared)
    lines = coverage_warnings(result, curve, ready.coverage)
    return replace(marked, warnings=(*ready.notes, *doubts, *lines, *notes))


def _simplest_curve(motion: Motion, terms: Terms, used: Array) -> SlidingCurve:
    """The fitted curve; without its peak where that bends the whole curve and explains no more."""
    curve = fit_sliding(motion, terms, used)
    if terms.stribeck and curve.values["stribeck_velocity"] > _widest_peak(motion, used):
        plain = fit_sliding(motion, replace(terms, stribeck=False), used)
        return plain if plain.rms < MAX_PLAIN_ERROR * curve.rms else curve
    return curve


def _widest_peak(motion: Motion, used: Array) -> float:
    """Stribeck speed above which all speeds lie on the falling side of the curve, [rad/s]."""
    return 0.98 * speed_bounds(motion, used)[1]


def _fields(model: str) -> dict[str, Any]:
    return {f.name: f.metadata for f in fields(FRICTIONS[model]) if "unit" in f.metadata}


def _make(model: str, values: dict[str, Any]) -> Friction:
    return make(model, **{name: value for name, value in values.items() if name in _fields(model)})


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def _estimate(
    value: float, half: float, unit: str, low: float = 0.0, known: bool = True
) -> Estimate:
    sure = known and half < MAX_RELATIVE_INTERVAL * abs(value)
    return Estimate(value, max(value - half, low), value + half, unit, bool(sure))


def _unbounded(one: Estimate) -> Estimate:
    return replace(one, identified=False, low=None, high=None)


def _inertia(curve: SlidingCurve, ready: Prepared) -> Estimate:
    given = curve.terms.inertia
    if given is not None:
        return Estimate(given, given, given, "kg·m²", True)
    value = curve.values["inertia"]
    # Noise of the acceleration makes inertia look smaller.
    half = curve.half("inertia") + ready.motion.noise_share * value
    return _estimate(value, half, "kg·m²", known=ready.coverage.accelerates)


def _offset(curve: SlidingCurve) -> Estimate:
    if "offset" not in curve.values:
        return Estimate(0.0, None, None, "N·m", False)
    value, half = curve.values["offset"], curve.half("offset")
    return Estimate(value, value - half, value + half, "N·m", True)


def _parameters(
    model: str, curve: SlidingCurve, ready: Prepared
) -> tuple[dict[str, Estimate], list[str]]:
    """Estimates of the model's own parameters, and notes of the presliding search."""
    declared = _fields(model)
    of_curve = _curve_estimates(curve, ready)
    out = {name: one for name, one in of_curve.items() if name in declared}
    notes: list[str] = []
    if "breakaway" in declared and "breakaway" not in out:
        out["breakaway"] = _unbounded(out["coulomb"])
    if "fresh_breakaway" in declared:
        out["fresh_breakaway"] = _unbounded(out["breakaway"])
    if "stiffness" in declared:
        more, notes = bristle_parameters(model, out, of_curve, curve, ready)
        out |= more
    if "viscous" in declared and "viscous" not in out:
        out["viscous"] = Estimate(0.0, None, None, "N·m·s/rad", False)
    defaults = vars(make(model))
    for name, metadata in declared.items():
        default = defaults[name]
        if name not in out and isinstance(default, np.ndarray) and default.shape == (1,):
            out[name] = Estimate(float(default[0]), None, None, metadata["unit"], False)
    return out, notes


def _lugre_estimates(whole: LugreFit, ready: Prepared) -> dict[str, Estimate]:
    # The way to sliding shows the peak, whether a slow speed was held or not.
    covered = replace(ready, coverage=replace(ready.coverage, resolved=0.0))
    stiffness = _estimate(*whole.stiffness, "N·m/rad")
    damping = _estimate(*whole.damping, "N·m·s/rad")
    return {**_curve_estimates(whole.curve, covered), "stiffness": stiffness, "damping": damping}


def _curve_estimates(curve: SlidingCurve, ready: Prepared) -> dict[str, Estimate]:
    """Estimates of the sliding curve; break-away friction is Coulomb friction plus the peak."""
    values, out = curve.values, {}
    for name, unit in (("coulomb", "N·m"), ("viscous", "N·m·s/rad")):
        if name in values:
            out[name] = _estimate(values[name], curve.half(name), unit)
    if values.get("stribeck_velocity", 0.0) > _widest_peak(ready.motion, curve.used):
        out = {name: replace(one, identified=False) for name, one in out.items()}
    if ready.coverage.spread < NARROW:
        out = {name: replace(one, identified=False, low=0.0) for name, one in out.items()}
    if "coulomb" in out and out["coulomb"].value < 1e-9:
        out["coulomb"] = replace(out["coulomb"], value=1e-9)
    if curve.terms.stribeck:
        i, k = list(values).index("coulomb"), list(values).index("peak")
        C, speed = curve.covariance, values["stribeck_velocity"]
        known = ready.coverage.resolved < RESOLVED * speed
        known &= "stribeck_velocity" not in curve.bounded and curve.half("peak") < values["peak"]
        half = half_interval(C[i, i] + C[k, k] + 2.0 * C[i, k], curve.freedom)
        top = max(values["coulomb"] + values["peak"], out["coulomb"].value)
        out["breakaway"] = _estimate(top, half, "N·m", known=known)
        half = curve.half("stribeck_velocity")
        out["stribeck_velocity"] = _estimate(speed, half, "rad/s", known=known)
        if "shape" in values:
            sure = known and "shape" not in curve.bounded
            out["shape"] = _estimate(values["shape"], curve.half("shape"), "-", known=sure)
    return {name: _without_false_interval(one) for name, one in out.items()}


def _without_false_interval(one: Estimate) -> Estimate:
    """Drop a narrow interval where the motion never showed the parameter."""
    if one.identified:
        return one
    if one.low is not None and one.high is not None:
        if one.high - one.low >= MAX_RELATIVE_INTERVAL * abs(one.value):
            return one
    return _unbounded(one)


def _modelled(
    friction: Friction, curve: SlidingCurve, motion: Motion, rows: slice | None = None
) -> Array:
    """Torque of the whole model, n [N·m]; a model with memory is run along ``rows`` only."""
    sliding = predicted(motion, curve)
    if friction.order == 0 and friction.state.size == 0:
        return sliding
    rest = sliding - motion.smooth(_curve_friction(curve, motion))
    rows = rows or slice(0, len(motion))
    sliding[rows] = rest[rows] + friction_along(friction, motion, rows, motion.torque - rest)[:, 0]
    return sliding


def _curve_friction(curve: SlidingCurve, motion: Motion) -> Array:
    """Friction of the fitted curve at every sample, not smoothed, n [N·m]."""
    values, v, terms = curve.values, motion.velocity, curve.terms
    force = values.get("coulomb", 0.0) * np.sign(v) + values.get("viscous", 0.0) * v
    if terms.stribeck:
        shape = values.get("shape", terms.shape or 2.0)
        left = terms.peak_left(np.abs(v) / values["stribeck_velocity"], shape)
        force = force + values["peak"] * np.sign(v) * left
    return force


def _holdout_block(motion: Motion, used: Array) -> Array:
    """A fifth of the recording in one piece: the one whose speeds the rest covers best."""
    edges = np.linspace(0, len(motion), int(round(1.0 / HELD_OUT_SHARE)) + 1).astype(int)
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


def _holdout_error(
    model: str, terms: Terms, ready: Prepared, parameters: dict[str, Estimate], block: Array
) -> float:
    """Error over the block of a fit that has not seen it; the stiffness stays."""
    motion, used = ready.motion, ready.used
    reach = int(np.ceil(4.0 * motion.width / motion.step))
    near = np.convolve(block, np.ones(2 * reach + 1), mode="same") > 0.0
    seen = used & ~near
    if np.count_nonzero(seen) < 30 or not np.any(used & block):
        raise BadValue(
            "the joint slides for too short a time to keep a part of the recording for checking; "
            "log more"
        )
    curve = fit_sliding(motion, terms, seen)
    names = _fields(model)
    estimates = _curve_estimates(curve, ready)
    if model == "lugre" and terms.stribeck and parameters["stiffness"].identified:
        wide, ends = wide_motion(ready.data, motion), motion.time[near][[0, -1]]
        away = (wide.time < ends[0]) | (wide.time > ends[1])
        whole = fit_lugre(wide, curve, moving(wide) & away, parameters["stiffness"].value)
        if whole is not None:
            curve, estimates = whole.curve, _lugre_estimates(whole, ready)
    values = {name: one.value for name, one in parameters.items() if name in names}
    values |= {name: one.value for name, one in estimates.items() if name in names}
    # Break-away friction is never below Coulomb friction.
    if "breakaway" in values and "coulomb" in estimates:
        top = max(values["breakaway"], values["coulomb"])
        values |= {name: top for name in ("breakaway", "fresh_breakaway") if name in values}
    friction = _make(model, values)
    inside = np.flatnonzero(block)
    rows = slice(max(0, int(inside[0]) - LEAD_IN_SAMPLES), int(inside[-1]) + 1)
    return _rms((motion.torque - _modelled(friction, curve, motion, rows))[used & block])
