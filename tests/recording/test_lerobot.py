"""The LeRobot dataset: frames equal the recording within the declared resampling, and no wrench is
lost on the way.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

from farhand.errors import Mismatch
from farhand.recording.lerobot import episode_spans, export_lerobot
from farhand.recording.loader import RecordedEvent


@pytest.fixture
def dataset(demo, tmp_path):
    """The demo at 50 frames per second: its info, its frames and its folder."""
    assert export_lerobot([demo], tmp_path / "d", 50, "wave").frames == 37
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    return (
        info,
        pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet"),
        tmp_path / "d",
    )


def column(table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


def test_an_episode_is_one_engagement(demo):
    """Coupled from the start until the release has faded out, and again from the second engagement
    to the end.
    """
    spans = episode_spans(demo, "engaged")
    assert [(round(a * 1e-6), round(b * 1e-6)) for a, b in spans] == [(1, 499), (600, 799)]
    assert episode_spans(demo, "whole") == [(0, 799_000_000)]


def test_a_marked_episode_is_one_demonstration(demo, tmp_path):
    """From ``demonstration.active`` to its end, whatever the coupling does; the last one to the
    end of the recording.
    """
    marks = [(100, True), (250, False), (500, True)]
    given = {"path": "demonstration.active", "outcome": "done"}
    events = [
        RecordedEvent(ms * 1_000_000, "command", "", {**given, "value": value})
        for ms, value in marks
    ]
    marked = replace(demo, happened=[*demo.happened, *events])
    expected = [(100_000_000, 250_000_000), (500_000_000, 799_000_000)]
    assert episode_spans(marked, "marked") == expected
    export_lerobot([marked], tmp_path / "d", 50, episodes="marked")
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    assert (info["total_episodes"], info["total_frames"]) == (2, 9 + 16)


def test_every_frame_is_the_last_record_at_its_time(dataset, demo):
    """No blend of two: joint positions of both arms, wrenches and energies, as float32; also at the
    end.
    """
    info, table, _ = dataset
    times = np.concatenate([1 + 20 * np.arange(25), [498], 600 + 20 * np.arange(10), [799]])
    assert (info["total_frames"], info["total_episodes"], info["fps"]) == (len(table), 2, 50)
    for name, signal in {
        "signals.follower.q": "follower/q",
        "signals.leader.q": "leader/q",
        "signals.follower.wrench_measured_in_world": "follower/wrench_measured_in_world",
        "signals.coupling.port_energy": "coupling/port_energy",
    }.items():
        frames = column(table, name)
        np.testing.assert_array_equal(frames, demo[signal][times].astype(np.float32))
        assert (
            info["features"][name]["shape"] == [frames.shape[1]]
            and info["features"][name]["dtype"] == "float32"
        )


@pytest.mark.parametrize("fps", [50, 30, 24, 60, 333])
def test_windows_hold_every_wrench_of_an_episode_once(demo, tmp_path, fps):
    """Put one after the other they are the full-rate signal, whether or not the frame rate divides
    that of records.
    """
    export_lerobot([demo], tmp_path / "d", fps)
    table = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    windows, counts = (
        column(table, "signals.leader.wrench_measured_in_world_window"),
        column(table, "signals.leader.window_count"),
    )
    assert windows.shape[1:] == (-(-1000 // fps) * 6,)
    windows = windows.reshape(len(windows), -1, 6)
    own = [
        window[len(window) - int(count) :] for window, count in zip(windows, counts, strict=True)
    ]
    felt = demo["leader/wrench_measured_in_world"].astype(np.float32)
    np.testing.assert_array_equal(np.concatenate(own), np.concatenate([felt[1:499], felt[600:800]]))
    for window, count in zip(windows, counts, strict=True):
        # padded with its oldest
        assert (window[: len(window) - int(count)] == window[len(window) - int(count)]).all()


def test_windows_do_not_reach_back_over_a_gap(demo, tmp_path):
    """A frame to which nothing new came says so; the next has only what came since."""
    leader = demo.streams["leader"]
    kept = np.r_[0:100, 165:800]
    channels = {name: values[kept] for name, values in leader.channels.items()}
    gappy = replace(
        leader, times_ns=leader.times_ns[kept], device_ns=leader.device_ns[kept], channels=channels
    )
    export_lerobot([replace(demo, streams={**demo.streams, "leader": gappy})], tmp_path / "d", 50)
    table = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    counts = column(table, "signals.leader.window_count")
    assert counts[:10].tolist() == [1, 20, 20, 20, 20, 18, 0, 0, 0, 17]  # frames at 1, 21, 41, … ms
    assert (column(table, "signals.follower.window_count")[1:10] == 20).all()
    window = column(table, "signals.leader.wrench_measured_in_world_window")
    window = window.reshape(len(window), -1, 6)
    felt = demo["leader/wrench_measured_in_world"].astype(np.float32)
    assert (window[7] == felt[99]).all() and (window[9][:3] == felt[165]).all()


def test_what_was_never_measured_is_left_out_and_named(demo, tmp_path):
    """No column of nothing with statistics of zero; and a dataset without joints of a follower says
    so.
    """
    streams = {"leader": demo.streams["leader"], "follower_1": demo.streams["follower"]}
    wrench = np.full_like(streams["leader"].channels["wrench_measured_in_world"], np.nan)
    channels = {**streams["leader"].channels, "wrench_measured_in_world": wrench}
    streams["leader"] = replace(streams["leader"], channels=channels)
    written = export_lerobot([replace(demo, streams=streams)], tmp_path / "d")
    names = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet").column_names
    declared = json.loads((tmp_path / "d/meta/farhand.json").read_text())
    left = {
        f"signals.leader.wrench_measured_in_world{end}": "leader/wrench_measured_in_world"
        for end in ("", "_window")
    }
    assert declared["never_measured"] == left and not set(left) & set(names)
    for file, key in (("stats", None), ("info", "features")):
        said = json.loads((tmp_path / f"d/meta/{file}.json").read_text())
        assert set(said if key is None else said[key]) == set(names)
    assert written.notes == declared["notes"] and len(written.notes) == 2
    assert "left out: leader/wrench_measured_in_world" in written.notes[0]
    assert "no observation.state" in written.notes[1] and "signals.follower_1.q" in written.notes[1]


def test_a_dataset_with_all_that_policies_need_has_no_notes(demo, tmp_path):
    """Both arms, both sensors."""
    assert export_lerobot([demo], tmp_path / "d").notes == []


def test_holes_of_a_recording_are_said(demo, tmp_path):
    """A recorder that did not get the processor lost records; a frame there is an old one."""
    first = demo.happened[0]
    lost = replace(first, kind="lost", text="lost 65 records of stream leader")
    (note,) = export_lerobot([replace(demo, happened=[*demo.happened, lost])], tmp_path / "d").notes
    assert note.startswith(demo.path.name) and "lost 65 records of stream leader" in note


def test_indexes_count_frames_within_episodes(dataset):
    """As LeRobot expects them."""
    _, table, folder = dataset
    episode, frame = column(table, "episode_index"), column(table, "frame_index")
    assert column(table, "index").tolist() == list(range(len(table)))
    np.testing.assert_allclose(column(table, "timestamp"), frame / 50, atol=1e-6)
    episodes = pyarrow.parquet.read_table(
        folder / "meta/episodes/chunk-000/file-000.parquet"
    ).to_pylist()
    assert [e["length"] for e in episodes] == [int((episode == k).sum()) for k in (0, 1)]
    assert episodes[1]["dataset_from_index"] == episodes[0]["dataset_to_index"] and episodes[0][
        "tasks"
    ] == ["wave"]


def test_the_resampling_and_the_units_are_declared(dataset):
    """Beside the data, in words and numbers."""
    declared = json.loads((dataset[2] / "meta/farhand.json").read_text())
    assert "zero-order hold" in declared["resampling"]
    assert declared["rates"] == {
        "leader": 1000.0,
        "follower": 1000.0,
        "coupling": 1000.0,
        "frames": 50,
    }
    assert declared["features"]["signals.leader.wrench_measured_in_world"] == {
        "signal": "leader/wrench_measured_in_world",
        "units": ["N"] * 3 + ["N·m"] * 3,
    }
    stats = json.loads((dataset[2] / "meta/stats.json").read_text())
    assert stats["action"]["count"] == [len(dataset[1])] and len(stats["action"]["mean"]) == 9


def test_state_and_action_are_what_the_plug_in_gives(dataset, demo):
    """Joints, tool and force of the follower; where the leader wants its tool, if it leads."""
    info, table, _ = dataset
    names = info["features"]["observation.state"]["names"]
    state, action = column(table, "observation.state"), column(table, "action")
    rows = np.array([1, 21, 41])
    follower = demo.streams["follower"].channels
    for channel, end in (("q", "pos"), ("v", "vel"), ("torque_commanded", "torque")):
        joints = [f"{joint}.{end}" for joint in demo.streams["follower"].labels["q"]]
        found = state[:3, [names.index(name) for name in joints]]
        np.testing.assert_array_equal(found, follower[channel][rows].astype(np.float32))
    assert info["features"]["action"]["names"][:4] == [
        "tool.x.pos",
        "tool.y.pos",
        "tool.z.pos",
        "tool.xx.pos",
    ]
    error = demo["coupling/error"][rows]
    wanted = follower["position_tool_in_world"][rows] + error[:, :3]
    np.testing.assert_allclose(action[:3, :3], wanted, atol=1e-6)
    # the last frame of the first episode still is the leader's wish
    last = column(table, "episode_index").tolist().index(1) - 1
    wanted = follower["position_tool_in_world"][498] + demo["coupling/error"][498, :3]
    np.testing.assert_allclose(action[last, :3], wanted, atol=1e-6)
    axes = action[:, 3:].reshape(-1, 2, 3)
    np.testing.assert_allclose(
        axes @ axes.transpose(0, 2, 1), np.eye(2)[None] + 0 * axes[:, :, :2], atol=1e-5
    )
    environment = info["features"]["observation.environment_state"]["names"]
    assert environment == names[-15:] and environment[-6:] == [
        f"tool.{one}" for one in ("fx", "fy", "fz", "tx", "ty", "tz")
    ]


def test_a_policy_sees_nothing_but_state_environment_and_action(dataset):
    """LeRobot takes whatever begins with observation or action for theirs; and only vectors."""
    info, table, _ = dataset
    seen = {name for name in table.column_names if name.startswith(("observation", "action"))}
    assert seen == {"observation.state", "observation.environment_state", "action"}
    assert all(len(one["shape"]) == 1 for one in info["features"].values())


def test_several_recordings_make_one_dataset(demo, tmp_path):
    """Their episodes follow each other, each with its own statistics; less can be asked for."""
    export_lerobot([demo, demo], tmp_path / "d", 50, forces=False, signals=False)
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    assert (info["total_episodes"], info["total_frames"]) == (4, 74)
    assert not any(name.startswith("signals") for name in info["features"])
    assert all(
        name.endswith((".pos", ".vel")) for name in info["features"]["observation.state"]["names"]
    )
    episodes = pyarrow.parquet.read_table(tmp_path / "d/meta/episodes/chunk-000/file-000.parquet")
    means = column(episodes, "stats/action/mean")
    table = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    own = column(table, "action")[column(table, "episode_index") == 2]
    np.testing.assert_allclose(means[2], own.mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(means[0], means[2])
    np.testing.assert_allclose(
        column(episodes, "stats/action/q50")[2], np.median(own, axis=0), atol=1e-6
    )


def test_a_recording_without_a_frame_is_refused(demo, tmp_path):
    """With what may help."""
    empty = type(demo)(demo.path, {}, [], {}, {}, True)
    with pytest.raises(Mismatch, match="no episode"):
        export_lerobot([empty], tmp_path / "d")
    assert not (tmp_path / "d").exists()
