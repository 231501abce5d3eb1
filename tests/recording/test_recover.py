"""Recover: everything that can be read comes back, however the file was cut or damaged."""

from __future__ import annotations

import numpy as np
import pytest
from mcap.reader import make_reader

from farhand.errors import FileError
from farhand.recording.loader import load
from farhand.recording.recover import recover


def test_a_file_cut_anywhere_gives_back_its_whole_chunks(demo_path, demo, tmp_path):
    """The later the cut, the more there is, and all of it equals the original."""
    whole, before = demo_path.read_bytes(), -1
    for share in (0.2, 0.5, 0.8, 1.0):
        cut = tmp_path / "cut.mcap"
        cut.write_bytes(whole[: int(share * (len(whole) - 1))])
        saved = recover(cut, tmp_path / "saved.mcap")
        found = load(saved.path)
        records = len(found.streams["leader"].times_ns)
        assert found.complete and records >= before and saved.damaged == 0
        np.testing.assert_array_equal(found["leader/q"], demo["leader/q"][:records])
        assert found.metadata["rig"] == "dual-arm" and found.files.keys() == demo.files.keys()
        before = records
    assert before == 800


def test_a_damaged_chunk_is_left_out_and_the_rest_is_saved(demo_path, tmp_path):
    """The official reader finds the index and every message it promises."""
    damaged = bytearray(demo_path.read_bytes())
    damaged[damaged.index(b"\x04\x00\x00\x00zstd") + 500] ^= 1
    (tmp_path / "bad.mcap").write_bytes(damaged)
    saved = recover(tmp_path / "bad.mcap", tmp_path / "good.mcap")
    assert saved.damaged == 1 and not saved.whole
    assert 0 < len(load(saved.path).streams["leader"].times_ns) < 800
    with open(saved.path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert sum(1 for _ in reader.iter_messages()) == summary.statistics.message_count == saved.messages


def test_what_is_no_recording_is_refused_and_nothing_is_written(tmp_path):
    """Empty, foreign, or so short that nothing is left."""
    for content, reason in ((b"", "is empty"), (b"hello there", "not an MCAP"), (b"\x89MCAP0\r\n", "not of Farhand's")):
        (tmp_path / "x.mcap").write_bytes(content)
        with pytest.raises(FileError, match=reason):
            recover(tmp_path / "x.mcap", tmp_path / "y.mcap")
    assert [path.name for path in tmp_path.iterdir()] == ["x.mcap"]
