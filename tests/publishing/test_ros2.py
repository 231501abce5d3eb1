"""ROS 2 on the wire: a client that others wrote sees the graph, reads every type and commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.publishing.ros2 import TRIGGER_HASH
from farhand.recording.cdr import CdrReader, Template, diagnostics_content
from farhand.recording.definitions import DEFINITIONS, definition, full_name, type_hash

PUBLISHED_HASHES = {
    # in the design document of rmw_zenoh
    "std_msgs/String": "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    # in captures of running systems
    "sensor_msgs/JointState": "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    "geometry_msgs/Twist": "9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a",
}


@pytest.mark.parametrize("kind", PUBLISHED_HASHES)
def test_hashes_are_the_published_ones(kind):
    """ROS 2 matches topics by them."""
    assert type_hash(kind, definition(kind)) == f"RIHS01_{PUBLISHED_HASHES[kind]}"


@pytest.mark.parametrize("kind", [kind for kind in DEFINITIONS if "farhand" not in kind])
def test_hashes_and_definitions_are_those_of_ros(kind):
    """Somebody else's copy of the definitions gives the same hash."""
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    assert type_hash(kind, definition(kind)) == store.hash_rihs01(full_name(kind))


def test_a_message_of_our_own_has_the_hash_that_others_compute():
    """So that a subscriber who was given its definition finds it."""
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    kind = "farhand_msgs/Event"
    store.register(typesys.get_types_from_msg(DEFINITIONS[kind][0], full_name(kind)))
    assert type_hash(kind, definition(kind)) == store.hash_rihs01(full_name(kind))


def test_what_is_read_from_a_message_is_what_was_written():
    """Both byte orders; a message that ends too early is refused."""
    template = Template().header("world").strings(["a", "bc"]).integer(2)
    message = bytes(template) + bytes(4) + np.array([0.5, -2.0]).tobytes()
    fields = CdrReader(message)
    assert fields.header() == "world"
    assert fields.strings() == ["a", "bc"]
    assert fields.sequence() == (0.5, -2.0)
    for cut in (2, 11, 20, len(message) - 1):
        with pytest.raises(BadValue):
            short = CdrReader(message[:cut])
            short.header(), short.strings(), short.sequence()


def test_diagnostics_are_read_by_others_as_they_were_written():
    """Levels, names and values."""
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    statuses = [(0, "leader", "well", {"age": "1.5"}), (2, "follower", "stopped", {})]
    content = diagnostics_content(1_500_000_000, statuses, "dual-arm")
    read = store.deserialize_cdr(content, "diagnostic_msgs/msg/DiagnosticArray")
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (1, 500_000_000)
    assert [(s.level, s.name, s.message) for s in read.status] == [s[:3] for s in statuses]
    assert [(v.key, v.value) for v in read.status[0].values] == [("age", "1.5")]


def test_the_service_without_a_question_has_the_hash_that_others_compute():
    """An empty question has one byte on the wire, and a field for it in the hash."""
    utils = pytest.importorskip("zenoh_ros2_sdk.utils")
    empty = "uint8 structure_needs_at_least_one_member"
    answer = "bool success\nstring message"
    assert utils.compute_service_type_hash("std_srvs/srv/Trigger", empty, answer) == TRIGGER_HASH


class Peer:
    """A node of zenoh-ros2-sdk, which others wrote."""

    def __init__(self, router: int) -> None:
        self.ros = pytest.importorskip("zenoh_ros2_sdk")
        self.at: dict[str, Any] = {"router_ip": "127.0.0.1", "router_port": router}
        self.session = self.ros.ZenohSession.get_instance(**self.at)

    def register(self, kind: str) -> None:
        """Let it know a message and all that is nested in it."""
        for name in (*_nested(kind), kind):
            self.session.register_message_type(DEFINITIONS[name][0], full_name(name))

    def hear(self, topic: str, kind: str, count: int) -> list[Any]:
        """The next messages of a topic."""
        self.register(kind)
        found: list[Any] = []
        subscriber = self.ros.ROS2Subscriber(
            topic,
            full_name(kind),
            found.append,
            DEFINITIONS[kind][0],
            type_hash=type_hash(kind, definition(kind)),
            **self.at,
        )
        wait_for(lambda: len(found) >= count)
        subscriber.close()
        return found

    def say(self, topic: str, kind: str, **fields: Any) -> None:
        """Publish one message."""
        self.register(kind)
        publisher = self.ros.ROS2Publisher(
            topic,
            full_name(kind),
            DEFINITIONS[kind][0],
            type_hash=type_hash(kind, definition(kind)),
            **self.at,
        )
        time.sleep(0.3)
        publisher.publish(**fields)
        publisher.close()

    def call(self, service: str) -> Any:
        """Call a service without a question."""
        client = self.ros.ROS2ServiceClient(
            service,
            "std_srvs/srv/Trigger",
            "uint8 structure_needs_at_least_one_member",
            "bool success\nstring message",
            type_hash=TRIGGER_HASH,
            **self.at,
        )
        answer = client.call(structure_needs_at_least_one_member=0)
        client.close()
        return answer

    def message(self, kind: str, **fields: Any) -> Any:
        """A message, for a field of another."""
        return self.session.store.types[full_name(kind)](**fields)

    def header(self, frame: str = "") -> Any:
        """A header without a time."""
        stamp = self.message("builtin_interfaces/Time", sec=0, nanosec=0)
        return self.message("std_msgs/Header", stamp=stamp, frame_id=frame)


def _nested(kind: str) -> list[str]:
    needed = DEFINITIONS[kind][1]
    return [name for one in needed for name in (*_nested(one), one)]


def wait_for(condition: Callable[[], object], timeout: float = 20.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def peer(published) -> Peer:
    """Somebody else's node on the same router."""
    return Peer(published.router)


def test_the_graph_has_every_topic_and_service(peer):
    """As ``ros2 topic list`` and ``ros2 service list`` show them."""
    discovery = pytest.importorskip("zenoh_ros2_sdk.discovery")
    topics = dict(discovery.get_topic_names_and_types(**peer.at))
    assert topics["/leader/joint_states"] == ["sensor_msgs/msg/JointState"]
    assert topics["/follower/wrench_measured_in_world"] == ["geometry_msgs/msg/WrenchStamped"]
    assert topics["/follower/pose_tool_in_world"] == ["geometry_msgs/msg/PoseStamped"]
    assert topics["/diagnostics"] == ["diagnostic_msgs/msg/DiagnosticArray"]
    assert topics["/follower/target_joints"] == ["sensor_msgs/msg/JointState"]
    services = dict(discovery.get_service_names_and_types(**peer.at))
    assert services["/farhand/stop"] == ["std_srvs/srv/Trigger"]


@pytest.mark.parametrize(
    ("topic", "kind", "value", "signal"),
    [
        ("/follower/joint_states", "sensor_msgs/JointState", "position", "q"),
        ("/follower/joint_commands", "sensor_msgs/JointState", "effort", "torque_commanded"),
    ],
)
def test_joints_are_those_of_the_session(published, peer, topic, kind, value, signal):
    """Every number that is heard is one that the session has had."""
    before = published.session.read("follower", signal)[1]
    heard = peer.hear(topic, kind, 5)
    time.sleep(0.2)
    after = published.session.read("follower", signal)[1]
    had = {tuple(row) for row in np.vstack([before, after]).tolist()}
    assert all(tuple(getattr(message, value).tolist()) in had for message in heard[:5])
    labels = published.session.signals()["follower"]["q"].labels
    assert list(heard[0].name) == labels


def test_pose_twist_wrench_frames_and_diagnostics_are_heard(published, peer):
    """Each with a time of today, and in its frame."""
    pose = peer.hear("/follower/pose_tool_in_world", "geometry_msgs/PoseStamped", 1)[0]
    _, position = published.session.latest("follower", "position_tool_in_world")
    here = pose.pose.position
    np.testing.assert_allclose([here.x, here.y, here.z], position, atol=1e-3)
    assert abs(pose.header.stamp.sec - time.time()) < 60.0
    wrench = peer.hear("/follower/wrench_measured_in_world", "geometry_msgs/WrenchStamped", 1)[0]
    assert wrench.header.frame_id == "follower/tool_point"
    peer.hear("/follower/twist_tool_in_world", "geometry_msgs/TwistStamped", 1)
    frames = {
        one.child_frame_id
        for message in peer.hear("/tf", "tf2_msgs/TFMessage", 100)
        for one in message.transforms
    }
    assert {"follower/tool", "follower/tool_point"} < frames
    bodies = {frame.partition("/")[2] for frame in frames if frame.startswith("leader/")}
    assert len(bodies - {"tool", "tool_point"}) >= 6
    told = peer.hear("/diagnostics", "diagnostic_msgs/DiagnosticArray", 1)[0]
    names = {status.name: status for status in told.status}
    assert names["coupling"].level == 0 and "calm" in names["stability"].message


def test_commands_and_targets_arrive_and_answers_come_back(published, peer):
    """Release, a target by joints, a stop with its reason, a reset."""
    assert peer.call("/farhand/release").success
    q = published.session.latest("follower", "q")[1]
    labels = published.session.signals()["follower"]["q"].labels
    wanted = q + [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]
    # in another order than the session's
    peer.register("sensor_msgs/JointState")
    peer.say(
        "/follower/target_joints",
        "sensor_msgs/JointState",
        header=peer.header(),
        name=labels[::-1],
        position=wanted[::-1].copy(),
        velocity=np.array([]),
        effort=np.array([]),
    )
    wait_for(lambda: abs(published.session.latest("follower", "q")[1][0] - wanted[0]) < 1e-3)
    peer.say("/farhand/command", "std_msgs/String", data="stop")
    wait_for(lambda: set(published.session.trips()) == {"leader", "follower"})
    refused = peer.call("/farhand/engage")
    assert not refused.success and refused.message
    assert peer.call("/farhand/reset").success
    wait_for(lambda: not published.session.trips())


def test_a_bad_target_changes_nothing_and_is_said(published, peer):
    """Unknown joints, too few numbers, another frame, no message at all."""
    before = published.session.latest("follower", "q")[1]
    lines: list[str] = []
    kind = "rcl_interfaces/Log"
    peer.register(kind)
    subscriber = peer.ros.ROS2Subscriber(
        "/rosout",
        full_name(kind),
        lambda message: lines.append(message.msg),
        DEFINITIONS[kind][0],
        type_hash=type_hash(kind, definition(kind)),
        **peer.at,
    )
    peer.register("sensor_msgs/JointState")
    nothing = np.array([])
    rest = {"header": peer.header(), "velocity": nothing, "effort": nothing}
    for name, position in ((["no_such_joint"], np.zeros(1)), ([], np.zeros(3))):
        peer.say(
            "/follower/target_joints",
            "sensor_msgs/JointState",
            name=name,
            position=position,
            **rest,
        )
    peer.say("/farhand/command", "std_msgs/String", data="set wall.stiffness=much")
    wait_for(lambda: len([line for line in lines if "refused" in line]) >= 3)
    subscriber.close()
    np.testing.assert_allclose(published.session.latest("follower", "q")[1], before, atol=1e-3)
