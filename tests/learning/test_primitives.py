"""Basis functions, smoothness and Gaussians of the primitives, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from farhand.errors import BadValue
from farhand.learning.primitives import (
    MovementPrimitive,
    ProbabilisticPrimitive,
    bending,
    bumps,
    ridge,
)

PHASE = np.linspace(0.0, 1.0, 201)


def bump(s: np.ndarray, k: int, count: int) -> np.ndarray:
    """Before they are normalised: as wide as their distance, two beyond either end."""
    width = 1.0 / (count - 5)
    return np.exp(-0.5 * ((s - width * (k - 2)) / width) ** 2)


def test_bumps_stand_at_equal_distances_and_add_up_to_one():
    """The third has its top at the start, the third from the end has it at the end."""
    found = bumps(PHASE, 25)
    raw = np.stack([bump(PHASE, k, 25) for k in range(25)], axis=1)
    np.testing.assert_allclose(found, raw / raw.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found[0].argmax() == 2 and found[-1].argmax() == 22


def test_bending_is_the_integral_of_the_square_and_of_the_curvature():
    """For a sine: 1/2 and ℓ⁴ ω⁴/2, with ℓ = 0.05."""
    fine = np.linspace(0.0, 1.0, 4001)
    w = 4.0 * np.pi
    W = bending(np.stack([np.sin(w * fine), np.cos(w * fine)], axis=1))
    expected = 0.5 + 0.05**4 * w**4 / 2.0
    np.testing.assert_allclose(np.diag(W), expected, rtol=2e-3)
    assert abs(W[0, 1]) < 1e-3 * expected


def test_ridge_is_least_squares_with_a_small_share_of_the_trace_for_smallness():
    """The gradient is zero at the answer; also where the basis is too rich for the data."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((30, 6)), rng.standard_normal((30, 2))
    for amount in (1e-9, 0.1):
        w = ridge(A, y, amount)
        damped = A.T @ A + amount * np.trace(A.T @ A) * np.eye(6)
        np.testing.assert_allclose(damped @ w, A.T @ y, atol=1e-9)
    twice = np.column_stack([A, A])
    np.testing.assert_allclose(twice @ ridge(twice, y), A @ ridge(A, y), atol=1e-6)
    np.testing.assert_allclose(ridge(twice, y)[:6], ridge(twice, y)[6:], atol=1e-6)


def test_a_movement_solves_the_equation_with_its_weights():
    """The equation y'' = ω²(g − y) − 2ωy' − ω²(g − y₀)x + ω² x Σψw, by another integrator."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((12, 1))
    primitive = MovementPrimitive(np.array([0.3]), np.array([-0.5]), weights)

    def rate(s: float, y: np.ndarray) -> list[float]:
        x = np.exp(-np.log(1000.0) * s)
        push = (bumps(np.array([s]), 12) @ weights)[0, 0]
        pull = 625.0 * (-0.5 - y[0]) - 50.0 * y[1]
        return [y[1], pull - 625.0 * (-0.5 - 0.3) * x + 625.0 * x * push]

    truth = solve_ivp(rate, (0.0, 1.0), [0.3, 0.0], t_eval=PHASE, rtol=1e-8, atol=1e-10).y[0]
    np.testing.assert_allclose(primitive.movement(PHASE)[:, 0], truth, atol=3e-4)
    moved = primitive.towards(np.array([1.0]), start=np.array([2.0]))
    assert moved.movement(PHASE)[0, 0] == 2.0 and moved.weights is weights


def test_a_via_point_is_reached_with_the_least_bending():
    """No other change of the weights that keeps via-point and end bends less."""
    reach = 10 * PHASE**3 - 15 * PHASE**4 + 6 * PHASE**5
    before = MovementPrimitive.fit(PHASE, reach[None, :, None], 20)
    np.testing.assert_allclose(before.movement(PHASE)[:, 0], reach, atol=2e-3)
    point = before.movement(np.array([0.4]))[0] + 0.2
    after = before.through(0.4, point)
    fine = np.linspace(0.0, 1.0, 1001)

    def change(weights: np.ndarray) -> np.ndarray:
        other = MovementPrimitive(before.start, before.goal, weights)
        return (other.movement(fine) - before.movement(fine))[:, 0]

    def bent(y: np.ndarray) -> float:
        curvature = np.diff(y, 2) * 1000.0**2
        return float(np.mean(y**2) + 0.05**4 * np.mean(curvature**2))

    least = bent(change(after.weights))
    assert change(after.weights)[400] == pytest.approx(0.2, abs=1e-6)
    rng = np.random.default_rng(0)
    units = [change(before.weights + np.eye(20)[:, [k]]) for k in range(20)]
    fixed = np.stack([[unit[400], unit[-1]] for unit in units], axis=1)
    for _ in range(20):
        step = rng.standard_normal(20)
        step -= np.linalg.pinv(fixed) @ (fixed @ step)
        other = change(after.weights + 0.02 * step[:, None])
        assert bent(other) > least
    for at in (0.0, 1.0, -0.1, 1.1):
        with pytest.raises(BadValue, match="outside the movement"):
            before.through(at, point)


def test_the_fit_is_of_the_mean_of_all_demonstrations():
    """Start and goal as well."""
    reach = np.stack([h * PHASE**2 + 0.1 * h for h in (0.5, 1.0, 1.8)])[:, :, None]
    found = MovementPrimitive.fit(PHASE, reach, 30)
    assert found.start[0] == pytest.approx(0.11) and found.goal[0] == pytest.approx(1.21)
    np.testing.assert_allclose(found.movement(PHASE), reach.mean(axis=0), atol=5e-3)


def shown(count: int) -> np.ndarray:
    """Movements of two dimensions that are sums of bumps, so that their weights are known."""
    weights = np.random.default_rng(4).standard_normal((count, 12, 2))
    return np.stack([bumps(PHASE, 12) @ one for one in weights])


def test_the_covariance_is_that_of_the_weights_and_a_hundredth_of_smooth_bends():
    """Sample covariance; the rest has one hundredth of the mean variance of each dimension."""
    movements = shown(7)
    found = ProbabilisticPrimitive.fit(PHASE, movements, 12)
    weights = np.stack([ridge(bumps(PHASE, 12), one) for one in movements])
    np.testing.assert_allclose(found.mean, weights.mean(axis=0), atol=1e-9)
    seen = np.cov(weights.reshape(7, -1).T)
    extra = (found.covariance - seen).reshape(12, 2, 12, 2)
    variance = weights.var(axis=0).mean(axis=0)
    for k in range(2):
        block = extra[:, k, :, k]
        assert np.trace(block) / 12.0 == pytest.approx(0.01 * variance[k], rel=1e-6)
        W = bending(bumps(PHASE, 12))
        smooth = np.linalg.inv(W + 1e-6 * np.trace(W) * np.eye(12))
        np.testing.assert_allclose(block / np.trace(block), smooth / np.trace(smooth), atol=1e-6)
    np.testing.assert_allclose(extra[:, 0, :, 1], 0.0, atol=1e-9)
    single = ProbabilisticPrimitive.fit(PHASE, movements[:1], 12)
    assert np.isfinite(single.covariance).all() and (np.diag(single.covariance) > 0.0).all()
    assert np.abs(single.covariance).max() < 1e-9


def test_deviations_are_those_of_samples_of_the_weights():
    """Ten thousand movements drawn from the Gaussian."""
    found = ProbabilisticPrimitive.fit(PHASE, shown(7), 12)
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(found.mean.ravel(), found.covariance, 10_000)
    some = PHASE[::40]
    moved = np.einsum("na,mad->mnd", bumps(some, 12), drawn.reshape(-1, 12, 2))
    np.testing.assert_allclose(found.deviation(some), moved.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(found.movement(some), moved.mean(axis=0), atol=0.1)


def test_a_condition_is_that_of_two_gaussians():
    """Prior and a reading with noise: mean and deviation weigh as their inverse variances."""
    found = ProbabilisticPrimitive.fit(PHASE, shown(7), 12)
    place = np.array([0.37])
    before, prior = found.movement(place)[0], found.deviation(place)[0]
    noise = 0.5
    after = found.conditioned(0.37, np.array([before[0] + 1.0, np.nan]), noise)
    share = prior[0] ** 2 / (prior[0] ** 2 + noise**2)
    assert after.movement(place)[0, 0] == pytest.approx(before[0] + share)
    expected = np.sqrt(prior[0] ** 2 * (1.0 - share))
    assert after.deviation(place)[0, 0] == pytest.approx(expected)
    np.testing.assert_allclose(after.covariance, after.covariance.T)
    both = found.conditioned(0.37, np.array([1.0, -2.0]))
    np.testing.assert_allclose(both.movement(place)[0], [1.0, -2.0], atol=1e-3)
    for at in (0.0, 1.0):
        found.conditioned(at, np.array([1.0, np.nan]))
    for at in (-0.01, 1.01):
        with pytest.raises(BadValue, match="outside the movement"):
            found.conditioned(at, np.array([1.0, np.nan]))
