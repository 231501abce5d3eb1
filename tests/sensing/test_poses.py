"""Poses: stretches of one orientation, how well they cover the sphere, and what to add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.sensing import Readings
from farhand.sensing.poses import (
    DIRECTIONS,
    Poses,
    _best_pose,
    advice_on,
    at_rest,
    condition_of,
    find_common_errors,
    poses_of,
)
from tests.sensing.ft_data import random_truth, recording


def poses(rotations: Rotation, count: int = 3):
    rng = np.random.default_rng(1)
    return poses_of(recording(random_truth(rng), rotations, count, rng))


def test_readings_of_one_orientation_are_one_pose():
    """As many poses as the arm stopped in, each with its readings and their mean."""
    rng = np.random.default_rng(2)
    turns = Rotation.random(9, rng=rng)
    raw = recording(random_truth(rng), turns, 700, rng)
    found = poses_of(raw)
    assert found.count.tolist() == [700] * 9
    np.testing.assert_allclose(found.wrench[4], raw.wrench[2800:3500].mean(axis=0))
    np.testing.assert_allclose(found.up, turns.as_matrix()[:, 2], atol=1e-9)


def test_turning_about_the_vertical_is_no_new_direction():
    """Gravity does not change."""
    found = poses(Rotation.from_euler("ZX", [[a, 30.0] for a in range(0, 360, 45)], degrees=True))
    assert len(found.distinct) == 1


def test_both_ways_of_every_axis_is_the_best_there_is():
    """1.2, and no advice."""
    faces = np.array(list(DIRECTIONS.values()))
    assert condition_of(faces) == pytest.approx(1.22, abs=0.01)
    assert condition_of(faces[:1]) == np.inf


def test_the_advice_helps():
    """A pose added as told makes a flat set whole."""
    flat = Rotation.from_euler("y", np.arange(0, 360, 30).reshape(-1, 1), degrees=True)
    said = advice_on(poses(flat))
    assert len(said) == 1 and "nearly coplanar" in said[0]
    name = next(name for name in DIRECTIONS if name in said[0])
    up = DIRECTIONS[name]
    more = Rotation.align_vectors([[0.0, 0.0, 1.0]], [up])[0]
    others = Rotation.align_vectors([[0.0, 0.0, 1.0]], [-up])[0]
    assert advice_on(poses(Rotation.concatenate([flat, more, others]))) == []


def test_few_directions_are_told():
    """Four leave little to check with."""
    faces = Rotation.from_euler("xy", [[0, 0], [90, 0], [0, 90], [-90, 0]], degrees=True)
    assert any("4 directions of gravity" in line for line in advice_on(poses(faces)))


def at(up: np.ndarray, time: np.ndarray | None = None, swept: bool = False) -> Poses:
    """Poses in these directions, one reading each."""
    n = len(up)
    time = np.arange(float(n)) if time is None else time
    return Poses(up, np.zeros((n, 6)), np.ones(n, dtype=int), None, np.arange(n), time, swept)


def tilted(*degrees: float) -> np.ndarray:
    """Up directions turned about x by so much."""
    angle = np.radians(degrees)
    return np.stack([0.0 * angle, np.sin(angle), np.cos(angle)], axis=1)


def test_a_pose_ends_two_degrees_from_its_first_reading_and_directions_differ_by_four():
    """However long it is; both sides of either limit."""
    angles = np.concatenate([np.zeros(500), np.full(500, 1.99), np.full(90, 2.02), [3.9], [4.1]])
    turn = Rotation.from_euler("x", angles[:, None], degrees=True)
    raw = Readings(np.arange(float(len(angles))), turn.as_quat(), np.zeros((len(angles), 6)))
    assert poses_of(raw).count.tolist() == [1000, 91, 1]
    assert [len(at(tilted(0.0, a)).distinct) for a in (3.99, 4.01)] == [1, 2]
    # each belongs to the first direction that is near enough
    group, (kernel,) = at(tilted(0.0, 90.0, 3.0, 91.0, 45.0)).correlations()
    label = np.array([0, 1, 0, 1, 2])
    np.testing.assert_array_equal(kernel, np.equal.outer(label, label))
    assert group.tolist() == [0, 1, 2, 3, 4]
    assert at(tilted(0.0, 10.0, 20.0)).correlations()[1] == []


def test_a_sweep_is_known_by_steps_that_are_mostly_small_and_is_cut_into_no_more_than_250():
    """Neighbours are put together, all alike but the last."""
    for steps, swept in (([3.0] * 6 + [30.0] * 5, True), ([3.0] * 5 + [30.0] * 6, False)):
        turn = Rotation.from_euler("x", np.cumsum([0.0, *steps])[:, None], degrees=True)
        raw = Readings(np.arange(12.0), turn.as_quat(), np.zeros((12, 6)))
        assert poses_of(raw).swept is swept
    for n, count in ((250, 1), (251, 2), (501, 3)):
        turn = Rotation.from_euler("x", 3.0 * np.arange(n)[:, None], degrees=True)
        found = poses_of(Readings(np.arange(float(n)), turn.as_quat(), np.zeros((n, 6))))
        assert found.swept and (found.count[:-1] == count).all() and len(found) == -(-n // count)


def test_errors_along_a_sweep_fade_with_time_and_many_visits_are_put_together():
    """Correlation times from one step to all of it; groups of one direction stay in it."""
    time = np.array([0.0, 1.0, 2.0, 3.0, 9.0])
    group, kernels = at(tilted(0, 3, 6, 9, 12), time, swept=True).correlations()
    assert group.tolist() == [0, 1, 2, 3, 4]
    taus = np.geomspace(1.0, 9.0, 8)
    apart = np.abs(time[:, None] - time)
    np.testing.assert_allclose(kernels, [np.exp(-apart / tau) for tau in taus])
    # 3 directions, 100 visits of each: 83 groups per direction, 249 in all
    label = np.tile(np.arange(3), 100)
    group, (kernel,) = at(tilted(0.0, 40.0, 80.0)[label]).correlations()
    assert len(kernel) == group.max() + 1 == 249
    owner = np.array([label[group == k] for k in range(249)], dtype=object)
    assert all(len(set(one)) == 1 and len(one) in (1, 2) for one in owner)
    first = np.array([one[0] for one in owner])
    np.testing.assert_array_equal(kernel, np.equal.outer(first, first))


def test_common_errors_are_those_of_the_best_restricted_likelihood():
    """By its definition, on the same grid; and none where own errors explain the residual."""
    rng = np.random.default_rng(7)
    label, own = np.repeat(np.arange(5), 6), rng.uniform(0.5, 2.0, 30)
    kernel = np.equal.outer(label, label).astype(float)
    rows = np.tile(np.eye(3), (30, 1, 1)) * rng.uniform(0.5, 1.5, (30, 1, 1))
    error = np.sqrt(own)[:, None] * rng.standard_normal((30, 3))
    X = rows.reshape(90, 3)

    def deviance(y: np.ndarray, ratio: float) -> tuple[float, float]:
        """Twice the negative log-likelihood with the scale at its best, and the scale."""
        V = np.kron(np.diag(own) + ratio * kernel, np.eye(3))
        W = np.linalg.inv(V)
        rest = W - W @ X @ np.linalg.solve(X.T @ W @ X, X.T @ W)
        square = float(y @ rest @ y)
        logs = np.linalg.slogdet(V)[1] + np.linalg.slogdet(X.T @ W @ X)[1]
        return 87.0 * np.log(square) + logs, square / 87.0

    ratios = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 65)])
    for tied in (0.0, 0.4, 1.0, 3.0):
        y = error + tied * rng.standard_normal((5, 3))[label]
        found = find_common_errors([kernel], own, rows, y)
        costs, scales = np.array([deviance(y.ravel(), ratio) for ratio in ratios]).T
        k = int(np.argmin(costs))
        if costs[k] < costs[0] - 2.71:
            wanted = scales[k] * (np.diag(own) + ratios[k] * kernel)
            np.testing.assert_allclose(found.covariance, wanted, rtol=1e-6)
        else:
            assert found is None
    assert found is not None
    # of several kernels the likelier one
    better = find_common_errors([np.exp(-np.abs(np.subtract.outer(label, label)))], own, rows, y)
    both = find_common_errors([better.parts[1], kernel], own, rows, y)
    np.testing.assert_array_equal(both.parts[1], kernel)


def test_the_mean_of_groups_has_as_many_degrees_of_freedom_as_there_are_groups_less_one():
    """On each of three axes: balanced groups with common errors, where the answer is known."""
    rng = np.random.default_rng(8)
    label = np.repeat(np.arange(6), 4)
    rows = np.tile(np.eye(3), (24, 1, 1))
    y = rng.standard_normal((24, 3)) + 4.0 * rng.standard_normal((6, 3))[label]
    kernel = np.equal.outer(label, label).astype(float)
    found = find_common_errors([kernel], np.ones(24), rows, y)
    np.testing.assert_allclose(found.freedom(rows / 24.0), np.full(3, 3 * 5), rtol=1e-9)


def test_readings_on_the_way_between_poses_are_left_out_if_enough_are_at_rest():
    """A tenth of a degree in a tenth of a second, before or after; a fifth must be still."""
    rng = np.random.default_rng(9)
    stops = Rotation.random(5, rng=rng)

    def recorded(still: int, moving: int, step: float = 1.0) -> Readings:
        parts = []
        for k in range(5):
            parts += [stops[k]] * still
            angles = step * np.arange(1.0, moving + 1.0)[:, None]
            parts += list(Rotation.from_euler("x", angles, degrees=True) * stops[k])
        quaternion = np.array([one.as_quat() for one in parts])
        return Readings(0.01 * np.arange(len(parts)), quaternion, np.zeros((len(parts), 6)))

    kept = at_rest(recorded(40, 50)).reshape(5, 90)
    assert kept[:, :40].all() and not kept[:, 40:].any()
    # ten readings are a tenth of a second; fewer in a row are not at rest
    assert [bool(at_rest(recorded(n, 2)).all()) for n in (9, 10, 12)] == [True, True, False]
    # too small a share: a sweep also rests at its turns
    assert [bool(at_rest(recorded(20, n)).all()) for n in (70, 90)] == [False, True]
    # slow enough is still
    assert at_rest(recorded(40, 50, 0.0099)).all()
    assert not at_rest(recorded(40, 50, 0.0101)).reshape(5, 90)[:, 51:80].any()


def test_the_condition_is_that_of_the_regressor_of_torques():
    """Three directions determine it, two do not."""
    up = np.vstack([tilted(0.0, 30.0, 120.0), [[0.6, 0.0, 0.8]]])
    for some in (up, up[1:], up[[0, 1, 3]]):
        blocks = [np.hstack([np.cross(one, np.eye(3)).T, np.eye(3)]) for one in some]
        assert condition_of(some) == pytest.approx(np.linalg.cond(np.vstack(blocks)))
    assert condition_of(up[:2]) == condition_of(up[:1]) == np.inf


def test_the_pose_to_add_is_the_one_that_is_missing():
    """Of the six ways of the axes the one that spreads the set most; the side visited less."""
    names = list(DIRECTIONS)
    faces = np.array(list(DIRECTIONS.values()))
    for k in range(6):
        assert _best_pose(np.delete(faces, k, axis=0)) == names[k]
    for lean, way in ((0.05, "down"), (-0.05, "up")):
        ring = np.array([[np.cos(a), np.sin(a), lean] for a in np.arange(0.0, 6.28, 0.5)])
        ring /= np.linalg.norm(ring, axis=1)[:, None]
        (line,) = advice_on(at(ring))
        added = np.vstack([ring, DIRECTIONS[f"the sensor's z axis {way}"]])
        assert f"add a pose with the sensor's z axis {way}" in line
        assert f"{condition_of(ring):.2g}, then {condition_of(added):.2g}" in line


def test_advice_begins_where_poses_are_flat_similar_or_few():
    """Variance 0.02 across, condition number 5, and six directions."""
    ring = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.arange(0.0, 6.28, 0.5)])
    for height, flat in ((0.139, True), (0.145, False)):
        up = ring + np.array([0.0, 0.0, height]) * (-1.0) ** np.arange(len(ring))[:, None]
        lines = advice_on(at(up / np.linalg.norm(up, axis=1)[:, None]))
        assert any("coplanar" in line for line in lines) is flat
    for n in (5, 6):
        up = Rotation.random(40, rng=np.random.default_rng(3)).as_matrix()[:n, 2]
        assert any(f"{n} directions" in line for line in advice_on(at(up))) is (n == 5)
