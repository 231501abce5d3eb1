"""Identification: the tool comes back from any sensible set of poses, with intervals that hold the
truth.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation, Slerp

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.sensing import Readings, ToolCalibration, identify
from farhand.sensing.identification import _advice, _Fit, _fit_thermal, _misfits, _noise, _turned
from farhand.sensing.poses import poses_of
from farhand.sensing.tool import Thermal, quantile
from tests.sensing.ft_data import NOISE, Truth, random_truth, recording

QUIET = np.zeros(6)


def about(axis: str, degrees: np.ndarray) -> Rotation:
    """Poses turned about one axis of the base."""
    return Rotation.from_euler(axis, np.reshape(degrees, (-1, 1)), degrees=True)


@given(seed=st.integers(0, 2**32 - 1), sign=st.sampled_from([1.0, -1.0]))
def test_exact_readings_give_the_exact_tool(seed, sign):
    """Any tool and bias from eight random poses; a sensor of the opposite sign has a negative
    mass.
    """
    rng = np.random.default_rng(seed)
    truth = random_truth(rng)
    truth = Truth(sign * truth.mass, truth.com, truth.bias)
    found = identify(recording(truth, Rotation.random(8, rng=rng), 2, rng, QUIET))
    np.testing.assert_allclose(found.tool.values, truth.values, atol=1e-8)
    assert found.tool.sign == sign and found.residual[0] < 1e-9


def test_mass_and_centre_of_mass_are_as_good_as_promised():
    """Twelve poses of 200 readings: mass within 1 % or its interval, centre of mass within 2 mm or
    its intervals.
    """
    rng = np.random.default_rng(1)
    for _ in range(100):
        truth = random_truth(rng)
        tool = identify(recording(truth, Rotation.random(12, rng=rng), 200, rng)).tool
        low, high = tool.intervals.T
        inside = (low <= truth.values) & (truth.values <= high)
        assert abs(tool.mass / truth.mass - 1.0) <= 0.01 or inside[0]
        assert np.abs(tool.com - truth.com).max() <= 0.002 or inside[1:4].all()


def test_the_intervals_hold_the_truth_as_often_as_they_say():
    """All ten numbers of 600 calibrations, with poses of unequal length."""
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(600):
        truth = random_truth(rng)
        low, high = identify(
            recording(truth, Rotation.random(8, rng=rng), 20, rng)
        ).tool.intervals.T
        inside.append((low <= truth.values) & (truth.values <= high))
    assert 0.93 <= np.mean(inside) <= 0.97


def test_the_intervals_stay_honest_when_poses_scatter_more_than_readings():
    """A sloppy wrist adds 0.5 N per pose, which no number of readings averages out."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(300):
        truth = random_truth(rng)
        raw = recording(truth, Rotation.random(12, rng=rng), 30, rng)
        sloppy = np.repeat(
            rng.standard_normal((12, 6)) * [0.5, 0.5, 0.5, 0.02, 0.02, 0.02], 30, axis=0
        )
        low, high = identify(replace(raw, wrench=raw.wrench + sloppy)).tool.intervals.T
        inside.append((low <= truth.values) & (truth.values <= high))
    assert 0.92 <= np.mean(inside) <= 0.975


def test_a_pose_held_a_hundred_times_longer_does_not_drown_the_others():
    """Duplicates: the same pose again and again adds little to what the other poses say."""
    rng = np.random.default_rng(4)
    truth, poses = random_truth(rng), Rotation.random(8, rng=rng)
    counts = [2000, 20, 20, 20, 20, 20, 20, 20]
    once = recording(truth, poses, 1, rng, QUIET)
    sloppy = rng.standard_normal((8, 6)) * [0.5, 0.5, 0.5, 0.02, 0.02, 0.02]
    wrench = np.repeat(once.wrench + sloppy, counts, axis=0)
    wrench += NOISE * rng.standard_normal(wrench.shape)
    raw = Readings(
        0.01 * np.arange(len(wrench)), np.repeat(once.quaternion, counts, axis=0), wrench
    )
    error = {
        w: np.abs(identify(raw, weighting=w).tool.values - truth.values)
        for w in ("auto", "pose", "sample")
    }
    np.testing.assert_allclose(error["auto"], error["pose"], atol=0.05)
    assert error["auto"][4:7].max() < error["sample"][4:7].max()


def test_a_slow_sweep_counts_as_many_poses():
    """Continuous motion is cut into stretches; the mean of a linear model is exact."""
    rng = np.random.default_rng(5)
    truth = random_truth(rng)
    angle = np.linspace(0.0, 2.0 * np.pi, 4000)
    sweep = Rotation.from_euler("ZYX", np.stack([0.0 * angle, angle, 2.5 * angle], axis=1))
    found = identify(recording(truth, sweep, 1, rng))
    assert len(found.poses) > 100
    assert found.tool.mass == pytest.approx(truth.mass, rel=0.01)
    np.testing.assert_allclose(found.tool.noise, NOISE, rtol=0.1)


def test_the_way_from_pose_to_pose_is_left_out():
    """A recording that goes on while the arm moves, with ten times the noise on the way."""
    rng = np.random.default_rng(16)
    truth, poses = random_truth(rng), Rotation.random(10, rng=rng)
    way = Slerp(np.arange(10), poses)
    at = np.concatenate(
        [np.concatenate([np.full(150, k), k + np.linspace(0.0, 1.0, 150)]) for k in range(9)]
    )
    raw = recording(truth, way(at), 1, rng)
    moving = at % 1.0 > 0.0
    raw.wrench[moving] += 10.0 * NOISE * rng.standard_normal((int(moving.sum()), 6))
    found = identify(raw)
    assert len(found.poses) == 9
    assert found.left_out == pytest.approx(moving.sum(), abs=60)
    np.testing.assert_allclose(found.tool.noise, NOISE, rtol=0.2)
    low, high = found.tool.intervals.T
    assert ((low <= truth.values) & (truth.values <= high)).mean() >= 0.8


@pytest.mark.parametrize("yaw", [-2.5, -0.3, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sensors_turn_about_its_axis_is_found(yaw, sign):
    """The given orientation is the flange's; the sensor sits on it turned by the yaw."""
    rng = np.random.default_rng(6)
    truth = random_truth(rng)
    truth = Truth(sign * truth.mass, truth.com, truth.bias)
    flange = Rotation.random(12, rng=rng)
    sensor = flange * Rotation.from_euler("z", yaw)
    raw = replace(
        recording(truth, sensor, 200, rng), quaternion=np.repeat(flange.as_quat(), 200, axis=0)
    )
    found = identify(raw, yaw=True)
    assert abs(np.angle(np.exp(1j * (found.tool.yaw - yaw)))) <= max(
        4.0 * found.tool.yaw_deviation, 1e-6
    )
    assert found.tool.mass == pytest.approx(truth.mass, rel=0.01)
    rest = raw.wrench - found.tool.bias - found.tool.weight(raw.up)
    assert np.abs(rest.mean(axis=0)).max() < 0.05


def test_the_thermal_slope_is_found_where_the_temperature_varies():
    """0.5 N per degree over ten degrees; without variation there is nothing to fit."""
    rng = np.random.default_rng(7)
    truth, slope = random_truth(rng), np.array([0.1, -0.05, 0.5, 0.002, 0.0, 0.001])
    raw = recording(truth, Rotation.random(24, rng=rng), 100, rng)
    temperature = np.linspace(22.0, 32.0, len(raw))
    warm = replace(
        raw, wrench=raw.wrench + np.outer(temperature - 25.0, slope), temperature=temperature
    )
    tool = identify(warm).tool
    assert tool.thermal is not None
    assert (np.abs(tool.thermal.slope - slope) <= 4.0 * tool.thermal.deviation).all()
    at_25 = tool.bias + tool.thermal.slope * (25.0 - tool.thermal.reference)
    np.testing.assert_allclose(at_25[:3], truth.bias[:3], atol=0.1)
    assert identify(replace(raw, temperature=np.full(len(raw), 25.0))).tool.thermal is None
    with pytest.raises(BadValue, match="temp"):
        identify(raw, thermal=True)


def test_one_reading_per_pose_is_plain_least_squares():
    """Forces in (m, b_f) and torques in (m r, b_τ), as written; so is the covariance."""
    rng = np.random.default_rng(8)
    raw = recording(random_truth(rng), Rotation.random(12, rng=rng), 1, rng)
    found = identify(raw, weighting="pose").tool
    A, B = np.zeros((12, 3, 4)), np.zeros((12, 3, 6))
    for row, g in enumerate(raw.rotations.transpose(0, 2, 1) @ [0.0, 0.0, -9.81]):
        A[row] = np.column_stack([g, np.eye(3)])
        B[row] = np.column_stack([np.cross(np.eye(3), g).T, np.eye(3)])
    (mass, *bias), left, *_ = np.linalg.lstsq(A.reshape(36, 4), raw.wrench[:, :3].ravel())
    moment = np.linalg.lstsq(B.reshape(36, 6), raw.wrench[:, 3:].ravel())[0][:3]
    np.testing.assert_allclose(
        [found.mass, *found.com, *found.bias_force], [mass, *moment / mass, *bias], atol=1e-9
    )
    variance = left[0] / 32 * np.linalg.inv(A.reshape(36, 4).T @ A.reshape(36, 4))[0, 0]
    assert found.covariance[0, 0] == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize(
    ("poses", "words"),
    [
        (about("z", np.arange(0, 360, 30)), "1 pose is too few.*about the vertical"),
        (about("x", np.array([0, 90])), "2 poses are too few"),
        (about("x", np.linspace(0, 12, 12)), "too similar.*axis"),
    ],
)
def test_poses_that_cannot_tell_the_unknowns_apart_are_refused(poses, words):
    """The message says what to add."""
    rng = np.random.default_rng(9)
    with pytest.raises(BadValue, match=words) as refused:
        identify(recording(random_truth(rng), poses, 50, rng))
    assert "add a pose with the sensor's" in str(refused.value) and "\n" not in str(refused.value)


def test_two_poses_visited_again_and_again_are_still_two():
    """A B A B A B is no set of six."""
    rng = np.random.default_rng(10)
    with pytest.raises(BadValue, match="2 poses are too few"):
        identify(recording(random_truth(rng), about("x", np.array([0, 90] * 5)), 20, rng))


@pytest.mark.parametrize(("axis", "named"), [("x", "x"), ("y", "y")])
def test_coplanar_poses_are_named_with_the_pose_that_is_missing(axis, named):
    """Turning about one horizontal axis: gravity never leaves a plane."""
    rng = np.random.default_rng(11)
    found = identify(recording(random_truth(rng), about(axis, np.arange(0, 360, 30)), 200, rng))
    assert any(
        "nearly coplanar" in line and f"sensor's {named} axis" in line for line in found.advice
    )


def test_a_good_set_gets_no_advice_and_a_light_tool_with_few_readings_does():
    """Advice comes only where something can be better."""
    rng = np.random.default_rng(12)
    poses = Rotation.random(40, rng=rng)
    assert identify(recording(random_truth(rng), poses, 200, rng)).advice == ()
    light = Truth(0.2, np.array([0.0, 0.0, 0.03]), np.zeros(6))
    advice = " ".join(identify(recording(light, poses[:8], 3, rng)).advice)
    assert "the mass is only known to" in advice and "centre of mass is only known to" in advice


def test_a_pose_in_which_the_tool_was_touched_is_named():
    """Three newtons of hand in the fifth of twelve poses; without it, nothing is said."""
    rng = np.random.default_rng(15)
    raw = recording(random_truth(rng), Rotation.random(12, rng=rng), 200, rng)
    assert not any("further off" in line for line in identify(raw).advice)
    raw.wrench[800:1000, 1] += 3.0
    assert any("pose 5 of 12 (from t = 8 s)" in line for line in identify(raw).advice)


def test_a_sensor_without_a_load_is_refused():
    """Noise has no mass."""
    rng = np.random.default_rng(13)
    nothing = Truth(0.0, np.zeros(3), np.ones(6))
    with pytest.raises(BadValue, match="no load"):
        identify(recording(nothing, Rotation.random(12, rng=rng), 20, rng))


def test_an_unknown_weighting_is_answered_with_the_known_ones():
    """As everywhere."""
    rng = np.random.default_rng(14)
    with pytest.raises(UnknownName, match="auto, pose, sample"):
        identify(
            recording(random_truth(rng), Rotation.random(8, rng=rng), 2, rng), weighting="best"
        )


@pytest.mark.parametrize("gravity", [0.0, -9.81, np.nan, np.inf])
def test_a_gravity_that_is_not_above_zero_is_refused(gravity):
    """A negative one used to give a negative mass without a word, the others an error of the linear
    algebra.
    """
    rng = np.random.default_rng(2)
    readings = recording(random_truth(rng), Rotation.random(8, rng=rng), 4, rng)
    with pytest.raises(OutOfRange, match="gravity"):
        identify(readings, gravity=gravity)


def covered(seeds: range, make) -> float:
    """How often the intervals of these recordings hold the truth."""
    inside = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        truth = Truth(
            1.4, np.array([0.002, -0.004, 0.06]), np.array([22.0, -13.0, 28.0, 0.4, -0.2, 0.1])
        )
        low, high = identify(make(truth, rng)).tool.intervals.T
        inside.append((low <= truth.values) & (truth.values <= high))
    return float(np.mean(inside))


@pytest.mark.parametrize("tied", [0.0, 0.05, 0.3])
def test_visits_of_one_direction_are_not_independent(tied):
    """Six directions, ten visits each: a cable errs alike in all visits of one, by this many
    newtons.
    """

    def make(truth, rng):
        poses = Rotation.random(6, rng=rng)[np.tile(np.arange(6), 10)]
        raw = recording(truth, poses, 30, rng)
        error = tied * rng.standard_normal((6, 6)) * np.repeat([1.0, 0.03], 3)
        return replace(raw, wrench=raw.wrench + np.repeat(np.tile(error, (10, 1)), 30, axis=0))

    assert 0.92 <= covered(range(60), make) <= 0.98


@pytest.mark.parametrize("wander", [0.0, 0.1])
def test_neighbours_along_a_sweep_are_not_independent(wander):
    """The zero wanders by this many newtons, correlated over ten seconds, while the wrist turns for
    two minutes.
    """

    def make(truth, rng):
        t = 0.02 * np.arange(6000)
        a, b = rng.uniform(0.0, 2.0 * np.pi, 2)
        angles = np.stack(
            [np.pi * np.sin(0.31 * t + a), 1.2 * np.sin(0.23 * t + b), 0.7 * t], axis=1
        )
        raw = recording(truth, Rotation.from_euler("xyz", angles), 1, rng, dt=0.02)
        keep = np.exp(-0.02 / 10.0)
        steps = np.sqrt(1.0 - keep**2) * rng.standard_normal((len(t), 6))
        steps[0] = rng.standard_normal(6)
        zero = lfilter([1.0], [1.0, -keep], steps, axis=0)
        return replace(raw, wrench=raw.wrench + wander * np.repeat([1.0, 0.03], 3) * zero)

    assert 0.92 <= covered(range(30), make) <= 0.98


def test_the_warmth_of_each_visit_still_counts():
    """Six directions visited again and again while the sensor warms up: the slope is found, the
    intervals hold.
    """
    slope = np.array([0.1, -0.05, 0.5, 0.002, 0.0, 0.001])

    def make(truth, rng):
        poses = Rotation.random(6, rng=rng)[np.tile(np.arange(6), 4)]
        raw = recording(truth, poses, 30, rng)
        error = 0.3 * rng.standard_normal((6, 6)) * np.repeat([1.0, 0.03], 3)
        warmth = np.linspace(-4.0, 4.0, len(raw))
        wrench = (
            raw.wrench + np.repeat(np.tile(error, (4, 1)), 30, axis=0) + np.outer(warmth, slope)
        )
        return replace(raw, wrench=wrench, temperature=25.0 + warmth)

    assert 0.91 <= covered(range(40), make) <= 0.985


def test_thousands_of_visits_are_put_together():
    """No matrix as large as their number, and the same interval as from fewer of them."""
    rng = np.random.default_rng(17)
    truth, poses = random_truth(rng), Rotation.random(6, rng=rng)
    error = 0.3 * rng.standard_normal((6, 6)) * np.repeat([1.0, 0.03], 3)
    half = []
    for visits in (10, 500):
        raw = recording(truth, poses[np.tile(np.arange(6), visits)], 3, rng)
        found = identify(
            replace(raw, wrench=raw.wrench + np.repeat(np.tile(error, (visits, 1)), 3, axis=0))
        )
        half.append(np.ptp(found.tool.intervals, axis=1))
    np.testing.assert_allclose(half[1], half[0], rtol=0.4)


SLOPE = np.array([0.1, -0.05, 0.5, 0.002, -0.003, 0.001])


def warm(raw: Readings, span: float = 8.0) -> Readings:
    """The same recording in a sensor that warms up meanwhile, by a line."""
    temperature = np.linspace(20.0, 20.0 + span, len(raw))
    return replace(
        raw, wrench=raw.wrench + np.outer(temperature - 25.0, SLOPE), temperature=temperature
    )


def turned_by(raw: Readings, yaw: float) -> Readings:
    """The same readings with the orientation of a flange on which the sensor is turned."""
    flange = Rotation.from_quat(raw.quaternion) * Rotation.from_euler("z", -yaw)
    return replace(raw, quaternion=flange.as_quat())


@pytest.mark.parametrize("yaw", [0.0, -2.0, 3.0])
def test_exact_readings_of_a_warming_sensor_that_sits_askew_give_all_its_numbers(yaw):
    """Mass, centre, bias, slope and yaw at once; the bias is that at the mean temperature."""
    rng = np.random.default_rng(30)
    truth = random_truth(rng)
    counts = np.array([2, 5, 3, 2, 6, 2, 4, 3])
    poses = Rotation.random(8, rng=rng)[np.repeat(np.arange(8), counts)]
    raw = turned_by(warm(recording(truth, poses, 1, rng, QUIET)), yaw)
    tool = identify(raw, yaw=True).tool
    assert tool.thermal is not None
    assert tool.thermal.reference == pytest.approx(raw.temperature.mean())
    np.testing.assert_allclose(tool.thermal.slope, SLOPE, atol=1e-9)
    assert np.angle(np.exp(1j * (tool.yaw - yaw))) == pytest.approx(0.0, abs=1e-9)
    moved = truth.bias + SLOPE * (raw.temperature.mean() - 25.0)
    np.testing.assert_allclose(tool.values, [truth.mass, *truth.com, *moved], atol=1e-8)
    assert np.abs(tool.unload(raw)).max() < 1e-8


@pytest.mark.parametrize(
    ("yaw", "heat"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_the_covariance_is_that_of_least_squares_with_a_numeric_jacobian(yaw, heat):
    """Forces and torques weighted by their own residuals, per degree of freedom."""
    rng = np.random.default_rng(31)
    raw = recording(random_truth(rng), Rotation.random(14, rng=rng), 1, rng)
    raw = warm(raw) if heat else raw
    found = identify(raw, yaw=yaw, weighting="pose")
    tool, n = found.tool, 14

    def model(x: np.ndarray) -> np.ndarray:
        thermal = Thermal(tool.thermal.reference, x[11:], x[11:]) if heat else None
        moved = replace(
            tool,
            mass=x[0],
            com=x[1:4],
            bias_force=x[4:7],
            bias_torque=x[7:10],
            yaw=x[10],
            thermal=thermal,
        )
        return moved.weight(raw.up) + moved.bias_at(raw.temperature, n)

    x = np.concatenate([tool.values, [tool.yaw], tool.thermal.slope if heat else []])
    J = np.stack(
        [(model(x + 1e-6 * e) - model(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))], axis=-1
    )
    left = raw.wrench - model(x)
    np.testing.assert_allclose(found.left, left, atol=1e-9)
    free = [3 * n - 4 - yaw - 3 * heat, 3 * n - 6 - 3 * heat]
    scale = np.sqrt([(left[:, :3] ** 2).sum() / free[0], (left[:, 3:] ** 2).sum() / free[1]])
    A = (J / np.repeat(scale, 3)[:, None]).reshape(-1, len(x))
    kept = [k for k in range(len(x)) if k != 10 or yaw]
    covariance = np.linalg.inv(A[:, kept].T @ A[:, kept])
    np.testing.assert_allclose(tool.covariance, covariance[:10, :10], rtol=1e-4, atol=1e-12)
    assert tool.freedom == 3 * n - 6 - 3 * heat - yaw
    assert tool.yaw_deviation == pytest.approx(
        np.sqrt(covariance[10, 10]) if yaw else 0.0, rel=1e-4
    )
    if heat:
        deviation = np.sqrt(np.diag(covariance))[-6:]
        np.testing.assert_allclose(tool.thermal.deviation, deviation, rtol=1e-4)


def test_poses_weigh_by_their_noise_and_by_the_scatter_beyond_it():
    """Variance of a mean: that of its readings, and what the poses scatter more than that."""
    rng = np.random.default_rng(32)
    counts = np.array([4, 40, 9, 25, 16, 10, 30, 12])
    poses = Rotation.random(8, rng=rng)[np.repeat(np.arange(8), counts)]
    raw = recording(random_truth(rng), poses, 1, rng)
    for sloppy in (0.0, 1.0):
        error = sloppy * rng.standard_normal((8, 6)) * np.repeat([1.0, 0.03], 3)
        shaken = replace(raw, wrench=raw.wrench + np.repeat(error, counts, axis=0))
        fit = _Fit(poses_of(shaken), 9.81, False, False)
        fit.solve(np.ones(8))
        within = np.concatenate(
            [shaken.wrench[fit.poses.member == k] - fit.poses.wrench[k] for k in range(8)]
        )
        noise = np.sqrt((within**2).sum(axis=0) / (counts.sum() - 8))
        tool = fit.tool("", "")
        np.testing.assert_allclose(_noise(shaken, tool, fit.poses), noise, rtol=1e-9)
        for part, weight in zip((slice(0, 3), slice(3, 6)), fit.weights(shaken), strict=True):
            sample = (noise[part] ** 2).mean() / counts
            scatter = (fit.left[:, part] ** 2).mean() * 8 / 6
            beyond = max(scatter - sample.mean(), 0.0)
            np.testing.assert_allclose(weight, 1.0 / (beyond + sample), rtol=1e-9)
            assert not sloppy or beyond > sample.max()
    # one reading per pose: what the fit leaves is all there is to see
    once = recording(random_truth(rng), Rotation.random(8, rng=rng), 1, rng)
    found = identify(once)
    wanted = [np.sqrt(np.mean(part**2)) for part in (found.left[:, :3], found.left[:, 3:])]
    np.testing.assert_allclose(found.tool.noise, np.repeat(wanted, 3), rtol=1e-6)


def calibrated(deviations: np.ndarray, mass: float = 2.0, distance: float = 0.1) -> ToolCalibration:
    """A tool that is known this well."""
    com = np.array([0.0, distance, 0.0])
    return ToolCalibration(mass, com, np.zeros(3), np.zeros(3), np.diag(deviations**2), 20.0)


def test_a_value_that_is_uncertain_or_unusual_is_named_from_its_limit_on():
    """One part in a hundred of the mass, two millimetres, a hundred kilograms, half a metre."""
    t = quantile(20.0)
    for k, limit, words in ((0, 0.02, "mass is only"), (2, 0.002, "centre of mass is only")):
        for share, named in ((0.99, False), (1.01, True)):
            lines = _advice(calibrated(share * limit / t * np.eye(10)[k]), ": take more")
            assert bool(lines) is named and all(words in line for line in lines)
    assert lines == ["the centre of mass is only known to ± 2 mm (y): take more"]
    for mass in (-2.0, 2.0):
        assert _advice(calibrated(0.04 / t * np.eye(10)[0], mass), "") == [
            "the mass is only known to ± 2 %"
        ]
    nothing = np.zeros(10)
    for mass, named in ((99.0, False), (101.0, True), (-101.0, True)):
        assert ("are the forces in N?" in " ".join(_advice(calibrated(nothing, mass), ""))) is named
    for distance, named in ((0.49, False), (0.51, True)):
        lines = _advice(calibrated(nothing, distance=distance), "")
        assert ("are the torques in N·m?" in " ".join(lines)) is named


def test_a_pose_is_an_outlier_from_eight_robust_deviations_on():
    """Of the median of all; a handful of poses, or none that scatter, tell no outlier."""
    rng = np.random.default_rng(33)
    raw = recording(random_truth(rng), Rotation.random(9, rng=rng), 4, rng)
    poses = poses_of(raw)
    for axis, size in ((1, 0.1), (4, 0.003)):
        for share, named in ((0.99, False), (1.01, True), (-1.01, True)):
            left = np.tile([0.1, 0.1, 0.1, 0.003, 0.003, 0.003], (9, 1))
            left[5, axis] = share * 8.0 * size / 0.6745
            lines = _misfits(left, raw, poses)
            assert bool(lines) is named
        assert "pose 6 of 9 (from t = 0.2 s) is 8 times" in lines[0]
    assert _misfits(left[3:8], raw, poses) == [] != _misfits(left[3:], raw, poses)
    assert _misfits(np.zeros((9, 6)), raw, poses) == []


def test_heat_is_fitted_from_two_degrees_on_or_as_asked():
    """And cannot be without different temperatures."""
    rng = np.random.default_rng(34)
    raw = recording(random_truth(rng), Rotation.random(12, rng=rng), 2, rng)
    assert [_fit_thermal(warm(raw, span), None) for span in (1.99, 2.01)] == [False, True]
    assert _fit_thermal(warm(raw, 0.5), True) and not _fit_thermal(warm(raw, 9.0), False)
    assert not _fit_thermal(raw, None) and not _fit_thermal(raw, False)
    with pytest.raises(BadValue, match="different temperatures"):
        _fit_thermal(warm(raw, 0.0), True)
    few = recording(random_truth(rng), Rotation.random(3, rng=rng), 2, rng)
    with pytest.raises(BadValue, match="3 poses are too few for 17 unknowns"):
        identify(warm(few), yaw=True)
    assert identify(warm(few), thermal=False, yaw=True).tool.thermal is None


def test_a_turn_of_the_sensor_is_recommended_if_it_explains_three_times_more():
    """With its angle; from six poses on."""
    rng = np.random.default_rng(35)
    truth, poses = Truth(1.4, np.zeros(3), np.zeros(6)), Rotation.random(8, rng=rng)
    said = []
    for yaw in (0.0, 0.005, 0.01, 0.02, 0.05, -0.5):
        raw = turned_by(recording(truth, poses, 20, np.random.default_rng(1)), yaw)
        fit, free = (_Fit(poses_of(raw), 9.81, turn, False) for turn in (False, True))
        fit.solve(np.ones(8))
        free.solve(np.ones(8))
        better = np.sqrt((fit.left[:, :3] ** 2).mean() / (free.left[:, :3] ** 2).mean())
        lines = _turned(fit)
        said.append(bool(lines))
        assert said[-1] is bool(better >= 3.0)
        if abs(yaw) == 0.5:
            assert float(lines[0].split(" rad")[0].split("by ")[1]) == pytest.approx(yaw, abs=0.02)
    assert said[0] is False and said[-1] is True
    few = turned_by(recording(truth, poses[:5], 20, rng), 0.5)
    fit = _Fit(poses_of(few), 9.81, False, False)
    fit.solve(np.ones(5))
    assert _turned(fit) == []
