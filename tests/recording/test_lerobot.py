"""The LeRobot dataset: frames equal the recording within the declared resampling, and no wrench is lost on the way."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet
import pytest

from farhand.errors import Mismatch
from farhand.recording.lerobot import episode_spans, export_lerobot


@pytest.fixture
def dataset(demo, tmp_path):
    """The demo at 50 frames per second: its info, its frames and its folder."""
    assert export_lerobot(demo, tmp_path / "d", 50, "wave") == 35
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    return info, pyarrow.parquet.read_table(tmp_path / "d/data/chunk-000/file-000.parquet"), tmp_path / "d"


def column(table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


def test_an_episode_is_one_engagement(demo):
    """Coupled from the start until the release has faded out, and again from the second engagement to the end."""
    spans = episode_spans(demo, "engaged")
    assert [(round(a * 1e-6), round(b * 1e-6)) for a, b in spans] == [(1, 499), (600, 799)]
    assert episode_spans(demo, "whole") == [(0, 799_000_000)]


def test_every_frame_is_the_last_record_at_its_time(dataset, demo):
    """No blend of two: joint positions of both arms, wrenches and energies, as float32."""
    info, table, _ = dataset
    times = np.concatenate([1 + 20 * np.arange(25), 600 + 20 * np.arange(10)])
    assert (info["total_frames"], info["total_episodes"], info["fps"]) == (len(table), 2, 50)
    for name, signal in {
        "observation.state": "follower/q",
        "action": "leader/q",
        "observation.wrench_measured_in_world": "follower/wrench_measured_in_world",
        "observation.coupling.port_energy": "coupling/port_energy",
    }.items():
        frames = column(table, name)
        np.testing.assert_array_equal(frames, demo[signal][times].astype(np.float32))
        assert info["features"][name]["shape"] == [frames.shape[1]] and info["features"][name]["dtype"] == "float32"


def test_windows_hold_every_wrench_between_two_frames(dataset, demo):
    """Put one after the other they are the full-rate signal."""
    _, table, _ = dataset
    windows = column(table, "action.wrench_measured_in_world_window")
    assert windows.shape[1:] == (20, 6)
    flat = windows[1:25].reshape(-1, 6)
    np.testing.assert_array_equal(flat, demo["leader/wrench_measured_in_world"][2 : 2 + len(flat)].astype(np.float32))


def test_indexes_count_frames_within_episodes(dataset):
    """As LeRobot expects them."""
    _, table, folder = dataset
    episode, frame = column(table, "episode_index"), column(table, "frame_index")
    assert column(table, "index").tolist() == list(range(len(table)))
    np.testing.assert_allclose(column(table, "timestamp"), frame / 50, atol=1e-6)
    episodes = pyarrow.parquet.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [e["length"] for e in episodes] == [int((episode == k).sum()) for k in (0, 1)]
    assert episodes[1]["dataset_from_index"] == episodes[0]["dataset_to_index"] and episodes[0]["tasks"] == ["wave"]


def test_the_resampling_and_the_units_are_declared(dataset):
    """Beside the data, in words and numbers."""
    declared = json.loads((dataset[2] / "meta/farhand.json").read_text())
    assert "zero-order hold" in declared["resampling"]
    assert declared["rates"] == {"leader": 1000.0, "follower": 1000.0, "coupling": 1000.0, "frames": 50}
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
