"""LuGre friction fitted as a whole: frictional lag is no part of the sliding curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.friction import make
from farhand.friction.fit.fit import fit
from farhand.friction.fit.lugre import (
    BRISTLE_PARAMETERS,
    LugreProblem,
    _slow_enough,
    fit_lugre,
    moving,
    wide_motion,
)
from farhand.friction.fit.motion import BANDS_HZ, Motion, motion_at, split_at_pauses
from farhand.friction.fit.presliding import friction_along
from farhand.friction.fit.sliding import (
    SlidingCurve,
    Terms,
    fit_sliding,
    half_interval,
    sandwich,
    sliding_samples,
    speed_bounds,
)
from tests.friction.wave_logs import Wave, bristly, said, stairs

TRUTH = {
    "coulomb": Wave.coulomb,
    "viscous": Wave.viscous,
    "breakaway": 0.8,
    "stribeck_velocity": 0.1,
    "stiffness": 1000.0,
}


@pytest.mark.parametrize("seed", range(2))
def test_all_parameters_come_back_from_ordinary_unsteady_motion(seed):
    """No speed is held; intervals hold the truth, which a sliding curve alone misses by many of
    them.
    """
    found = fit(bristly(0.2, 30.0, seed), "lugre")
    for name, value in TRUTH.items():
        one = found.parameters[name]
        assert one.identified and one.value == pytest.approx(value, rel=0.1), name
        assert abs(one.value - value) < 1.5 * (one.high - one.value), name
    assert abs(found.inertia.value - Wave.inertia) < 1.5 * (
        found.inertia.high - found.inertia.value
    )


def test_slow_motion_alone_does_not_pretend_to_know_inertia():
    """Below 0.2 rad/s: an inertia half too large was called known to a tenth."""
    found = fit(bristly(0.05, 40.0, 1), "lugre")
    one = found.inertia
    assert not one.identified or one.low <= Wave.inertia <= one.high
    assert found.parameters["stiffness"].value == pytest.approx(1000.0, rel=0.05)


def test_steady_speeds_stay_identified_with_a_coarser_encoder():
    """It hides the way before sliding; the sliding curve is fitted as ever."""
    found = fit(stairs(seed=1, peak=0.3), "lugre")
    for name in ("coulomb", "viscous", "breakaway", "stribeck_velocity"):
        one = found.parameters[name]
        assert one.identified and one.low <= TRUTH[name] <= one.high, name
    assert not found.parameters["stiffness"].identified and said(found, "stiffness", "tick")


def test_the_bristles_run_as_the_model_does_and_their_derivatives_are_right():
    """Along the same motion: once they slide, the state at the start is forgotten."""
    found = bristly(0.2, 5.0)
    motion = motion_at(split_at_pauses(found, 0.0), 50.0, 0.0, "position")
    first = fit_sliding(motion, Terms(stribeck=True, shape=None), sliding_samples(motion))
    whole = LugreProblem(motion, first, np.ones(len(motion), dtype=bool))
    x = np.array([0.5, 0.3, 0.1, 1.8, 900.0, 0.4, 0.2, 0.05, 0.01, 0.0])
    assert x[: len(BRISTLE_PARAMETERS)].tolist() == [0.5, 0.3, 0.1, 1.8, 900.0]
    joint = make(
        "lugre",
        coulomb=0.5,
        breakaway=0.8,
        stribeck_velocity=0.1,
        shape=1.8,
        viscous=0.2,
        stiffness=900.0,
        damping=0.4,
    )
    theirs = friction_along(joint, motion, slice(0, len(motion)), motion.torque)[:, 0]
    ours = whole.residual(x) + motion.torque - 0.05 * motion.acceleration - 0.01
    ours += motion.smooth(0.2 * motion.velocity) - 0.2 * motion.velocity
    np.testing.assert_allclose(ours[100:], theirs[100:], atol=1e-3)
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6 * max(abs(x[i]), 1e-3)
        slope = (whole.residual(x + step) - whole.residual(x - step)) / (2.0 * step[i])
        np.testing.assert_allclose(whole.jacobian(x)[:, i], slope, atol=2e-3 * np.abs(slope).max())


def swung(tick: float = 0.0, size: float = 0.2) -> Motion:
    """Bristly friction along a motion in a band of 50 Hz."""
    return motion_at(split_at_pauses(bristly(size, 5.0), tick), 50.0, tick, "position")


def first_curve(motion: Motion, **terms) -> SlidingCurve:
    """A sliding curve to begin with."""
    return fit_sliding(motion, Terms(stribeck=True, shape=None, **terms), sliding_samples(motion))


def test_bristles_need_the_widest_band_that_shows_acceleration():
    """Below a fifth of the rate; the motion itself if none is wider and clear."""
    log = bristly(0.2, 5.0)
    narrow = motion_at(split_at_pauses(log, 0.0), 5.0, 0.0, "position")
    assert wide_motion(log, narrow).bandwidth == 100.0
    slow = replace(narrow, rate=240.0)
    assert wide_motion(log, slow).bandwidth == 33.0
    assert wide_motion(log, replace(narrow, rate=25.0)).bandwidth == 5.0
    coarse = replace(narrow, tick=2e-4)
    wide = wide_motion(log, coarse)
    assert 5.0 < wide.bandwidth < 100.0 and wide.noise_share < 0.02 and wide.tick == 2e-4
    wider = BANDS_HZ[list(BANDS_HZ).index(wide.bandwidth) + 1]
    assert motion_at(split_at_pauses(log, 2e-4), wider, 2e-4, "position").noise_share > 0.02
    assert wide_motion(log, replace(narrow, tick=1.0)).bandwidth == 5.0


def test_every_sample_in_motion_counts_whether_it_slides_or_not():
    """Only those whose kernel lies on rest by a fifth or more do not."""
    motion = swung()
    still = np.abs(motion.velocity) < 0.05
    slow = replace(motion, min_speed=0.05)
    expected = slow.smooth(still.astype(float)) < 0.2
    np.testing.assert_array_equal(moving(slow), expected)
    assert moving(motion).mean() > 0.95 > moving(slow).mean()


def test_reversals_are_slow_enough_if_the_way_takes_two_kernel_widths():
    """√(2 x/a) > 2 σ at the median reversal; a motion without any shows nothing."""
    motion = swung()
    turns = np.flatnonzero(np.diff(np.sign(motion.velocity)))
    pace = np.median(np.abs(motion.acceleration[turns]))
    way = 0.5 * pace * (2.0 * motion.width) ** 2
    assert _slow_enough(motion, 1.02 * way) and not _slow_enough(motion, 0.98 * way)
    assert not _slow_enough(replace(motion, velocity=np.ones(len(motion))), 1.0)


def test_a_start_is_the_curve_with_the_usual_damping_and_bounds_hold_it():
    """Nothing that resists is negative; loads and a delay of a sample may be."""
    motion = swung()
    for inertia in (None, 0.05):
        first = first_curve(motion, inertia=inertia, gravity=True)
        problem = LugreProblem(motion, first, moving(motion))
        mass = first.values["inertia"] if inertia is None else inertia
        x = dict(zip([*problem.order, "delay"], problem.start(first, 800.0), strict=True))
        assert x["stiffness"] == 800.0 and x["delay"] == 0.0
        assert x["damping"] == pytest.approx(0.2 * np.sqrt(800.0 * mass))
        for name, value in first.values.items():
            assert x[name] == value
        low, high = (dict(zip(x, row, strict=True)) for row in problem.bounds())
        slow, fast = speed_bounds(motion, moving(motion))
        assert (low["stribeck_velocity"], high["stribeck_velocity"]) == (slow, fast)
        assert (low["shape"], high["shape"]) == (0.5, 4.0)
        assert (high["delay"], low["delay"]) == (1.0 / motion.rate, -1.0 / motion.rate)
        rms = np.sqrt(np.mean(motion.torque**2))
        assert low["coulomb"] == pytest.approx(1e-6 * rms) and low["stiffness"] == 1e-9
        for name in ("peak", "damping", "viscous"):
            assert low[name] == 0.0 and np.isinf(high[name])
        for name in ("offset", "gravity_sine", "gravity_cosine"):
            assert low[name] == -np.inf and high[name] == np.inf
        # a known inertia is part of the model, and a delay moves it along its rate
        at = problem.start(first, 800.0)
        moved = at.copy()
        moved[-1] = 1e-3
        whole = problem.residual(at) + motion.torque[problem.used]
        rate = (problem.residual(moved) - problem.residual(at)) / 1e-3
        every = LugreProblem(motion, first, np.ones(len(motion), dtype=bool))
        torque = every.residual(at) + motion.torque
        np.testing.assert_allclose(rate, np.gradient(torque, motion.step)[problem.used])
        assert np.sqrt(np.mean((whole - motion.torque[problem.used]) ** 2)) < 0.2 * rms


def test_the_answer_has_the_intervals_of_its_own_derivatives_and_names_its_bounds():
    """The covariance of all parameters, cut down to those of the curve."""
    motion = swung()
    first = first_curve(motion)
    problem = LugreProblem(motion, first, moving(motion))
    x = problem.start(first, 1000.0)
    residual = np.zeros(len(motion))
    residual[problem.used] = problem.residual(x)
    C, freedom = sandwich(problem.columns(x), residual, problem.used, motion)
    found = problem.result(first, x)
    k = problem.order.index("stiffness")
    assert found.stiffness == (1000.0, pytest.approx(half_interval(C[k, k], freedom)))
    d = problem.order.index("damping")
    assert found.damping == (x[d], pytest.approx(half_interval(C[d, d], freedom)))
    for name, value in found.curve.values.items():
        row = problem.order.index(name)
        assert value == x[row]
        assert found.curve.half(name) == pytest.approx(half_interval(C[row, row], freedom))
    slow, fast = speed_bounds(motion, problem.used)
    s, v = problem.order.index("shape"), problem.order.index("stribeck_velocity")
    for row, value, name in (
        *((s, 0.5001, "shape"), (s, 3.999, "shape"), (v, 1.0005 * slow, "stribeck_velocity")),
        (v, 0.9995 * fast, "stribeck_velocity"),
    ):
        other = x.copy()
        other[[s, v]] = 1.5, 0.5 * (slow + fast)
        assert problem.result(first, other).curve.bounded == ()
        other[row] = value
        assert problem.result(first, other).curve.bounded == (name,)


def test_a_pause_starts_the_bristles_anew_on_their_steady_deflection():
    """Each piece for itself."""
    motion = swung()
    piece = (motion.time > 2.5).astype(int)
    split = replace(motion, piece=piece)
    first = first_curve(motion)
    x = LugreProblem(motion, first, moving(motion)).start(first, 1000.0)[:5]
    whole = LugreProblem(split, first, moving(motion))._bristles(x)[0]
    later = np.flatnonzero(piece)
    part = replace(
        motion,
        **{name: getattr(motion, name)[later] for name in ("time", "position", "velocity")},
        **{name: getattr(motion, name)[later] for name in ("acceleration", "torque")},
        piece=np.zeros(len(later), dtype=int),
    )
    alone = LugreProblem(part, first, np.ones(len(later), dtype=bool))._bristles(x)[0]
    np.testing.assert_allclose(whole[later], alone, atol=1e-9)


def test_nothing_is_fitted_where_the_encoder_hides_the_way_before_sliding():
    """Coarser than a third of it, a reversal too quick, or no dry friction to begin with."""
    motion = swung()
    first = first_curve(motion)
    found = fit_lugre(motion, first, moving(motion))
    assert found.stiffness[0] == pytest.approx(1000.0, rel=0.1)
    assert 0.0 < found.stiffness[1] < 500.0
    ticks = fit_lugre(replace(motion, tick=1e-5), first, moving(motion))
    top = first.values["coulomb"] + first.values["peak"]
    extra = 0.5 * 1e-5 / (top / ticks.stiffness[0]) * ticks.stiffness[0]
    assert ticks.stiffness[1] - found.stiffness[1] == pytest.approx(extra, rel=0.05)
    assert fit_lugre(replace(motion, tick=1e-3), first, moving(motion)) is None
    none = replace(first, values=first.values | {"coulomb": 0.0})
    assert fit_lugre(motion, none, moving(motion)) is None
    started = fit_lugre(motion, first, moving(motion), 1100.0)
    assert started.stiffness[0] == pytest.approx(found.stiffness[0], rel=0.01)
