"""The drift tracker: it follows the zero in free air, waits during contact, and says how sure it
is.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.sensing import DriftTracker
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
