"""The simulated sensor and its surroundings: noise, gauges, heat, arcs, inertia and contact have
the right physics.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import welch
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import (
    ContactDetector,
    GaugeSensor,
    Load,
    NoiseModel,
    Thermometer,
    Warming,
    common_slope,
    fit_line,
    identify_arc,
    identify_body,
    identify_yaw,
    inertial_wrench,
)
from farhand.sensing.arc import calibration_arc, fit_sinusoids
from farhand.sensing.loads import motion_of
from farhand.sensing.simulated import pink, play

STATIC, DYNAMIC = (
    np.array([0.14, 0.13, 0.13, 0.0065, 0.0074, 0.0015]),
    np.array([2.5, 2.5, 2.6, 0.19, 0.22, 0.034]),
)


def test_pink_noise_has_unit_variance_and_falls_with_the_frequency():
    """Slope −1 above the band's edge, next to nothing below it."""
    noise = pink(200_000, 500.0, 5.0, np.random.default_rng(1))
    np.testing.assert_allclose(noise.std(axis=0), 1.0, atol=0.03)
    frequency, power = welch(noise[:, 0], 500.0, nperseg=4096)
    band = (frequency > 8.0) & (frequency < 200.0)
    assert np.polyfit(np.log(frequency[band]), np.log(power[band]), 1)[0] == pytest.approx(
        -1.0, abs=0.1
    )
    assert power[frequency < 3.0].max() < 1e-3 * power[band].max()
    # a band beyond half the rate
    assert not pink(100, 500.0, 251.0, np.random.default_rng(1)).any()


def test_vibration_grows_with_acceleration_and_hum_is_a_line_at_50_hertz():
    """At rest the static noise, at full acceleration the dynamic one."""
    model, rng = NoiseModel(STATIC, DYNAMIC), np.random.default_rng(2)
    still, moving = (model.sample(np.full(100_000, a), 500.0, rng).std(axis=0) for a in (0.0, 1.0))
    np.testing.assert_allclose(still, STATIC, rtol=0.04)
    np.testing.assert_allclose(moving, DYNAMIC, rtol=0.04)
    humming = NoiseModel(STATIC, DYNAMIC, white=0.5, hum=1.0).sample(np.zeros(50_000), 500.0, rng)
    frequency, power = welch(humming[:, 0], 500.0, nperseg=2048)
    assert frequency[np.argmax(power)] == pytest.approx(50.0, abs=0.5)


def test_the_matrix_gives_back_what_the_gauges_were_strained_by():
    """With noise off, exactly; with steps and range, within them."""
    rng = np.random.default_rng(3)
    matrix, rotations = (
        rng.standard_normal((6, 6)) + 4.0 * np.eye(6),
        Rotation.random(50, rng=rng).as_matrix(),
    )
    push = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])
    bias = rng.uniform(-30, 30, 6)
    sensor = GaugeSensor(matrix, Load(1.2, np.array([0.0, 0.01, 0.06])), bias, yaw=0.4)
    expected = sensor.weight(rotations) + bias
    expected += np.matmul(push.reshape(2, 3), sensor.axes(rotations)).reshape(-1, 6)
    np.testing.assert_allclose(sensor.convert(sensor.read(rotations, push)), expected, atol=1e-9)
    coarse = GaugeSensor(matrix, sensor.load, bias, yaw=0.4, step=0.5, limit=3.0)
    raw = coarse.read(rotations, push)
    assert np.abs(raw).max() <= 3.0 and np.abs(raw / 0.5 - np.rint(raw / 0.5)).max() < 1e-9
    with pytest.raises(BadValue, match="invertible"):
        GaugeSensor(np.zeros((6, 6)))
    with pytest.raises(BadValue, match="generator"):
        GaugeSensor(noise=NoiseModel(STATIC, DYNAMIC)).read(rotations)


def test_heat_moves_the_bias_and_hysteresis_remembers_the_way():
    """A slope per degree; a loop of the width asked for."""
    still = np.broadcast_to(np.eye(3), (3, 3, 3))
    sensor = GaugeSensor(slope=np.array([0.1, 0, 1.26, 0, 0, 0]), reference=20.0)
    warm = sensor.convert(sensor.read(still, temperature=np.array([20.0, 30.0, 45.0])))
    np.testing.assert_allclose(warm[:, 2], [0.0, 12.6, 31.5], atol=1e-12)
    there_and_back = np.concatenate([np.linspace(0, 10, 50), np.linspace(10, 0, 50)])[:, None]
    loop = play(there_and_back, np.array([0.8]))[:, 0]
    assert loop[25] - loop[-26] == pytest.approx(-0.8, abs=1e-9)
    assert np.abs(loop - there_and_back[:, 0]).max() <= 0.4 + 1e-12


@given(seed=st.integers(0, 2**32 - 1))
def test_a_line_through_points_is_that_of_numpy(seed):
    """And R² is the square of the correlation."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(20, 45, 30)
    y = rng.normal() * x + rng.normal() + rng.standard_normal(30)
    line, (slope, intercept) = fit_line(x, y), np.polyfit(x, y, 1)
    assert line.slope == pytest.approx(slope, abs=1e-9) and line.intercept == pytest.approx(
        intercept, abs=1e-7
    )
    assert line.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-9)
    assert line.error == pytest.approx(np.sqrt(np.mean((y - slope * x - intercept) ** 2)), rel=1e-6)


def test_runs_with_unlike_intercepts_have_one_slope():
    """A pooled line is misled by runs at unlike temperatures; a slope with one intercept per run is
    not.
    """
    run = np.repeat([0, 1, 2], 50)
    x = np.concatenate([np.linspace(20, 30, 50), np.linspace(25, 35, 50), np.linspace(30, 40, 50)])
    y = 1.26 * x + np.array([0.0, -20.0, 15.0])[run]
    assert common_slope(x, y, run) == pytest.approx(1.26, abs=1e-9)
    assert abs(fit_line(x, y).slope - 1.26) > 0.1
    for bad in (
        lambda: fit_line([20.0, 20.0], [1.0, 2.0]),
        lambda: common_slope([1.0, 2.0], [0.0, 0.0], [0, 1]),
    ):
        with pytest.raises(BadValue):
            bad()


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1.0, 2.0, 3.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, np.nan])]
)
def test_a_line_through_what_is_no_pairs_of_numbers_is_refused(x, y):
    """A value that is not a number used to give a slope that is none, the others an error of
    NumPy's.
    """
    with pytest.raises(BadValue, match="line needs"):
        fit_line(x, y)


def test_a_thermometer_speaks_in_steps_and_repeats_itself():
    """Sixteenths of a degree, a new value every 0.75 s, flicker where a value lies between two
    steps.
    """
    time = np.arange(0.0, 60.0, 0.01)
    read = Thermometer().stream(time, np.full(len(time), 25.03125), np.random.default_rng(4))
    assert set(np.unique(read)) == {25.0, 25.0625}
    assert np.abs(read - 25.03125).max() <= 0.06
    changes = np.flatnonzero(np.diff(read))
    assert np.diff(time[changes]).min() >= 0.74
    assert Warming().at(np.array([0.0, 4 * 3600.0])) == pytest.approx([21.0, 44.56], abs=0.01)
    assert Thermometer(flicker=0.0).stream([0.0], [300.0], np.random.default_rng(0))[0] == 125.0


def test_one_arc_gives_bias_weight_and_lever():
    """A sweep of 280° through a vertical plane, noise off; too short a sweep is refused."""
    angle = np.deg2rad(np.arange(-140, 141, 1.0))
    rotations = Rotation.from_euler("y", (np.pi / 2 - angle)[:, None]).as_matrix()
    np.testing.assert_allclose(np.arcsin(rotations[:, 2, 2]), np.arcsin(np.sin(angle)), atol=1e-9)
    bias = np.array([12.0, -30.0, 5.0, 0.3, -0.2, 0.1])
    for yaw in (0.0, 0.8):
        sensor = GaugeSensor(load=Load(14.0 / 9.81, np.array([0.0, 0.0, 0.06])), bias=bias, yaw=yaw)
        found = identify_arc(angle, sensor.read(rotations))
        np.testing.assert_allclose(found.bias, bias, atol=1e-9)
        assert found.weight == pytest.approx(14.0) and found.lever == pytest.approx(0.06, rel=1e-6)
        assert found.fit.amplitude[2] == pytest.approx(14.0)
    with pytest.raises(BadValue, match="too short"):
        fit_sinusoids(angle[:2], np.zeros((2, 1)))


@given(yaw=st.floats(-3.1, 3.1))
def test_the_yaw_comes_back_from_a_turn_of_the_last_joint(yaw):
    """Tool horizontal, joint angle zero with its x axis up."""
    angle = np.linspace(-2.7, 2.7, 60)
    level = Rotation.from_euler("y", -np.pi / 2)  # x up, z horizontal
    rotations = (level * Rotation.from_euler("z", angle[:, None])).as_matrix()
    sensor = GaugeSensor(load=Load(1.0), bias=np.full(6, 3.0), yaw=yaw)
    found = identify_yaw(angle, sensor.read(rotations)[:, 0])
    assert np.angle(np.exp(1j * (found - yaw))) == pytest.approx(0.0, abs=1e-9)


def test_the_inertia_of_a_swinging_tool_is_that_of_its_motion():
    """A point mass on a known path: weight and inertia together are the mass times (g − its
    acceleration).
    """
    dt, load = 0.001, Load(2.0, np.array([0.02, -0.01, 0.1]))
    t = np.arange(0.0, 2.0, dt)
    turn = Rotation.from_euler(
        "ZYX", np.stack([0.5 * np.sin(3 * t), 0.8 * np.cos(2 * t), 0.3 * t], axis=1)
    )
    rotations = turn.as_matrix()
    origin = np.stack([0.2 * np.sin(4 * t), 0.1 * np.cos(3 * t), 0.05 * t**2], axis=1)
    com = origin + turn.apply(load.com)
    second = (com[2:] - 2 * com[1:-1] + com[:-2]) / dt**2
    felt = turn[1:-1].inv().apply(load.mass * -second)
    found = inertial_wrench(load, *motion_of(rotations, origin, dt))[1:-1]
    np.testing.assert_allclose(found[:, :3], felt, atol=2e-3)
    np.testing.assert_allclose(found[:, 3:], np.cross(load.com, felt), atol=2e-3)


def test_a_spinning_body_needs_its_own_torque():
    """Two point masses are one body: the wrench of the body with its inertia equals the sum of the
    two.
    """
    ends = [Load(0.5, np.array([0.1, 0.2, 0.0])), Load(0.5, np.array([-0.1, 0.0, 0.3]))]
    both = ends[0] + ends[1]
    arms = [end.com - both.com for end in ends]
    inertia = sum(0.5 * (arm @ arm * np.eye(3) - np.outer(arm, arm)) for arm in arms)
    motion = np.array([1.0, 2.0, 3.0]), np.array([0.5, -2.0, 1.0]), np.array([4.0, 1.0, -3.0])
    np.testing.assert_allclose(
        inertial_wrench(both, *motion, inertia),
        sum(inertial_wrench(end, *motion) for end in ends),
        atol=1e-12,
    )


def test_mass_and_inertia_come_back_from_motion():
    """A body shaken about all axes, with noise; a body at rest is refused."""
    rng = np.random.default_rng(6)
    load, inertia = Load(1.5, np.array([0.01, -0.02, 0.08])), np.diag([0.010, 0.012, 0.004]) + 0.001
    bias = np.array([10.0, -20.0, 5.0, 0.3, 0.2, -0.1])
    up = Rotation.random(3000, rng=rng).as_matrix()[:, 2]
    motion = tuple(scale * rng.standard_normal((3000, 3)) for scale in (3.0, 2.0, 15.0))
    weight = -9.81 * load.mass * up
    wrench = (
        np.hstack([weight, np.cross(load.com, weight)])
        + inertial_wrench(load, *motion, inertia)
        + bias
    )
    exact = identify_body(wrench, up, motion)
    assert exact.load.mass == pytest.approx(1.5) and exact.condition < 100.0
    np.testing.assert_allclose(exact.inertia, inertia, atol=1e-9)
    np.testing.assert_allclose(exact.bias, bias, atol=1e-9)
    noisy = identify_body(
        wrench + rng.standard_normal(wrench.shape) * np.repeat([0.3, 0.01], 3), up, motion
    )
    np.testing.assert_allclose(noisy.load.com, load.com, atol=0.001)
    np.testing.assert_allclose(noisy.inertia, inertia, atol=3e-4)
    still = (np.zeros((3000, 3)),) * 3
    with pytest.raises(BadValue, match="condition number"):
        identify_body(wrench, up, still)


def test_contact_begins_above_the_threshold_and_ends_below_the_release():
    """The scan of many readings is the update of each."""
    rng = np.random.default_rng(5)
    forces = np.cumsum(rng.standard_normal((2000, 3)), axis=0) * 0.3
    one, many = ContactDetector(), ContactDetector()
    np.testing.assert_array_equal([one.update(f) for f in forces], many.scan(forces))
    assert one.contact == many.contact
    assert not ContactDetector().update([0.0, 7.9, 0.0]) and ContactDetector().update(
        [0.0, 8.1, 0.0]
    )


def test_the_size_of_noise_is_between_rest_and_full_acceleration_by_its_square():
    """Beyond full acceleration it grows no more, and the sense of the motion does not count."""
    sigma = NoiseModel(STATIC, DYNAMIC).sigma(np.array([0.0, 0.5, -0.5, 1.0, 3.0]))
    np.testing.assert_allclose(sigma[0], STATIC)
    half = np.sqrt(0.75 * STATIC**2 + 0.25 * DYNAMIC**2)
    np.testing.assert_allclose(sigma[1:], [half, half, DYNAMIC, DYNAMIC])


def test_white_noise_and_hum_are_added_by_their_shares():
    """Of the same draws: shares of the variance, and a line at 50 Hz of the stated amplitude."""
    still = np.zeros(4000)
    rng = np.random.default_rng(7)
    flicker, white = pink(4000, 500.0, 5.0, rng), rng.standard_normal((4000, 6))
    mixed = NoiseModel(STATIC, DYNAMIC, white=0.36).sample(still, 500.0, np.random.default_rng(7))
    np.testing.assert_allclose(mixed, STATIC * (0.8 * flicker + 0.6 * white), atol=1e-12)
    humming = NoiseModel(STATIC, DYNAMIC, hum=0.5).sample(still, 500.0, np.random.default_rng(7))
    line = (humming - STATIC * flicker) / STATIC
    angle = 2.0 * np.pi * 50.0 * np.arange(4000) / 500.0
    fit = fit_sinusoids(angle, line)
    np.testing.assert_allclose(fit.amplitude, 0.5, rtol=1e-9)
    np.testing.assert_allclose(fit.at(angle), line, atol=1e-9)
    phases = {
        round(
            float(
                fit_sinusoids(
                    angle,
                    NoiseModel(STATIC, DYNAMIC, hum=9.0).sample(
                        still, 500.0, np.random.default_rng(seed)
                    )
                    / STATIC,
                ).phase[0]
            ),
            1,
        )
        for seed in range(6)
    }
    assert len(phases) > 3


def test_pink_noise_has_the_stated_variance_on_average_whatever_its_length_and_band():
    """Over many draws; the expected variance is one, not that of each draw."""
    rng = np.random.default_rng(8)
    for n, rate, lowest in ((64, 100.0, 0.0), (200, 500.0, 20.0), (101, 50.0, 3.0)):
        draws = np.concatenate([pink(n, rate, lowest, rng, channels=20) for _ in range(30)])
        assert (draws**2).mean() == pytest.approx(1.0, abs=0.08)
        assert draws.mean() == pytest.approx(0.0, abs=1e-12)


def test_a_gauge_reports_the_reaction_if_its_sign_says_so():
    """Weight and contact change their sign, bias and heat do not; gravity is the one given."""
    rotations = Rotation.random(5, rng=np.random.default_rng(9)).as_matrix()
    load, push = Load(0.7, np.array([0.1, 0.0, 0.05])), np.arange(1.0, 7.0)
    reads = []
    for sign in (1.0, -1.0):
        sensor = GaugeSensor(load=load, bias=np.ones(6), slope=np.full(6, 0.1), sign=sign)
        reads.append(sensor.read(rotations, push, temperature=31.0))
    np.testing.assert_allclose(reads[0] + reads[1], 2.0 * (1.0 + 0.1 * (31.0 - 21.0)))
    moon = GaugeSensor(load=load, gravity=1.62).weight(rotations)
    np.testing.assert_allclose(moon[:, :3], -0.7 * 1.62 * rotations[:, 2], atol=1e-12)
    np.testing.assert_allclose(moon[:, 3:], np.cross(load.com, moon[:, :3]), atol=1e-12)


def test_a_sensor_warms_towards_its_final_temperature():
    """63 % of the way after its time constant."""
    warming = Warming(ambient=20.0, final=60.0, time_constant=100.0)
    assert warming.at(np.array([0.0, 100.0])) == pytest.approx([20.0, 60.0 - 40.0 / np.e])


def test_a_thermometer_has_its_offset_its_range_and_flicker_up_to_a_bound():
    """Values are taken at the first sample of a conversion; steps are multiples of one."""
    rng, time = np.random.default_rng(10), np.arange(0.0, 750.0, 0.25)
    fine = Thermometer(resolution=1e-6, offset=0.5)
    read = fine.stream(time, np.full(len(time), 30.0), rng)
    assert 30.519 < read.max() <= 30.52 + 1e-6 and 30.48 - 1e-6 <= read.min() < 30.481
    assert np.count_nonzero(np.diff(read)) == 999
    exact = Thermometer(resolution=0.5, flicker=0.0, conversion=1.0)
    np.testing.assert_array_equal(
        exact.stream(np.arange(0.0, 3.0, 0.25), np.arange(12.0) + 0.3, rng),
        np.repeat([0.5, 4.5, 8.5], 4),
    )
    assert exact.stream([5.0, 5.5], [-90.0, -90.0], rng).tolist() == [-55.0, -55.0]


def test_the_motion_of_a_sensor_is_found_from_its_poses():
    """A steady spin on a circle: centripetal acceleration, in the axes of the sensor."""
    dt, rate, radius = 1e-3, 3.0, 0.4
    angle = rate * dt * np.arange(200)
    turn = Rotation.from_euler("z", angle[:, None])
    place = radius * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    acceleration, velocity, turning = motion_of(turn.as_matrix(), place, dt)
    np.testing.assert_allclose(acceleration, [[-radius * rate**2, 0.0, 0.0]] * 200, atol=1e-4)
    np.testing.assert_allclose(velocity, [[0.0, 0.0, rate]] * 200, atol=1e-9)
    np.testing.assert_allclose(turning, 0.0, atol=1e-6)
    # speeding up: at the middle of each step, and at the ends as next to them
    angle = 0.5 * 4.0 * (dt * np.arange(200)) ** 2
    _, velocity, turning = motion_of(
        Rotation.from_euler("z", angle[:, None]).as_matrix(), place, dt
    )
    np.testing.assert_allclose(turning[:, 2], 4.0, atol=1e-6)
    np.testing.assert_allclose(velocity[1:-1, 2], 4.0 * dt * np.arange(1, 199), atol=1e-9)
    np.testing.assert_allclose(velocity[[0, -1], 2], 4.0 * dt * np.array([0.5, 198.5]), atol=1e-9)


def about_y(q: np.ndarray) -> np.ndarray:
    """Sensor axes of a wrist whose second joint tilts z from the horizontal upwards."""
    return (Rotation.from_euler("z", q[0]) * Rotation.from_euler("y", np.pi / 2 - q[1])).as_matrix()


def test_an_arc_goes_both_ways_from_its_middle_in_a_vertical_plane():
    """Its angle is the elevation of z, beyond the vertical too; limits and planes are kept."""
    limits = np.array([[-3.0, 3.0], [-2.5, 2.5]])
    arc = calibration_arc(about_y, np.array([0.4, 0.0]), 1, limits, span=2.0, step=0.1)
    assert len(arc.q) == 41 and arc.out_of_plane < 1e-12
    np.testing.assert_allclose(arc.q[:, 1], np.linspace(-2.0, 2.0, 41), atol=1e-12)
    assert (arc.q[:, 0] == 0.4).all()
    np.testing.assert_allclose(arc.angle, arc.q[:, 1], atol=1e-9)
    np.testing.assert_allclose(arc.rotations[7], about_y(arc.q[7]), atol=1e-12)
    calibration_arc(about_y, np.array([0.4, 0.0]), 1, limits, span=2.49)
    for posture, joint, span, words in (
        ([0.4, 0.0], 1, 2.51, "joint 2 from -143.8° to 143.8° passes a joint limit"),
        ([0.4, 0.2], 1, 1.0, "must be horizontal"),
        ([0.4, 0.0], 0, 1.0, "leaves the vertical plane by 0.84 when joint 1"),
    ):
        with pytest.raises(BadValue, match=words):
            calibration_arc(about_y, np.array(posture), joint, limits, span=span)
    assert len(calibration_arc(about_y, np.zeros(2), 1, limits).q) == 281
