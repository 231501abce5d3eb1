"""Recordings that are not what they seem are refused or named, and good ones are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import Readings, identify
from farhand.sensing.misread import spikes
from tests.sensing.ft_data import NOISE, Truth, recording

TRUTH = Truth(1.4, np.array([0.002, -0.004, 0.06]), np.array([22.0, -13.0, 28.0, 0.4, -0.2, 0.1]))


def good(seed: int, poses: int = 12, count: int = 50, noise: np.ndarray = NOISE) -> Readings:
    """Random poses of one tool."""
    rng = np.random.default_rng(seed)
    return recording(TRUTH, Rotation.random(poses, rng=rng), count, rng, noise)


def turned(raw: Readings, before: Rotation, after: Rotation) -> Readings:
    """The same forces with other orientations."""
    return replace(raw, quaternion=(before * Rotation.from_quat(raw.quaternion) * after).as_quat())


def holds(found, truth: Truth = TRUTH) -> bool:
    """Whether most intervals hold the truth."""
    low, high = found.tool.intervals.T
    return np.mean((low <= truth.values) & (truth.values <= high)) >= 0.7


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("step", [0.0, 0.1, 1.0])
def test_good_recordings_get_no_remark_about_their_axes(count, step):
    """Fine and coarse sensors, many readings per pose and one."""
    for seed in range(5):
        raw = good(seed, count=count)
        if step:
            size = step * np.repeat([1.0, 0.03], 3)
            raw = replace(raw, wrench=np.round(raw.wrench / size) * size)
        words = " ".join(identify(raw).advice)
        assert not any(
            word in words for word in ("far out", "drifts", "turned", "mirrored", "off the fit")
        )


@pytest.mark.parametrize("size", [50.0, 1e6])
def test_a_single_wild_reading_counts_for_nothing(size):
    """In the middle of a pose, at its first reading and at its last."""
    for at in (120, 150, 199):
        raw = good(3)
        raw.wrench[at, 1] += size
        assert np.flatnonzero(spikes(raw)).tolist() == [at]
        found = identify(raw)
        assert (
            holds(found)
            and "1 reading stands far out" in found.advice[0]
            and f"t = {at / 100:g} s" in found.advice[0]
        )


def test_a_contact_is_no_spike():
    """A push that lasts is left to the line about the pose it spoils."""
    raw = good(4)
    raw.wrench[110:140, 0] += 20.0
    assert not spikes(raw).any()
    assert "pose 3 of 12" in " ".join(identify(raw).advice)


@pytest.mark.parametrize(("limit", "seed"), [(30.0, 0), (22.0, 1), (36.0, 2)])
def test_an_axis_at_the_end_of_its_range_is_refused(limit, seed):
    """Whether a few poses or most of them are beyond it."""
    raw = good(seed)
    raw.wrench[:, 2] = np.minimum(raw.wrench[:, 2], limit)
    with pytest.raises(BadValue, match=f"fz is exactly {limit:g} N in .* saturated"):
        identify(raw)


def test_a_dead_axis_is_refused():
    """One constant channel beside noisy ones."""
    raw = good(5)
    raw.wrench[:, 0] = 0.0
    with pytest.raises(BadValue, match="fx is always 0 N"):
        identify(raw)


def test_readings_without_any_noise_are_neither_dead_nor_saturated():
    """A made-up recording in which one pose, an extreme one, lasts longest."""
    raw = good(6, noise=np.zeros(6))
    longest = np.argmax(raw.wrench[:, 2])
    rows = np.concatenate([np.arange(len(raw)), np.full(300, longest)])
    rows.sort()
    raw = Readings(0.01 * np.arange(len(rows)), raw.quaternion[rows], raw.wrench[rows])
    np.testing.assert_allclose(identify(raw).tool.values, TRUTH.values, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("order", "sign", "words"),
    [
        ([3, 0, 1, 2], 1.0, "qw,qx,qy,qz"),
        ([0, 1, 2, 3], [-1.0, -1.0, -1.0, 1.0], "from the base to the sensor"),
    ],
)
def test_a_quaternion_of_another_convention_is_refused_by_name(seed, order, sign, words):
    """The real part first, or the inverse: both have length one."""
    raw = good(seed)
    with pytest.raises(BadValue, match=words):
        identify(replace(raw, quaternion=sign * raw.quaternion[:, order]))


def test_a_base_with_another_axis_up_is_refused_by_name():
    """Game engines have y up."""
    raw = turned(good(7), Rotation.from_euler("x", -0.5 * np.pi), Rotation.identity())
    with pytest.raises(BadValue, match="y axis points up"):
        identify(raw)


def test_a_sensor_mounted_askew_is_named_with_the_angle():
    """The orientation is that of the flange, and the sensor is tilted by 30° against it."""
    raw = turned(good(8), Rotation.identity(), Rotation.from_euler("y", -30.0, degrees=True))
    assert identify(raw).advice[0].startswith("fx,fy,fz are turned by 30°")


def test_swapped_axes_are_called_mirrored():
    """Forces along x and y in each other's columns, whether a mass comes out or not."""
    raw = good(9)
    raw = replace(raw, wrench=raw.wrench[:, [1, 0, 2, 3, 4, 5]])
    try:
        words = " ".join(identify(raw).advice)
    except BadValue as error:
        words = str(error)
    assert "mirrored" in words and "more readings" not in words


def test_drift_is_called_drift():
    """2 N over the recording, which no pose is to blame for."""
    for seed in range(5):
        raw = good(seed, count=100)
        raw.wrench[:, 2] += np.linspace(0.0, 2.0, len(raw))
        words = " ".join(identify(raw).advice)
        assert "fz drifts by about" in words and "touched" not in words


def test_poses_that_scatter_for_no_known_reason_are_said_to():
    """A cable that pulls differently in every pose; more readings per pose would not help."""
    rng = np.random.default_rng(10)
    raw = good(10, count=100)
    raw.wrench[:, :3] += np.repeat(rng.normal(size=(12, 3)), 100, axis=0)
    words = " ".join(identify(raw).advice)
    assert "off the fit, noise explains" in words and "more readings" not in words


def test_a_mass_that_no_wrist_carries_asks_for_the_unit():
    """Forces in gram."""
    raw = good(11)
    raw.wrench[:, :3] *= 102.0
    assert "are the forces in N?" in " ".join(identify(raw).advice)


@pytest.mark.parametrize(
    ("order", "sign", "words"),
    [
        ([0, 1, 2], [1.0, 1.0, -1.0], "−tz for tz"),
        ([1, 0, 2], [1.0, 1.0, 1.0], "ty for tx, tx for ty"),
        ([2, 1, 0], [1.0, 1.0, 1.0], "tz for tx, tx for tz"),
    ],
)
def test_torques_in_another_order_or_sign_are_named(order, sign, words):
    """The forces are right, so only the torques can show it."""
    for seed in range(4):
        raw = good(seed, count=200)
        raw.wrench[:, 3:] = raw.wrench[:, 3:][:, order] * sign
        advice = " ".join(identify(raw).advice)
        assert f"fit one centre of mass with {words} (" in advice and "more readings" not in advice


def test_a_torque_of_another_unit_is_asked_after():
    """One axis ten times too large is neither swapped nor reversed."""
    raw = good(12, count=200)
    raw.wrench[:, 3] *= 10.0
    advice = " ".join(identify(raw).advice)
    assert (
        "check the order, signs and units of tx,ty,tz" in advice and "more readings" not in advice
    )


def test_torques_that_scatter_for_no_known_reason_are_said_to():
    """0.05 N·m of another torque in every pose, and nothing wrong with the forces."""
    rng = np.random.default_rng(13)
    raw = good(13, count=200)
    raw.wrench[:, 3:] += np.repeat(0.05 * rng.normal(size=(12, 3)), 200, axis=0)
    advice = " ".join(identify(raw).advice)
    assert "N·m off the fit, noise explains 0.0007" in advice and "more readings" not in advice


def test_more_readings_are_not_asked_for_where_noise_is_not_the_cause():
    """A light tool in a few poses that scatter by 0.1 N, five times the noise of their means."""
    rng = np.random.default_rng(14)
    light = Truth(0.5, TRUTH.com, TRUTH.bias)
    raw = recording(light, Rotation.random(8, rng=rng), 200, rng)
    raw.wrench[:, :3] += np.repeat(0.1 * rng.normal(size=(8, 3)), 200, axis=0)
    advice = " ".join(identify(raw).advice)
    assert (
        "the mass is only known to" in advice
        and "take more poses" in advice
        and "more readings" not in advice
    )
