"""Topics: channels become the messages their names promise, and nothing gets lost on the way."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.loop.telemetry import columns
from farhand.recording.topics import Steady, quaternions, topics_of
from farhand.spatial import quaternion_from_rotation


def channel(name: str, size: int, unit: str = "-", labels=()) -> dict:
    return {"name": name, "size": size, "unit": unit, "labels": list(labels)}


def topics(*channels: dict) -> dict[str, str]:
    """Message type by topic."""
    stream = {"rate": 1000.0, "channels": list(channels)}
    return {topic.name: topic.type for topic in topics_of("arm", stream, columns(stream))}


def test_standard_signals_become_standard_messages():
    """The names of the design are the rule."""
    found = topics(
        *(channel("q", 2, labels=("a", "b")), channel("v", 2), channel("torque_commanded", 2)),
        *(channel("position_tool_in_world", 3), channel("rotation_tool_in_world", 9)),
        *(channel("twist_tool_in_world", 6), channel("wrench_raw_in_world", 6), channel("mode", 1)),
    )
    assert found == {
        "/arm/joint_states": "sensor_msgs/JointState",
        "/arm/joint_commands": "sensor_msgs/JointState",
        "/arm/pose_tool_in_world": "geometry_msgs/PoseStamped",
        "/tf": "tf2_msgs/TFMessage",
        "/arm/twist_tool_in_world": "geometry_msgs/TwistStamped",
        "/arm/wrench_raw_in_world": "geometry_msgs/WrenchStamped",
        "/arm/state": "farhand_msgs/ArmState",
    }


def test_what_has_no_standard_message_keeps_its_name_and_unit():
    """A floating base, a position without a rotation, a wrench of another size, names that ROS does
    not allow.
    """
    stream = {
        "rate": 10.0,
        "channels": [
            *(
                channel("q", 8, "rad"),
                channel("v", 7, "rad/s"),
                channel("position_tip_in_world", 3, "m"),
            ),
            *(
                channel("wrench_x_in_y", 3, "N"),
                channel("Grip-force", 1, "N"),
                channel("grip.force", 1, "V"),
            ),
        ],
    }
    [topic] = topics_of("odd-one", stream, columns(stream))
    assert topic.type == "farhand_msgs/OddOneState"
    lines = topic.definition.partition("=")[0].splitlines()[2:]
    assert lines[:3] == [
        "float64[8] q  # [rad]",
        "float64[7] v  # [rad/s]",
        "float64[3] position_tip_in_world  # [m]",
    ]
    fields = [line.split()[1] for line in lines]
    assert fields[3:] == ["wrench_x_in_y", "grip_force", "grip_force_6"]
    assert [source["name"] for source in topic.sources.values()] == [
        c["name"] for c in stream["channels"]
    ]


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_quaternions_of_many_rotations_are_those_of_each(numbers):
    """Half turns about any axis included."""
    if np.linalg.norm(numbers) < 1e-3:
        return
    rotation = pin.Quaternion(*(np.array(numbers) / np.linalg.norm(numbers))).toRotationMatrix()
    [found] = quaternions(rotation[None])
    same = found @ quaternion_from_rotation(rotation)
    # half a turn: either sign
    assert (abs(same) if found[3] < 1e-7 else same) == pytest.approx(1.0, abs=1e-9)
    assert found[3] >= 0.0 and np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)


def test_the_sign_of_a_turning_tools_quaternion_does_not_jump():
    """Three turns about a slanted axis: every number stays near the one before, however the stream
    is cut up.
    """
    angles = np.linspace(0.0, 6.0 * np.pi, 600)
    axis = np.array([0.48, 0.6, 0.64])
    turns = np.stack([pin.AngleAxis(angle, axis).toRotationMatrix() for angle in angles])
    turns[[100, 101]] = np.nan
    plain = quaternions(turns)
    found = Steady()(plain)
    known = np.isfinite(found).all(axis=1)
    assert found[0, 3] >= 0.0 and np.isnan(found[100:102]).all()
    assert (
        np.abs(np.diff(found[known], axis=0)).max()
        < 0.05
        < np.abs(np.diff(plain[known], axis=0)).max()
    )
    parts = Steady()
    pieces = [parts(piece) for piece in np.split(plain, [0, 1, 99, 101, 102, 317])]
    assert np.concatenate(pieces).tobytes() == found.tobytes()


def test_every_topic_of_a_pose_keeps_its_own_sign():
    """The transform has fewer messages than the pose; neither disturbs the other."""
    stream = {
        "rate": 100.0,
        "channels": [channel("position_tool_in_world", 3), channel("rotation_tool_in_world", 9)],
    }
    turns = np.stack([pin.utils.rotate("x", angle) for angle in np.linspace(0.0, 12.0, 200)])
    rows = np.hstack([np.zeros((200, 3)), turns.transpose(0, 2, 1).reshape(200, 9)])
    pose, transform = topics_of("arm", stream, columns(stream))
    for first in range(0, 200, 50):
        turned = pose.fill(rows[first : first + 50])["orientation"]
        seldom = transform.fill(rows[first : first + 50 : 10])["rotation"]
        np.testing.assert_array_equal(seldom, turned[::10])


def test_a_rotation_that_is_not_a_number_gives_none():
    """No pose is no pose, not the identity."""
    assert np.isnan(quaternions(np.full((1, 3, 3), np.nan))).all()
