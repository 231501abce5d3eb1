"""Export: tables at every stream's own rate, with the unit in each column's name."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

from farhand.errors import FileError
from farhand.recording.export import component_units, export_csv, export_parquet


def test_parquet_and_csv_hold_the_same_numbers_to_the_bit(demo, tmp_path):
    """And both have the times, the events and the set-up."""
    names = [path.name for path in export_parquet(demo, tmp_path / "p")]
    assert names == [
        "about.json",
        "coupling.parquet",
        "events.parquet",
        "follower.parquet",
        "leader.parquet",
    ]
    export_csv(demo, tmp_path / "c")
    table = pyarrow.parquet.read_table(tmp_path / "p" / "follower.parquet")
    with open(tmp_path / "c" / "follower.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.column_names == list(rows[0])
    assert {
        "time [ns]",
        "device_time [ns]",
        "q.elbow_joint [rad]",
        "wrench_measured_in_world.tz [N·m]",
    } <= set(rows[0])
    force = table["wrench_measured_in_world.fx [N]"].to_numpy()
    np.testing.assert_array_equal(force, demo["follower/wrench_measured_in_world"][:, 0])
    assert [float(row["wrench_measured_in_world.fx [N]"]) for row in rows] == force.tolist()
    late = table["time [ns]"].to_numpy() - table["device_time [ns]"].to_numpy()
    assert late[-1] == 3_000_000 and late[0] == 0
    events = pyarrow.parquet.read_table(tmp_path / "p" / "events.parquet").to_pylist()
    assert (
        json.loads(next(e["data"] for e in events if e["text"].startswith("hand.drag is")))["tick"]
        == 700
    )
    assert json.loads((tmp_path / "c" / "about.json").read_text())["options"]["scenario"] == "free"


def test_an_empty_folder_behind_a_link_is_filled_and_the_link_stays(demo, tmp_path):
    """As a disk elsewhere is often named."""
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")
    assert "leader.csv" in [path.name for path in export_csv(demo, tmp_path / "link")]
    assert (tmp_path / "link").is_symlink() and (tmp_path / "far" / "leader.csv").exists()


def test_every_stream_has_a_file_of_its_own(demo, tmp_path):
    """Though no file name has a stroke in it, and one stream is named as the events are."""
    streams = {name: demo.streams["leader"] for name in ("a/b", "a-b", "a-b-2", "events")}
    names = {path.stem for path in export_csv(replace(demo, streams=streams), tmp_path / "c")}
    assert names == {"a-b", "a-b-2", "a-b-2-2", "events", "events-2", "about"}


def test_a_folder_with_something_in_it_is_left_alone(demo, tmp_path):
    """Nothing is overwritten, and a failed export leaves nothing behind."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("x")
    for folder in (tmp_path / "full", tmp_path / "full" / "precious"):
        with pytest.raises(FileError, match="not an empty folder"):
            export_csv(demo, folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "precious"]


def test_units_of_mixed_channels_are_told_apart():
    """Linear parts first."""
    assert component_units("N, N·m", 6) == ["N"] * 3 + ["N·m"] * 3
    assert component_units("rad", 2) == ["rad", "rad"] and component_units("index of a, b", 1) == [
        "index"
    ]
    assert component_units("m ×2, rad, N ×2", 5) == ["m", "m", "rad", "N", "N"]
    assert component_units("m, m, rad", 3) == ["m", "m", "rad"] and component_units("m, N", 2) == [
        "m",
        "N",
    ]


def test_a_pose_has_three_metres_and_a_quaternion_and_every_wrench_its_own_half():
    """Four arms' wrenches side by side are four times three and three; a covariance has blocks."""
    assert component_units("m, -", 7) == ["m"] * 3 + ["-"] * 4
    assert component_units("N, N·m", 24) == (["N"] * 3 + ["N·m"] * 3) * 4
    blocks = np.reshape(component_units("N², N²·m, N²·m²", 36), (6, 6))
    assert set(blocks[:3, :3].flat) == {"N²"} and set(blocks[3:, 3:].flat) == {"N²·m²"}
    assert set(blocks[:3, 3:].flat) == set(blocks[3:, :3].flat) == {"N²·m"}
