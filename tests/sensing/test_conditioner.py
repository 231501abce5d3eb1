"""Conditioner: whatever the sensor's pose, sign, weight and bias, the contact comes out; or None,
and why.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue, OutOfRange
from farhand.parameters import assign, describe
from farhand.sensing import Conditioner, ForceSensor, Load, Mounting, load_handle, load_sensor
from farhand.sensing.conditioner import wrench_map
from farhand.spatial import adjoint, wrench_in_parent

HEX_E, HANDLE = load_sensor("optoforce-hex-e"), load_handle("dual-arm-handle")
UPRIGHT = np.eye(3)


def random_mounting(rng: np.random.Generator) -> Mounting:
    """Somewhere on the tool, any way round."""
    return Mounting(
        rng.uniform(-0.05, 0.05, 3), Rotation.random(rng=rng).as_matrix(), rng.choice([-1.0, 1.0])
    )


def ready(limit: float = 0.95, **options) -> Conditioner:
    """A conditioner that knows its bias to be zero."""
    conditioner = Conditioner(HEX_E, limit=limit, **options)
    conditioner.set_bias(np.zeros(6))
    return conditioner


def take_bias(
    conditioner: Conditioner, sensor: ForceSensor, rotation: np.ndarray = UPRIGHT
) -> None:
    """Hands off until the bias is known."""
    for counts in sensor.read(np.zeros((conditioner.samples, 6)), rotation):
        assert conditioner.update(counts, rotation) is None


def measured(
    conditioner: Conditioner, counts: np.ndarray, rotation: np.ndarray = UPRIGHT
) -> np.ndarray:
    """A copy of a measurement that there must be."""
    wrench = conditioner.update(counts, rotation)
    assert wrench is not None
    return wrench.copy()


@pytest.mark.parametrize("axis", range(6))
def test_full_counts_are_the_capacity(axis):
    """2000 counts are 200 N, 10000 are 10 N·m, 6500 are 6.5 N·m; one count is 0.1 N or 1 mN·m."""
    conditioner = ready(limit=2.0, gravity=0.0)
    full = measured(conditioner, HEX_E.counts * np.eye(6)[axis])
    np.testing.assert_allclose(full, [200, 200, 200, 10, 10, 6.5] * np.eye(6)[axis], atol=1e-12)
    one = measured(conditioner, np.eye(6)[axis])
    np.testing.assert_allclose(one, np.repeat([0.1, 0.001], 3) * np.eye(6)[axis], atol=1e-15)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_contact_comes_out_whatever_is_in_the_way(seed):
    """Any pose and sign of the sensor, any load, any bias, another orientation than the bias was
    taken in.
    """
    rng = np.random.default_rng(seed)
    mounting, load = random_mounting(rng), Load(rng.uniform(0, 2), rng.uniform(-0.05, 0.05, 3))
    bias = rng.uniform(-1, 1, 6) * np.repeat([20.0, 0.5], 3)
    sensor = ForceSensor(HEX_E.silent(), mounting, load, bias=bias)
    conditioner = Conditioner(HEX_E, mounting, load, samples=3)
    take_bias(conditioner, sensor, Rotation.random(rng=rng).as_matrix())
    rotation = Rotation.random(rng=rng).as_matrix()
    wrench = rng.uniform(-1, 1, 6) * np.repeat([40.0, 1.0], 3)
    found = measured(conditioner, sensor.read(wrench, rotation), rotation)
    assert conditioner.reason == ""
    rounding = np.sqrt(3.0) * np.repeat([0.1, 0.001 + 0.1 * np.sqrt(3.0) * 0.05 * np.sqrt(3.0)], 3)
    assert (np.abs(found - wrench) <= rounding).all()


@given(seed=st.integers(0, 2**32 - 1))
def test_the_wrench_map_conserves_power(seed):
    """Reading times twist at the sensor is wrench times twist at the tool, to the last digits."""
    rng = np.random.default_rng(seed)
    mounting = random_mounting(rng)
    reading, twist = rng.normal(size=6), rng.normal(size=6)
    at_tool = adjoint(mounting.rotation, mounting.position) @ twist
    assert (wrench_map(mounting) @ reading) @ at_tool == pytest.approx(
        mounting.sign * reading @ twist, abs=1e-12
    )


@given(seed=st.integers(0, 2**32 - 1))
def test_the_wrench_map_is_the_one_of_the_library(seed):
    """The matrix is what moving a wrench from the sensor's frame into the tool's does."""
    rng = np.random.default_rng(seed)
    mounting, reading = random_mounting(rng), rng.normal(size=6)
    moved = mounting.sign * wrench_in_parent(mounting.rotation, mounting.position, reading)
    np.testing.assert_allclose(wrench_map(mounting) @ reading, moved, atol=1e-12)


def test_the_adjoint_of_twists_would_not_do():
    """A pure force off the tool point has a moment there; Ad would give it another force instead
    (dual-arm E-14).
    """
    mounting = Mounting(np.array([0.0, -0.03, 0.05]))
    force = np.array([75.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose((wrench_map(mounting) @ force)[3:], [0.0, 75.5 * 0.05, 75.5 * 0.03])
    assert not (adjoint(mounting.rotation, mounting.position) @ force)[3:].any()


def test_there_is_no_measurement_until_the_bias_is_taken():
    """Hands off for a hundred samples, counted aloud; the next sample is a measurement."""
    sensor = ForceSensor(
        HEX_E, None, HANDLE.load, bias=np.full(6, 0.4), rng=np.random.default_rng(0)
    )
    conditioner = Conditioner(HEX_E, load=HANDLE.load)
    for sample in range(1, 101):
        assert conditioner.update(sensor.read(np.zeros(6), UPRIGHT), UPRIGHT) is None
        assert conditioner.reason == f"taking the bias: sample {sample} of 100"
    assert conditioner.update(sensor.read(np.zeros(6), UPRIGHT), UPRIGHT) is not None
    np.testing.assert_allclose(
        conditioner.bias, 0.4, atol=5.0 * np.sqrt(HEX_E.variance / 100).max()
    )


def test_the_bias_does_not_hold_the_weight():
    """Bias taken upright, tool turned over: nothing is left, where a bias with the weight in it
    leaves twice that.
    """
    sensor = ForceSensor(HEX_E.silent(), None, HANDLE.load)
    conditioner, forgetful = Conditioner(HEX_E, load=HANDLE.load), Conditioner(HEX_E)
    turned = np.diag([1.0, -1.0, -1.0])
    for each in (conditioner, forgetful):
        take_bias(each, sensor)
        each.update(sensor.read(np.zeros(6), turned), turned)
    assert np.abs(conditioner.wrench[:3]).max() < 0.11
    assert forgetful.wrench[2] == pytest.approx(-2.0 * 0.2 * 9.81, abs=0.11)


def test_taking_the_bias_anew_undoes_drift():
    """Four hours of drift are gone after another hundred samples."""
    sensor = ForceSensor(HEX_E, rng=np.random.default_rng(5))
    conditioner = Conditioner(HEX_E)
    take_bias(conditioner, sensor)
    sensor.drift += np.repeat([2.0, 0.05], 3)

    def mean() -> np.ndarray:
        return np.mean(
            [measured(conditioner, sensor.read(np.zeros(6), UPRIGHT)) for _ in range(50)], axis=0
        )

    assert np.linalg.norm(mean()[:3]) > 3.0
    conditioner.tare()
    take_bias(conditioner, sensor)
    assert np.linalg.norm(mean()[:3]) < 0.15


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("axis", range(6))
def test_saturation_is_told_within_the_very_sample(axis, sign):
    """One count below 95 % of any axis's capacity counts, 95 % does not; then none does until it is
    trusted again.
    """
    conditioner = ready(gravity=0.0)
    edge = sign * np.ceil(0.95 * HEX_E.counts[axis]) * np.eye(6)[axis]
    below = edge - sign * np.eye(6)[axis]
    assert conditioner.update(below, UPRIGHT) is not None
    assert conditioner.update(edge, UPRIGHT) is None
    assert conditioner.status == "saturated"
    assert f"saturated: {('fx', 'fy', 'fz', 'tx', 'ty', 'tz')[axis]} at" in conditioner.reason
    assert conditioner.update(below, UPRIGHT) is None and "saturated" in conditioner.reason
    conditioner.trust()
    assert conditioner.update(below, UPRIGHT) is not None and conditioner.reason == ""


def test_without_the_latch_the_next_good_sample_counts():
    """For a sensor that is only looked at, not coupled by."""
    conditioner = ready(gravity=0.0)
    assign({"conditioner": conditioner}, "conditioner.latch", False)
    assert conditioner.update(1.0 * HEX_E.counts, UPRIGHT) is None
    assert conditioner.update(np.zeros(6), UPRIGHT) is not None


def test_several_axes_short_of_their_limits_are_still_a_measurement():
    """The quick look at the norm must not refuse what no axis refuses."""
    assert ready().update(0.9 * HEX_E.counts, UPRIGHT) is not None


def test_a_reading_that_is_not_a_number_is_no_measurement():
    """It says which axis, and spoils neither a bias in the making nor the last good wrench."""
    conditioner = Conditioner(HEX_E, samples=2, gravity=0.0)
    bad = np.zeros(6)
    bad[4] = np.nan
    for counts in (np.zeros(6), bad, np.zeros(6)):
        assert conditioner.update(counts, UPRIGHT) is None
    assert conditioner.update(np.full(6, 10.0), UPRIGHT) is not None
    before = conditioner.wrench.copy()
    assert conditioner.update(bad, UPRIGHT) is None
    assert conditioner.reason == "ty is not a number"
    np.testing.assert_array_equal(conditioner.wrench, before)


def test_a_saturated_reading_is_no_part_of_the_bias():
    """Someone leans on the sensor while it starts: those samples are not counted."""
    conditioner = Conditioner(HEX_E, samples=2, gravity=0.0)
    for counts in (np.ones(6), HEX_E.counts, np.ones(6), np.ones(6)):
        conditioner.update(counts, UPRIGHT)
    np.testing.assert_allclose(conditioner.bias, HEX_E.resolution)
    np.testing.assert_allclose(conditioner.wrench, 0.0, atol=1e-15)


def test_the_covariance_is_that_of_the_output():
    """Ten thousand readings of noise, in world axes at the tool point, scatter as stated."""
    rng = np.random.default_rng(6)
    mounting, rotation = random_mounting(rng), Rotation.random(rng=rng).as_matrix()
    sensor, conditioner = ForceSensor(HEX_E, mounting, rng=rng), Conditioner(HEX_E, mounting)
    take_bias(conditioner, sensor, rotation)
    found = [
        measured(conditioner, row, rotation)
        for row in sensor.read(np.zeros((10_000, 6)), rotation, dt=0.0)
    ]
    stated = conditioner.covariance(rotation)
    scale = np.sqrt(np.outer(np.diag(stated), np.diag(stated)))
    assert np.abs((np.cov(np.array(found).T) * 1.01 - stated) / scale).max() < 0.06


def test_a_bias_of_nonsense_is_refused():
    """Six finite numbers, nothing else."""
    for bias in (np.zeros(5), np.full(6, np.nan)):
        with pytest.raises(BadValue, match="6 finite numbers"):
            Conditioner(HEX_E).set_bias(bias)


def test_its_parameters_can_be_set_by_path():
    """The limit takes effect at once; a share beyond reason is refused."""
    conditioner = ready(gravity=0.0)
    assert {path for path, *_ in describe({"conditioner": conditioner})} == {
        f"conditioner.{name}" for name in ("latch", "limit", "samples")
    }
    assign({"conditioner": conditioner}, "conditioner.limit", 0.5)
    assert conditioner.update(0.6 * HEX_E.counts, UPRIGHT) is None
    with pytest.raises(OutOfRange):
        assign({"conditioner": conditioner}, "conditioner.limit", 3.0)
