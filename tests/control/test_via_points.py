"""Trajectories through points: boundary conditions, derivatives, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.trajectory.feasibility import Feasibility
from farhand.control.trajectory.paths import Quintic, Reference, Trajectory, Waypoint
from farhand.errors import BadValue, OutOfRange
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector
from farhand_lab.cooperative.bench import DEGREE, TABLE, path

seeds = st.integers(0, 2**32 - 1)
CHECK = Feasibility(load_robot("rx160"))


@given(seeds)
def test_a_quintic_meets_its_six_conditions(seed: int):
    """Position, velocity and acceleration at both ends, for any duration."""
    rng = np.random.default_rng(seed)
    start, end, T = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.uniform(0.2, 10.0)
    curve = Quintic(start, end, T)
    np.testing.assert_allclose(curve.at(0.0), start, atol=1e-12)
    np.testing.assert_allclose(curve.at(T), end, atol=1e-9)


def test_a_rest_to_rest_leg_has_the_known_peaks():
    """1.875 Δ/T of speed and 5.774 Δ/T² of acceleration: T3.2 goes at 0.555 m/s."""
    reference, trajectory = Reference(), path("T3.2")
    speeds, rates = [], []
    for t in np.linspace(0.0, 1.688, 2001):
        trajectory.at(float(t), reference)
        speeds.append(np.linalg.norm(reference.twist[:3]))
        rates.append(np.linalg.norm(reference.acceleration[:3]))
    assert max(speeds) == pytest.approx(0.555, abs=1e-3) and max(rates) == pytest.approx(
        1.013, abs=1e-3
    )


def test_points_are_met_in_time_and_the_ends_are_rest():
    """At each way-point the pose is its own; before and after nothing moves."""
    trajectory, reference = path("T3.3 feasible"), Reference()
    for point in trajectory.points:
        trajectory.at(point.time, reference)
        np.testing.assert_allclose(reference.position, point.position, atol=1e-12)
        np.testing.assert_allclose(reference.rotation, point.rotation, atol=1e-9)
    for t in (-1.0, 99.0):
        trajectory.at(t, reference)
        assert not reference.twist.any() and not reference.acceleration.any()


def test_a_flowing_path_does_not_stop_at_its_inner_points():
    """The velocity there is that of the neighbours, and continuous."""
    trajectory, reference = Trajectory.flowing(path("T3.3 feasible").points), Reference()
    speeds = []
    for t in (7.0 - 1e-9, 7.0 + 1e-9):
        trajectory.at(t, reference)
        speeds.append(reference.twist[:3].copy())
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-6)
    np.testing.assert_allclose(speeds[1], [(0.3 - 1.4) / 10, 0.1, 0.045], atol=1e-6)


def test_a_turn_goes_the_short_way_about_one_axis():
    """Half way through, half the angle, about the same axis in world."""
    R1, turn = rotation_from_vector(np.array([0.3, -0.8, 0.5])), np.array([0.0, 1.2, 0.0])
    points = [
        Waypoint(0.0, np.zeros(3), R1),
        Waypoint(2.0, np.zeros(3), rotation_from_vector(turn) @ R1),
    ]
    reference = Reference()
    Trajectory(points).at(1.0, reference)
    np.testing.assert_allclose(
        reference.rotation, rotation_from_vector(0.5 * turn) @ R1, atol=1e-12
    )
    np.testing.assert_allclose(reference.twist[3:], [0.0, 1.875 * 0.6, 0.0], atol=1e-12)


def test_points_out_of_order_and_single_points_are_refused():
    """With the times named."""
    a, b = Waypoint(1.0, np.zeros(3), np.eye(3)), Waypoint(0.5, np.zeros(3), np.eye(3))
    with pytest.raises(BadValue, match="way-point 2 at 0.5 s"):
        Trajectory([a, b])
    with pytest.raises(BadValue, match="at least 2"):
        Trajectory([a])


def test_a_point_out_of_reach_is_refused_with_the_place():
    """Before anything moves."""
    first = path("T3.2").points[0]
    words = r"way-point 2 \(t = 5 s, at \(2.500, 0.000, 0.500\) m\): out of reach by \d+ mm"
    with pytest.raises(BadValue, match=words):
        CHECK.check(Trajectory([first, Waypoint(5.0, np.array([2.5, 0.0, 0.5]), first.rotation)]))


def test_a_point_beyond_a_joints_range_is_refused_with_joint_limit_and_place():
    """The published T3.3 cannot be followed inside the limits; that way-point is named."""
    words = r"way-point 5 \(t = 15 s.* joint 2 would have to be at 2.460 rad \(limits -2.400"
    with pytest.raises(BadValue, match=words):
        CHECK.check(path("T3.3"))


def test_a_singular_path_is_refused_where_it_gets_singular():
    """T4.1 ends its third leg with joint 5 at zero."""
    with pytest.raises(
        BadValue, match=r"between way-points 3 and 4 .* singular: joint \d .* limit 0.02"
    ):
        CHECK.check(path("T4.1"))


def test_a_path_too_fast_or_with_too_much_load_is_refused():
    """The joint and its limit are named; so are both parts of the load."""
    slow = path("TA.1").points
    fast = Trajectory([slow[0], Waypoint(0.3, slow[1].position, slow[1].rotation)])
    with pytest.raises(BadValue, match=r"joint \d would have to turn at \d+.\d+ rad/s \(limit"):
        CHECK.check(fast)
    with pytest.raises(OutOfRange, match="19 kg object and 2.3 kg tool"):
        CHECK.check_load(19.0, 2.3)
    CHECK.check_load(17.7, 2.3)
    heavy = Feasibility(load_robot("rx160").edited(_payload(60.0)))
    with pytest.raises(BadValue, match=r"joint \d would need -?\d+ N·m to stand still \(limit"):
        heavy.check(path("T3.3 feasible"), np.array([0.0, 43.0, 120.0, 0.0, -74.0, 0.0]) * DEGREE)


def _payload(mass: float):
    from farhand.robots.edits import add_payload

    return add_payload(mass, (0.0, 0.0, 0.1))


def test_a_good_path_comes_back_with_joints_margins_and_shares():
    """The feasible variant of T3.3: margin 0.25, well inside speed and torque."""
    found = CHECK.check(path("T3.3 feasible"), TABLE)
    assert found.margin.min() == pytest.approx(0.254, abs=0.01)
    assert found.speed < 0.5 and found.load < 0.5 and found.notes == ()
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.1
