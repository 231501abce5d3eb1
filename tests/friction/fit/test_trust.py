"""Each doubt by itself: where it begins, what it names, and what it says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import f as fisher

from farhand.friction import make
from farhand.friction.fit import trust
from farhand.friction.fit.coverage import Coverage
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import Delay
from farhand.friction.fit.sliding import (
    Estimate,
    SlidingCurve,
    Terms,
    fit_sliding,
    free_columns,
    half_interval,
    tangents,
)
from tests.friction.wave_logs import swung

ALL = {"coulomb", "viscous", "breakaway", "stribeck_velocity", "shape"}
COVERED = Coverage(0.5, True, 0.01, 3.0, 9.0, True, 0.9)


def known(value: float, half: float = 0.0, sure: bool = True) -> Estimate:
    return Estimate(value, value - half, value + half, "N·m", sure)


def result(motion: Motion, extra: np.ndarray | float = 0.0, **changes) -> SimpleNamespace:
    """A fit of 0.5 N·m dry and 0.2 N·m·s/rad viscous friction whose residual is ``extra``."""
    modelled = 0.5 * np.sign(motion.velocity) + 0.2 * motion.velocity
    torque = modelled + extra
    used = np.ones(len(motion), dtype=bool)
    made = {
        "model": "coulomb-viscous",
        "parameters": {"coulomb": known(0.5), "viscous": known(0.2)},
        "inertia": known(0.0, 0.01),
        "offset": Estimate(0.0, None, None, "N·m", False),
        "gravity": None,
        "friction": make("coulomb-viscous", coulomb=0.5, viscous=0.2),
        "rms_error": float(np.sqrt(np.mean((torque - modelled) ** 2))),
        "rms_torque": float(np.sqrt(np.mean(torque**2))),
        "motion": replace(motion, torque=torque),
        "used": used,
        "modelled": modelled,
        "data": JointLog(motion.time, motion.position, motion.velocity, torque),
    }
    return SimpleNamespace(**made | changes)


def test_a_torque_at_its_limit_is_at_one_value_over_many_speeds():
    """2 % of the samples, a fifth of the speeds; not if the model leaves nothing, and either
    end.
    """
    motion = swung(20.0)
    rng = np.random.default_rng(0)
    rough = 0.05 * rng.standard_normal(len(motion))
    assert trust._clipped(result(motion, rough)) == (set(), "")
    whole = result(motion, rough)
    for end in (0.75, -0.75):
        torque = np.clip(whole.data.torque, -0.75 if end < 0 else -9.0, 0.75 if end > 0 else 9.0)
        clipped = replace(whole.data, torque=torque)
        names, line = trust._clipped(SimpleNamespace(**vars(whole) | {"data": clipped}))
        assert names == ALL | {"inertia"} and f"exactly {end:.4g} N·m" in line
        share = round(100 * float(np.mean(torque == end)))
        assert f"{share} % of the samples" in line
        exact = {"data": clipped, "rms_error": 0.0049 * whole.rms_torque}
        assert trust._clipped(SimpleNamespace(**vars(whole) | exact))[1] == ""
        exact["rms_error"] = 0.0051 * whole.rms_torque
        assert trust._clipped(SimpleNamespace(**vars(whole) | exact))[1]
    v = np.abs(motion.velocity)
    for count, limited in ((75, False), (85, True)):
        rows = np.argsort(v)[:: len(v) // count][:count]
        torque = whole.data.torque.copy()
        torque[rows] = 3.0
        clipped = {"data": replace(whole.data, torque=torque)}
        assert bool(trust._clipped(SimpleNamespace(**vars(whole) | clipped))[1]) == limited
    # one speed: the torque is the same because the friction is
    for width, limited in ((0.17, False), (0.30, True)):
        rows = (v > 0.3 * v.max()) & (v < (0.3 + width) * v.max())
        torque = np.where(rows, 3.0, whole.data.torque)
        clipped = {"data": replace(whole.data, torque=torque)}
        assert bool(trust._clipped(SimpleNamespace(**vars(whole) | clipped))[1]) == limited
    assert trust._clipped(SimpleNamespace(**vars(whole) | {"data": None}))[1] == ""


def test_viscous_friction_must_be_fifteen_per_cent_at_the_fastest_speed():
    """Of all friction there; what is not identified anyway is not doubted again."""
    motion = swung(20.0)
    fastest = float(np.quantile(np.abs(motion.velocity), 0.99))
    for share, weak in ((0.14, True), (0.16, False)):
        viscous = share * 0.5 / (1.0 - share) / fastest
        parameters = {"coulomb": known(0.5), "viscous": known(viscous)}
        friction = make("coulomb-viscous", coulomb=0.5, viscous=viscous)
        names, line = trust._weak_viscous(result(motion, parameters=parameters, friction=friction))
        assert names == ({"viscous"} if weak else set())
        assert ("only 14 % of the friction" in line) == weak
        unsure = parameters | {"viscous": known(viscous, sure=False)}
        assert trust._weak_viscous(result(motion, parameters=unsure, friction=friction))[1] == ""
    for name in ("coulomb", "viscous"):
        assert trust._weak_viscous(result(motion, parameters={name: known(0.1)}))[1] == ""


def late(seconds: float, variance: float, error: float, order: int) -> str:
    """The line for a torque that still seems late."""
    ready = SimpleNamespace(remaining=Delay(seconds, True, variance))
    fitted = SimpleNamespace(rms_error=error, friction=SimpleNamespace(order=order))
    return trust._late(fitted, ready)[1]


def test_a_torque_that_seems_late_is_named_unless_bristles_explain_it():
    """As well as the delay does, to a tenth."""
    assert late(0.0, 1.0, 1.0, 0) == ""
    assert "20 ms behind" in late(0.02, 1.0, 1.0, 0)
    assert "20 ms ahead of" in late(-0.02, 1.0, 0.1, 0)
    assert late(0.02, 1.0, np.sqrt(1.0 / 0.91), 1) == ""
    assert late(0.02, 1.0, np.sqrt(1.0 / 0.89), 1) != ""


def peaked(speed: float, peak: float = 0.3, stribeck: bool = True) -> SimpleNamespace:
    """A curve with a peak."""
    values = {"stribeck_velocity": speed, "peak": peak, "coulomb": 0.5}
    return SimpleNamespace(terms=Terms(stribeck=stribeck), values=values, bounded=())


def test_an_unseen_peak_as_wide_as_the_speeds_bends_the_curve():
    """Above a fifth of the fastest speed and a tenth of dry friction; a peak that is seen does
    not.
    """
    parameters = {"viscous": known(0.2), "breakaway": known(0.8, sure=False)}
    fitted = SimpleNamespace(parameters=parameters)
    bent = trust._bent(fitted, peaked(0.61), COVERED)
    assert bent[0] == {"coulomb", "viscous"} and "up to 3 rad/s" in bent[1]
    assert trust._bent(fitted, peaked(0.59), COVERED)[1] == ""
    assert trust._bent(fitted, peaked(0.61, peak=0.051), COVERED)[1]
    assert trust._bent(fitted, peaked(0.61, peak=0.049), COVERED)[1] == ""
    assert trust._bent(fitted, peaked(0.61, stribeck=False), COVERED)[1] == ""
    seen = SimpleNamespace(parameters=parameters | {"breakaway": known(0.8)})
    assert trust._bent(seen, peaked(0.61), COVERED)[1] == ""
    for resolved, doubted in ((0.69 * 0.61, False), (0.71 * 0.61, True)):
        assert (
            bool(trust._bent(seen, peaked(0.61), replace(COVERED, resolved=resolved))[1]) == doubted
        )
    assert trust._bent(SimpleNamespace(parameters={}), peaked(0.61), COVERED)[1] == ""


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (COVERED, None),
        (replace(COVERED, both_ways=False, forward=0.99), "only moves forward"),
        (replace(COVERED, both_ways=False, forward=0.01), "only moves backward"),
        (replace(COVERED, spread=1.31), None),
        (replace(COVERED, spread=1.29), "speed hardly changes (about 3 rad/s)"),
        (replace(COVERED, sliding=0.21), None),
        (replace(COVERED, sliding=0.19), "slides in only 19 %"),
    ],
)
def test_what_the_motion_does_not_cover_is_said(coverage, words):
    """Direction, speeds, and how much of it slides."""
    lines = trust.coverage_warnings(result(swung(20.0)), peaked(0.1), coverage)
    assert lines == [] if words is None else words in lines[0] and len(lines) == 1
    by_velocity = result(swung(20.0))
    by_velocity.motion = replace(by_velocity.motion, source="velocity")
    said = trust.coverage_warnings(by_velocity, peaked(0.1), COVERED)
    assert said == ["the motion comes from the velocity column, which fits the torque better"]


def test_parameters_that_are_not_identified_are_said_with_their_intervals():
    """Inertia, dry and viscous friction; break-away, or else the shape."""
    open_ = Estimate(0.5, None, None, "N·m", False)
    parameters = {"coulomb": open_, "viscous": Estimate(0.2, 0.1, 0.9, "N·m·s/rad", False)}
    fitted = result(swung(20.0), parameters=parameters, inertia=open_)
    lines = trust._parameter_lines(fitted, peaked(0.1), COVERED)
    assert lines[0].startswith("inertia is not identified") and len(lines) == 3
    assert "coulomb is not identified (95 % interval unbounded)" in lines[1]
    assert "viscous is not identified (95 % interval 0.1 to 0.9 N·m·s/rad)" in lines[2]
    shape = {"breakaway": known(0.8), "shape": known(1.0, 0.5, False)}
    (line,) = trust._parameter_lines(result(swung(20.0), parameters=shape), peaked(0.1), COVERED)
    assert line.startswith("shape of the Stribeck curve is not identified (0.5 to 1.5")
    both = shape | {"breakaway": open_}
    (line,) = trust._parameter_lines(result(swung(20.0), parameters=both), peaked(0.1), COVERED)
    assert "does not stand out from the noise" in line
    bound = SimpleNamespace(**vars(peaked(0.1)) | {"bounded": ("stribeck_velocity",)})
    assert "on one side of the Stribeck speed" in trust._breakaway_line(bound, COVERED)
    for resolved, slow in ((0.069, True), (0.071, False)):
        line = trust._breakaway_line(peaked(0.1), replace(COVERED, resolved=resolved))
        assert ("no speed slower than 0.071 rad/s" in line) != slow
    assert "torque ramps from rest" in trust._breakaway_line(peaked(0.1, stribeck=False), COVERED)


def test_a_drive_that_adds_an_offset_never_gives_less_than_it():
    """Four changes of sign, a floor above a tenth of the rms, a tenth of the samples on it."""
    time = np.linspace(0.0, 1.0, 4000, endpoint=False)
    for turns, floor in ((2, 0.3), (4, 0.3), (10, 0.05), (10, 0.2)):
        wave = np.sin(np.pi * turns * time + 0.1)
        torque = np.sign(wave) * np.maximum(np.abs(wave), floor)
        found = trust._smallest_torque(torque)
        rms = np.sqrt(np.mean(torque**2))
        expected = turns >= 4 and floor > 0.1 * rms
        assert found == pytest.approx(floor if expected else 0.0)
    sharp = np.sign(wave) * (np.abs(wave) + 0.2)
    assert trust._smallest_torque(sharp) == 0.0
    for share, counts in ((0.08, False), (0.12, True)):
        size = np.where(np.arange(4000) % 100 < 100 * share, 0.3, 0.7)
        assert (trust._smallest_torque(size * np.sign(wave)) > 0.0) == counts
    low = result(swung(20.0), data=None)
    low.motion = replace(low.motion, torque=torque[: len(low.motion)])
    assert any("jumps between ±0.2 N·m" in line for line in trust._torque_lines(low))


def test_an_offset_is_worth_a_line_if_it_is_sure_and_a_twentieth_of_the_torque():
    """Its interval excludes zero."""
    motion = swung(20.0)
    rms = result(motion).rms_torque
    for share, half, said in ((0.06, 0.01, True), (0.04, 0.01, False), (-0.06, 0.01, True)):
        offset = known(share * rms, half * rms)
        lines = trust._torque_lines(result(motion, offset=offset))
        assert bool(lines) == said
        wide = known(share * rms, 0.07 * rms)
        assert trust._torque_lines(result(motion, offset=wide)) == []
        unsure = replace(offset, identified=False)
        assert trust._torque_lines(result(motion, offset=unsure)) == []


def test_a_residual_that_follows_the_position_is_gravity():
    """If it is above 3 %, the joint turns by half a radian, and sine and cosine take 40 % of it."""
    motion = swung(20.0)
    load = 0.3 * np.sin(motion.position) + 0.1 * np.cos(motion.position)
    (line,) = trust._position_lines(result(motion, load))
    assert f"about {np.hypot(0.3, 0.1):.3g} N·m over a turn" in line
    assert trust._position_lines(result(motion, load, gravity=(0.1, 0.1))) == []
    rms = result(motion).rms_torque
    for share, said in ((0.029, False), (0.032, True)):
        weak = load * share * rms / np.sqrt(np.mean(load**2))
        assert bool(trust._position_lines(result(motion, weak, rms_torque=rms))) == said
    near = replace(motion, position=0.24 / np.abs(motion.position).max() * motion.position)
    rng = np.random.default_rng(0)
    rough = rng.standard_normal(len(motion))
    assert trust._position_lines(result(near, np.sin(near.position))) == []
    for part, said in ((0.35, False), (0.45, True)):
        mixed = np.sqrt(part) * load / load.std() + np.sqrt(1.0 - part) * rough
        assert bool(trust._position_lines(result(motion, 0.2 * mixed))) == said


def sided(forward: float, back: float, **changes) -> tuple[float, float] | None:
    """Mean friction each way of a joint whose friction is scaled each way."""
    motion = swung(20.0)
    plain = 0.5 * np.sign(motion.velocity) + 0.2 * motion.velocity
    scale = np.where(motion.velocity > 0.0, forward, back) - 1.0
    rough = 0.01 * np.random.default_rng(0).standard_normal(len(motion))
    return trust._direction_means(result(motion, scale * plain + rough, **changes))


def test_directions_differ_if_their_frictions_do_at_all_speeds():
    """By 8 % of their mean; an offset of the drive is not a scale, and gravity explains its own."""
    assert sided(1.0, 1.0) is None
    forward, back = sided(1.3, 0.9)
    assert forward / back == pytest.approx(1.3 / 0.9, rel=0.05)
    assert forward == pytest.approx(1.3 * (0.5 + 0.2 * 0.6), rel=0.15)
    motion = swung(20.0)
    assert trust._direction_means(result(motion, 0.3 + 0.0 * motion.time)) is None
    moved = sided(1.3, 0.9, offset=known(0.1))
    assert moved[0] == pytest.approx(forward) and moved[1] == pytest.approx(back)
    heavy = swung(20.0)
    twin = result(heavy, 0.04 * heavy.acceleration, inertia=known(0.04))
    assert trust._direction_means(twin) is None
    assert sided(1.3, 0.9, gravity=(0.1, 0.0)) is None
    one_way = result(motion)
    one_way.used = motion.velocity > 0.0
    assert trust._direction_means(one_way) is None
    names, line = trust._one_sided(result(motion, 0.2 * np.abs(motion.velocity)))
    assert names == ALL and "N·m forward" in line
    assert trust._one_sided(result(motion)) == (set(), "")


def test_the_residual_is_regressed_on_columns_and_a_constant():
    """Variance of what is left, and the coefficients."""
    motion = swung(20.0)
    fitted = result(motion, 0.3 * motion.position - 0.7)
    variance, x = trust._regress_residual(fitted, motion.position)
    assert variance < 1e-12
    np.testing.assert_allclose(x, [0.3, -0.7], atol=1e-9)
    variance, _ = trust._regress_residual(result(motion, np.sin(50.0 * motion.time)))
    assert variance == pytest.approx(0.5, rel=0.05)


def fitted_to(extra: np.ndarray, noise: float = 0.02) -> tuple[Motion, SlidingCurve]:
    """A plain curve fitted to its own torque, this and noise."""
    motion = swung(20.0)
    rough = noise * np.random.default_rng(0).standard_normal(len(motion))
    plain = motion.smooth(0.5 * np.sign(motion.velocity)) + 0.2 * motion.velocity
    motion = replace(motion, torque=plain + extra + rough)
    return motion, fit_sliding(motion, Terms(), np.ones(len(motion), dtype=bool))


def test_a_misfit_is_more_than_chance_and_more_than_the_intervals_allow():
    """Noise is neither; a peak that the curve lacks is both, and is measured by its square."""
    motion = swung(20.0)
    peak = motion.smooth(np.sign(motion.velocity) * np.exp(-np.abs(motion.velocity) / 0.2))
    seen, curve = fitted_to(0.0 * peak)
    assert trust.unexplained(seen, curve, curve.residual) == 0.0
    seen, curve = fitted_to(0.3 * peak)
    J = tangents(seen, curve)
    beyond = 0.3 * peak - J @ np.linalg.lstsq(J, 0.3 * peak, rcond=None)[0]
    found = trust.unexplained(seen, curve, curve.residual)
    assert found == pytest.approx(np.mean(beyond**2), rel=0.25)
    wide = replace(curve, covariance=1e4 * curve.covariance)
    assert trust.unexplained(seen, wide, curve.residual) == 0.0
    few = replace(curve, used=np.arange(len(seen)) % 60 == 0)
    assert trust.unexplained(seen, few, curve.residual) == 0.0


def test_what_is_beyond_a_span_is_orthonormal_and_orthogonal_to_it():
    """Columns that lie inside add nothing."""
    rng = np.random.default_rng(0)
    J, other = rng.standard_normal((200, 3)) * [1.0, 50.0, 1e-3], rng.standard_normal((200, 2))
    Z = trust._beyond(np.column_stack([other, J @ rng.standard_normal(3)]), J)
    assert Z.shape == (200, 2)
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(Z.T @ J, 0.0, atol=1e-8)
    inside = Z @ np.linalg.lstsq(Z, other, rcond=None)[0]
    beside = other - J @ np.linalg.lstsq(J, other, rcond=None)[0]
    np.testing.assert_allclose(inside, beside, atol=1e-8)


def judged(extra: float, compared: bool = False, given: bool = False) -> trust.Doubt:
    """A plain curve with a peak of this height left in."""
    motion = swung(20.0)
    peak = motion.smooth(np.sign(motion.velocity) * np.exp(-np.abs(motion.velocity) / 0.2))
    seen, curve = fitted_to(extra * peak, 0.002)
    one = result(seen, inertia=known(0.05, 0.0 if given else 0.01))
    one.motion, one.modelled = seen, seen.torque - curve.residual
    one.rms_error, one.rms_torque = curve.rms, float(np.sqrt(np.mean(seen.torque**2)))
    return trust._unfit(one, curve, compared)


def test_an_unfit_model_has_no_parameters_and_the_advice_fits():
    """Try auto unless it was tried, without the inertia if it was given, or look for loads."""
    assert judged(0.0) == (set(), "")
    names, line = judged(0.3)
    assert names == ALL | {"inertia"}
    assert "try --model auto" in line and "parameters and inertia" in line
    assert "without --inertia" in judged(0.3, given=True)[1]
    assert "and inertia" not in judged(0.3, given=True)[1]
    assert "auto found no better model" in judged(0.3, compared=True)[1]
    assert "try without --inertia" in judged(0.3, compared=True, given=True)[1]


def test_a_noisy_torque_is_said_from_a_tenth_on_and_takes_no_parameters():
    """Any curve would leave as much."""
    motion = swung(20.0)
    for share, said in ((0.02, False), (0.08, False), (0.13, True)):
        rough = share * 0.7 * np.random.default_rng(0).standard_normal(len(motion))
        seen, curve = fitted_to(rough, 0.0)
        one = result(seen)
        one.motion, one.modelled = seen, seen.torque - curve.residual
        one.rms_error, one.rms_torque = curve.rms, float(np.sqrt(np.mean(seen.torque**2)))
        names, line = trust._unfit(one, curve, False)
        assert names == set() and ("as any friction curve would" in line) == said


def test_doubts_are_marked_once_and_a_given_inertia_stays():
    """A filtered torque takes all; what a line has already explained is not said twice."""
    seen, curve = fitted_to(0.0 * swung(20.0).time)
    ready = SimpleNamespace(lag=0.0, remaining=Delay(), coverage=COVERED)
    plain = replace_fit(result(seen, data=None), curve, seen)
    marked, lines = trust.mark_untrusted(plain, curve, ready)
    assert lines == [] and marked.parameters == plain.parameters
    late_ = SimpleNamespace(lag=0.0, remaining=Delay(0.02, False, 1.0), coverage=COVERED)
    marked, lines = trust.mark_untrusted(plain, curve, late_)
    assert len(lines) == 1 and not marked.parameters["viscous"].identified
    assert marked.parameters["coulomb"].identified and not marked.inertia.identified
    assert marked.parameters["viscous"].low is None
    given = replace_fit(result(seen, data=None, inertia=known(0.05)), curve, seen)
    assert trust.mark_untrusted(given, curve, late_)[0].inertia.identified
    filtered = SimpleNamespace(lag=0.02, remaining=Delay(0.02, False, 1.0), coverage=COVERED)
    marked, lines = trust.mark_untrusted(plain, curve, filtered)
    assert lines == [] and not marked.parameters["coulomb"].identified
    assert not marked.inertia.identified


def replace_fit(one: SimpleNamespace, curve: SlidingCurve, seen: Motion) -> object:
    """The same as a frozen record, as the library has it."""
    from farhand.friction.fit.fit import Fit

    one.motion, one.modelled, one.rms_error = seen, seen.torque - curve.residual, curve.rms
    fields = vars(one) | {"holdout_error": 0.0, "held_out": one.used}
    return Fit(**fields)


def hotelling(Z: np.ndarray, r: np.ndarray) -> float:
    """Probability that chance moves the block sums of the scores so far from zero."""
    scores = np.array([Z[rows].T @ r[rows] for rows in np.array_split(np.arange(len(r)), 40)])
    q = Z.shape[1]
    C = np.cov(scores.T) / 40.0
    squared = scores.mean(axis=0) @ np.linalg.solve(C, scores.mean(axis=0))
    return float(fisher.sf(squared * (40.0 - q) / (q * 39.0), q, 40 - q))


def test_chance_is_one_in_a_thousand_by_hotelling_s_test():
    """A residual just below what that allows is left alone, one just above is not."""
    seen, curve = fitted_to(0.0 * swung(20.0).time)
    sharp = replace(curve, covariance=1e-12 * curve.covariance)
    Z = trust._beyond(free_columns(seen), tangents(seen, curve))
    # a direction of every column, which the scores of noise do not have
    lean = Z @ np.ones(Z.shape[1])
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        unlikely = hotelling(Z, curve.residual + middle * lean) < 1e-3
        low, high = (low, middle) if unlikely else (middle, high)
    assert trust.unexplained(seen, sharp, curve.residual + 0.98 * low * lean) == 0.0
    found = trust.unexplained(seen, sharp, curve.residual + 1.02 * high * lean)
    moved = Z.T @ (curve.residual + 1.02 * high * lean)
    assert found == pytest.approx(np.sum(moved**2) / len(seen))
    # half of the band that the intervals stand for is the other limit
    J = tangents(seen, curve)
    band = half_interval(float(np.mean(np.sum((J @ curve.covariance) * J, axis=1))), curve.freedom)
    large = curve.residual + 3.0 * lean
    size = np.sqrt(np.sum((Z.T @ large) ** 2) / len(seen))
    for factor, counts in ((0.97, True), (1.03, False)):
        wide = replace(curve, covariance=(factor * size / band) ** 2 * curve.covariance)
        assert (trust.unexplained(seen, wide, large) > 0.0) == counts


def test_inertia_is_taken_out_before_the_directions_are_compared():
    """A heavy joint has the same two frictions as a light one."""
    motion = swung(20.0)
    plain = 0.5 * np.sign(motion.velocity) + 0.2 * motion.velocity
    extra = np.where(motion.velocity > 0.0, 0.3, -0.1) * plain
    light = result(motion, extra)
    heavy = result(motion, extra, inertia=known(0.3))
    load = 0.3 * motion.acceleration
    heavy.motion = replace(heavy.motion, torque=heavy.motion.torque + load)
    heavy.modelled = heavy.modelled + load
    found = trust._direction_means(heavy)
    assert found == pytest.approx(trust._direction_means(light)) and found[0] > 1.2 * found[1]


def test_eight_per_cent_between_the_directions_are_no_difference():
    """Twice the mean difference, or its growth with speed, over their mean."""
    motion = swung(20.0)
    v = motion.velocity
    top = min(np.quantile(v[v > 0.0], 0.95), np.quantile(-v[v < 0.0], 0.95))
    # d |v| more each way, of 0.5 N·m: twice the mean difference is 2.1 d top
    for share, differs in ((0.9, False), (1.1, True)):
        one = result(motion, share * 0.04 / (2.1 * top) * np.abs(v) - 0.2 * v)
        one.modelled = one.modelled - 0.2 * v
        assert (trust._direction_means(one) is not None) == differs


def test_four_speeds_in_common_are_enough_to_compare_directions():
    """Of eight; a rough difference is no slope."""
    motion = swung(20.0)
    plain = 0.5 * np.sign(motion.velocity) + 0.2 * motion.velocity
    extra = np.where(motion.velocity > 0.0, 0.3, -0.1) * plain
    top = np.quantile(motion.velocity[motion.velocity > 0.0], 0.95)
    share = motion.velocity / top
    for gap, differs in (((0.29, 0.64), True), ((0.03, 0.9), False)):
        one = result(motion, extra)
        one.used = ~((share > gap[0]) & (share < gap[1]))
        assert (trust._direction_means(one) is not None) == differs
    bins = np.digitize(np.abs(share), np.linspace(0.05, 1.0, 9))
    rough = np.where(bins % 2 == 0, 1.0, -1.0) * np.where(motion.velocity > 0.0, 1.0, 0.0)
    for size, differs in ((0.02, True), (0.15, False)):
        shaken = result(motion, extra + size * rough)
        assert (trust._direction_means(shaken) is not None) == differs
