"""Force sensor: it reads contact and weight in its own frame, rounds, saturates, and is as noisy as
its data sheet.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import ForceSensor, Load, Mounting, load_sensor
from farhand.spatial import adjoint

HEX_E = load_sensor("optoforce-hex-e")
FINE = HEX_E.resolution / 2.0 + 1e-9
"""Rounding moves a reading by half a count at most."""

UPRIGHT = np.eye(3)
HEAD_DOWN = np.diag([1.0, -1.0, -1.0])


def weightless(mounting: Mounting | None = None) -> ForceSensor:
    """A sensor without noise and in free fall."""
    return ForceSensor(HEX_E.silent(), mounting, gravity=0.0)


def reading(sensor: ForceSensor, wrench: np.ndarray, rotation: np.ndarray = UPRIGHT) -> np.ndarray:
    """In SI."""
    return sensor.read(wrench, rotation) * HEX_E.resolution


@pytest.mark.parametrize("axis", range(6))
def test_each_axis_reads_its_own_push(axis):
    """A sensor in line with world axes reads what pushes on the tool, with its sign, and nothing
    else.
    """
    for share in (0.5, -0.25):
        wrench = share * HEX_E.capacity * np.eye(6)[axis]
        np.testing.assert_allclose(reading(weightless(), wrench), wrench, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_power_is_the_same_in_the_sensor_frame(seed):
    """Reading times twist of the sensor's frame equals wrench times twist at the tool: wrenches are
    dual to twists.
    """
    rng = np.random.default_rng(seed)
    mounting = Mounting(rng.uniform(-0.02, 0.02, 3), Rotation.random(rng=rng).as_matrix())
    rotation = Rotation.random(rng=rng).as_matrix()
    wrench, twist = rng.uniform(-1, 1, 6) * np.repeat([50.0, 2.0], 3), rng.uniform(-1, 1, 6)
    twist_in_tool = np.concatenate([rotation.T @ twist[:3], rotation.T @ twist[3:]])
    twist_in_sensor = np.linalg.solve(adjoint(mounting.rotation, mounting.position), twist_in_tool)
    power = reading(weightless(mounting), wrench, rotation) @ twist_in_sensor
    assert power == pytest.approx(wrench @ twist, abs=float(FINE @ np.abs(twist_in_sensor)))


def test_an_upright_load_pulls_down_and_a_turned_one_pulls_up():
    """A tool of mass m at rest reads Rᵀ (0, 0, −m g), and its lever a moment r × m Rᵀ g."""
    load = Load(1.0, np.array([0.02, 0.0, 0.0]))
    sensor = ForceSensor(HEX_E.silent(), None, load - HEX_E.internals)
    np.testing.assert_allclose(reading(sensor, np.zeros(6)), [0, 0, -9.8, 0, 0.196, 0], atol=1e-9)
    np.testing.assert_allclose(
        reading(sensor, np.zeros(6), HEAD_DOWN), [0, 0, 9.8, 0, -0.196, 0], atol=1e-9
    )


def test_the_sensors_own_internals_weigh_too():
    """A tenth of a kilogram reads about one newton with nothing mounted."""
    assert reading(ForceSensor(HEX_E.silent()), np.zeros(6))[2] == pytest.approx(-0.981, abs=0.05)


def test_a_sensor_that_reports_the_reaction_reverses_contact_and_weight_but_not_bias():
    """The sign belongs to the physics; the bias is the electronics'."""
    bias, wrench = np.repeat([3.0, 0.1], 3), np.array([10.0, -20.0, 30.0, 1.0, 0.5, -1.0])
    plus, minus = (
        ForceSensor(HEX_E.silent(), Mounting(sign=sign), bias=bias) for sign in (1.0, -1.0)
    )
    both = reading(plus, wrench) + reading(minus, wrench)
    np.testing.assert_allclose(both, 2.0 * bias, atol=1e-9)


@pytest.mark.parametrize("axis", range(6))
def test_readings_are_whole_counts_and_stop_at_capacity(axis):
    """Beyond the capacity nothing grows any more."""
    wrenches = np.linspace(-1.5, 1.5, 301)[:, None] * HEX_E.capacity * np.eye(6)[axis]
    counts = weightless().read(wrenches, UPRIGHT)
    np.testing.assert_array_equal(counts, np.round(counts))
    assert counts[:, axis].max() == -counts[:, axis].min() == HEX_E.counts[axis]
    assert (np.diff(counts[:, axis]) >= 0.0).all()
    assert not np.delete(counts, axis, axis=1).any()


def test_many_samples_at_once_equal_one_by_one():
    """Arrays of wrenches and orientations are the same physics."""
    rng = np.random.default_rng(1)
    wrenches, rotations = rng.normal(size=(20, 6)), Rotation.random(20, rng=rng).as_matrix()
    mounting = Mounting(np.array([0.0, -0.03, 0.05]), Rotation.random(rng=rng).as_matrix(), -1.0)
    sensor = ForceSensor(HEX_E.silent(), mounting, Load(0.2, np.array([0.0, -0.01, 0.03])))
    single = [sensor.read(*pair) for pair in zip(wrenches, rotations, strict=True)]
    np.testing.assert_array_equal(sensor.read(wrenches, rotations), single)
    np.testing.assert_array_equal(
        sensor.read(wrenches[0], rotations)[3], sensor.read(wrenches[0], rotations[3])
    )


def test_noise_has_the_deviation_of_the_data_sheet():
    """Noise and rounding together, over 20,000 samples."""
    sensor = ForceSensor(HEX_E, gravity=0.0, rng=np.random.default_rng(2))
    deviation = reading(sensor, np.zeros((20_000, 6))).std(axis=0)
    np.testing.assert_allclose(deviation, np.sqrt(HEX_E.variance), rtol=0.03)


def test_drift_is_a_random_walk():
    """After an hour its deviation is that of the data sheet, after four hours twice that, however
    it is sampled.
    """
    rng, walks = np.random.default_rng(3), []
    for _ in range(2000):
        sensor = ForceSensor(HEX_E, gravity=0.0, rng=rng)
        sensor.rest(1800.0)
        sensor.read(np.zeros((3, 6)), UPRIGHT, dt=600.0)
        hour = sensor.drift.copy()
        sensor.rest(3.0 * 3600.0)
        walks.append((hour, sensor.drift.copy()))
    one, four = np.array(walks).std(axis=0)
    np.testing.assert_allclose(one, HEX_E.drift, rtol=0.06)
    np.testing.assert_allclose(four, 2.0 * HEX_E.drift, rtol=0.06)


def test_the_same_generator_gives_the_same_readings():
    """Randomness comes from the generator alone."""
    first, second = (ForceSensor(HEX_E, rng=np.random.default_rng(7)) for _ in range(2))
    for _ in range(5):
        np.testing.assert_array_equal(
            first.read(np.zeros(6), UPRIGHT), second.read(np.zeros(6), UPRIGHT)
        )


def test_no_samples_give_no_readings():
    """An empty batch leaves the drift as it was."""
    sensor = ForceSensor(HEX_E, rng=np.random.default_rng(0))
    assert sensor.read(np.zeros((0, 6)), UPRIGHT).shape == (0, 6)
    assert not sensor.drift.any()


def test_a_noisy_sensor_without_a_generator_is_refused():
    """Nothing random happens by itself."""
    with pytest.raises(BadValue, match="needs a random generator"):
        ForceSensor(HEX_E)
