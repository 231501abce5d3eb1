"""Demonstrations: cut from recordings at their marks, without the time in which nobody moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue, FileError, UnknownName
from farhand.learning.demonstration import PATH, _moving, _positions, demonstrations_in, spans
from farhand.recording.loader import RecordedEvent, Recording, StreamData

MEASURED, SYNTHETIC = "wrench_measured_in_world", "force_synthetic_in_world"


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


def test_stillness_is_a_twentieth_of_the_largest_speed_and_a_millimetre_per_second():
    """What is slower before and after does not count; samples keep their own times from zero on."""
    times = 1e-3 * np.arange(4000)
    for slow, counts in ((0.04, False), (0.06, True)):
        speed = np.select([times < 1.0, times < 3.0], [slow, 1.0], slow)
        x = np.cumsum(speed) * 1e-3
        kept = _moving(times, np.stack([0 * x, x, 0 * x], axis=1))
        expected = slice(0, 4000) if counts else slice(999, 3001)
        assert abs(kept.start - expected.start) <= 2 and abs(kept.stop - expected.stop) <= 2
        assert kept.stop <= 4000
    crawling = np.stack([9e-4 * times, 0 * times, 0 * times], axis=1)
    assert _moving(times, crawling) == slice(0, 1)
    assert _moving(times, 1.2 * crawling) == slice(0, 4000)
    (one,) = demonstrations_in(recording([]))
    assert one.times[0] == 0.0 and np.allclose(np.diff(one.times), 1e-3)
    assert abs(len(one.times) - 2001) <= 2 and len(one.position) == len(one.times)
    np.testing.assert_allclose(one.rotation[0], np.eye(3), atol=1e-12)


def test_half_a_second_is_the_shortest_demonstration():
    """Between its marks, and of what moves in it."""
    assert demonstrations_in(recording([(1.2, True), (1.71, False)]))
    with pytest.raises(BadValue, match="shorter than 0.5 s"):
        demonstrations_in(recording([(1.2, True), (1.69, False)]))
    assert demonstrations_in(recording([(0.0, True), (1.51, False)]))
    with pytest.raises(BadValue, match="does not move"):
        demonstrations_in(recording([(0.0, True), (1.49, False)]))
    with pytest.raises(BadValue, match="no demonstration"):
        demonstrations_in(recording([(1.0, False)]))


def forced(follower: dict[str, float | None], leader: dict[str, float | None]) -> Recording:
    """A recording whose stations have these forces; None is a channel of gaps."""
    whole = recording([])
    stream = whole.streams["follower"]
    streams = {}
    for name, forces in (("follower", follower), ("leader", leader)):
        channels = {k: v for k, v in stream.channels.items() if "wrench" not in k}
        for channel, value in forces.items():
            channels[channel] = np.full((4000, 6), np.nan if value is None else value)
        streams[name] = replace(stream, channels=channels)
    return replace(whole, streams=streams)


@pytest.mark.parametrize(
    ("follower", "leader", "value", "kind"),
    [
        ({MEASURED: 1.0, SYNTHETIC: 2.0}, {SYNTHETIC: 3.0}, 1.0, "measured"),
        ({MEASURED: None, SYNTHETIC: 2.0}, {}, 2.0, "synthetic"),
        ({MEASURED: None}, {MEASURED: 4.0, SYNTHETIC: 3.0}, 3.0, "synthetic"),
        ({}, {MEASURED: 4.0}, np.nan, "none"),
        ({SYNTHETIC: None}, {}, np.nan, "none"),
    ],
)
def test_the_best_force_there_is_counts(follower, leader, value, kind):
    """Measured at the tool, else synthetic, also that of the hand; never measured at the hand."""
    (one,) = demonstrations_in(forced(follower, leader))
    assert one.force_kind == kind and one.force.shape == (len(one.times), 3)
    np.testing.assert_array_equal(one.force, value)


def test_a_force_of_another_length_or_only_of_torques_is_none():
    """A hand at another rate, and a sensor whose forces fail."""
    whole = forced({}, {SYNTHETIC: 3.0})
    short = replace(whole.streams["leader"], channels={SYNTHETIC: np.ones((2000, 6))})
    (one,) = demonstrations_in(replace(whole, streams={**whole.streams, "leader": short}))
    assert one.force_kind == "none"
    half = forced({MEASURED: 1.0}, {})
    half.streams["follower"].channels[MEASURED][:, :3] = np.nan
    assert demonstrations_in(half)[0].force_kind == "none"


def test_a_recording_of_one_mark_ends_with_its_last_stream():
    """Whatever a refused command said; streams may end at different times."""
    whole = recording([(1.0, True)])
    short = StreamData(1.0, np.array([5]), np.array([5]), {}, {}, {})
    none = StreamData(1.0, np.zeros(0), np.zeros(0), {}, {}, {})
    both = replace(whole, streams={"other": short, "none": none, **whole.streams})
    assert spans(both) == [(1_000_000_000, 3_999_000_000)]
    refused = replace(whole.happened[0], data={**whole.happened[0].data, "outcome": "refused: no"})
    assert spans(replace(both, happened=[refused])) == [(0, 3_999_000_000)]
    assert spans(replace(both, streams={"none": none}, happened=[])) == []
    empty = replace(both, streams={"none": none})
    assert spans(empty) == []


def test_servos_that_stand_are_placed_once():
    """Wherever the sent positions change the place does; a change of any one counts."""
    xml = b"""<mujoco model="toy"><worldbody><body><joint name="a" type="slide" axis="1 0 0"/>
    <joint name="b" type="slide" axis="0 1 0"/><geom size="0.01" mass="1"/><site name="tool"/></body></worldbody></mujoco>"""
    whole = recording([])
    stream = whole.streams["follower"]
    t = 1e-3 * np.arange(4000)
    sent = np.stack([0.1 * np.floor(20.0 * t) / 20.0, np.where(t > 2.0, 0.3, 0.0)], axis=1)
    position = np.tile([5.0, 6.0, 7.0], (4000, 1))
    channels = {
        **stream.channels,
        "q_sent": sent,
        "q": sent + 0.01,
        "position_tool_in_world": position,
    }
    moved = replace(
        whole, streams={"follower": replace(stream, channels=channels)}, files={"follower.xml": xml}
    )
    found = _positions(moved, "follower", np.arange(100, 4000))
    expected = np.column_stack([sent[100:], np.zeros(3900)]) + [5.0, 6.0, 7.0]
    np.testing.assert_allclose(found, expected - [*(sent[100] + 0.01), 0.0], atol=1e-9)


def test_the_robot_is_named_by_its_model_and_joints():
    """From the labels, else from the model in the file; a file that is no model is refused."""
    whole = recording([])
    bare = replace(whole.streams["follower"], labels={})
    xml = b'<mujoco model="m"><joint name="x"/><joint/></mujoco>'
    found = demonstrations_in(
        replace(whole, streams={"follower": bare}, files={"follower.xml": xml})
    )
    assert found[0].robot.joints == ("x", "") and found[0].robot.model == "m"
    none = demonstrations_in(replace(whole, files={}))
    assert none[0].robot.model == "unnamed" and none[0].robot.joints == ("a", "b")
    with pytest.raises(FileError, match="not XML"):
        demonstrations_in(replace(whole, files={"follower.xml": b"<"}))
