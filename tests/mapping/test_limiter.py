"""Pose limiter: straight, the short way round, never too fast, and all the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.mapping.pen import PoseLimiter
from farhand.spatial import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

DT = 1e-3
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
points = arrays(float, 3, elements=st.floats(-0.02, 0.02, allow_nan=False))
turns = arrays(float, 3, elements=st.floats(-1.8, 1.8, allow_nan=False))


def angle(a, b) -> float:
    """Between two quaternions, [rad]."""
    return float(
        np.linalg.norm(rotation_vector(rotation_from_quaternion(a).T @ rotation_from_quaternion(b)))
    )


@given(points, st.booleans())
def test_translation_is_straight_bounded_and_complete(target, euclidean):
    """Every tick but the last moves by one step; the end is the target itself."""
    limiter = PoseLimiter(euclidean=euclidean)
    for _ in range(200):
        before = limiter.position.copy()
        limiter.step(target, LEVEL, DT)
        step = limiter.position - before
        if limiter.limited:
            assert (np.linalg.norm(step) if euclidean else np.abs(step).max()) <= 2.5e-4 * (
                1 + 1e-9
            )
        assert np.linalg.norm(np.cross(limiter.position, target)) <= 1e-12
    np.testing.assert_array_equal(limiter.position, target)


@given(turns)
@settings(max_examples=60)
def test_turning_takes_the_short_way_at_the_set_speed(vector):
    """The angle left falls by one step per tick and ends at nothing."""
    target = quaternion_from_rotation(rotation_from_vector(vector))
    limiter = PoseLimiter(turn_speed=math.radians(1000.0))
    left = angle(limiter.quaternion, target)
    for _ in range(250):
        limiter.step(np.zeros(3), target, DT)
        now = angle(limiter.quaternion, target)
        if limiter.limited:
            assert left - now == pytest.approx(min(math.radians(1.0), left), abs=1e-6)
        left = now
    assert abs(limiter.quaternion @ target) == pytest.approx(1.0, abs=1e-15)


@given(turns, turns)
@settings(max_examples=40)
def test_a_quaternion_and_its_negative_are_the_same_target(start, vector):
    """The sign has no meaning, so it must change nothing."""
    target = quaternion_from_rotation(rotation_from_vector(vector))
    paths = []
    for sign in (1.0, -1.0):
        limiter = PoseLimiter(turn_speed=1.0)
        limiter.reset(np.zeros(3), quaternion_from_rotation(rotation_from_vector(start)))
        rows = []
        for _ in range(50):
            limiter.step(np.zeros(3), sign * target, DT)
            rows.append(rotation_from_quaternion(limiter.quaternion))
        paths.append(rows)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-12)


def test_the_norm_stays_one_however_often_it_turns():
    """Rounding does not add up."""
    limiter, rng = PoseLimiter(turn_speed=5.0), np.random.default_rng(1)
    for _ in range(20):
        target = quaternion_from_rotation(rotation_from_vector(rng.normal(size=3)))
        for _ in range(300):
            limiter.step(np.zeros(3), target, DT)
            assert float(np.linalg.norm(limiter.quaternion)) == pytest.approx(1.0, abs=1e-14)


def test_a_half_turn_goes_one_way_and_arrives():
    """Both ways are equally short; it picks one and does not hesitate."""
    limiter = PoseLimiter(turn_speed=10.0)
    target = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(400):
        limiter.step(np.zeros(3), target, DT)
    assert angle(limiter.quaternion, target) < 1e-9


def test_starting_at_the_measured_tool_makes_no_jump():
    """ER-10: from the origin the first spring force would be tens of newtons."""
    limiter = PoseLimiter()
    limiter.reset(np.array([0.3, 0.1, 0.4]), LEVEL)
    limiter.step(np.array([0.35, 0.0, 0.35]), LEVEL, DT)
    assert np.linalg.norm(limiter.position - [0.3, 0.1, 0.4]) < 5e-4
