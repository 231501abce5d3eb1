"""Keys: made at random, readable by their owner alone, never overwritten."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from farhand.errors import BadValue, FileError
from farhand.link.seal import open_to_others, read_key, write_key


def test_a_key_comes_back_as_it_was_written_and_no_two_are_alike(tmp_path):
    """32 bytes."""
    keys = []
    for name in ("a", "b"):
        write_key(tmp_path / name)
        keys.append(read_key(tmp_path / name))
    assert len(keys[0]) == 32
    assert keys[0] != keys[1]


def test_a_key_is_for_its_owners_eyes(tmp_path):
    """Mode 0600; a copy that others can read is noticed."""
    path = tmp_path / "key"
    write_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not open_to_others(path)
    for mode, is_open in ((0o700, False), (0o400, False), (0o640, True), (0o604, True)):
        path.chmod(mode)
        assert open_to_others(path) is is_open


def test_a_key_is_never_overwritten(tmp_path):
    """The one that is there stays."""
    path = tmp_path / "key"
    write_key(path)
    before = path.read_text()
    with pytest.raises(FileError, match="never overwritten"):
        write_key(path)
    assert path.read_text() == before


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"farhand-key-1 ", b"farhand-key-1 !!!", b"farhand-key-1 AAAA", b"\xff\0"],
)
def test_a_file_without_a_key_is_refused_and_its_content_not_repeated(tmp_path, content):
    """Whatever is in it may be somebody's secret."""
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(BadValue, match="Farhand key") as caught:
        read_key(path)
    assert "AAAA" not in str(caught.value)


def test_a_key_that_does_not_fit_on_the_disk_leaves_nothing_behind(tmp_path):
    """So that it can be made once there is room."""
    path = tmp_path / "key"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(FileError, match="cannot write"):
            write_key(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not path.exists()
    write_key(path)


def test_a_device_without_end_is_no_key(tmp_path):
    """Read no further than a key can go: not a file that no memory holds either."""
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(BadValue, match="huge is not a Farhand key"):
        read_key(huge)
    with pytest.raises(BadValue, match="/dev/zero is not a Farhand key"):
        read_key(Path("/dev/zero"))
