"""Joint target: the tool is where its copied joints put it, and power passes both ways."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.joint_map import IIWA_TO_POWERBALL, JointCopy, JointMapping, JointTarget
from farhand.robots import load_robot

IIWA, POWERBALL = load_robot("iiwa14"), load_robot("lwa4p")


def target(q_a: np.ndarray, q_b: np.ndarray) -> JointTarget:
    """A target engaged with the arms in these postures."""
    leader, follower, image = Arm.of(IIWA), Arm.of(POWERBALL), Arm.of(POWERBALL)
    leader.update(q_a, np.zeros(7))
    follower.update(q_b, np.zeros(6))
    joints = JointMapping(
        **IIWA_TO_POWERBALL, lower=POWERBALL.limits.lower, upper=POWERBALL.limits.upper
    )
    made = JointTarget(joints=joints, leader=leader, follower=follower, image=image)
    made.capture(leader.position, leader.rotation, follower.position, follower.rotation)
    return made


def test_the_target_starts_where_the_follower_is_and_copies_what_the_joints_do():
    """Any start; a joint's motion is its own image's, joint 5 in the other sense."""
    made = target(IIWA.home, POWERBALL.home)
    made.forward(np.zeros(3), np.eye(3), np.zeros(6))
    np.testing.assert_allclose(made.joints.q, POWERBALL.home, atol=1e-12)
    np.testing.assert_allclose(made.position, made.follower.position, atol=1e-12)
    step = np.array([0.1, 0.05, 0.0, -0.1, 0.2, 0.1, -0.3])
    made.leader.update(IIWA.home + step, np.zeros(7))
    made.forward(np.zeros(3), np.eye(3), np.zeros(6))
    np.testing.assert_allclose(
        made.joints.q - POWERBALL.home, [0.1, 0.05, -0.1, 0.2, -0.1, -0.3], atol=1e-12
    )
    assert JointCopy(made.joints).solve(np.eye(4)).q == pytest.approx(made.joints.q)


def test_from_matching_joints_the_tools_have_equal_orientations():
    """The published pair with joint 3 locked, which is what the table of signs is for."""
    q_a = np.array([0.3, 0.5, 0.0, -1.2, 0.4, 0.8, -0.6])
    made = target(IIWA.home, POWERBALL.home)
    made.joints.offsets[:] = 0.0
    made.leader.update(q_a, np.zeros(7))
    made.forward(np.zeros(3), np.eye(3), np.zeros(6))
    np.testing.assert_allclose(made.rotation, made.leader.rotation, atol=1e-9)


def test_power_passes_unchanged_while_the_locked_joint_stands():
    """w_b·ẋ_t = w_a·ẋ_a to 1 %, the share of the damped inverse."""
    rng = np.random.default_rng(4)
    made = target(IIWA.home, POWERBALL.home)
    for _ in range(10):
        v, wrench = rng.normal(size=7), rng.normal(size=6)
        v[2] = 0.0
        made.leader.update(IIWA.home, v)
        made.forward(np.zeros(3), np.eye(3), np.zeros(6))
        made.follower.update(made.joints.q, made.joints.v)
        back = np.zeros(6)
        made.back(wrench, back)
        scale = np.linalg.norm(wrench) * np.linalg.norm(made.twist)
        assert back @ made.leader.twist == pytest.approx(wrench @ made.twist, abs=0.01 * scale)


def test_a_joint_at_its_limit_is_said_to_be_limited():
    """The copy stays inside, and the status says so."""
    made = target(IIWA.home, POWERBALL.home)
    made.leader.update(IIWA.home + np.array([4.0, 0, 0, 0, 0, 0, 0]), np.zeros(7))
    made.forward(np.zeros(3), np.eye(3), np.zeros(6))
    found = JointCopy(made.joints).solve(np.eye(4))
    assert found.status == "limited"
    assert found.q[0] == POWERBALL.limits.upper[0]


@pytest.mark.parametrize("part", ["joints", "leader", "follower", "image"])
def test_a_target_without_its_arms_is_refused(part):
    """It cannot know the leader's joints."""
    given = dict.fromkeys({"joints", "leader", "follower", "image"} - {part})
    with pytest.raises(BadValue, match=f"a joint target needs its {part}"):
        JointTarget(**given)


def test_the_wrench_felt_makes_the_torques_felt_as_nearly_as_a_damped_inverse_can():
    """Least squares with a damping of 0.02; both force scales multiply it."""
    made = target(IIWA.home, POWERBALL.home)
    made.forward(np.zeros(3), np.eye(3), np.zeros(6))
    wrench, felt = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3]), np.zeros(6)
    torque = np.array(IIWA_TO_POWERBALL["signs"]) * (made.follower.J.T @ wrench)
    J = made.leader.J[:, [0, 1, 3, 4, 5, 6]]
    rows, sides = np.vstack([J.T, 0.02 * np.eye(6)]), np.concatenate([torque, np.zeros(6)])
    for own, joints in ((1.0, 1.0), (2.0, 1.0), (1.0, 3.0)):
        made.force_scale, made.joints.force_scale = own, joints
        made.back(wrench, felt)
        np.testing.assert_allclose(felt, own * joints * np.linalg.lstsq(rows, sides)[0], atol=1e-9)
