"""The Rerun file: Rerun's own tools find it sound, and every record in it."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

pytest.importorskip("rerun")

from farhand.errors import FileError  # noqa: E402
from farhand.recording.export import export_rerun  # noqa: E402


def rrd(command: str, path) -> str:
    """What Rerun's own tool says of a file."""
    words = [sys.executable, "-m", "rerun", "rrd", command, str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


def test_the_file_is_sound_and_has_every_record(demo, tmp_path):
    """Curves of every signal, a moving frame per tool, and the events."""
    path = export_rerun(demo, tmp_path / "r")
    assert path.name == "demo.rrd"
    rrd("verify", path)
    chunks = rrd("print", path)
    for entity, rows in (
        ("/leader/q", 800),
        ("/world/follower/tool", 800),
        ("/events", len(demo.happened)),
    ):
        assert any(
            f"with {rows} rows" in line and f" - {entity} " in line for line in chunks.splitlines()
        ), entity


def test_a_full_disk_is_one_line_and_leaves_nothing_behind(demo, tmp_path, capfd):
    """A limit on the size of files, which the disk answers as if it were full; Rerun adds no lines
    of its own.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(FileError, match="cannot export to .*: File too large"):
            export_rerun(demo, tmp_path / "r")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir()) and capfd.readouterr().err == ""
