"""Foxglove's protocol on a WebSocket: channels, data, parameters and services."""

from __future__ import annotations

import base64
import json
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from farhand.client import start
from farhand_lab.benchmarks.publishing import Beside
from tests.publishing.conftest import CALM, FARHAND, free_port

pytest.importorskip("foxglove")

NODE_MODULES = os.environ.get("FARHAND_FOXGLOVE_CLIENT")
"""Folder with Foxglove's own client; ``make test-foxglove`` names one."""


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


@pytest.mark.skipif(NODE_MODULES is None, reason="Foxglove's own client: make test-foxglove")
def test_foxgloves_own_client_hears_every_channel_and_sets_a_parameter(published, watcher):
    """What it hears is decoded by others again, by the definitions it was given."""
    typesys = pytest.importorskip("rosbags.typesys")
    script = Path(__file__).with_name("foxglove_client.cjs")
    address = f"ws://127.0.0.1:{published.foxglove}"
    done = subprocess.run(
        ["node", str(script), address, "hand.stiffness", "900", "/farhand/engage"],
        env={**os.environ, "NODE_PATH": str(NODE_MODULES)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["channels"].keys() == watcher.channels.keys() == found["messages"].keys()
    assert found["parameters"] == [{"name": "hand.stiffness", "value": 900}]
    assert found["answer"] == {"success": True, "message": "done"}
    assert set(found["services"]) == watcher.services.keys()
    events = [e.data for e in published.session.events() if e.data.get("path") == "hand.stiffness"]
    assert events[-1]["done"] and events[-1]["value"] == 900.0
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    for topic, channel in found["channels"].items():
        if channel["encoding"] != "cdr":
            continue
        kind, data = channel["schemaName"], base64.b64decode(found["messages"][topic])
        if kind not in store.types:
            text = channel["schema"].split("=" * 80)[0]
            store.register(typesys.get_types_from_msg(text, kind))
        message = store.deserialize_cdr(data, kind)
        if topic.endswith("joint_states"):
            assert list(message.name) == published.session.signals()["leader"]["q"].labels
    assert published.session.set("hand.stiffness", 1000.0).done


def test_what_a_viewer_sends_wrongly_is_not_said_on_the_terminal(tmp_path):
    """It may send nonsense a thousand times a second."""
    port, sent = free_port(), 0
    where, said = f"ws://127.0.0.1:{port}", tmp_path / "said"
    words = ("--headless", "--clock", "wall", "--seconds", "4", "--publish", f"foxglove:{port}")
    with said.open("w") as file:
        run = subprocess.Popen([*FARHAND, "run", "dual-arm", *CALM, *words], stderr=file)
        while run.poll() is None:
            with (
                suppress(OSError, WebSocketException),
                connect(where, subprotocols=["foxglove.sdk.v1"], max_size=None) as socket,
            ):
                for _ in range(50):
                    socket.send("{}")
                    sent += 1
            time.sleep(0.3)
    assert sent >= 50 and run.returncode == 0
    assert "Invalid message" not in said.read_text()


def is_values(message: Any) -> bool:
    """Whether it tells parameters that nobody asked for."""
    return isinstance(message, dict) and message["op"] == "parameterValues" and "id" not in message


def come_and_go(line: Any, host: str, port: int) -> None:
    """Subscribe to a parameter and leave it, as fast as it goes."""
    with connect(f"ws://{host}:{port}", subprotocols=["foxglove.sdk.v1"], max_size=None) as socket:
        line.send("there")
        while True:
            for op in ("subscribeParameterUpdates", "unsubscribeParameterUpdates"):
                socket.send(json.dumps({"op": op, "parameterNames": ["hand.damping"]}))


def test_a_parameter_changed_elsewhere_is_told_while_viewers_come_and_go(published, watcher):
    """The SDK's own way stands still for good when somebody subscribes meanwhile."""
    watcher.send(op="subscribeParameterUpdates", parameterNames=["hand.stiffness"])
    others = Beside(come_and_go, published.foxglove)
    try:
        for number in range(500):
            assert published.session.set("hand.stiffness", 900.0 + number % 50).done
    finally:
        others.end()
    assert published.session.set("hand.stiffness", 1000.0).done
    last = [{"name": "hand.stiffness", "type": "float64", "value": 1000.0}]
    watcher.until(lambda m: is_values(m) and m["parameters"] == last)
    assert watcher.data("/follower/joint_states")


def set_often(line: Any, host: str, port: int) -> None:
    """Set a parameter as often as a session that takes one per tick does in half a minute."""
    wanted = [{"name": "hand.damping", "value": 41.0}]
    text = json.dumps({"op": "setParameters", "parameters": wanted})
    with connect(f"ws://{host}:{port}", subprotocols=["foxglove.sdk.v1"], max_size=None) as socket:
        line.send("there")
        for _ in range(30_000):
            socket.send(text)
        signal.pause()


def test_a_new_viewer_is_let_in_while_another_floods_and_after(tmp_path, monkeypatch):
    """Also where the SDK would start one thread, as on one core."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("TOKIO_WORKER_THREADS", "1")
    port = free_port()
    where = ("--publish", f"foxglove:{port}", "--publish-drive")
    with start("dual-arm", *CALM, *where, name="flooded", program=FARHAND) as session:
        flooding = Beside(set_often, port)
        try:
            time.sleep(1.0)
            during = time_to_be_let_in(port)
        finally:
            flooding.end()
        print(f"during {during:.3f} s, after {time_to_be_let_in(port):.3f} s")
        assert session.trips() == {}


def time_to_be_let_in(port: int) -> float:
    """How long a newcomer waits for channels and for an answer, [s]; less than 6 s."""
    begin, where = time.monotonic(), f"ws://127.0.0.1:{port}"
    spoken = ["foxglove.sdk.v1"]
    with connect(where, subprotocols=spoken, max_size=None, open_timeout=6.0) as socket:
        watcher = Watcher(socket)
        watcher.until(lambda m: "/scene" in watcher.channels, 6.0)
        watcher.send(op="getParameters", parameterNames=["hand.stiffness"], id="new")
        answer = watcher.until(lambda m: isinstance(m, dict) and m.get("id") == "new", 6.0)
        assert [one["name"] for one in answer["parameters"]] == ["hand.stiffness"]
    return time.monotonic() - begin
