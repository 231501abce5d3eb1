"""Grasped objects: mass and centre of gravity come back from weighings, and a wrong frame is
noticed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import (
    Conditioner,
    ForceSensor,
    Load,
    Mounting,
    Readings,
    check_frame,
    load_handle,
    load_sensor,
)
from farhand.sensing.loads import centre_by_least_squares, centre_by_pairs, estimate, mass_of


def weights(seed: int, n: int = 2) -> tuple[Load, np.ndarray, np.ndarray]:
    """A load and what a cell reads of it in n random poses."""
    rng = np.random.default_rng(seed)
    load = Load(rng.uniform(0.5, 5.0), rng.uniform(-0.2, 0.2, 3))
    forces = Rotation.random(n, rng).apply([0.0, 0.0, -load.mass * 9.804])
    return load, forces, np.cross(load.com, forces)


@given(st.integers(0, 2**32 - 1))
def test_both_methods_are_exact_without_noise_or_refuse(seed: int):
    """Two random poses; nearly parallel weights are refused by both."""
    load, F, M = weights(seed)
    try:
        rule, best = centre_by_pairs(F, M), centre_by_least_squares(F, M)
    except BadValue as refusal:
        assert "turn it by" in str(refusal)
        return
    np.testing.assert_allclose(rule, load.com, atol=1e-9)
    np.testing.assert_allclose(best, load.com, atol=1e-9)
    assert mass_of(F[0]) == pytest.approx(load.mass)


def test_more_poses_make_it_better():
    """Ten poses with noise against two."""
    load, F, M = weights(3, 10)
    rng, errors = np.random.default_rng(0), {2: [], 10: []}
    for _ in range(200):
        noise = 0.02 * rng.normal(size=M.shape)
        for n, row in errors.items():
            row.append(np.linalg.norm(estimate(F[:n], (M + noise)[:n]).com - load.com))
    assert np.mean(errors[10]) < 0.7 * np.mean(errors[2])


def test_no_weight_and_one_direction_are_refused():
    """In plain words."""
    with pytest.raises(BadValue, match="no weight"):
        estimate(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(BadValue, match="only 0.0°"):
        estimate(np.array([[0.0, 0, -9], [0.0, 0, -9]]), np.zeros((2, 3)))


def test_a_mounted_load_is_taken_off_from_then_on():
    """The conditioner forgets the object again when the tool alone is mounted."""
    profile, tool = load_sensor("ati-delta-si-660-60").silent(), load_handle("rx160-gripper").load
    thing = Load(2.0, np.array([0.0, 0.01, 0.1]))
    sensor = ForceSensor(profile, None, tool + thing, gravity=9.804)
    conditioner = Conditioner(profile, load=tool, gravity=9.804)
    conditioner.set_bias(np.zeros(6))
    R = Rotation.from_euler("x", 50, degrees=True).as_matrix()
    left = []
    for load in (tool, tool + thing, tool):
        conditioner.mount(load)
        left.append(np.linalg.norm(conditioner.update(sensor.read(np.zeros(6), R), R)[:3]))
    assert left[0] == pytest.approx(2.0 * 9.804, abs=0.2) and left[1] < 0.2 and left[2] == left[0]


@pytest.mark.parametrize("wrong", [0.0, 45.0, -90.0])
def test_a_frame_turned_about_the_flange_is_noticed_after_four_poses(wrong: float):
    """And said how far it is turned."""
    profile, rng = load_sensor("ati-delta-si-660-60"), np.random.default_rng(2)
    mount = Mounting(rotation=Rotation.from_euler("z", 45, degrees=True).as_matrix())
    sensor = ForceSensor(profile, mount, load_handle("rx160-gripper").load, gravity=9.804, rng=rng)
    believed = mount.rotation @ Rotation.from_euler("z", -wrong, degrees=True).as_matrix()
    rows, turns = [], []
    for R in Rotation.random(4, rng).as_matrix():
        rows.append(
            sensor.read(np.zeros((100, 6)), np.broadcast_to(R, (100, 3, 3))) * profile.resolution
        )
        turns.append(np.repeat(Rotation.from_matrix(R @ believed).as_quat()[None], 100, axis=0))
    time = 0.004 * np.arange(400) + np.repeat(np.arange(4.0), 100)
    found = check_frame(Readings(time, np.concatenate(turns), np.concatenate(rows)))
    assert found.ok is (wrong == 0.0)
    assert np.degrees(found.yaw) == pytest.approx(wrong, abs=1.0)
    assert bool(found.message) is not found.ok


def test_weights_must_differ_by_ten_degrees_in_some_pose():
    """A sine of 0.17, of any pose against the first."""
    down = np.array([0.0, 0.0, -9.0])
    for sine, refused in ((0.169, True), (0.171, False)):
        turned = 9.0 * np.array([sine, 0.0, -np.sqrt(1.0 - sine**2)])
        for forces in ([down, turned], [down, down, turned]):
            moments = np.cross([0.01, 0.02, 0.03], forces)
            if refused:
                with pytest.raises(BadValue, match="turned by only 9.7° between .* by 10° or more"):
                    centre_by_least_squares(np.array(forces), moments)
            else:
                found = centre_by_least_squares(np.array(forces), moments)
                np.testing.assert_allclose(found, [0.01, 0.02, 0.03], atol=1e-9)


def test_a_load_is_estimated_by_either_method_and_its_mass_from_all_poses():
    """The published rule looks at the first two; gravity is the one given."""
    load, F, M = weights(5, 4)
    assert estimate(F, M).mass == pytest.approx(load.mass)
    assert estimate(F, M, gravity=9.804 / 2.0).mass == pytest.approx(2.0 * load.mass)
    spoilt = M + np.array([[0.0], [0.0], [1.0], [1.0]])
    np.testing.assert_allclose(estimate(F, spoilt, "pairs").com, load.com, atol=1e-9)
    assert np.abs(estimate(F, spoilt).com - load.com).max() > 1e-3
    uneven = F * [[1.0], [1.0], [1.0], [3.0]]
    assert estimate(uneven, M).mass == pytest.approx(1.5 * load.mass)


def test_a_frame_is_wrong_from_five_degrees_on_or_three_deviations_if_that_is_more():
    """Exact readings tell 4.9° from 5.1°; the message gives the angle and twice its deviation."""
    rng = np.random.default_rng(3)
    poses = Rotation.random(6, rng)
    for degrees, ok in ((4.9, True), (5.1, False), (-5.1, False)):
        sensor = poses * Rotation.from_euler("z", degrees, degrees=True)
        force = sensor.inv().apply([0.0, 0.0, -2.0 * 9.804])
        wrench = np.hstack([force, np.cross([0.01, 0.0, 0.05], force)])
        found = check_frame(Readings(np.arange(6.0), poses.as_quat(), wrench))
        assert found.ok is ok and np.degrees(found.yaw) == pytest.approx(degrees)
    assert found.message.startswith("the sensor's frame is turned by -5.1° (± 0.0°)")
