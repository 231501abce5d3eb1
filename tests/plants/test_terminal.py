"""A pseudo-terminal under a link."""

from __future__ import annotations

import os

import pytest

from farhand.errors import FileError
from farhand.plants.terminal import Terminal


def test_a_link_that_a_later_terminal_has_taken_over_stays(tmp_path):
    """Two simulated arms at one path, started one after the other: the second is still found."""
    link = tmp_path / "arm"
    first, second = Terminal(link), Terminal(link)
    first.close()
    assert os.readlink(link) == second.path
    second.close()
    assert not link.is_symlink()


def test_a_file_is_not_replaced_by_a_link(tmp_path):
    """Nothing of the user's is lost."""
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(FileError, match="no link"):
        Terminal(file)
    assert file.read_text() == "mine"
