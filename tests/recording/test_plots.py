"""Plots: a picture of what was asked for, or a clear word."""

from __future__ import annotations

import pytest

from farhand.errors import BadValue, UnknownName
from farhand.recording.plots import draw


def test_a_picture_is_written_whole(demo, tmp_path):
    """By default motion, force, error and energy; or the signals asked for."""
    draw(demo, tmp_path / "all.png", [])
    draw(demo, tmp_path / "one.svg", ["leader/q"], 0.1, 0.5)
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert "leader/q" in (tmp_path / "one.svg").read_text() or "<svg" in (tmp_path / "one.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.png", "one.svg"]


def test_an_unknown_signal_and_an_empty_window_are_refused(demo, tmp_path):
    """Before anything is written."""
    with pytest.raises(UnknownName, match="leader/q"):
        draw(demo, tmp_path / "x.png", ["leader/qq"])
    for window in ((3.0, 1.0), (3.0, 4.0)):
        with pytest.raises(BadValue, match="nothing to draw from 3 s"):
            draw(demo, tmp_path / "x.png", [], *window)
    assert not list(tmp_path.iterdir())
