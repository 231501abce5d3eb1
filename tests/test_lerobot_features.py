"""State and action of a LeRobot policy, against the arm's own kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.lerobot_features import PolicyFeatures, pose_of
from farhand.spatial import rotation_from_quaternion, rotation_from_vector

JOINTS = ("a", "b")


def record(rng) -> dict[str, np.ndarray]:
    """One record of a follower, as the telemetry has it: rotations column by column."""
    rotation = rotation_from_vector(rng.normal(size=3))
    sizes = {"q": 2, "v": 2, "torque_commanded": 2, "position_tool_in_world": 3}
    found = {name: rng.normal(size=size) for name, size in sizes.items()}
    return found | {"rotation_tool_in_world": rotation.T.ravel(), "rotation": rotation}


@pytest.mark.parametrize("seed", range(5))
def test_the_action_of_coupled_tools_is_the_pose_that_the_leader_wants(seed):
    """The error turned back into a pose: p + δ, exp(θ) R; and sent on as a quaternion."""
    rng = np.random.default_rng(seed)
    follower, error = record(rng), rng.normal(size=6)
    features = PolicyFeatures(JOINTS, frozenset(follower), of_joints=False)
    action = features.action(follower, error, np.ones(1))
    pose = pose_of(1.0 * action)
    wanted = rotation_from_vector(error[3:]) @ follower["rotation"]
    np.testing.assert_allclose(pose[:3], follower["position_tool_in_world"] + error[:3])
    np.testing.assert_allclose(rotation_from_quaternion(pose[3:]), wanted, atol=1e-9)


def test_many_records_give_what_each_gives_alone():
    """The exporter asks for all frames at once."""
    rng = np.random.default_rng(1)
    records = [record(rng) for _ in range(4)]
    errors, engaged = rng.normal(size=(4, 6)), np.array([[1.0], [0.0], [0.5], [1.0]])
    below = {name: np.array([one[name] for one in records]) for name in records[0]}
    features = PolicyFeatures(JOINTS, frozenset(below), of_joints=False)
    state, action = features.state(below), features.action(below, errors, engaged)
    for k, one in enumerate(records):
        np.testing.assert_array_equal(state[k], features.state(one))
        np.testing.assert_allclose(action[k], features.action(one, errors[k], engaged[k]))
    assert state.shape[1] == len(features.state_names) == 3 * 2 + 9


def test_while_nothing_is_coupled_the_action_is_where_the_follower_is():
    """An old error of the coupling does not count."""
    follower = record(np.random.default_rng(2))
    features = PolicyFeatures(JOINTS, frozenset(follower), of_joints=True)
    free = features.action(follower, np.ones(2), np.zeros(1))
    np.testing.assert_array_equal(free, follower["q"])
    np.testing.assert_array_equal(features.action(follower, np.ones(2), np.ones(1)), free + 1.0)
    assert features.action_names == ["a.pos", "b.pos"] and not features.wrench
