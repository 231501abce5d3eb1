"""The drift tracker: it follows the zero in free air, waits during contact, and says how sure it
is.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.sensing import DriftTracker, VectorKalman
from tests.sensing.ft_data import NOISE

DT = 0.01


def fed(tracker: DriftTracker, wrench: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drift and contact after every reading."""
    drift, contact = np.zeros_like(wrench), np.zeros(len(wrench), dtype=bool)
    for k, reading in enumerate(wrench):
        drift[k] = tracker.update(reading, DT)
        contact[k] = tracker.contact
    return drift, contact


def noise(n: int, seed: int) -> np.ndarray:
    return NOISE * np.random.default_rng(seed).standard_normal((n, 6))


def test_the_stated_variance_is_the_true_error():
    """Drifts as the filter assumes: 95 % of them within 1.96 deviations."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scale = np.repeat([1.0, 0.03], 3)
        tracker = DriftTracker(NOISE)
        rate = tracker.rate * rng.standard_normal(6) + np.cumsum(
            tracker.rate_wander * np.sqrt(DT) * rng.standard_normal((3000, 6)), axis=0
        )
        steps = rate * DT + tracker.wander * np.sqrt(DT) * rng.standard_normal((3000, 6))
        truth = scale * (tracker.start * rng.standard_normal(6) + np.cumsum(steps, axis=0))
        fed(tracker, truth + noise(3000, seed + 100))
        inside.append(np.abs(tracker.drift - truth[-1]) <= 1.96 * np.sqrt(tracker.variance))
    assert 0.90 <= np.mean(inside) <= 0.99


def test_a_push_of_one_newton_is_not_learned():
    """Ten seconds of it, after a minute of free air."""
    wrench = noise(7000, 1)
    wrench[6000:, 1] += 1.0
    drift, contact = fed(DriftTracker(NOISE), wrench)
    assert not contact[:6000].any() and contact[6100:].mean() > 0.95
    assert abs(drift[-1, 1] - drift[5999, 1]) < 0.1


def test_it_goes_on_at_the_last_rate_during_contact():
    """A minute of contact while the zero moves by 0.8 N: the estimate follows without a look."""
    t = DT * np.arange(18_000)
    truth = np.outer(t * 4.0 / 300.0, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    wrench = truth + noise(len(t), 2)
    wrench[12_000:, 0] += 10.0
    tracker = DriftTracker(NOISE)
    drift, contact = fed(tracker, wrench)
    assert contact[12_000:].all()
    assert (
        abs(drift[-1, 2] - truth[-1, 2]) <= 3.0 * np.sqrt(tracker.variance[2])
        and tracker.variance[2] > 0.001
    )


def test_the_uncertainty_grows_while_it_cannot_look():
    """And falls again within a second of free air."""
    tracker = DriftTracker(NOISE)
    fed(tracker, noise(3000, 3))
    calm = tracker.variance[0]
    fed(tracker, noise(6000, 4) + [20.0, 0, 0, 0, 0, 0])
    blind = tracker.variance[0]
    fed(tracker, noise(100, 5))
    assert blind > 4.0 * calm and tracker.variance[0] < 0.5 * blind


def test_a_silent_sensor_is_followed_exactly():
    """No noise, no division by zero."""
    tracker = DriftTracker(np.zeros(6))
    drift, contact = fed(tracker, np.full((100, 6), 0.001))
    assert not contact.any() and drift[-1] == pytest.approx(0.001)


@pytest.mark.parametrize("gap", [900.0, 3600.0])
def test_a_long_gap_in_the_readings_is_a_new_start(gap):
    """Ten seconds tell a rate too badly to go on at it for an hour; free air after the gap is free
    air.
    """
    tracker = DriftTracker(NOISE)
    fed(tracker, noise(1000, 6))
    before = tracker.drift.copy()
    tracker.update(noise(1, 7)[0], gap)
    assert tracker.restarted and np.abs(tracker.drift - before)[:3].max() < 1.0
    drift, contact = fed(tracker, noise(2000, 8))
    assert not tracker.restarted and not contact.any()
    assert np.abs(drift[-1, :3]).max() < 0.2 and np.sqrt(tracker.variance[:3].max()) < 0.1


def test_a_short_gap_is_bridged_at_the_last_rate():
    """A minute without readings, after five of steady drift: the estimate is where the drift has
    gone.
    """
    t = DT * np.arange(30_000)
    tracker = DriftTracker(NOISE)
    fed(tracker, np.outer(t, [0, 0, 4.0 / 300.0, 0, 0, 0]) + noise(len(t), 9))
    tracker.update(np.array([0, 0, 4.8, 0, 0, 0]), 60.0)
    assert not tracker.restarted and tracker.drift[2] == pytest.approx(4.8, abs=0.3)


def test_what_the_model_expects_is_what_drifts_as_it_assumes_do():
    """The stated deviation of the drift since the first reading, against a thousand of them after a
    minute.
    """
    tracker, rng = DriftTracker(NOISE), np.random.default_rng(10)
    rate = tracker.rate * rng.standard_normal(1000)
    drift = tracker.start * rng.standard_normal(1000)
    for _ in range(60):
        drift += rate + tracker.wander * rng.standard_normal(1000)
        rate += tracker.rate_wander * rng.standard_normal(1000)
    assert tracker.expected(np.array([60.0]))[0, 0] == pytest.approx(drift.std(), rel=0.1)


SCALE = np.repeat([1.0, 0.03], 3)
"""A torque counts like this many newtons of force."""


def textbook(tracker: DriftTracker, axis: int) -> VectorKalman:
    """The filter of drift and rate of one axis as matrices, at its start."""
    first = np.array([tracker.start, tracker.rate]) * SCALE[axis]
    variance = tracker.noise[axis] ** 2
    return VectorKalman(
        np.eye(2), [[1.0, 0.0]], np.eye(2), variance, np.zeros(2), np.diag(first**2)
    )


def let_pass(filter: VectorKalman, tracker: DriftTracker, axis: int, dt: float) -> None:
    """White noise on the drift's rate and on its change, over ``dt``."""
    q_d, q_r = (np.array([tracker.wander, tracker.rate_wander]) * SCALE[axis]) ** 2
    filter.A = np.array([[1.0, dt], [0.0, 1.0]])
    filter.Q = np.array(
        [[q_d * dt + q_r * dt**3 / 3, q_r * dt**2 / 2], [q_r * dt**2 / 2, q_r * dt]]
    )
    filter.predict()


def test_in_free_air_it_is_the_textbook_filter_of_a_drift_and_its_rate():
    """State and covariance to the last digits, at unequal steps; contact only lets time pass."""
    tracker, rng = DriftTracker(NOISE, rate_wander=0.02, wander=0.05), np.random.default_rng(11)
    filters, mean, seen = [textbook(tracker, axis) for axis in range(6)], np.zeros(6), 0
    for k in range(120):
        dt = rng.uniform(0.005, 0.2) if k else 0.0
        push = 50.0 * (40 <= k < 60)
        reading = NOISE * rng.standard_normal(6) + 0.1 * SCALE + push
        tracker.update(reading, dt)
        assert tracker.contact is (push > 0.0) or 60 <= k < 90
        mean += (1.0 if k == 0 else 1.0 - np.exp(-dt / tracker.window)) * (reading - mean)
        seen += not tracker.contact
        for axis, filter in enumerate(filters):
            let_pass(filter, tracker, axis, dt)
            if not tracker.contact:
                filter.correct(reading[axis])
            wanted = [*filter.x, filter.P[0, 0], filter.P[0, 1], filter.P[1, 1]]
            np.testing.assert_allclose(tracker.state[:, axis], wanted, rtol=1e-9, atol=1e-15)
        # the short mean, which is kept relative to the drift
        np.testing.assert_allclose(tracker._mean + tracker.drift, mean, atol=1e-12)
    assert seen > 80


def test_the_drift_ahead_is_what_the_filter_would_come_to_without_a_reading():
    """From any state, and from the first one."""
    tracker = DriftTracker(NOISE, rate_wander=0.02)
    fed(tracker, noise(300, 12) + 0.2 * SCALE)
    states = np.stack([tracker.state, tracker.state])
    drift, deviation = tracker.ahead(states, np.array([2.0, 30.0]))
    for k, dt in enumerate((2.0, 30.0)):
        for axis in range(6):
            ahead = textbook(tracker, axis)
            now = tracker.state[:, axis]
            ahead.x, ahead.P = now[:2], np.array([[now[2], now[3]], [now[3], now[4]]])
            let_pass(ahead, tracker, axis, dt)
            assert drift[k, axis] == pytest.approx(ahead.x[0])
            assert deviation[k, axis] == pytest.approx(np.sqrt(ahead.P[0, 0]))
            first = textbook(tracker, axis)
            let_pass(first, tracker, axis, dt)
            assert tracker.expected(np.array([dt]))[0, axis] == pytest.approx(
                np.sqrt(first.P[0, 0])
            )
    np.testing.assert_allclose(tracker.reach(deviation), tracker.gate * deviation + 0.3 * SCALE)


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("start", [0.0, 0.05, 50.0])
def test_contact_begins_where_noise_and_doubt_end(axis, start):
    """Both sides of the limit of one reading: the least push, the doubt up to the most, noise."""
    settings = {"start": start, "rate": 0.0, "wander": 0.0, "rate_wander": 0.0, "window": 1e6}
    doubt = min(5.0 * start, 3.0) * SCALE[axis]
    limit = 0.3 * SCALE[axis] + doubt + 5.0 * NOISE[axis]
    for share, contact in ((0.999, False), (1.001, True), (-0.999, False), (-1.001, True)):
        tracker = DriftTracker(NOISE, **settings)
        tracker._primed = True
        tracker.update(share * limit * np.eye(6)[axis], DT)
        assert tracker.contact is contact
    # the mean of many readings is surer: its limit has next to none of the noise
    tracker = DriftTracker(NOISE, **{**settings, "window": 1.0})
    tracker._primed = True
    share = 1.0 - np.exp(-DT)
    limit = 0.3 * SCALE[axis] + doubt + 5.0 * NOISE[axis] * np.sqrt(share / (2.0 - share))
    for part, contact in ((0.999, False), (1.001, True)):
        tracker._mean = part * limit * np.eye(6)[axis]
        assert tracker._touched(np.zeros(6), share) is contact


@pytest.mark.parametrize("walk", [{}, {"wander": 0.1}, {"rate_wander": 2e-3}])
def test_a_gap_is_too_long_from_where_the_drift_may_have_gone_too_far(walk):
    """Three deviations of what the rate and both walks add, against the most."""
    gaps = np.arange(51.0, 200.0, 0.1)
    for gap, restarted in ((-0.2, False), (0.2, True)):
        tracker = DriftTracker(NOISE, **walk)
        # a rate that is known twice as well as at first
        tracker._r = (0.5 * tracker.rate * SCALE) ** 2
        growth = tracker._r[0] * gaps**2 + tracker.wander**2 * gaps
        growth += tracker.rate_wander**2 * gaps**3 / 3.0
        edge = gaps[np.argmax(3.0 * np.sqrt(growth) > tracker.most)]
        assert edge > 55.0
        tracker.update(np.zeros(6), edge + gap)
        assert bool(tracker.restarted) is restarted
