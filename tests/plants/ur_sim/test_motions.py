"""What movej, servoj and their kin do with the arm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.plants.ur_sim import motions
from farhand.plants.ur_sim.arm import CYCLE


def finish(controller, motion, most: int = 5000) -> int:
    """Run a motion to its end; how many cycles it took."""
    for cycle in range(most):
        if next(motion, "end") == "end":
            return cycle
        assert controller.arm.cycle() is None
    raise AssertionError("the motion does not end")


@given(st.floats(0.01, 5.0), st.floats(0.05, 3.0), st.floats(0.1, 20.0))
@settings(max_examples=40, deadline=None)
def test_a_trapezoid_keeps_its_limits_and_ends_exactly(length, speed, acceleration):
    """From rest to rest, never faster, never steeper."""
    points = np.array([(0.0, 0.0), *motions.trapezoid(length, speed, acceleration)])
    steps = np.diff(points[:, 0]) / CYCLE
    assert points[-1, 0] == length
    assert points[-1, 1] == 0.0
    assert steps.max() <= speed * (1 + 1e-9)
    assert (np.diff(points[:, 0]) >= -1e-12).all()
    assert np.abs(np.diff(points[:-1, 1])).max(initial=0.0) <= acceleration * CYCLE * (1 + 1e-6)


def test_movej_ends_at_its_target_in_the_time_of_its_trapezoid(controller):
    """0.4 rad at 1 rad/s and 2 rad/s² takes 0.9 s."""
    arm = controller.arm
    target = arm.q + np.array([0.4, -0.1, 0.2, 0.0, 0.1, -0.3])
    took = finish(controller, motions.movej(arm, target, 1.0, 2.0)) * CYCLE
    assert took == pytest.approx(0.9, abs=0.01)
    np.testing.assert_allclose(arm.q, target, atol=1e-3)


def test_movel_goes_straight(controller):
    """Half way, the tool is on the line and half turned."""
    arm = controller.arm
    (p, R), way = arm.pose(arm.q), np.array([0.05, -0.1, 0.1])
    p, R = p.copy(), R.copy()
    places = []
    motion = motions.movel(arm, p + way, R, 0.25, 1.0)
    while next(motion, "end") != "end":
        arm.cycle()
        places.append(arm.port.tool.position - p)
    off = [np.linalg.norm(place - way * (place @ way) / (way @ way)) for place in places]
    assert max(off) < 5e-4
    np.testing.assert_allclose(arm.pose(arm.q_target)[0], p + way, atol=1e-5)


@pytest.mark.parametrize("lookahead", [0.05, 0.1, 0.2])
def test_servoj_follows_a_ramp_late_by_its_lookahead_time(controller, lookahead):
    """The lag of the servo on a steady ramp is the lookahead time, as its definition makes it."""
    arm, speed = controller.arm, 0.3
    start = arm.q.copy()
    for cycle in range(1500):
        motions.servoj(arm, start + speed * CYCLE * (cycle + 1), lookahead, 300.0)
        arm.cycle()
    late = (start[0] + speed * 1500 * CYCLE - arm.q_target[0]) / speed
    assert late == pytest.approx(lookahead, abs=2 * CYCLE)


def test_speedl_moves_the_tool_along_and_stopl_ends_it(controller):
    """5 cm/s upward, then rest."""
    arm = controller.arm
    for _ in range(250):
        motions.speedl(arm, np.array([0, 0, 0.05, 0, 0, 0]), 0.5)
        arm.cycle()
    np.testing.assert_allclose(arm.twist_now(), [0, 0, 0.05, 0, 0, 0], atol=2e-3)
    finish(controller, motions.stopl(arm, 1.0))
    for _ in range(50):
        arm.cycle()
    np.testing.assert_allclose(arm.v, 0.0, atol=1e-3)


def test_inverse_kinematics_finds_what_forward_kinematics_says(controller):
    """From a start half a radian away."""
    arm, rng = controller.arm, np.random.default_rng(0)
    for _ in range(5):
        q = arm.q + rng.uniform(-0.5, 0.5, 6)
        p, R = (part.copy() for part in arm.pose(q))
        found = motions.inverse(arm, p, R, arm.q)
        np.testing.assert_allclose(arm.pose(found)[0], p, atol=1e-4)


def test_a_pose_out_of_reach_is_refused(controller):
    """Three metres away."""
    with pytest.raises(BadValue, match="no joints"):
        motions.inverse(controller.arm, np.array([3.0, 0, 0]), np.eye(3), controller.arm.q)
