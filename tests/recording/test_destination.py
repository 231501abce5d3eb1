"""The destination of a recording: nothing that holds a record is written over, and nothing but a
file is written.
"""

from __future__ import annotations

import os

import pytest

from farhand.errors import FileError
from farhand.recording.destination import check_destination, part_of
from farhand.recording.growing import MAGIC
from farhand.recording.loader import load
from farhand.recording.recorder import Recorder

HEADER = {
    "streams": {
        "arm": {"rate": 1.0, "channels": [{"name": "q", "unit": "rad", "size": 1, "labels": []}]}
    },
    "description": {},
}


@pytest.fixture
def path(tmp_path):
    """Where the recording goes."""
    return tmp_path / "run.mcap"


def test_a_destination_that_cannot_be_written_is_refused_before_anything_starts(tmp_path) -> None:
    """A missing folder, a file where a folder should be, a folder where the file should be."""
    (tmp_path / "file").write_text("not a folder")
    for bad in (tmp_path / "missing" / "run.mcap", tmp_path / "file" / "run.mcap", tmp_path):
        with pytest.raises(FileError, match="cannot write"):
            Recorder(bad, {"streams": {}, "description": {}})
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path) -> None:
    """Before anything starts."""
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="not writable"):
        check_destination(tmp_path / "run.mcap")


def test_what_stands_in_the_way_stays_unless_a_dead_run_left_it(path) -> None:
    """A file of another kind under the temporary name is not ours to remove; one without a single
    record is.
    """
    part_of(path).write_text("precious")
    with pytest.raises(FileError, match="is in the way"):
        Recorder(path, HEADER)
    assert part_of(path).read_text() == "precious"
    part_of(path).write_bytes(MAGIC)
    Recorder(path, HEADER).close()
    assert load(path).complete and not part_of(path).exists()
    part_of(path).touch()  # of a disk that was full
    Recorder(path, HEADER).close()
    assert not part_of(path).exists()


def test_a_recording_under_the_temporary_name_is_never_removed(path) -> None:
    """One line says what saves it; the same once it is damaged or cut off."""
    with Recorder(path, HEADER) as recorder:
        recorder.write("arm", [1, 2], [[1], [2]])
    whole = path.read_bytes()
    path.unlink()
    for left in (whole, whole[:-60], whole[:100] + b"?" + whole[101:]):
        part_of(path).write_bytes(left)
        with pytest.raises(
            FileError, match=r"holds an earlier recording; farhand recover .*run\.mcap\.part saves"
        ):
            Recorder(path, HEADER)
        assert part_of(path).read_bytes() == left and not path.exists()


def test_a_link_stands_for_what_it_leads_to(path, tmp_path) -> None:
    """The link stays a link, and the temporary name is beside the file; a link to nowhere yet is
    followed as well.
    """
    (tmp_path / "far").mkdir()
    path.symlink_to(tmp_path / "far" / "away.mcap")
    for _ in range(2):
        recorder = Recorder(path, HEADER)
        assert part_of(path) == tmp_path / "far" / "away.mcap.part" and part_of(path).exists()
        recorder.close()
        assert path.is_symlink() and load(tmp_path / "far" / "away.mcap").complete


def test_a_pipe_is_refused_and_stays(path) -> None:
    """Nobody waits for a reader, whether it has the name or the temporary one."""
    os.mkfifo(path)
    with pytest.raises(FileError, match="it is a pipe or a device"):
        check_destination(path)
    assert path.is_fifo()
    os.rename(path, part_of(path.with_name("other.mcap")))
    with pytest.raises(FileError, match="is in the way"):
        check_destination(path.with_name("other.mcap"))
