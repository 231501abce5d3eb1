"""Recordings that are not what they seem are refused or named, and good ones are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import Readings, identify
from farhand.sensing.misread import (
    _left,
    _orders,
    _skew_left,
    beyond_noise,
    check_axes,
    drifting,
    mounting,
    rms,
    scattered,
    spikes,
    torque_axes,
)
from farhand.sensing.poses import Poses, poses_of
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


def means(up: np.ndarray, wrench: np.ndarray, count: int = 25) -> tuple[Poses, Readings]:
    """Poses with these means, a second apart, and readings that have them."""
    n = len(up)
    member = np.repeat(np.arange(n), count)
    time = np.repeat(np.arange(float(n)), count)
    turn = Rotation.identity(n * count).as_quat()
    raw = Readings(time, turn, wrench[member])
    return Poses(up, wrench, np.full(n, count), None, member, np.arange(float(n)), False), raw


def directions(n: int, seed: int = 0) -> np.ndarray:
    return Rotation.random(n, rng=np.random.default_rng(seed)).as_matrix()[:, 2]


def test_what_a_weight_and_a_bias_leave_is_what_least_squares_leaves():
    """A weight along up and a bias, against the general fit of four numbers."""
    rng, up = np.random.default_rng(20), directions(9)
    force = -13.0 * up + [3.0, -2.0, 7.0] + 0.4 * rng.standard_normal((9, 3))
    A = np.column_stack([up.ravel(), np.tile(np.eye(3), (9, 1))])
    rest = force.ravel() - A @ np.linalg.lstsq(A, force.ravel())[0]
    assert _left(up, force) == pytest.approx(np.sqrt(np.mean(rest**2)))
    assert rms(np.zeros((0, 3))) == 0.0 and rms(np.array([3.0, -4.0])) == pytest.approx(12.5**0.5)


def test_the_residual_is_compared_with_noise_per_degree_of_freedom():
    """Four numbers are fitted to the forces and six to the torques; means have less noise."""
    left, noise = np.random.default_rng(21).standard_normal((8, 6)), np.arange(1.0, 7.0)
    poses, _ = means(directions(8), np.zeros((8, 6)))
    force = np.sqrt((left[:, :3] ** 2).sum() / (24 - 4)) / (2.0 / 5.0)
    torque = np.sqrt((left[:, 3:] ** 2).sum() / (24 - 6)) / (5.0 / 5.0)
    np.testing.assert_allclose(beyond_noise(left, noise, poses), [force, torque])


@pytest.mark.parametrize("axis", [0, 4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_drift_is_named_if_its_slope_is_sure_and_more_than_noise(axis, sign):
    """Both sides of either limit; the slope and its deviation are NumPy's."""
    t, rng = np.arange(10.0), np.random.default_rng(22)
    poses, raw = means(directions(10), np.zeros((10, 6)))
    rest = 0.1 * rng.standard_normal((10, 6))
    rest -= np.polynomial.polynomial.polyval(t, np.polyfit(t, rest, 1)[::-1]).T
    (_, _), covariance = np.polyfit(t, rest[:, axis], 1, cov=True)
    sure = 6.0 * np.sqrt(covariance[0, 0])
    quiet = np.full(6, 1e-6)
    for share, named in ((0.99, False), (1.01, True)):
        left = rest + np.outer(t - t.mean(), share * sign * sure * np.eye(6)[axis])
        words = drifting(left, quiet, raw, poses)
        assert bool(words) is named
    assert (
        f"{'fx' if axis == 0 else 'ty'} drifts by about {sign * 1.01 * sure * 9.0:.2g} " in words[0]
    )
    # the same drift, in a sensor whose means are so noisy that it may be nothing
    loud = np.full(6, 1.01 * sure * 9.0 * np.sqrt(25) / 5.0)
    assert drifting(left, 0.99 * loud, raw, poses) == words
    assert drifting(left, 1.01 * loud, raw, poses) == []
    five, few = means(directions(5), np.zeros((5, 6)))
    assert drifting(np.outer(np.arange(5.0) - 2.0, np.ones(6)), quiet, few, five) == []
    six, enough = means(directions(6), np.zeros((6, 6)))
    assert drifting(np.outer(np.arange(6.0) - 2.5, np.ones(6)), quiet, enough, six)


@pytest.mark.parametrize(("part", "unit"), [(slice(0, 3), "0.4 N off"), (slice(3, 6), "N·m off")])
def test_scatter_is_named_if_it_is_more_than_noise_and_a_good_share(part, unit):
    """Five times the noise of a mean, and three hundredths of how the readings change."""
    wrench, left = np.zeros((8, 6)), np.zeros((8, 6))
    left[:, part] = 0.4 * np.array([1.0, -1.0] * 4)[:, None]
    noise = np.full(6, 0.4)  # of a mean 0.08, a fifth of 0.4
    for share, named in ((0.99, True), (1.01, False)):
        words = scattered(left, share * noise, means(directions(8), wrench)[0])
        assert bool(words) is named and all(unit in word for word in words)
    wrench[:, part] = 2.0 + np.array([1.0, -1.0] * 4)[:, None] * 0.4 / 0.03
    for share, named in ((0.99, True), (1.01, False)):
        poses = means(directions(8), share * wrench)[0]
        assert bool(scattered(left, 0.1 * noise, poses)) is named
    assert not scattered(left[:5], 0.1 * noise, means(directions(5), wrench[:5] / 2.0)[0])
    assert scattered(left[:6], 0.1 * noise, means(directions(6), wrench[:6] / 2.0)[0])


@pytest.mark.parametrize("degrees", [20.0, 90.0, 170.0])
def test_forces_turned_against_the_orientation_are_named_with_the_angle(degrees):
    """If the turn explains them; a weight along up, no weight, and few or flat poses are not."""
    up = directions(9, seed=1)
    turn = Rotation.from_rotvec(np.radians(degrees) * np.array([0.6, 0.0, 0.8])).as_matrix()

    def words(up: np.ndarray, force: np.ndarray) -> list[str]:
        return mounting(means(up, np.hstack([force, np.zeros_like(force)]))[0])

    assert f"turned by {degrees:.0f}°" in words(up, -9.0 * up @ turn + 5.0)[0]
    assert "mirrored" in words(up, -9.0 * up @ turn * [1, 1, -1])[0]
    assert words(up, -9.0 * up + 5.0) == []
    assert words(up[:5], -9.0 * up[:5] @ turn) == [] != words(up[:6], -9.0 * up[:6] @ turn)
    flat = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.arange(9.0)])
    assert words(flat, -9.0 * flat @ turn) == []
    # a turn explains three times more than a weight along up, per degree of freedom, or it is none
    noise = np.random.default_rng(23).standard_normal((9, 3))
    force = -9.0 * up @ turn
    for size in np.geomspace(1e-3, 20.0, 40):
        wrench = force + size * noise
        A = np.column_stack([up, np.ones(9)])
        free = np.sqrt(((wrench - A @ np.linalg.lstsq(A, wrench)[0]) ** 2).sum() / (27 - 12))
        without = _left(up, wrench) * np.sqrt(27 / (27 - 4))
        assert bool(words(up, wrench)) is bool(without >= 3.0 * free)


def test_all_orders_and_signs_of_three_axes_are_tried_once():
    """24 of 48, as a torque and its negative fit alike; the right order needs no words."""
    orders = _orders()
    assert len(orders) == 23
    for words, order, sign in orders:
        changed = [k for k in range(3) if order[k] != k or sign[k] < 0.0]
        assert words.count(" for ") == len(changed)
        for k in changed:
            minus = "−" if sign[k] < 0.0 else ""
            assert f"{minus}{'t' + 'xyz'[order[k]]} for {'t' + 'xyz'[k]}" in words
    matrices = {tuple((np.eye(3)[order] * sign[:, None]).ravel()) for _, order, sign in orders}
    assert len(matrices | {tuple(-np.array(m)) for m in matrices}) == 46


def test_torques_are_judged_by_what_one_centre_of_mass_leaves():
    """Nothing of c × g; an order or sign that leaves far less is named, or else their units."""
    rng, up = np.random.default_rng(24), directions(10)
    u = up - up.mean(axis=0)
    assert _skew_left(u, np.cross([0.1, -0.2, 0.3], u)) == pytest.approx(0.0, abs=1e-12)
    B = rng.standard_normal((3, 3))
    torque = u @ B.T
    skewed = np.array([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
    assert _skew_left(u, torque) < rms(torque - np.cross(0.5 * skewed, u)) + 1e-12

    def words(torque: np.ndarray, noise: float = 1e-3, up: np.ndarray = up) -> list[str]:
        u = up - up.mean(axis=0)
        A = np.concatenate([-np.cross(row, np.eye(3)).T for row in u])
        change = torque - torque.mean(axis=0)
        left = change - (A @ np.linalg.lstsq(A, change.ravel())[0]).reshape(-1, 3)
        poses = means(up, np.hstack([np.zeros_like(torque), torque]))[0]
        return torque_axes(np.hstack([np.zeros_like(left), left]), np.full(6, noise), poses)

    good = np.cross([0.1, -0.2, 0.3], up)
    assert words(good + 0.3) == []
    assert "−tx for tx" in words(good * [-1, 1, 1])[0]
    assert "ty for tx, tx for ty" in words(good[:, [1, 0, 2]])[0]
    assert "units of tx,ty,tz" in words(good * [3, 1, 1])[0]
    # noise would explain it, or the poses are few, or flat
    assert words(good * [-1, 1, 1], noise=1.0) == []
    assert words(good[:5] * [-1, 1, 1], up=up[:5]) == []
    assert words(good[:6] * [-1, 1, 1], up=up[:6]) != []
    flat = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.arange(9.0)])
    assert words(np.cross([0.1, -0.2, 0.3], flat) * [-1, 1, 1], up=flat) == []


def test_a_spike_is_more_than_its_neighbours_steps_and_a_share_of_their_size():
    """Four times the usual step, or a tenth of the force if that is more; alone in its pose."""
    n = 200
    turn = Rotation.identity(n).as_quat()
    for step, size, limit in ((1.0, 10.0, 4.0), (0.01, 10.0, 1.0)):
        for at in (0, 77, n - 1):
            for share, spike in ((0.98, False), (1.02, True)):
                wrench = np.zeros((n, 6))
                wrench[:, 0], wrench[:, 1] = size, step * (np.arange(n) % 2)
                level = wrench[at - 1 if at else at + 1, 1]
                wrench[at, 1] = level + share * limit
                # both neighbours must be as far away
                wrench[at + 1 : at + 2, 1] = level
                found = np.flatnonzero(spikes(Readings(np.arange(float(n)), turn, wrench)))
                assert found.tolist() == [at] * spike
    # torques are judged by the size of torques
    wrench = np.zeros((n, 6))
    wrench[:, 0], wrench[:, 3], wrench[50, 4] = 1000.0, 1.0, 0.11
    assert np.flatnonzero(spikes(Readings(np.arange(float(n)), turn, wrench))).tolist() == [50]
    # every reading in a pose of its own: nothing to compare with
    alone = Rotation.from_euler("x", 10.0 * np.arange(n)[:, None], degrees=True).as_quat()
    assert not spikes(Readings(np.arange(float(n)), alone, wrench)).any()


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_an_axis_is_saturated_if_its_extreme_is_far_more_frequent_than_other_values(end):
    """Twenty readings, a fiftieth of all, and three times as many as of any other value."""

    def refused(extreme: int, other: int, n: int) -> bool:
        rng = np.random.default_rng(25)
        raw = good(0, poses=10, count=n // 10)
        value = rng.uniform(-1.0, 1.0, n)
        value[:other] = 0.5
        value[other : other + extreme] = 2.0
        raw.wrench[:, 2] = end * rng.permutation(value)
        try:
            check_axes(raw, poses_of(raw))
        except BadValue as error:
            assert f"fz is exactly {end * 2:g} N in {extreme} of {n}" in str(error)
            return True
        return False

    assert [refused(k, 1, 400) for k in (19, 20)] == [False, True]
    assert [refused(k, 1, 2000) for k in (39, 40)] == [False, True]
    assert [refused(k, 15, 400) for k in (44, 45)] == [False, True]


@pytest.mark.parametrize(
    ("noisy", "ends", "saturated"), [(4, [9], False), (6, [9], True), (4, [8, 9], True)]
)
def test_a_quiet_axis_may_rest_at_its_extreme_in_one_pose(noisy, ends, saturated):
    """Unless noise shows in most poses, or gravity turns while it stays there."""
    counts = np.repeat([20, 130], [9, 1])
    raw = good(0, poses=10, count=1).where(np.repeat(np.arange(10), counts))
    pose = np.repeat(np.arange(10), counts)
    value = np.linspace(-1.0, 1.0, 10)[pose]
    noise = 0.01 * np.random.default_rng(26).standard_normal(len(pose))
    raw.wrench[:, :] += noise[:, None]
    raw.wrench[:, 2] = np.where(np.isin(pose, ends), 2.0, value + noise * (pose < noisy))
    try:
        check_axes(raw, poses_of(raw))
        refused = False
    except BadValue:
        refused = True
    assert refused is saturated
