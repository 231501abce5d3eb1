"""Kalman filters: the special case equals the general one, gaps are survived, and the lag is the
one predicted.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue, OutOfRange
from farhand.sensing import ScalarKalman, VectorKalman
from farhand.sensing.kalman import smooth, steady_gain, time_constant

Q, R = np.array([1e-3, 4e-3, 0.2]), np.array([6.0, 0.5, 0.1])


@given(seed=st.integers(0, 2**32 - 1))
def test_three_scalar_filters_equal_one_of_three_states(seed):
    """With a fifth of the samples missing and q and r changed on the way."""
    rng = np.random.default_rng(seed)
    one = ScalarKalman(Q, R, x=np.zeros(3), p=np.ones(3))
    many = VectorKalman(np.eye(3), np.eye(3), np.diag(Q), np.diag(R), np.zeros(3), np.eye(3))
    for k in range(60):
        if k == 30:
            one.q, one.r = 3.0 * Q, 0.5 * R
            many.Q, many.R = 3.0 * np.diag(Q), 0.5 * np.diag(R)
        z = None if rng.random() < 0.2 else rng.standard_normal(3)
        np.testing.assert_allclose(one.step(z), many.step(z), atol=1e-12)
        np.testing.assert_allclose(np.diag(one.p), many.P, atol=1e-12)


def test_a_missing_sample_lets_the_variance_grow_by_q_and_leaves_the_estimate():
    """Also if only one channel is missing."""
    one = ScalarKalman(Q, R)
    one.step(np.ones(3))
    x, p = one.x.copy(), one.p.copy()
    one.step(None)
    np.testing.assert_allclose(one.p, p + Q, rtol=1e-12)
    np.testing.assert_array_equal(one.x, x)
    one.step(np.array([np.nan, 2.0, 2.0]))
    assert one.p[0] == pytest.approx(p[0] + 2 * Q[0]) and one.x[0] == x[0] and one.x[1] > x[1]
    assert np.isfinite(one.x).all()


def test_several_readings_of_one_moment_are_worth_their_mean():
    """Two updates after one prediction equal one update with half the variance."""
    twice, once = (ScalarKalman(Q, r, x=np.zeros(3), p=np.ones(3)) for r in (R, 0.5 * R))
    twice.predict()
    twice.correct(np.array([1.0, 2.0, 3.0]))
    twice.correct(np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(twice.x, once.step(np.full(3, 2.0)), atol=1e-12)
    np.testing.assert_allclose(twice.p, once.p, atol=1e-12)


def test_the_gain_settles_at_the_closed_form_and_the_step_takes_the_predicted_time():
    """At 500 Hz with the default ratio."""
    one = ScalarKalman(2.5e-4 * 6.0, 6.0, x=np.zeros(1))
    for _ in range(3000):
        one.step(np.zeros(1))
    gain = float((one.p + one.q)[0] / (one.p + one.q + one.r)[0])
    assert gain == pytest.approx(steady_gain(1.5e-3, 6.0), rel=1e-6)
    response = smooth(np.vstack([np.zeros((1, 1)), np.ones((500, 1))]), 1.5e-3, 6.0)[1:, 0]
    assert 0.002 * (np.argmax(response >= 1 - np.exp(-1)) + 1) == pytest.approx(
        time_constant(gain, 0.002), abs=0.002
    )


def test_the_stated_variance_is_the_true_one():
    """A random walk with the filter's own q and r: 95 % of the truth within 1.96 deviations."""
    rng = np.random.default_rng(1)
    truth = np.cumsum(rng.standard_normal((400, 500)) * 0.1, axis=0)
    one = ScalarKalman(np.full(500, 0.01), np.full(500, 1.0), x=np.zeros(500), p=np.full(500, 0.01))
    inside = [
        np.abs(one.step(t + rng.standard_normal(500)) - t) <= 1.96 * np.sqrt(one.p) for t in truth
    ]
    assert 0.945 <= np.mean(inside[50:]) <= 0.955


def test_an_input_moves_the_state():
    """Constant velocity as an input."""
    moved = VectorKalman(1.0, 1.0, 1e-6, 1.0, [0.0], 1e-6, B=[[0.5]])
    for _ in range(10):
        moved.step(None, u=[2.0])
    assert moved.x[0] == pytest.approx(10.0)


def test_bad_variances_and_shapes_are_refused():
    """By name."""
    with pytest.raises(OutOfRange, match="Kalman r"):
        ScalarKalman(1.0, 0.0)
    with pytest.raises(OutOfRange, match="Kalman q"):
        ScalarKalman(np.nan, 1.0)
    with pytest.raises(BadValue, match="shapes"):
        VectorKalman(np.eye(2), np.eye(3), np.eye(2), np.eye(3), np.zeros(2), np.eye(2))


def test_new_variances_leave_the_gain_as_it_is_for_the_moment():
    """Retuned by the same factor nothing changes at all; otherwise the next gain is as before."""
    one, other = (ScalarKalman(Q, R, x=np.zeros(3)) for _ in range(2))
    for _ in range(10):
        one.step(np.ones(3)), other.step(np.ones(3))
    other.retune(4.0 * Q, 4.0 * R)
    np.testing.assert_allclose(other.p, 4.0 * one.p)
    np.testing.assert_allclose(one.step(np.zeros(3)), other.step(np.zeros(3)), atol=1e-12)


def test_a_filter_of_position_and_velocity_is_the_best_line_through_its_readings():
    """Nothing known at first and no noise of the model: least squares, with its covariance."""
    rng, dt = np.random.default_rng(3), 0.1
    motion = VectorKalman(
        [[1, dt], [0, 1]], [[1, 0]], np.zeros((2, 2)), 0.04, [0, 0], 1e9 * np.eye(2)
    )
    z = 2.0 + 3.0 * dt * np.arange(20) + 0.2 * rng.standard_normal(20)
    motion.correct(z[0])
    for reading in z[1:]:
        motion.step(reading)
    (slope, last), covariance = np.polyfit(dt * np.arange(-19, 1), z, 1, cov="unscaled")
    np.testing.assert_allclose(motion.x, [last, slope], rtol=1e-5)
    np.testing.assert_allclose(motion.P, 0.04 * covariance[::-1, ::-1], rtol=1e-5)


def test_smoothing_is_the_settled_filter_of_each_channel():
    """From the first reading on, sample by sample."""
    z = np.random.default_rng(4).standard_normal((50, 2)) + [5.0, -3.0]
    q, r = np.array([0.1, 2.0]), np.array([1.0, 3.0])
    x = z[0].copy()
    gain = np.array([steady_gain(*pair) for pair in zip(q, r, strict=True)])
    found = smooth(z, q, r)
    for k, row in enumerate(z):
        x += gain * (row - x)
        np.testing.assert_allclose(found[k], x, atol=1e-12)
    assert time_constant(1.0 - np.exp(-0.1), 0.02) == pytest.approx(0.2)
