"""Foxglove's protocol on a WebSocket: channels, data, parameters and services."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

pytest.importorskip("foxglove")


class Watcher:
    """A client, written from the description of the protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.channels: dict[str, dict[str, Any]] = {}
        self.services: dict[str, int] = {}

    def until(self, wanted: Callable[[Any], bool], timeout: float = 20.0) -> Any:
        """The next message that is wanted: a dictionary, or bytes."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0.0:
            message = self._socket.recv(left)
            if isinstance(message, str):
                message = json.loads(message)
                for one in message.get("channels", []) if message["op"] == "advertise" else []:
                    self.channels[one["topic"]] = one
                for one in message.get("services", []):
                    self.services[one["name"]] = one["id"]
            if wanted(message):
                return message
        raise AssertionError("it did not come in time")

    def send(self, **message: Any) -> None:
        """Send a message as JSON."""
        self._socket.send(json.dumps(message))

    def data(self, topic: str) -> bytes:
        """The next message of a topic."""
        number = self.channels[topic]["id"]
        self.send(op="subscribe", subscriptions=[{"id": 7, "channelId": number}])
        found = self.until(lambda m: isinstance(m, bytes) and m[:5] == struct.pack("<BI", 1, 7))
        self.send(op="unsubscribe", subscriptionIds=[7])
        return found[13:]

    def call(self, service: str) -> dict[str, Any]:
        """Call a service."""
        head = struct.pack("<BIII", 2, self.services[service], 1, 4)
        self._socket.send(head + b"json" + b"{}")
        answer = self.until(lambda m: isinstance(m, bytes) and m[0] == 3)
        return json.loads(answer[17:])


@pytest.fixture
def watcher(published) -> Iterator[Watcher]:
    """Somebody who has connected and knows the channels and services."""
    where = f"ws://127.0.0.1:{published.foxglove}"
    with connect(where, subprotocols=["foxglove.sdk.v1"], max_size=None) as socket:
        watcher = Watcher(socket)
        watcher.until(
            lambda m: "/scene" in watcher.channels and "/farhand/stop" in watcher.services
        )
        yield watcher


def test_every_topic_of_a_recording_is_a_channel_with_its_definition(watcher):
    """So panels made for recordings work live."""
    channel = watcher.channels["/follower/joint_states"]
    assert channel["schemaName"] == "sensor_msgs/msg/JointState"
    assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
    assert "float64[] position" in channel["schema"]


def test_messages_are_those_of_the_session(published, watcher):
    """Read by somebody else's library."""
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    before = published.session.read("follower", "q")[1].tolist()
    data = watcher.data("/follower/joint_states")
    message = store.deserialize_cdr(data, "sensor_msgs/msg/JointState")
    time.sleep(0.1)
    after = published.session.read("follower", "q")[1].tolist()
    assert message.position.tolist() in before + after


def test_the_robots_are_drawn_for_everybody_who_comes(watcher):
    """The shapes are sent on subscription, again and again."""
    for _ in range(2):
        assert len(watcher.data("/scene")) > 10_000


def test_a_parameter_is_listed_set_and_refused(published, watcher):
    """What is answered is what it is now."""
    watcher.send(op="getParameters", parameterNames=[], id="all")
    every = watcher.until(lambda m: isinstance(m, dict) and m["op"] == "parameterValues")
    values = {one["name"]: one.get("value") for one in every["parameters"]}
    assert values["hand.stiffness"] == 1000.0

    def set_to(value: Any, number: str) -> Any:
        parameters = [{"name": "hand.stiffness", "value": value}]
        watcher.send(op="setParameters", parameters=parameters, id=number)
        answer = watcher.until(lambda m: isinstance(m, dict) and m.get("id") == number)
        return answer["parameters"][0]["value"]

    assert set_to(800.0, "one") == 800.0
    done = [e.data for e in published.session.events() if e.data.get("path") == "hand.stiffness"]
    assert done and done[-1]["done"]
    assert set_to(-5.0, "two") == 800.0
    assert set_to(1000.0, "three") == 1000.0


def test_a_service_gives_a_command_and_says_what_came_of_it(published, watcher):
    """Stop, and couple while stopped."""
    assert watcher.call("/farhand/stop") == {"success": True, "message": "done"}
    assert set(published.session.trips()) == {"leader", "follower"}
    assert not watcher.call("/farhand/engage")["success"]
    assert watcher.call("/farhand/reset")["success"]
