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
