"""The sliding curve: least squares with bounds, its covariance, and which samples count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from farhand.friction.fit.motion import Motion
from farhand.friction.fit.sliding import (
    SlidingCurve,
    Terms,
    columns,
    fit_sliding,
    free_columns,
    free_curve_error,
    half_interval,
    predicted,
    sandwich,
    sliding_samples,
    speed_bounds,
    split_blocks,
    tangents,
    travelled,
    uncertainty,
)

TRUTH = {"coulomb": 0.5, "peak": 0.3, "viscous": 0.2, "inertia": 0.05, "offset": -0.07}
LOADS = {"gravity_sine": 0.11, "gravity_cosine": -0.04}


def swung(seconds: float = 20.0, step: float = 5e-3, band: float = 20.0) -> Motion:
    """A motion of three sines, known exactly, with no torque yet."""
    time = step * np.arange(round(seconds / step))
    way, w = np.array([[1.2], [0.5], [0.1]]), 2.0 * np.pi * np.array([[0.11], [0.37], [0.9]])
    angle = w * time + np.array([[0.3], [2.0], [1.0]])
    v = (way * w * np.cos(angle)).sum(axis=0)
    a = -(way * w**2 * np.sin(angle)).sum(axis=0)
    return Motion(
        *(time, (way * np.sin(angle)).sum(axis=0), v, a, np.zeros(len(time))),
        piece=np.zeros(len(time), dtype=int),
        step=step,
        bandwidth=band,
        min_speed=1e-3,
        tick=0.0,
        source="position",
        rate=1.0 / step,
    )


def driven(motion: Motion, terms: Terms, speed: float = 0.1, shape: float = 1.3) -> Motion:
    """With the torque of these terms, written down term by term."""
    v, x, values = motion.velocity, motion.position, TRUTH | LOADS
    left = np.exp(-((np.abs(v) / speed) ** shape))
    if terms.rational:
        left = 1.0 / (1.0 + (v / speed) ** 2)
    parts = {
        "coulomb": motion.smooth(np.sign(v)),
        "peak": motion.smooth(np.sign(v) * left),
        "viscous": v,
        "inertia": motion.acceleration,
        "offset": np.ones(len(v)),
        "gravity_sine": motion.smooth(np.sin(x)),
        "gravity_cosine": motion.smooth(np.cos(x)),
    }
    torque = sum(values[name] * parts[name] for name in terms.names)
    if terms.inertia is not None:
        torque = torque + terms.inertia * motion.acceleration
    return replace(motion, torque=torque)


@pytest.mark.parametrize(
    "terms",
    [
        Terms(),
        Terms(viscous=False, gravity=True),
        Terms(dry=False, offset=False),
        Terms(stribeck=True, shape=1.3, gravity=True),
        Terms(stribeck=True, rational=True, inertia=0.08),
        Terms(stribeck=True, shape=None),
    ],
)
def test_what_made_the_torque_is_found_again(terms):
    """Without noise to the digits; nothing is left, and the prediction is the torque."""
    motion = driven(swung(), terms)
    used = sliding_samples(motion)
    curve = fit_sliding(motion, terms, used)
    close = 2e-2 if terms.shape is None else 1e-3 if terms.stribeck else 1e-6
    for name in terms.names:
        assert curve.values[name] == pytest.approx((TRUTH | LOADS)[name], rel=close), name
    if terms.stribeck:
        assert curve.values["stribeck_velocity"] == pytest.approx(0.1, rel=close)
        assert curve.bounded == ()
    if terms.shape is None:
        assert curve.values["shape"] == pytest.approx(1.3, rel=close)
    assert curve.rms < 1e-4 and not curve.residual[~used].any()
    np.testing.assert_allclose(predicted(motion, curve)[used], motion.torque[used], atol=1e-3)
    assert list(curve.values) == [*terms.names, *terms.nonlinear]


def test_nothing_that_resists_is_negative_and_loads_may_be():
    """A torque that drives: friction and inertia stay at zero, offset and gravity do not."""
    terms = Terms(gravity=True)
    motion = swung()
    torque = -0.5 * motion.velocity - 0.2 - 0.3 * np.sin(motion.position)
    curve = fit_sliding(replace(motion, torque=torque), terms, sliding_samples(motion))
    assert min(curve.values[name] for name in ("coulomb", "viscous", "inertia")) >= 0.0
    assert curve.values["viscous"] == 0.0
    plain = fit_sliding(
        replace(motion, torque=-0.2 - 0.3 * motion.smooth(np.sin(motion.position))),
        terms,
        sliding_samples(motion),
    )
    assert plain.values["offset"] == pytest.approx(-0.2, abs=1e-5)
    assert plain.values["gravity_sine"] == pytest.approx(-0.3, abs=1e-5)


def test_a_peak_wider_or_narrower_than_the_speeds_ends_at_a_bound():
    """And the name says so; an exponent likewise."""
    terms = Terms(stribeck=True, shape=None)
    motion = swung()
    used = sliding_samples(motion)
    low, high = speed_bounds(motion, used)
    speed = np.abs(motion.velocity[used])
    assert high == pytest.approx(0.4 * speed.max())
    assert low == pytest.approx(max(0.5 * np.quantile(speed, 0.005), 1e-3))
    for wanted, shape, name in ((3.0 * high, 1.3, "stribeck_velocity"), (0.1, 8.0, "shape")):
        curve = fit_sliding(driven(motion, terms, wanted, shape), terms, used)
        assert name in curve.bounded
    slow = replace(motion, min_speed=0.3 * speed.max())
    assert speed_bounds(slow, used)[0] == pytest.approx(0.2 * speed.max())
    assert speed_bounds(replace(motion, min_speed=0.05), used)[0] == 0.05
    held = replace(motion, velocity=np.where(np.arange(len(motion)) < 200, 1e-9, 2.0))
    every = np.ones(len(motion), dtype=bool)
    assert speed_bounds(replace(held, min_speed=0.0), every)[0] == pytest.approx(2e-3)


@pytest.mark.parametrize("terms", [Terms(), Terms(stribeck=True, shape=None, inertia=0.05)])
def test_tangents_are_the_derivatives_of_the_prediction(terms):
    """By central differences, for linear and other values."""
    motion = driven(swung(6.0), terms)
    used = sliding_samples(motion)
    curve = fit_sliding(motion, terms, used)
    J = tangents(motion, curve)
    for k, (name, value) in enumerate(curve.values.items()):
        ends = []
        for way in (1.0, -1.0):
            moved = curve.values | {name: value * (1.0 + 1e-4 * way)}
            ends.append(predicted(motion, replace(curve, values=moved)))
        slope = (ends[0] - ends[1]) / (2e-4 * value)
        np.testing.assert_allclose(J[:, k], slope, atol=2e-3 * np.abs(slope).max())


def test_an_interval_is_student_s():
    """97.5 % of one side; never of a negative variance or without freedom."""
    assert half_interval(4.0, 10) == pytest.approx(2.0 * student.ppf(0.975, 10))
    assert half_interval(4.0, 0) == pytest.approx(2.0 * student.ppf(0.975, 1))
    assert half_interval(-1.0, 10) == 0.0
    C = np.diag([0.09, 0.01])
    curve = SlidingCurve(Terms(), {"a": 1.0, "b": 2.0}, C, 8, np.array([3.0, 4.0, 9.0]), np.ones(3))
    assert curve.half("b") == pytest.approx(0.1 * student.ppf(0.975, 8))
    used = np.array([True, True, False])
    assert replace(curve, used=used).rms == pytest.approx(np.sqrt(12.5))


def test_the_covariance_is_that_of_blocks_and_never_below_that_of_independent_samples():
    """Textbook sums over forty blocks; a kernel of many samples leaves few independent ones."""
    rng, n = np.random.default_rng(0), 2000
    X, used = rng.standard_normal((n, 3)) * [1.0, 5.0, 0.01], rng.random(n) > 0.1
    # Noise that hangs together over hundreds of samples: blocks see it, single samples do not.
    slow = np.repeat(rng.standard_normal(20), 100)
    X[:, 0] = np.repeat(rng.standard_normal(20), 100)
    motion = replace(swung(10.0), bandwidth=1e6)
    A, r = X[used], slow[used]
    scores = [A[rows].T @ r[rows] for rows in np.array_split(np.arange(len(r)), 40)]
    inner = sum(np.outer(s, s) for s in scores) * 40.0 / 37.0
    inverse = np.linalg.inv(A.T @ A)
    found, freedom = sandwich(X, slow, used, motion)
    assert freedom == 37
    assert found[0, 0] == pytest.approx((inverse @ inner @ inverse)[0, 0], rel=1e-6)
    for band in (1e6, 5.0):
        each = max(1.0, 2.0 * np.sqrt(2.0 * np.pi) * 0.1325 / band / motion.step)
        r = 1e-3 * np.where(np.arange(n) % 2, 1.0, -1.0)  # blocks cancel it out
        plain = inverse * (r[used] @ r[used]) / (len(A) / each - 3.0)
        found, _ = sandwich(X, r, used, replace(motion, bandwidth=band))
        assert (np.diag(found) >= 0.999 * np.diag(plain)).all()
        tight = np.diag(found) < 1.001 * np.diag(plain)
        assert tight.any()


def test_a_corrected_delay_widens_the_intervals():
    """It is one more parameter that was estimated."""
    motion = driven(swung(), Terms())
    rng = np.random.default_rng(0)
    noise = motion.smooth(0.05 * rng.standard_normal(len(motion)))
    noisy = replace(motion, torque=motion.torque + noise)
    used = sliding_samples(noisy)
    plain = fit_sliding(noisy, Terms(), used)
    moved = fit_sliding(replace(noisy, shifted=True), Terms(), used)
    assert moved.half("inertia") > 1.02 * plain.half("inertia")
    assert moved.covariance.shape == plain.covariance.shape == (4, 4)
    assert moved.freedom == plain.freedom - 1


def test_blocks_are_forty_or_eight_samples_long_and_two_at_least():
    """All rows, in order, each once."""
    for count, blocks in ((1000, 40), (160, 20), (17, 2), (9, 2)):
        parts = split_blocks(count)
        assert len(parts) == blocks
        assert np.concatenate(parts).tolist() == list(range(count))


def made(v: list[float], a: float = 0.0, **changes) -> Motion:
    """A motion at these speeds, a second apart, with a kernel so narrow that nothing is
    smoothed.
    """
    n = len(v)
    motion = Motion(
        *(np.arange(n, dtype=float), np.cumsum(v), np.array(v), np.full(n, a), np.zeros(n)),
        piece=np.zeros(n, dtype=int),
        step=1.0,
        bandwidth=10.0,
        min_speed=0.5,
        tick=0.0,
        source="position",
        rate=1.0,
    )
    return replace(motion, **changes)


def test_the_way_counts_from_the_last_rest_reversal_or_pause():
    """Positions are the running sum of the speeds here."""
    motion = made([1.0, 2.0, 0.1, 1.0, 1.0, -2.0, -1.0, -1.0])
    np.testing.assert_allclose(travelled(motion), [0.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    split = replace(made([1.0] * 5), piece=np.array([0, 0, 0, 1, 1]))
    np.testing.assert_allclose(travelled(split), [0.0, 1.0, 2.0, 0.0, 1.0])


def test_samples_at_rest_that_turn_or_have_just_started_do_not_count():
    """Rest by speed; a turn within four ticks of way or one and a half kernel widths of time."""
    plain = made([1.0, 1.0, 0.4, 0.6, -0.4, 1.0, 1.0, 1.0])
    assert sliding_samples(plain).tolist() == [True, True, False, True, False, True, True, True]
    # v² < 4 a tick: 1 < 4 · 2 · tick
    fast = [3.0] * 6
    assert sliding_samples(made([*fast, 1.0, 1.0], 2.0, tick=0.124)).all()
    turning = sliding_samples(made([*fast, 1.0, 1.0], 2.0, tick=0.126))
    assert turning.tolist() == [True] * 6 + [False] * 2
    # v < 1.5 a σ, σ = 0.01325 s
    assert sliding_samples(made([*fast, 1.0, 1.0], 50.0)).all()
    turning = sliding_samples(made([*fast, 1.0, 1.0], 51.0))
    assert turning.tolist() == [True] * 6 + [False] * 2
    # the first two metres after a start
    started = sliding_samples(made([1.0] * 8), 2.0)
    assert started.tolist() == [False] * 2 + [True] * 6
    # if more than half would go, only rest counts
    assert sliding_samples(made([1.0] * 8), 4.5).all()
    assert sliding_samples(made([1.0] * 7 + [0.1]), 3.0).tolist() == [False] * 3 + [True] * 4 + [
        False
    ]


def test_a_kernel_may_hold_a_fifth_of_rest():
    """Samples near a rest drop out as the kernel's weight on it does."""
    wide = made([1.0] * 20 + [0.0] * 20 + [1.0] * 20, bandwidth=0.1325 / 3.0)
    weight = wide.smooth((np.abs(wide.velocity) < 0.5).astype(float))
    assert sliding_samples(wide).tolist() == (weight < 0.2).tolist()
    assert not sliding_samples(wide)[18] and sliding_samples(wide)[15]


def test_the_free_curve_explains_each_of_its_parts_and_not_others():
    """Dry friction, three falls, drag each way, inertia, offset and gravity; not a cube."""
    motion = swung()
    v, rms = motion.velocity, np.sqrt(np.mean(swung().velocity ** 2))
    falls = [np.sign(v) * np.exp(-np.abs(v) / (k * rms)) for k in (0.05, 0.2, 0.6)]
    parts = [motion.smooth(part) for part in (np.sign(v), *falls)]
    parts += [v, np.abs(v), motion.acceleration, np.ones(len(v))]
    parts += [np.sin(motion.position), np.cos(motion.position)]
    used = sliding_samples(motion)
    for part in parts:
        assert free_curve_error(replace(motion, torque=part), used) < 1e-6
    assert free_columns(motion).shape == (len(motion), len(parts))
    cube = replace(motion, torque=np.sin(40.0 * motion.time))
    assert free_curve_error(cube, used) == pytest.approx(np.sqrt(0.5), rel=0.05)


def test_uncertainty_is_the_variance_of_dry_and_viscous_torque():
    """Of least squares beside inertia, a fall, offset and gravity; per second and band."""
    rng = np.random.default_rng(0)
    motion = driven(swung(), Terms())
    noisy = replace(motion, torque=motion.torque + 0.1 * rng.standard_normal(len(motion)))
    v, rms, used = motion.velocity, np.sqrt(np.mean(motion.velocity**2)), sliding_samples(motion)
    fall = np.sign(v) * np.exp(-np.abs(v) / (0.1 * rms))
    A = [motion.smooth(np.sign(v)), motion.smooth(fall), v, motion.acceleration, np.ones(len(v))]
    A = np.column_stack([*A, np.sin(motion.position), np.cos(motion.position)])[used]
    b = noisy.torque[used]
    left = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    C = np.linalg.inv(A.T @ A) * np.mean(left**2) / motion.step / np.sqrt(motion.bandwidth)
    assert uncertainty(noisy) == pytest.approx(C[0, 0] + rms**2 * C[2, 2], rel=1e-6)
    assert uncertainty(noisy, 0.3) > 1.05 * uncertainty(noisy)
    assert uncertainty(made([1.0] * 49)) == np.inf
    assert np.isfinite(uncertainty(made([1.0] * 51)))


def test_the_regressor_has_one_column_for_each_term_in_their_order():
    """As they are named."""
    motion = swung(3.0)
    terms = Terms(stribeck=True, gravity=True)
    A = columns(motion, terms, 0.2, 2.0)
    assert terms.names == ["coulomb", "peak", "viscous", "inertia", "offset", *LOADS]
    np.testing.assert_array_equal(A[:, 2], motion.velocity)
    np.testing.assert_array_equal(A[:, 3], motion.acceleration)
    assert Terms(stribeck=True, shape=None).nonlinear == ["stribeck_velocity", "shape"]
    assert Terms().nonlinear == [] and Terms(stribeck=True).nonlinear == ["stribeck_velocity"]
    assert Terms(inertia=0.1).names == ["coulomb", "viscous", "offset"]


def test_steady_speeds_alone_show_friction_and_say_nothing_of_inertia():
    """Accelerations of exactly zero are no trouble."""
    plain = swung(8.0)
    v = np.repeat([0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0], 200)
    motion = replace(plain, velocity=v, acceleration=np.zeros(1600))
    motion = replace(motion, torque=motion.smooth(0.5 * np.sign(v)) + 0.2 * v)
    curve = fit_sliding(motion, Terms(), np.ones(1600, dtype=bool))
    assert curve.values["coulomb"] == pytest.approx(0.5, rel=1e-3)
    assert curve.values["viscous"] == pytest.approx(0.2, rel=1e-3)
    assert curve.rms < 1e-3
