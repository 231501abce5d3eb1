"""Demonstrations: cut from recordings at their marks, without the time in which nobody moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue, FileError, UnknownName
from farhand.learning.demonstration import PATH, demonstrations_in, spans
from farhand.recording.loader import RecordedEvent, Recording, StreamData


def recording(
    marks: list[tuple[float, bool]], complete: bool = True, still: bool = False
) -> Recording:
    """Four seconds at 1 kHz; the tool moves along x from 1 s to 3 s, and feels nothing before
    2 s.
    """
    times = np.arange(4000)
    x = np.zeros(4000) if still else np.clip(times * 1e-3 - 1.0, 0.0, 2.0) * 0.1
    wrench = np.full((4000, 6), np.nan)
    wrench[2000:] = 1.0
    channels = {
        "position_tool_in_world": np.stack([x, 0 * x, 0 * x], axis=1),
        "quaternion_tool_in_world": np.tile([0.0, 0.0, 0.0, 1.0], (4000, 1)),
        "wrench_measured_in_world": wrench,
    }
    stream = StreamData(
        1000.0, times * 1_000_000, times * 1_000_000, channels, {}, {"q": ("a", "b")}
    )
    said = [
        RecordedEvent(
            round(t * 1e9), "command", "", {"name": "set", "path": PATH, "value": str(on).lower()}
        )
        for t, on in marks
    ]
    files = {"follower.xml": b'<mujoco model="toy"/>'}
    return Recording(
        Path("f.mcap"), {"follower": stream}, said, {"rig": "toy-rig"}, files, complete
    )


def test_without_marks_the_whole_run_counts_less_the_stillness():
    """From the first to the last movement."""
    (one,) = demonstrations_in(recording([]))
    assert (
        abs(one.duration - 2.0) < 0.01 and one.position[0, 0] < 1e-3 and one.position[-1, 0] > 0.199
    )
    assert (one.robot.model, one.robot.joints, one.robot.rig) == ("toy", ("a", "b"), "toy-rig")
    assert np.isnan(one.force[0]).all() and one.force_kind == "measured"


def test_marks_cut_several_demonstrations():
    """A button pressed twice begins and ends one; one that is not ended goes to the end."""
    found = spans(
        recording([(1.0, True), (1.8, False), (2.0, True), (2.1, True), (2.9, False), (3.0, True)])
    )
    assert [(a / 1e9, b / 1e9) for a, b in found] == [(1.0, 1.8), (2.0, 2.9), (3.0, 3.999)]
    assert (
        len(demonstrations_in(recording([(1.0, True), (1.8, False), (2.0, True), (2.9, False)])))
        == 2
    )


def test_a_run_that_broke_off_is_refused_unless_its_demonstration_was_over():
    """Half a demonstration teaches half a skill."""
    with pytest.raises(FileError, match="f.mcap ends before its demonstration"):
        demonstrations_in(recording([(1.0, True)], complete=False))
    assert demonstrations_in(recording([(1.0, True), (2.5, False)], complete=False))


def test_what_shows_nothing_is_refused():
    """A tool that stands, a station that is not there, a press too short, poses that are no
    numbers.
    """
    with pytest.raises(BadValue, match="does not move"):
        demonstrations_in(recording([], still=True))
    with pytest.raises(UnknownName, match="unknown station 'arm'; available: follower"):
        demonstrations_in(recording([]), "arm")
    with pytest.raises(BadValue, match="shorter than 0.5 s"):
        demonstrations_in(recording([(1.0, True), (1.1, False)]))
    whole = recording([])
    channels = {
        **whole.streams["follower"].channels,
        "quaternion_tool_in_world": np.full((4000, 4), np.nan),
    }
    spoilt = replace(
        whole, streams={"follower": replace(whole.streams["follower"], channels=channels)}
    )
    with pytest.raises(BadValue, match="not numbers"):
        demonstrations_in(spoilt)


def test_servos_are_believed_to_be_where_they_were_sent():
    """A recording with what was sent and a model: the place comes from both, not from what the
    sensor says.
    """
    xml = b"""<mujoco model="toy"><worldbody><body name="b"><joint name="a" type="slide" axis="1 0 0"/>
    <geom size="0.01" mass="1"/><site name="tool"/></body></worldbody></mujoco>"""
    whole = recording([])
    stream = whole.streams["follower"]
    x = stream.channels["position_tool_in_world"][:, :1]
    wrong = stream.channels["position_tool_in_world"] + np.array([0.5, 0.2, 0.0])
    channels = {**stream.channels, "q_sent": x, "q": x * 1.1, "position_tool_in_world": wrong}
    spoilt = replace(
        whole, streams={"follower": replace(stream, channels=channels)}, files={"follower.xml": xml}
    )
    (one,) = demonstrations_in(spoilt)
    assert abs(np.ptp(one.position[:, 0]) - 0.2) < 1e-3 and abs(one.position[0, 0] - 0.5) < 1e-3


def test_only_stations_with_a_tool_are_offered():
    """A coupling has a stream as well, but nothing that could be taught."""
    whole = recording([])
    coupling = StreamData(1000.0, np.arange(5), np.arange(5), {"error": np.zeros((5, 6))}, {}, {})
    with_coupling = replace(whole, streams={**whole.streams, "coupling": coupling})
    with pytest.raises(UnknownName, match="unknown station 'coupling'; available: follower$"):
        demonstrations_in(with_coupling, "coupling")


def test_a_demonstration_that_is_on_from_the_start_begins_there():
    """Set before the run, ended by a command; its value stands among the parameters."""
    began = {"rig": "toy-rig", "parameters": [{"path": PATH, "value": True}]}
    assert spans(replace(recording([(2.5, False)]), metadata=began)) == [(0, 2_500_000_000)]
    assert spans(replace(recording([(1.5, False), (2.0, True)]), metadata=began)) == [
        (0, 1_500_000_000),
        (2_000_000_000, 3_999_000_000),
    ]
    off = {"rig": "toy-rig", "parameters": [{"path": PATH, "value": False}]}
    assert spans(replace(recording([(2.5, False)]), metadata=off)) == []
    with pytest.raises(FileError, match="ends before"):
        spans(replace(recording([(1.0, False), (2.0, True)], complete=False), metadata=began))
