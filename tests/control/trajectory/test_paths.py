"""Rest-to-rest paths: smooth, at rest at both ends, one after the other."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.control.trajectory.paths import (
    HandPath,
    Move,
    Quintic,
    Reference,
    Trajectory,
    Waypoint,
)
from farhand.errors import BadValue

MOVES = (
    Move(0.5, 1.5, (0.1, 0.0, -0.2), (0.0, 0.0, 1.2), "first"),
    Move(2.0, 1.0, (0.0, 0.3, 0.0), (0.9, 0.0, 0.0), "second"),
    Move(4.0, 2.0, (-0.1, 0.0, 0.1), (0.0, -0.4, 0.0), "third"),
)


def at(path: HandPath, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Translation, rotation and twist at a time, as copies."""
    path.at(t)
    return path.translation.copy(), path.rotation.copy(), path.twist.copy()


def test_the_rates_are_the_derivatives_of_the_displacement():
    """Translation and rotation, by central differences over the whole path."""
    path, h = HandPath(MOVES), 1e-6
    for t in np.linspace(0.05, 6.5, 120):
        (p0, R0, _), (p1, R1, _) = at(path, t - h), at(path, t + h)
        _, _, twist = at(path, t)
        np.testing.assert_allclose(twist[:3], (p1 - p0) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(twist[3:], pin.log3(R1 @ R0.T) / (2 * h), atol=1e-6)


def test_every_move_begins_and_ends_at_rest_without_acceleration():
    """Speed and acceleration vanish at both ends."""
    path = HandPath(MOVES)
    for move in MOVES:
        for t, inside in ((move.start, 1e-4), (move.end, -1e-4)):
            assert np.abs(at(path, t)[2]).max() < 1e-12
            assert np.abs(at(path, t + inside)[2]).max() / 1e-4 < 0.01


def test_the_displacement_is_continuous_across_all_joints():
    """No jump where moves meet, also where two moves touch."""
    path = HandPath(MOVES)
    for t in (0.5, 2.0, 3.0, 4.0, 6.0):
        (p0, R0, _), (p1, R1, _) = at(path, t - 1e-9), at(path, t + 1e-9)
        np.testing.assert_allclose(p0, p1, atol=1e-9)
        np.testing.assert_allclose(R0, R1, atol=1e-7)


@settings(max_examples=50)
@given(st.floats(0.01, 2.0), st.floats(0.05, 20.0))
def test_the_peak_speed_is_15_eighths_of_the_mean(distance, duration):
    """Minimum jerk: 1.875 d / T, halfway."""
    path = HandPath([Move(0.0, duration, (distance, 0.0, 0.0))])
    peak = 1.875 * distance / duration
    assert at(path, 0.5 * duration)[2][0] == pytest.approx(peak)
    assert all(
        at(path, share * duration)[2][0] <= peak * (1 + 1e-12) for share in np.linspace(0, 1, 21)
    )
    assert at(path, 0.5 * duration)[0][0] == pytest.approx(0.5 * distance)


def test_rotations_come_one_after_the_other_about_world_axes():
    """After all moves the rotation is the product, the last on the left."""
    expected = np.eye(3)
    for move in MOVES:
        expected = pin.exp3(np.array(move.rotation)) @ expected
    np.testing.assert_allclose(at(HandPath(MOVES), 10.0)[1], expected, atol=1e-12)
    np.testing.assert_allclose(at(HandPath(MOVES), 10.0)[0], (0.0, 0.3, -0.1), atol=1e-12)


def test_before_the_first_move_nothing_is_displaced():
    """Also at negative times."""
    for t in (-1.0, 0.0, 0.499):
        p, R, twist = at(HandPath(MOVES), t)
        np.testing.assert_array_equal(p, 0.0)
        np.testing.assert_array_equal(R, np.eye(3))
        np.testing.assert_array_equal(twist, 0.0)


def test_moves_may_be_given_in_any_order():
    """Time decides."""
    np.testing.assert_array_equal(at(HandPath(MOVES[::-1]), 2.7)[0], at(HandPath(MOVES), 2.7)[0])
    assert HandPath(MOVES).duration == 6.0


def test_a_path_without_moves_stays():
    """And takes no time."""
    assert HandPath().duration == 0.0
    np.testing.assert_array_equal(at(HandPath(), 3.0)[0], 0.0)


def test_moves_that_overlap_are_refused_by_name():
    """The message names both, and the times."""
    with pytest.raises(BadValue, match="'b' starts at 0.9 s, before 'a' ends at 1 s"):
        HandPath([Move(0.0, 1.0, label="a"), Move(0.9, 1.0, label="b")])


@pytest.mark.parametrize("duration", [0.0, -1.0])
def test_a_move_that_takes_no_time_is_refused(duration):
    """It would need infinite speed."""
    with pytest.raises(BadValue, match="duration above 0"):
        HandPath([Move(0.0, duration)])


@settings(max_examples=60)
@given(st.lists(st.floats(-0.5, 7.0), min_size=2, max_size=6))
def test_the_displacement_at_a_time_does_not_depend_on_what_was_asked_before(times):
    """A path is a function of time: asked forwards, backwards or by leaps it answers the same."""
    path = HandPath([*MOVES, Move(6.0, 0.5, (0.0, 0.0, 0.1), label="straight after the third")])
    for t in times:
        found = at(path, t)
        for got, fresh in zip(found, at(HandPath(path.moves), t), strict=True):
            np.testing.assert_allclose(got, fresh, atol=1e-12)


POINTS = [
    Waypoint(0.5, np.zeros(3), pin.exp3(np.array([0.2, 0.1, -0.5]))),
    Waypoint(
        2.0,
        np.array([0.3, -0.2, 0.1]),
        pin.exp3(np.array([0.2, 0.9, -0.5])),
        velocity=np.array([0.1, 0.2, -0.3]),
        acceleration=np.array([-0.5, 0.4, 0.2]),
        turning=0.7,
        turning_rate=-0.3,
    ),
    Waypoint(3.0, np.array([0.1, 0.1, 0.4]), pin.exp3(np.array([1.2, 0.9, -0.5]))),
]


@given(st.integers(0, 2**32 - 1))
def test_a_quintic_meets_its_ends_and_its_rows_are_derivatives(seed):
    """Position, speed and acceleration at both ends; by central differences in between."""
    rng = np.random.default_rng(seed)
    start, end, T = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 3.0)
    curve = Quintic(start, end, T)
    np.testing.assert_allclose(curve.at(0.0), start, atol=1e-12)
    np.testing.assert_allclose(curve.at(T), end, atol=1e-9)
    t, h = rng.uniform(0.0, T), 1e-6
    slope = (curve.at(t + h) - curve.at(t - h))[:2] / (2.0 * h)
    np.testing.assert_allclose(slope, curve.at(t)[1:], rtol=1e-5, atol=1e-4)


def sampled(trajectory: Trajectory, t: float) -> Reference:
    """Where it is at a time."""
    reference = Reference()
    trajectory.at(t, reference)
    return reference


def test_twist_and_acceleration_of_a_trajectory_are_derivatives_of_its_pose():
    """Translation and rotation, by central differences inside both segments."""
    trajectory, h = Trajectory(POINTS), 1e-6
    for t in [*np.linspace(0.55, 1.95, 15), *np.linspace(2.05, 2.95, 15)]:
        before, now, after = (sampled(trajectory, t + by) for by in (-h, 0.0, h))
        moved = (after.position - before.position) / (2.0 * h)
        turned = pin.log3(after.rotation @ before.rotation.T) / (2.0 * h)
        np.testing.assert_allclose(now.twist, [*moved, *turned], atol=1e-5)
        rate = (after.twist - before.twist) / (2.0 * h)
        np.testing.assert_allclose(now.acceleration, rate, atol=1e-4)


@pytest.mark.parametrize("side", [-1e-9, 0.0])
def test_a_trajectory_meets_its_inner_point_from_both_sides(side):
    """Pose, velocity and acceleration, and the speed of the turn about either axis."""
    found, point = sampled(Trajectory(POINTS), 2.0 + side), POINTS[1]
    np.testing.assert_allclose(found.position, point.position, atol=1e-8)
    np.testing.assert_allclose(found.rotation, point.rotation, atol=1e-8)
    np.testing.assert_allclose(found.twist[:3], point.velocity, atol=1e-7)
    np.testing.assert_allclose(found.acceleration[:3], point.acceleration, atol=1e-6)
    assert np.linalg.norm(found.twist[3:]) == pytest.approx(0.7, abs=1e-7)
    growth = found.acceleration[3:] @ found.twist[3:] / 0.7
    assert growth == pytest.approx(-0.3, abs=1e-6)


def test_outside_its_points_a_trajectory_stands_at_the_nearer_one():
    """Also at the very end, whatever speed that point has."""
    moving = [*POINTS[:2], Waypoint(3.0, np.ones(3), np.eye(3), velocity=np.ones(3))]
    for t, point in ((0.4, moving[0]), (3.0, moving[2]), (9.0, moving[2])):
        found = sampled(Trajectory(moving), t)
        np.testing.assert_array_equal(found.position, point.position)
        np.testing.assert_array_equal(found.rotation, point.rotation)
        assert not found.twist.any() and not found.acceleration.any()
    assert sampled(Trajectory(moving), 3.0 - 1e-9).twist[0] == pytest.approx(1.0, abs=1e-6)


def test_a_turn_between_equal_orientations_is_about_the_tools_own_axis():
    """There and back, beginning at its turning speed."""
    R = pin.exp3(np.array([0.4, -0.3, 0.2]))
    points = [Waypoint(t, np.zeros(3), R, turning=w) for t, w in ((0.0, 0.8), (1.0, -0.8))]
    np.testing.assert_allclose(sampled(Trajectory(points), 0.0).twist[3:], 0.8 * R[:, 2])


def test_a_flowing_trajectory_passes_its_inner_points_at_their_neighbours_mean_velocity():
    """And still stops at its ends."""
    found = sampled(Trajectory.flowing(POINTS), 2.0)
    np.testing.assert_allclose(found.twist[:3], POINTS[2].position / 2.5)
    np.testing.assert_allclose(found.acceleration[:3], 0.0, atol=1e-9)
    assert Trajectory.flowing(POINTS).duration == 3.0
