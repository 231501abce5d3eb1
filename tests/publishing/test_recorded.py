"""What is published is what is recorded: every topic, every number, decoded by others."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

from farhand.publishing.ros2 import ros_name
from farhand.publishing.viewer import DIAGNOSTICS_TOPIC
from farhand.recording.recorder import EVENTS_TOPIC, LOG_TOPIC
from tests.publishing.conftest import CALM, FARHAND

SECONDS = 1
FRAMES = "/tf"


def test_every_message_is_in_the_recording_with_the_same_values(router, tmp_path, monkeypatch):
    """Also those of our own types. Times differ by one and the same offset."""
    zenoh, mcap = pytest.importorskip("zenoh"), pytest.importorskip("mcap.reader")
    typesys = pytest.importorskip("rosbags.typesys")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    settings = zenoh.Config()
    settings.insert_json5("mode", '"client"')
    settings.insert_json5("connect/endpoints", json.dumps([f"tcp/127.0.0.1:{router}"]))
    heard: dict[str, list[bytes]] = {}

    def take(sample):
        topic = "/" + "/".join(str(sample.key_expr).split("/")[1:-2])
        heard.setdefault(topic, []).append(sample.payload.to_bytes())

    recording = tmp_path / "run.mcap"
    options = (
        *CALM,
        "--headless",
        "--clock",
        "wall",
        "--seconds",
        str(SECONDS),
        "--publish",
        f"ros2://127.0.0.1:{router}",
    )
    with zenoh.open(settings) as session:
        session.declare_subscriber("7/**", take)
        subprocess.run(
            [*FARHAND, "run", "dual-arm", *options, "--record", str(recording)],
            check=True,
            capture_output=True,
            timeout=120,
        )

    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    recorded: dict[str, dict[int, object]] = {}
    kinds: dict[str, str] = {}
    with open(recording, "rb") as file:
        for schema, channel, message in mcap.make_reader(file).iter_messages():
            topic = ros_name(channel.topic)
            if topic not in kinds:
                kinds[topic] = schema.name
                text = schema.data.decode()
                if schema.name not in store.types:
                    store.register(typesys.get_types_from_msg(text.split("=" * 80)[0], schema.name))
            read = store.deserialize_cdr(message.data, schema.name)
            recorded.setdefault(topic, {})[stamp_of(read, message.log_time)] = read

    published = set(heard) - {DIAGNOSTICS_TOPIC, FRAMES}
    assert published == set(kinds) - {FRAMES}
    assert {kind.partition("/")[0] for kind in kinds.values()} >= {"farhand_msgs", "sensor_msgs"}
    offsets = set()
    # those that were there before anybody could listen are only in the recording
    for topic, text in ((EVENTS_TOPIC, "text"), (LOG_TOPIC, "msg")):
        read = {getattr(message, text) for message in recorded[topic].values()}
        assert (
            heard[topic]
            and {getattr(store.deserialize_cdr(data, kinds[topic]), text) for data in heard[topic]}
            <= read
        )
    for topic in published - {EVENTS_TOPIC, LOG_TOPIC}:
        messages = [store.deserialize_cdr(data, kinds[topic]) for data in heard[topic]]
        assert len(messages) >= 20
        times = np.array([stamp_of(message, 0) for message in messages])
        first = min(recorded[topic])
        offset = times[0] - first
        offsets.add(offset)
        for time_ns, message in zip(times, messages, strict=True):
            assert fields_of(message) == fields_of(recorded[topic][time_ns - offset])
    assert len(offsets) == 1


def stamp_of(message, otherwise: int) -> int:
    """Its time, [ns]."""
    header = getattr(message, "header", None)
    return otherwise if header is None else header.stamp.sec * 10**9 + header.stamp.nanosec


def fields_of(message) -> str:
    """Everything but the time, to the last bit."""
    fields = {name: value for name, value in vars(message).items() if name != "header"}
    frame = message.header.frame_id if hasattr(message, "header") else ""
    with np.printoptions(floatmode="unique", threshold=10_000):
        return f"{frame} {fields}"
