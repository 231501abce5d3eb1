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


@pytest.fixture
def dataset(demo, tmp_path):
    """The demo at 50 frames per second: its info, its frames and its folder."""
    assert export_lerobot(demo, tmp_path / "d", 50, "wave").frames == 37
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


def test_every_frame_is_the_last_record_at_its_time(dataset, demo):
    """No blend of two: joint positions of both arms, wrenches and energies, as float32; also at the
    end.
    """
    info, table, _ = dataset
    times = np.concatenate([1 + 20 * np.arange(25), [499], 600 + 20 * np.arange(10), [799]])
    assert (info["total_frames"], info["total_episodes"], info["fps"]) == (len(table), 2, 50)
    for name, signal in {
        "observation.state": "follower/q",
        "action": "leader/q",
        "observation.wrench_measured_in_world": "follower/wrench_measured_in_world",
        "observation.coupling.port_energy": "coupling/port_energy",
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
    export_lerobot(demo, tmp_path / "d", fps)
    table = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    windows, counts = (
        column(table, "action.wrench_measured_in_world_window"),
        column(table, "action.window_count"),
    )
    assert windows.shape[1:] == (-(-1000 // fps), 6)
    own = [
        window[len(window) - int(count) :] for window, count in zip(windows, counts, strict=True)
    ]
    felt = demo["leader/wrench_measured_in_world"].astype(np.float32)
    np.testing.assert_array_equal(np.concatenate(own), np.concatenate([felt[1:500], felt[600:800]]))
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
    export_lerobot(replace(demo, streams={**demo.streams, "leader": gappy}), tmp_path / "d", 50)
    table = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet")
    counts = column(table, "action.window_count")
    assert counts[:10].tolist() == [1, 20, 20, 20, 20, 18, 0, 0, 0, 17]  # frames at 1, 21, 41, … ms
    assert (column(table, "observation.window_count")[1:10] == 20).all()
    window = column(table, "action.wrench_measured_in_world_window")
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
    written = export_lerobot(replace(demo, streams=streams), tmp_path / "d")
    names = pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet").column_names
    declared = json.loads((tmp_path / "d/meta/farhand.json").read_text())
    left = {
        f"action.wrench_measured_in_world{end}": "leader/wrench_measured_in_world"
        for end in ("", "_window")
    }
    assert declared["never_measured"] == left and not set(left) & set(names)
    for file, key in (("stats", None), ("info", "features")):
        said = json.loads((tmp_path / f"d/meta/{file}.json").read_text())
        assert set(said if key is None else said[key]) == set(names)
    assert written.notes == declared["notes"] and len(written.notes) == 2
    assert "left out: leader/wrench_measured_in_world" in written.notes[0]
    assert (
        "no observation.state" in written.notes[1]
        and "observation.follower_1.q" in written.notes[1]
    )


def test_a_dataset_with_all_that_policies_need_has_no_notes(demo, tmp_path):
    """Both arms, both sensors."""
    assert export_lerobot(demo, tmp_path / "d").notes == []


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
    assert declared["features"]["action.wrench_measured_in_world"] == {
        "signal": "leader/wrench_measured_in_world",
        "units": ["N"] * 3 + ["N·m"] * 3,
    }
    stats = json.loads((dataset[2] / "meta/stats.json").read_text())
    assert stats["action"]["count"] == [len(dataset[1])] and len(stats["action"]["mean"]) == 6


def test_a_recording_without_a_frame_is_refused(demo, tmp_path):
    """With what may help."""
    empty = type(demo)(demo.path, {}, [], {}, {}, True)
    with pytest.raises(Mismatch, match="no episode"):
        export_lerobot(empty, tmp_path / "d")
    assert not (tmp_path / "d").exists()
