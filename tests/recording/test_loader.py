"""The loader: a recording comes back to the bit, and a damaged one is refused on one line."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.writer import Writer

import farhand
from farhand.errors import BadValue, FileError, UnknownName
from farhand.recording.loader import load
from farhand.recording.recorder import Recorder

HEADER: dict[str, Any] = {
    "streams": {
        "leader": {
            "rate": 1000.0,
            "channels": [
                {"name": "q", "unit": "rad", "size": 2, "labels": ["shoulder", "elbow"]},
                {"name": "null", "unit": "N·m", "size": 1, "labels": []},
            ],
        },
        "silent": {
            "rate": 25.0,
            "channels": [{"name": "q", "unit": "rad", "size": 3, "labels": []}],
        },
    },
    "description": {"rig": "dual-arm", "seed": 7, "gains": [1.5, 2], "law": None},
}


@pytest.fixture
def recorded(tmp_path) -> Path:
    """A recording of 100 records and two events."""
    path = tmp_path / "run.mcap"
    with Recorder(path, HEADER) as recorder:
        rows = np.random.default_rng(1).normal(size=(100, 3))
        recorder.write("leader", np.arange(100) * 1_000_000, rows)
        recorder.event(3_000_000, "clutch", "command", {"kind": "command", "tick": 3})
        recorder.event(1_000_000, "trip: 30 N·m")
    return path


def bits(values) -> list[bytes]:
    """The bit patterns, so that −0 differs from 0."""
    return [np.float64(value).tobytes() for value in values]


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3), st.integers(0, 2**63 - 1))
def test_numbers_and_times_come_back_to_the_bit(row: list[float], t_ns: int) -> None:
    """Subnormals, −0 and the infinities included."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.mcap"
        with Recorder(path, HEADER) as recorder:
            recorder.write("leader", [t_ns], np.array([row]))
        leader = load(path).streams["leader"]
    assert bits([*leader.channels["q"][0], *leader.channels["null"][0]]) == bits(row)
    assert leader.times_ns.tolist() == [t_ns]


def test_no_value_comes_back_as_no_value(tmp_path) -> None:
    """NaN stays NaN, which is not zero."""
    path = tmp_path / "run.mcap"
    with Recorder(path, HEADER) as recorder:
        recorder.write("leader", [0, 1], np.array([[np.nan, 0.0, np.nan], [1, 2, 3]]))
    leader = load(path).streams["leader"]
    np.testing.assert_array_equal(leader.channels["q"], [[np.nan, 0], [1, 2]])
    np.testing.assert_array_equal(leader.channels["null"], [[np.nan], [3]])


def test_a_recording_carries_units_labels_rates_and_the_description(recorded) -> None:
    """Everything the run declared is in the file."""
    recording = load(recorded)
    leader = recording.streams["leader"]
    assert leader.units == {"q": "rad", "null": "N·m"}
    assert leader.labels == {"q": ("shoulder", "elbow"), "null": ()}
    assert leader.rate == 1000.0
    end = {"lost": {"leader": 0, "silent": 0}, "time_ns": 99_000_000, "ended": "in order"}
    assert recording.metadata == HEADER["description"] | end
    assert (
        recording.happened[1].data == {"kind": "command", "tick": 3}
        and recording.happened[1].kind == "command"
    )
    assert recording.units == {"leader/q": "rad", "leader/null": "N·m", "silent/q": "rad"}
    assert recording.duration == pytest.approx(0.099)
    assert recording.events == [(1_000_000, "trip: 30 N·m"), (3_000_000, "clutch")]
    assert leader.times[3] == 0.003


def test_a_stream_without_records_is_there_and_empty(recorded) -> None:
    """With the width it would have had."""
    silent = load(recorded).streams["silent"]
    assert silent.times.shape == (0,)
    assert silent.channels["q"].shape == (0, 3)


def test_a_signal_is_asked_for_by_stream_and_name(recorded) -> None:
    """And one that is not there is answered with those that are."""
    recording = farhand.load(str(recorded))
    assert recording["leader/q"].shape == (100, 2) and recording.times("leader/q")[1] == 0.001
    with pytest.raises(UnknownName, match=r"available: leader/null, leader/q, silent/q"):
        recording["leader/w"]
    assert list(recording) == ["leader/q", "leader/null", "silent/q"]
    assert "leader/q" in recording and "leader/w" not in recording and 3 not in recording


def test_what_is_no_path_is_refused() -> None:
    """In Farhand's words."""
    with pytest.raises(BadValue, match="None.*run.mcap"):
        farhand.load(None)


def test_a_truncated_file_is_refused_on_one_line(recorded) -> None:
    """Wherever it was cut, with a hint at what saves the rest."""
    whole = recorded.read_bytes()
    for length, reason in [
        (0, "is empty"),
        (4, "not an MCAP"),
        (7, "cut off"),
        (8, "recover"),
        (100, "recover"),
    ]:
        recorded.write_bytes(whole[:length])
        with pytest.raises(FileError, match=rf"run\.mcap .*{reason}") as caught:
            load(recorded)
        assert "\n" not in str(caught.value)
    for length in (len(whole) // 2, len(whole) - 1):
        recorded.write_bytes(whole[:length])
        with pytest.raises(FileError, match="cut off or damaged .* farhand recover"):
            load(recorded)


def test_a_file_of_a_newer_version_is_refused_on_one_line(recorded) -> None:
    """With what to do about it."""
    newer = recorded.read_bytes().replace(b"format\x01\x00\x00\x002", b"format\x01\x00\x00\x009")
    recorded.write_bytes(newer)
    with pytest.raises(FileError, match="has format 9, this version reads 2: update Farhand"):
        load(recorded)


def test_a_damaged_file_is_refused_on_one_line(recorded) -> None:
    """A flipped bit in the data does not pass for data."""
    whole = recorded.read_bytes()
    start = whole.index(b"\x04\x00\x00\x00zstd") + 16
    for place in (start + 20, start + 200, start + 1000):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        recorded.write_bytes(damaged)
        with pytest.raises(FileError, match="is damaged: a chunk .*; farhand recover") as caught:
            load(recorded)
        assert "\n" not in str(caught.value)


def test_files_of_other_kinds_are_refused(tmp_path) -> None:
    """Text, a folder, nothing at all, and an MCAP file that is not Farhand's."""
    text, foreign = tmp_path / "a.csv", tmp_path / "b.mcap"
    text.write_text("t,qx\n0,1\n")
    writer = Writer(str(foreign))
    writer.start()
    writer.finish()
    for path, reason in [
        (text, "not an MCAP file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none.mcap", "No such file"),
        (foreign, "no 'farhand' metadata"),
    ]:
        with pytest.raises(FileError, match=reason):
            load(path)
