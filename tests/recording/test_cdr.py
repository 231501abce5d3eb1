"""CDR: what is laid out for many messages at once is what the official library writes for each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from mcap_ros2._dynamic import serialize_dynamic

from farhand.recording.cdr import (
    PREFIX,
    Template,
    block,
    event_content,
    log_content,
    read_event,
    record_type,
)
from farhand.recording.definitions import DEFINITIONS, definition, full_name

STAMP = {"sec": 3, "nanosec": 250}


def official(kind: str, message: dict) -> bytes:
    """The message as the official library writes it."""
    return serialize_dynamic(full_name(kind), definition(kind))[full_name(kind)](message)


def ours(template: Template, values: dict[str, list[float]]) -> bytes:
    """The same, by a block of one message."""
    now = np.array([3_000_000_250])
    return block(
        template, 1, 0, now, now, {k: np.array([v], dtype=float) for k, v in values.items()}
    )[PREFIX:]


def xyz(values) -> dict[str, float]:
    return dict(zip("xyzw", values, strict=False))


def test_standard_messages_are_those_of_the_official_library():
    """Byte for byte: headers, strings, sequences and their alignment."""
    header = {"stamp": STAMP, "frame_id": "tool"}
    joint = {
        "header": header,
        "name": ["a", "elbow"],
        "position": [1.0, 2.0],
        "velocity": [],
        "effort": [3.0, 4.0],
    }
    template = (
        Template()
        .header("tool")
        .strings(["a", "elbow"])
        .sequence("position", 2)
        .sequence("velocity", 0)
    )
    template.sequence("effort", 2)
    assert ours(template, {"position": [1, 2], "effort": [3, 4]}) == official(
        "sensor_msgs/JointState", joint
    )
    wrench = {"header": header, "wrench": {"force": xyz([1, 2, 3]), "torque": xyz([4, 5, 6])}}
    template = Template().header("tool").numbers("value", 6)
    assert ours(template, {"value": [1, 2, 3, 4, 5, 6]}) == official(
        "geometry_msgs/WrenchStamped", wrench
    )
    pose = {
        "header": header,
        "pose": {"position": xyz([1, 2, 3]), "orientation": xyz([0, 0, 0.6, 0.8])},
    }
    template = Template().header("tool").numbers("p", 3).numbers("q", 4)
    assert ours(template, {"p": [1, 2, 3], "q": [0, 0, 0.6, 0.8]}) == official(
        "geometry_msgs/PoseStamped", pose
    )


def test_a_transform_message_is_that_of_the_official_library():
    """A sequence of messages, each with strings in the middle."""
    turned = {"translation": xyz([1, 2, 3]), "rotation": xyz([0, 0, 0, 1])}
    one = {
        "header": {"stamp": STAMP, "frame_id": "world"},
        "child_frame_id": "leader/tool",
        "transform": turned,
    }
    template = (
        Template().integer(1).header("world").string("leader/tool").numbers("t", 3).numbers("r", 4)
    )
    assert ours(template, {"t": [1, 2, 3], "r": [0, 0, 0, 1]}) == official(
        "tf2_msgs/TFMessage", {"transforms": [one]}
    )


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text(max_size=40),
    st.integers(0, 2**31 * 10**9 - 1),
)
def test_events_are_those_of_the_official_library_and_read_back(kind, text, data, t_ns):
    """Whatever the text."""
    kind, text, data = (part.encode("utf-8", "ignore").decode() for part in (kind, text, data))
    stamp = {"sec": t_ns // 10**9, "nanosec": t_ns % 10**9}
    content = event_content(t_ns, kind, text, data)
    message = {"stamp": stamp, "kind": kind, "text": text, "data": data}
    assert content == official("farhand_msgs/Event", message)
    assert read_event(content) == (kind, text, data)
    said = {
        "stamp": stamp,
        "level": 30,
        "name": kind,
        "msg": text,
        "file": "",
        "function": "",
        "line": 0,
    }
    assert log_content(t_ns, 30, kind, text) == official("rcl_interfaces/Log", said)


def test_a_block_reads_back_as_an_array():
    """Many messages at once, each with its own times, sequence number and values, to the bit."""
    template = Template().header("x").numbers("a", 2).numbers("b", 1)
    times = np.arange(5) * 1_000_000_007
    values = {"a": np.random.default_rng(0).normal(size=(5, 2)), "b": np.full((5, 1), np.nan)}
    data = block(template, 7, 40, times, times - 3, values)
    records = np.frombuffer(
        data, record_type(len(bytes(template)), template.places, template.stamps)
    )
    assert records["sequence"].tolist() == [40, 41, 42, 43, 44] and set(records["channel"]) == {7}
    np.testing.assert_array_equal(records["log_time"], times)
    np.testing.assert_array_equal(records["publish_time"].astype(np.int64), times - 3)
    np.testing.assert_array_equal(records["value:a"], values["a"])
    assert records["sec0"][2] == 2 and records["nanosec0"][2] == 11


def test_every_definition_brings_what_it_needs():
    """A viewer finds every type it meets."""
    for name in DEFINITIONS:
        text = definition(name)
        for needed in DEFINITIONS[name][1]:
            assert f"MSG: {needed}\n" in text
