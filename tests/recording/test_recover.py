"""Recover: everything that can be read comes back, however the file was cut or damaged."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from mcap.opcode import Opcode
from mcap.reader import make_reader

from farhand.errors import FileError
from farhand.recording.growing import FOOT
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
        assert records >= before and saved.damaged == 0
        assert found.complete == (share == 1.0) and found.metadata["ended"] == saved.ended
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
    found = load(saved.path)
    assert 0 < len(found.streams["leader"].times_ns) < 800
    assert (
        not found.complete
        and found.metadata["ended"] == "damaged, and recovered without 1 damaged chunks"
    )
    assert found.metadata["recovered"]["damaged"] == 1
    with open(saved.path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert (
            sum(1 for _ in reader.iter_messages())
            == summary.statistics.message_count
            == saved.messages
        )


def test_a_run_that_broke_off_does_not_look_complete_once_it_is_recovered(demo_path, tmp_path):
    """All chunks of a file that was never finished are good, and still its run did not end; one
    that did, did.
    """
    (tmp_path / "killed.mcap").write_bytes(unfinished(demo_path.read_bytes()))
    saved = recover(tmp_path / "killed.mcap", tmp_path / "saved.mcap")
    found = load(saved.path)
    assert (
        saved.whole
        and not found.complete
        and found.metadata["ended"] == "broken off, and recovered"
    )
    assert (
        load(recover(saved.path, tmp_path / "again.mcap").path).metadata["ended"]
        == "broken off, and recovered"
    )
    assert load(recover(demo_path, tmp_path / "same.mcap").path).complete


def unfinished(whole: bytes) -> bytes:
    """The same file as a killed recorder leaves it: without the last metadata and the index."""
    end = whole.index(b"\x0c", whole.rindex(b"\x0b\x00\x00\x00farhand/end", 0, data_end(whole)) - 9)
    return whole[:end] + struct.pack("<BQI", Opcode.DATA_END, 4, 0) + FOOT


def data_end(whole: bytes) -> int:
    """Where the data of a finished file end."""
    return struct.unpack_from("<Q", whole, len(whole) - 28)[0] - 13


def test_files_in_a_recording_stay_what_they_are(demo_path, tmp_path):
    """A model is still declared as XML after a recovery."""
    recover(demo_path, tmp_path / "same.mcap")
    with open(tmp_path / "same.mcap", "rb") as file:
        assert {a.media_type for a in make_reader(file).iter_attachments()} == {"application/xml"}


def test_a_recording_is_saved_to_what_a_link_leads_to_and_to_no_pipe(demo_path, tmp_path):
    """The link stays, and a pipe is not replaced by a file."""
    (tmp_path / "link.mcap").symlink_to(tmp_path / "far.mcap")
    recover(demo_path, tmp_path / "link.mcap")
    assert (tmp_path / "link.mcap").is_symlink() and load(tmp_path / "far.mcap").complete
    os.mkfifo(tmp_path / "pipe.mcap")
    with pytest.raises(FileError, match="not a file but a pipe"):
        recover(demo_path, tmp_path / "pipe.mcap")
    assert (tmp_path / "pipe.mcap").is_fifo() and len(list(tmp_path.iterdir())) == 3


def test_what_is_no_recording_is_refused_and_nothing_is_written(tmp_path):
    """Empty, foreign, or so short that nothing is left."""
    for content, reason in (
        (b"", "is empty"),
        (b"hello there", "not an MCAP"),
        (b"\x89MCAP0\r\n", "not one of Farhand's"),
    ):
        (tmp_path / "x.mcap").write_bytes(content)
        with pytest.raises(FileError, match=reason):
            recover(tmp_path / "x.mcap", tmp_path / "y.mcap")
    assert [path.name for path in tmp_path.iterdir()] == ["x.mcap"]
