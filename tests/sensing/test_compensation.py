"""Compensation: what the tool and the sensor themselves put in goes out, a contact stays, and the
deviations hold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.errors import UnknownName
from farhand.sensing import DriftTracker, Readings, Thermal, compensate, identify
from farhand.sensing.compensation import _DriftHistory, _gaps
from tests.sensing.ft_data import NOISE, random_truth, recording

# 4 N in five minutes, [N/s] and [N·m/s]
DRIFT = np.array([0.0, 0.3, 1.0, 0.01, 0.0, 0.002]) * 4.0 / 300.0
PUSH = np.array([0.0, 6.0, 8.0, 0.5, 0.0, 0.0])  # 10 N


def calibrated(rng):
    """A truth and its calibration from twelve poses of 200 readings."""
    truth = random_truth(rng)
    return truth, identify(recording(truth, Rotation.random(12, rng=rng), 200, rng)).tool


def with_extra(raw: Readings, extra: np.ndarray) -> Readings:
    return replace(raw, wrench=raw.wrench + extra)


def short_means(wrench: np.ndarray, count: int = 50) -> np.ndarray:
    """Means over half a second."""
    total = np.cumsum(wrench, axis=0)
    return (total[count:] - total[:-count]) / count


@pytest.mark.parametrize("drift", ["track", "none"])
def test_force_and_torque_without_contact_are_removed_in_other_poses(drift):
    """At least 95 % of the force and 91 % of the torque, in poses that the calibration has not
    seen.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        truth, tool = calibrated(rng)
        raw = recording(truth, Rotation.random(20, rng=rng), 50, rng)
        clean = compensate(raw, tool, drift).wrench
        for part, share in ((slice(0, 3), 0.95), (slice(3, 6), 0.91)):
            before, after = (
                np.sqrt((w[:, part] ** 2).sum(axis=1).mean()) for w in (raw.wrench, clean)
            )
            assert after <= (1.0 - share) * before


@pytest.mark.parametrize("pause", [300.0, 4.0, 1.0])
def test_four_newtons_of_drift_in_five_minutes_leave_half_a_newton_at_most(pause):
    """Without contact, and with a 10 N contact that pauses for a few seconds, or for one, of every
    ten.
    """
    rng = np.random.default_rng(2)
    truth, tool = calibrated(rng)
    raw = recording(truth, Rotation.random(100, rng=rng), 300, rng)
    push = np.outer(raw.time % 10.0 > pause, PUSH)
    found = compensate(with_extra(raw, np.outer(raw.time, DRIFT) + push), tool)
    assert np.abs(short_means(found.wrench - push))[:, :3].max() <= 0.5
    inside = np.abs(found.wrench - push) <= 1.96 * found.deviations
    assert 0.93 <= inside.mean() <= 0.97
    assert found.contact.mean() == pytest.approx((push[:, 2] > 0).mean(), abs=0.05)


@pytest.mark.parametrize("drift", ["track", "none"])
def test_a_contact_from_beginning_to_end_is_reported_and_not_learned(drift):
    """10 N for a minute without a pause."""
    rng = np.random.default_rng(3)
    truth, tool = calibrated(rng)
    raw = with_extra(
        recording(truth, Rotation.random(20, rng=rng), 300, rng), np.tile(PUSH, (6000, 1))
    )
    found = compensate(raw, tool, drift)
    np.testing.assert_allclose(found.wrench.mean(axis=0)[:3], PUSH[:3], atol=0.1)
    assert np.abs(short_means(found.wrench - PUSH))[:, :3].max() <= 0.5


def test_a_long_contact_is_never_taken_for_drift():
    """Ten minutes of push: the uncertainty grows, but a push of 10 N stays a push."""
    tracker = DriftTracker(NOISE)
    rng = np.random.default_rng(4)
    for _ in range(60_000):
        tracker.update(PUSH + NOISE * rng.standard_normal(6), 0.01)
    assert tracker.contact and np.abs(tracker.drift[:3]).max() < 0.1


def test_without_tracking_the_drift_stays_in():
    """What was asked for."""
    rng = np.random.default_rng(5)
    truth, tool = calibrated(rng)
    raw = recording(truth, Rotation.random(100, rng=rng), 30, rng)
    found = compensate(with_extra(raw, np.outer(raw.time, [0, 0, 0.1, 0, 0, 0])), tool, "none")
    assert found.wrench[-30:, 2].mean() == pytest.approx(3.0, abs=0.2)
    assert not found.contact.any() and not found.drift.any()


@pytest.mark.parametrize("drift", ["track", "none"])
def test_the_deviations_hold_the_truth_in_95_of_100_readings(drift):
    """Over many calibrations from few readings, where the calibration's own error counts as much as
    the noise.
    """
    rng = np.random.default_rng(6)
    inside = []
    for _ in range(150):
        truth = random_truth(rng)
        tool = identify(recording(truth, Rotation.random(8, rng=rng), 6, rng)).tool
        found = compensate(recording(truth, Rotation.random(40, rng=rng), 1, rng), tool, drift)
        inside.append(np.abs(found.wrench) <= 1.96 * found.deviations)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_the_wrench_in_base_axes_points_away_from_the_obstacle():
    """A push along base x reads along base x in every orientation."""
    rng = np.random.default_rng(7)
    truth, tool = calibrated(rng)
    poses = Rotation.random(20, rng=rng)
    raw = recording(truth, poses, 50, rng)
    push = np.repeat(
        np.hstack([poses.inv().apply([10.0, 0.0, 0.0]), np.zeros((20, 3))]), 50, axis=0
    )
    base = compensate(with_extra(raw, push), tool).wrench_in_base()
    np.testing.assert_allclose(base.mean(axis=0)[:3], [10.0, 0.0, 0.0], atol=0.1)
    # now the given orientation is that of a flange the sensor sits turned on
    turn = Rotation.from_euler("z", 0.7)
    flange = replace(
        with_extra(raw, push),
        quaternion=(Rotation.from_quat(raw.quaternion) * turn.inv()).as_quat(),
    )
    base = compensate(flange, replace(tool, yaw=0.7)).wrench_in_base()
    np.testing.assert_allclose(base.mean(axis=0)[:3], [10.0, 0.0, 0.0], atol=0.1)


def test_an_opposite_sensor_is_compensated_in_its_own_sign():
    """What the sensor exerts on the tool, less bias and weight, is the reaction to the contact."""
    rng = np.random.default_rng(8)
    truth, _ = calibrated(rng)
    turned = replace(truth, mass=-truth.mass)
    tool = identify(recording(turned, Rotation.random(12, rng=rng), 200, rng)).tool
    found = compensate(
        with_extra(recording(turned, Rotation.random(9, rng=rng), 50, rng), -PUSH), tool
    )
    np.testing.assert_allclose(found.wrench.mean(axis=0)[:3], -PUSH[:3], atol=0.1)


def test_an_unknown_way_to_treat_drift_is_refused():
    """With those there are."""
    rng = np.random.default_rng(9)
    truth, tool = calibrated(rng)
    with pytest.raises(UnknownName, match="none, track"):
        compensate(recording(truth, Rotation.random(2, rng=rng), 2, rng), tool, "guess")


def pressed(seed: int, push):
    """The drift's remarks about half a minute and a push along z that goes with time as
    given, [N].
    """
    rng = np.random.default_rng(seed)
    truth, tool = calibrated(rng)
    raw = recording(truth, Rotation.random(30, rng=rng), 100, rng)
    return compensate(with_extra(raw, np.outer(push(raw.time), [0, 0, 1, 0, 0, 0])), tool).advice


@pytest.mark.parametrize(
    "push",
    [
        lambda t: np.full_like(t, 1.5),
        lambda t: np.full_like(t, 3.0),
        lambda t: 1.0 * (t > 15.0),
        lambda t: 0.1 * np.maximum(t - 10.0, 0.0),
        lambda t: 0.2 * np.maximum(t - 10.0, 0.0),
    ],
    ids=["1.5 N from the start", "3 N from the start", "1 N later on", "0.1 N/s", "0.2 N/s"],
)
def test_a_push_that_is_taken_for_drift_is_doubted(push):
    """Nothing tells it from drift for certain, but a sensor's own drift is not like this."""
    for seed in range(3):
        (line,) = pressed(seed, push)
        assert (
            line.startswith("the drift removed from fz moves") and "--drift none keeps it" in line
        )


@pytest.mark.parametrize(
    "push",
    [lambda t: 0.0 * t, lambda t: t * 4.0 / 300.0, lambda t: 10.0 * (t % 10.0 > 5.0)],
    ids=["free air", "4 N in five minutes", "10 N again and again"],
)
def test_an_ordinary_drift_is_not_doubted(push):
    """Nor are contacts, which no drift was learned from."""
    assert [pressed(seed, push) for seed in range(5)] == [()] * 5


def test_a_recording_with_a_long_gap_says_so_and_recovers():
    """An hour between two stretches of free air; the deviations hold on both sides of it."""
    rng = np.random.default_rng(10)
    truth, tool = calibrated(rng)
    raw = recording(truth, Rotation.random(20, rng=rng), 200, rng)
    found = compensate(replace(raw, time=raw.time + np.where(raw.time >= 10.0, 3600.0, 0.0)), tool)
    assert not found.contact.any() and found.deviations.max() < 0.6
    assert 0.93 <= np.mean(np.abs(found.wrench) <= 1.96 * found.deviations) <= 0.97
    (line,) = found.advice
    assert line.startswith("no reading for 3600 s after t = 9.99 s: drift tracking starts again")


@pytest.mark.parametrize("drift", ["none", "track"])
def test_the_deviations_are_those_of_calibration_noise_heat_and_drift(drift):
    """Their variances add up, reading by reading; a tracked drift takes the place of the bias."""
    rng = np.random.default_rng(20)
    truth, tool = calibrated(rng)
    thermal = Thermal(22.0, np.zeros(6), np.full(6, 0.02))
    raw = recording(truth, Rotation.random(6, rng=rng), 20, rng)
    raw = replace(raw, temperature=np.linspace(20.0, 30.0, len(raw)))
    shares = []
    found = compensate(raw, replace(tool, thermal=thermal), drift, shares.append)
    variance = tool.variance(raw.up, bias=drift == "none") + tool.noise**2
    variance += ((raw.temperature - 22.0) ** 2)[:, None] * 0.02**2
    tracker, rest = DriftTracker(tool.noise), tool.unload(replace(raw, temperature=None))
    removed = np.zeros((len(raw), 6))
    if drift == "track":
        for k, step in enumerate(np.diff(raw.time, prepend=raw.time[0])):
            removed[k] = tracker.update(rest[k], step)
            variance[k] += tracker.variance
    np.testing.assert_allclose(found.deviations, np.sqrt(variance), rtol=1e-9)
    np.testing.assert_allclose(found.drift, removed, atol=1e-12)
    np.testing.assert_allclose(found.wrench, rest - removed, atol=1e-12)
    assert found.tracked is (drift == "track") and shares == [0.0] * found.tracked


def test_progress_is_told_every_thousand_readings():
    """As a share of all."""
    rng = np.random.default_rng(21)
    truth, tool = calibrated(rng)
    raw, shares = recording(truth, Rotation.random(5, rng=rng), 500, rng), []
    compensate(raw, tool, progress=shares.append)
    assert shares == pytest.approx([0.0, 0.4, 0.8])


def test_several_gaps_are_counted_and_the_first_is_named():
    """With its length and when it began."""
    words = _gaps(np.array([0.0, 1.0, 201.0, 202.0, 502.0, 902.0]), [2, 4, 5])
    assert words[0].startswith("no reading for 200 s after t = 1 s, and 2 more such gaps:")
    assert "more than 3 N" in words[0]
    assert _gaps(np.arange(3.0), []) == []


def test_the_history_keeps_a_state_per_window_and_every_new_start():
    """A tenth of a second apart; after a gap at once."""
    tracker, history = DriftTracker(np.ones(6)), _DriftHistory()
    time = np.array([0.0, 0.05, 0.0999, 0.1001, 0.15, 0.21, 5000.0, 5000.05])
    for k in range(len(time)):
        tracker.update(np.zeros(6), time[k] - time[max(k - 1, 0)])
        history.add(k, time, tracker)
    assert history.at == [0, 3, 5, 6] and history.restarts == [6]
    assert np.shape(history.states) == (4, 5, 6)
