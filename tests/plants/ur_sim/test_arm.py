"""The arm behind the simulated controller: servos, weight, sensor and limits."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.plants.ur_sim.arm import CYCLE, ServoedArm, UrJoints, pose_of, pose_times, pose_vector
from farhand.robots import load_robot


class Push:
    """A steady force on the tool."""

    def __init__(self, *force: float) -> None:
        self.force = force

    def push(self, tool, t, wrench):
        wrench[:3] = self.force


@pytest.fixture
def arm() -> ServoedArm:
    quiet = UrJoints(force_noise=0.0, torque_noise=0.0, force_bias=0.0)
    return ServoedArm(load_robot("ur5e", "ur"), np.random.default_rng(0), quiet)


def cycles(arm: ServoedArm, count: int, step=lambda: None) -> str | None:
    """Run; the first breach, if any."""
    for _ in range(count):
        step()
        breach = arm.cycle()
        if breach:
            return breach
    return None


def test_an_arm_that_is_told_nothing_stands_still(arm):
    """Its servos carry its weight exactly."""
    q = arm.q.copy()
    assert cycles(arm, 100, arm.slow_down) is None
    np.testing.assert_allclose(arm.q, q, atol=1e-9)


def test_the_arm_follows_its_reference(arm):
    """A constant speed is followed with no lag once the servos have settled: the reference has its
    own feed-forward.
    """
    velocity = np.array([0.5, 0.0, -0.3, 0.0, 0.2, 1.0])
    cycles(arm, 250, lambda: arm.reach_velocity(velocity))
    np.testing.assert_allclose(arm.v, velocity, atol=1e-3)
    np.testing.assert_allclose(arm.q, arm.q_target, atol=1e-3)


def test_zero_torque_lets_the_arm_float_under_its_own_weight(arm):
    """The controller carries the weight in torque mode."""
    q = arm.q.copy()
    cycles(arm, 250, lambda: arm.push(np.zeros(6)))
    np.testing.assert_allclose(arm.q, q, atol=1e-6)


def test_a_torque_accelerates_the_joint_as_newton_says(arm):
    """Over the first cycle the wrist gains τ/M of speed."""
    arm.model.update(arm.q, arm.v)
    expected = np.linalg.solve(arm.model.M, [0, 0, 0, 0, 0, 1.0]) * CYCLE
    cycles(arm, 1, lambda: arm.push(np.array([0, 0, 0, 0, 0, 1.0])))
    np.testing.assert_allclose(arm.v, expected, rtol=0.01, atol=1e-6)


def test_a_payload_believed_but_not_there_lifts_the_floating_arm(arm):
    """Its weight is carried although nobody has it; the sensor shows the same error."""
    arm.carry(2.0)
    before = float(arm.port.tool.position[2])
    cycles(arm, 100, lambda: arm.push(np.zeros(6)))
    assert arm.port.tool.position[2] > before + 0.01
    assert arm.wrench[2] == pytest.approx(2.0 * 9.81)


def test_a_payload_that_is_there_and_believed_leaves_the_arm_floating():
    """At the centre the controller is told."""
    quiet = UrJoints(force_noise=0.0, torque_noise=0.0, force_bias=0.0)
    arm = ServoedArm(load_robot("ur5e", "ur"), np.random.default_rng(0), quiet, payload=2.0)
    arm.carry(2.0)
    arm.payload_cog[:] = (0.0, 0.0, 0.05)
    q = arm.q.copy()
    cycles(arm, 250, lambda: arm.push(np.zeros(6)))
    np.testing.assert_allclose(arm.q, q, atol=1e-4)


@pytest.mark.parametrize("mass", [-1.0, 36.0, float("nan")])
def test_a_payload_that_cannot_be_is_refused(arm, mass):
    """No arm of the make carries it."""
    with pytest.raises(BadValue, match="payload"):
        arm.carry(mass)


def test_the_sensor_shows_what_pushes_on_the_tool_and_its_bias_until_zeroed():
    """Zeroing takes the mean, so that noise does not become bias."""
    arm = ServoedArm(load_robot("ur5e", "ur"), np.random.default_rng(3))
    cycles(arm, 250, arm.slow_down)
    arm.zero_sensor()
    readings = []
    cycles(arm, 250, lambda: (arm.slow_down(), readings.append(arm.wrench.copy())))
    assert np.linalg.norm(np.mean(readings, axis=0)[:3]) < 0.6
    assert np.std(readings, axis=0)[:3] == pytest.approx(arm.joints.force_noise, rel=0.2)
    arm.touch("push", Push(5.0, -20.0, 0.0))
    readings.clear()
    cycles(arm, 500, lambda: (arm.slow_down(), readings.append(arm.wrench.copy())))
    np.testing.assert_allclose(np.mean(readings[250:], axis=0)[:2], [5.0, -20.0], atol=0.6)


def test_a_tool_centre_point_moves_the_pose_and_the_moment(arm):
    """A force at a point 0.1 m out has no moment about that point, but one about the flange."""
    flange = pose_vector(*arm.pose_now())
    arm.tcp[:] = (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(pose_vector(*arm.pose_now()), pose_times(flange, arm.tcp), atol=1e-9)
    q, dq = arm.q.copy(), 1e-6 * np.arange(1.0, 7.0)
    moved = (arm.pose(q + dq)[0] - arm.pose(q)[0]) / 1e-6
    np.testing.assert_allclose(arm.jacobian(q)[:3] @ np.arange(1.0, 7.0), moved, atol=1e-4)


def test_poses_compose_like_rigid_motions():
    """The inverse of a pose takes it back to nothing."""
    pose = np.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6])
    p, R = pose_of(pose)
    back = pose_vector(-R.T @ p, R.T)
    np.testing.assert_allclose(pose_times(pose, back), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda arm: arm.place(arm.q_target + 0.02, np.full(6, 4.0)), "moves at"),
        (lambda arm: arm.push(np.array([400.0, 0, 0, 0, 0, 0])), "moves at|torque limit"),
        (
            lambda arm: arm.place(arm.q_target + [0, 0, 0, 0, 0, 0.3], np.zeros(6)),
            "from its target",
        ),
    ],
)
def test_a_broken_limit_is_named(arm, step, words):
    """Too fast, too strong, too far: the arm says which joint and which limit."""
    breach = cycles(arm, 200, lambda: step(arm))
    assert breach is not None
    assert re.search(words, breach)


def test_a_force_beyond_the_limit_is_a_breach(arm):
    """Somebody pushes with 300 N."""
    arm.touch("push", Push(0.0, 0.0, 300.0))
    assert "300 N" in str(cycles(arm, 5, arm.slow_down))


def test_brakes_hold_the_arm_without_its_motors(arm):
    """Power off: nothing moves, whatever is asked."""
    q = arm.q.copy()
    arm.power(False)
    cycles(arm, 250, lambda: arm.reach_velocity(np.ones(6)))
    np.testing.assert_allclose(arm.q, q, atol=1e-3)
