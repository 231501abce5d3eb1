"""Calibration: the load and the bias come back from readings at rest, with an honest uncertainty, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import Calibration, ForceSensor, Load, Mounting, calibrate, load_sensor

HEX_E = load_sensor("optoforce-hex-e")
FACES = Rotation.from_rotvec(
    np.pi / 2 * np.array([(0, 0, 0), (2, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
).as_matrix()


def exact(load: Load, bias: np.ndarray, rotations: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """What a perfect sensor reads, from the cross product as written."""
    weight = load.mass * np.matmul(rotations.transpose(0, 2, 1), [0.0, 0.0, -9.81])
    return sign * np.hstack([weight, np.cross(load.com, weight)]) + bias


def truth(load: Load, bias: np.ndarray) -> np.ndarray:
    """In the order of the covariance."""
    return np.concatenate([[load.mass], load.com, bias])


def fitted(found: Calibration) -> np.ndarray:
    """In the order of the covariance."""
    return truth(found.load, found.bias)


@given(seed=st.integers(0, 2**32 - 1), sign=st.sampled_from([1.0, -1.0]))
def test_exact_readings_give_the_exact_load_and_bias(seed, sign):
    """Any load and bias, any eight orientations beside the six faces, either sign of the sensor."""
    rng = np.random.default_rng(seed)
    load, bias = Load(rng.uniform(0.05, 5.0), rng.uniform(-0.1, 0.1, 3)), rng.uniform(-30, 30, 6)
    rotations = np.concatenate([FACES, Rotation.random(8, rng=rng).as_matrix()])
    found = calibrate(exact(load, bias, rotations, sign), rotations)
    np.testing.assert_allclose(fitted(found), truth(load, bias), atol=1e-8)
    assert found.sign == sign and found.residual_force < 1e-9 and found.residual_torque < 1e-9


def test_the_truth_lies_within_the_stated_uncertainty_as_often_as_it_should():
    """Four hundred calibrations from noisy counts: 95 % of all ten numbers within the interval of Student's t."""
    rng = np.random.default_rng(8)
    load, bias = Load(0.3, np.array([0.0, -0.00667, 0.0233])), np.array([3.0, -7.0, 11.0, 0.2, -0.1, 0.3])
    sensor_load = load - HEX_E.internals
    inside = []
    for _ in range(400):
        sensor = ForceSensor(HEX_E, Mounting(), sensor_load, bias=bias, rng=rng)
        means = np.array([sensor.read(np.zeros((50, 6)), R, dt=0.0).mean(axis=0) for R in FACES]) * HEX_E.resolution
        found = calibrate(means, FACES)
        inside.append(
            np.abs(fitted(found) - truth(load, bias)) <= 2.16 * found.deviations
        )  # 12 and 14 degrees of freedom
    assert 0.93 <= np.mean(inside) <= 0.97


def test_the_residual_is_the_noise():
    """With the model right, what is left over is what the sensor adds: noise of a mean of fifty."""
    rng = np.random.default_rng(9)
    sensor = ForceSensor(HEX_E, rng=rng)
    rotations = Rotation.random(200, rng=rng).as_matrix()
    means = np.array([sensor.read(np.zeros((50, 6)), R, dt=0.0).mean(axis=0) for R in rotations]) * HEX_E.resolution
    found = calibrate(means, rotations)
    force, torque = np.sqrt(HEX_E.variance[[0, 3]] / 50)
    assert found.residual_force == pytest.approx(force, rel=0.1)
    assert found.residual_torque == pytest.approx(torque, rel=0.1)


def test_a_push_during_calibration_shows_in_the_residual():
    """Two newtons of hand in one of twelve readings."""
    rng = np.random.default_rng(10)
    rotations = np.concatenate([FACES, FACES])
    readings = exact(Load(0.3), np.zeros(6), rotations) + 0.01 * rng.standard_normal((12, 6))
    quiet = calibrate(readings, rotations).residual_force
    readings[4, 0] += 2.0
    assert calibrate(readings, rotations).residual_force > 10.0 * quiet


def test_the_six_faces_are_a_well_conditioned_set():
    """And nearly equal orientations are an ill-conditioned one, refused with the remedy."""
    load = Load(0.5, np.array([0.01, 0.02, 0.03]))
    assert calibrate(exact(load, np.zeros(6), FACES), FACES).condition == pytest.approx(np.sqrt(1.5))
    alike = Rotation.from_rotvec(np.random.default_rng(0).uniform(-0.02, 0.02, (10, 3))).as_matrix()
    with pytest.raises(BadValue, match="too much alike: condition number .* both ways of every axis"):
        calibrate(exact(load, np.zeros(6), alike), alike)


def test_turning_about_the_vertical_alone_teaches_nothing():
    """Gravity never changes in the sensor's axes, however many orientations there are."""
    level = Rotation.from_rotvec(np.linspace(0, 3, 12)[:, None] * [0.0, 0.0, 1.0]).as_matrix()
    with pytest.raises(BadValue, match="too much alike"):
        calibrate(exact(Load(0.5), np.zeros(6), level), level)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda w, R: (w[:5], R[:5]), "5 orientations are too few .at least 6."),
        (lambda w, R: (w[:, :5], R), "n × 6 readings"),
        (lambda w, R: (w * np.nan, R), "not a number"),
        (lambda w, R: (w, R * 1.1), "not a rotation matrix"),
        (lambda w, R: (w * 0.0, R), "no load to be found"),
    ],
)
def test_bad_data_is_answered_on_one_line(spoil, words):
    """Each says what is wrong with it."""
    with pytest.raises(BadValue, match=words):
        calibrate(*spoil(exact(Load(0.5), np.zeros(6), FACES), FACES))
