"""Poses: stretches of one orientation, how well they cover the sphere, and what to add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.sensing.poses import DIRECTIONS, advice_on, condition_of, poses_of
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
