"""Feasibility: its numbers are those of the arm's own model, and its refusals those of geometry."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.trajectory.feasibility import Feasibility
from farhand.control.trajectory.paths import Trajectory, Waypoint
from farhand.errors import BadValue, OutOfRange
from farhand.robots import Placement, load_robot
from farhand.spatial import quaternion_from_rotation, rotation_from_vector

DEGREE = np.pi / 180.0
ROBOT = load_robot("rx160")
CHECK = Feasibility(ROBOT)
FORWARD = rotation_from_vector(np.array([0.0, 0.5 * np.pi, 0.0]))
"""The tool points along x."""

UPPER, FORE, HAND = 0.825, 0.625, 0.11
"""Joint 2 to 3, joint 3 to wrist and wrist to tool of the RX160, [m]."""
SHOULDER = np.array([0.15, 0.0, 0.55])
START = np.array([0.0, 80.0, 60.0, 0.0, 60.0, 0.0]) * DEGREE
END = np.array([10.0, 115.0, 60.0, 0.0, 60.0, 0.0]) * DEGREE


def about_z(angle: float) -> np.ndarray:
    return rotation_from_vector(np.array([0.0, 0.0, angle]))


def refusal(points: list[Waypoint], check: Feasibility = CHECK, start=None) -> str:
    """Why a trajectory is refused."""
    with pytest.raises(BadValue) as refused:
        check.check(Trajectory(points), start)
    return str(refused.value)


def bend(end_s: float = 6.0) -> Trajectory:
    """From one posture to another, from 1 s on."""
    return Trajectory.through_joints(Arm.of(ROBOT), [START, END], [1.0, end_s])


def test_a_report_has_the_numbers_of_the_arms_own_model():
    """Tool poses, singular values, weight and speed, each computed again from its joints."""
    trajectory = bend()
    found, arm = CHECK.check(trajectory, START), Arm.of(ROBOT, gravity=9.804)
    np.testing.assert_allclose(found.time, np.arange(1.0, 6.01, 0.02), atol=1e-9)
    np.testing.assert_allclose(found.q[[0, -1]], [START, END], atol=1e-5)
    loads = []
    for q, margin in zip(found.q, found.margin, strict=True):
        arm.update(q, np.zeros(6))
        assert margin == pytest.approx(np.linalg.svd(arm.J, compute_uv=False)[-1])
        loads.append(np.abs(arm.gravity / ROBOT.limits.torque).max())
    assert found.load == pytest.approx(max(loads))
    speed = np.abs(np.diff(found.q, axis=0)) / 0.02 / ROBOT.limits.velocity
    assert found.speed == pytest.approx(speed.max())


def test_a_spring_that_is_not_known_is_noted_at_the_time_it_is_left():
    """The spring of joint 2 is known as far as 100°."""
    found = CHECK.check(bend(), START)
    left = found.time[np.argmax(found.q[:, 1] > ROBOT.springs[1].upper)]
    assert found.notes == (
        f"joint 2 leaves -1.75 to 1.75 rad at t = {left:.2f} s, where its spring is not known",
    )


def test_where_the_base_stands_makes_no_difference():
    """A base moved and turned about the vertical, with the path."""
    place, turn = np.array([0.5, -1.0, 0.3]), about_z(0.8)
    moved = [Waypoint(p.time, turn @ p.position + place, turn @ p.rotation) for p in bend().points]
    there = Feasibility(ROBOT, Placement(tuple(place), tuple(quaternion_from_rotation(turn))))
    here = CHECK.check(bend(), START)
    found = there.check(Trajectory(moved), START)
    np.testing.assert_allclose(found.q, here.q, atol=1e-5)
    assert found.load == pytest.approx(here.load, rel=1e-4)


def test_too_fast_is_told_with_the_speed_and_the_joint():
    """The same path for a robot without speed limits shows the speed."""
    fast = bend(1.3)
    free = replace(ROBOT, limits=replace(ROBOT.limits, velocity=np.full(6, 1e3)))
    speed = np.abs(np.diff(Feasibility(free).check(fast, START).q, axis=0)) / 0.02
    share = speed / ROBOT.limits.velocity
    row, joint = np.unravel_index(np.argmax(share), share.shape)
    message = refusal(list(fast.points), start=START)
    assert f"(t = {1.0 + 0.02 * row:.2f} s, " in message
    limit = ROBOT.limits.velocity[joint]
    turning = f"{speed[row, joint]:.2f} rad/s (limit {limit:.2f} rad/s)"
    assert message.endswith(f"joint {joint + 1} would have to turn at {turning}")


def test_too_heavy_is_told_with_the_torque_and_the_joint():
    """Joint 2 carries the stretched arm; a third of its load is allowed here."""
    loaded = CHECK.check(bend(), START).load * (1.0 + 1e-12)
    weak = replace(ROBOT, limits=replace(ROBOT.limits, torque=ROBOT.limits.torque * loaded))
    assert Feasibility(weak).check(bend(), START).load == pytest.approx(1.0)
    weak = replace(weak, limits=replace(weak.limits, torque=0.999 * weak.limits.torque))
    message = refusal(list(bend().points), Feasibility(weak), START)
    parts = re.search(r"joint (\d) would need (-?\d+) N·m to stand still \(limit ([\d.]+)", message)
    joint, torque, limit = int(parts[1]) - 1, float(parts[2]), float(parts[3])
    assert limit == pytest.approx(weak.limits.torque[joint], rel=1e-5)
    assert abs(torque) == pytest.approx(limit, abs=1.0)


def test_a_path_that_becomes_singular_is_refused_at_the_sample_where_it_does():
    """Joint 5 goes towards zero; the margin is set between two samples of half a second."""
    start, end = START.copy(), START.copy()
    start[4], end[4] = 20.0 * DEGREE, 8.0 * DEGREE
    trajectory = Trajectory.through_joints(Arm.of(ROBOT), [start, end], [1.0, 6.0])
    margin = Feasibility(ROBOT, step=0.5).check(trajectory, start).margin
    for last, message in (
        (-1, "at way-point 2 (t = 6.00"),
        (-3, "between way-points 1 and 2 (t = 5.00"),
    ):
        between = 0.5 * (margin[last] + margin[last - 1])
        strict = Feasibility(ROBOT, margin=between, step=0.5)
        found = refusal(list(trajectory.points), strict, start)
        assert found.startswith(message) and f"singular value {margin[last]:.4f}" in found


@pytest.mark.parametrize("azimuth", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("pointing", [(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.6, 0.0, 0.8)])
def test_a_place_too_far_is_refused_by_what_the_stretched_arm_lacks(azimuth, pointing):
    """The wrist's distance from joint 2, wherever joint 1 points and the tool."""
    turn, tool = about_z(azimuth), np.array(pointing)
    rotation = np.column_stack([np.cross((0.0, 1.0, 0.0), tool), (0.0, 1.0, 0.0), tool])
    good = Waypoint(0.0, turn @ [1.0, 0.0, 0.55], turn @ FORWARD)
    far = Waypoint(5.0, turn @ [2.3, 0.0, 0.8], turn @ rotation)
    away = np.linalg.norm(np.array([2.3, 0.0, 0.8]) - HAND * tool - SHOULDER)
    short = 1e3 * (away - UPPER - FORE)
    message = refusal([good, far])
    assert f"out of reach by {short:.0f} mm: the wrist would be {away:.3f} m" in message
    assert message.endswith("from joint 2 (limit at most 1.450 m, joint 3 straight)")


def test_a_place_too_near_is_refused_by_what_the_folded_arm_lacks():
    """The wrist 20 mm beside the axis of joint 1, 0.17 m from joint 2 on its far side."""
    good = Waypoint(0.0, np.array([1.0, 0.0, 0.55]), FORWARD)
    near = Waypoint(5.0, np.array([0.02 + HAND, 0.0, 0.55]), FORWARD)
    message = refusal([good, near])
    away = float(re.search(r"the wrist would be ([\d.]+) m", message)[1])
    assert away == pytest.approx(0.17, abs=2e-3)
    lacking = float(re.search(r"out of reach by (\d+) mm", message)[1])
    assert lacking == pytest.approx(1e3 * (UPPER - FORE - away), abs=1.0)
    assert message.endswith("from joint 2 (limit at least 0.200 m, joint 3 folded)")


def test_an_arm_without_a_wrist_is_told_how_far_it_stays_away():
    """A UR5e that is asked to go 2 m and 2.1 m aside lacks 0.1 m more the second time."""
    robot = load_robot("ur5e")
    check, arm = Feasibility(robot), Arm.of(robot)
    arm.update(robot.home, np.zeros(6))
    good, lacking = Waypoint(0.0, arm.position.copy(), arm.rotation.copy()), []
    for aside in (2.0, 2.1):
        message = refusal(
            [good, replace(good, time=5.0, position=good.position + [0, aside, 0])], check
        )
        lacking.append(float(re.search(r"out of reach by (\d+) mm$", message)[1]))
    assert lacking[1] - lacking[0] == pytest.approx(100.0, abs=2.0)
    reach = 2.0 + good.position[1] - 1e-3 * lacking[0]
    assert 0.8 < reach < 1.1


@pytest.mark.parametrize("roll", [0.0, 3.5, -3.5])
def test_a_joint_that_leaves_its_range_on_the_way_is_named_with_where_it_would_be(roll):
    """Half-way along a chord the elbow folds most; here its range ends a little earlier. The arm
    would not turn its wrist round for it, nor lay its elbow down, nor does it matter that joint 6
    is more than half a turn from zero.
    """
    points = [
        Waypoint(t, about_z(a) @ [1.2, 0.0, 0.55], about_z(1.8 * a) @ FORWARD @ about_z(roll))
        for t, a in ((0.0, -0.5), (4.0, 0.5))
    ]
    straight = [replace(point, rotation=point.rotation @ about_z(-roll)) for point in points]
    joints = CHECK.check(Trajectory(straight)).q
    elbow, start = joints[:, 2], joints[0] + [0.0, 0.0, 0.0, 0.0, 0.0, roll]
    upper, lower = ROBOT.limits.upper.copy(), ROBOT.limits.lower.copy()
    upper[[0, 2, 3]] = 1.0, 0.5 * (elbow[0] + elbow.max()), 2.0
    lower[[0, 2, 3]] = -1.0, 0.0, -2.0
    narrow = replace(ROBOT, limits=replace(ROBOT.limits, lower=lower, upper=upper))
    message = refusal(points, Feasibility(narrow), start)
    wanted = re.search(r"joint 3 would have to be at ([\d.]+) rad \(limits (.*) rad\)$", message)
    over = np.argmax(elbow > upper[2])
    assert float(wanted[1]) == pytest.approx(elbow[over], abs=2e-3)
    assert wanted[2] == f"0.000 to {upper[2]:.3f}"
    assert message.startswith(f"between way-points 1 and 2 (t = {0.02 * over:.2f} s")


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_joint_that_would_have_to_turn_round_is_told_to_jump(sense):
    """Behind its back joint 1 ends at ±160°; the other way to be there is half a turn away."""
    points = [
        Waypoint(t, about_z(a) @ [0.9, 0.0, 0.55], about_z(a) @ FORWARD)
        for t, a in ((0.0, 2.6 * sense), (8.0, -2.6 * sense))
    ]
    assert f"joint 1 would jump by {-np.pi * sense:.2f} rad to stay inside" in refusal(points)


def test_a_load_is_refused_outside_none_to_the_payload():
    """Object and tool together; both ends are allowed."""
    for mass, tool in ((0.0, 0.0), (17.7, 2.3), (20.0, 0.0)):
        CHECK.check_load(mass, tool)
    for mass, tool in ((17.8, 2.3), (-0.1, 0.0), (20.1, 0.0)):
        with pytest.raises(OutOfRange):
            CHECK.check_load(mass, tool)


def test_a_load_that_is_refused_at_a_place_is_told_with_the_joint_that_bears_most():
    """As the arm's model says without the load."""
    arm = Arm.of(ROBOT, gravity=9.804)
    arm.update(END, np.zeros(6))
    joint = int(np.argmax(np.abs(arm.gravity) / ROBOT.limits.torque))
    torque, limit = arm.gravity[joint], ROBOT.limits.torque[joint]
    with pytest.raises(OutOfRange) as refused:
        CHECK.check_load(25.0, q=END)
    assert f"joint {joint + 1} would need {torque:.0f} N·m (limit {limit:g} N·m)" in str(
        refused.value
    )
