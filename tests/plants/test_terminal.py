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


def test_a_link_that_leads_elsewhere_is_not_replaced(tmp_path):
    """A name that the user gave to a real port stays; that of a terminal that is gone does not."""
    link, left = tmp_path / "arm", tmp_path / "left"
    link.symlink_to("/dev/ttyACM0")
    with pytest.raises(FileError, match="leads to /dev/ttyACM0: choose another path"):
        Terminal(link)
    assert os.readlink(link) == "/dev/ttyACM0"
    left.symlink_to("/dev/pts/999999")
    terminal = Terminal(left)
    assert os.readlink(left) == terminal.path
    terminal.close()
