"""Plots: a picture of what was asked for, or a clear word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue, UnknownName
from farhand.recording.plots import curves_of, draw


def test_a_picture_is_written_whole(demo, tmp_path):
    """By default motion, force, error and energy; or the signals asked for."""
    draw(demo, tmp_path / "all.png", [])
    draw(demo, tmp_path / "one.svg", ["leader/q"], 0.1, 0.5)
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert (
        "leader/q" in (tmp_path / "one.svg").read_text()
        or "<svg" in (tmp_path / "one.svg").read_text()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.png", "one.svg"]


def test_an_unknown_signal_and_an_empty_window_are_refused(demo, tmp_path):
    """Before anything is written."""
    with pytest.raises(UnknownName, match="leader/q"):
        draw(demo, tmp_path / "x.png", ["leader/qq"])
    for window in ((3.0, 1.0), (3.0, 4.0)):
        with pytest.raises(BadValue, match="nothing to draw from 3 s"):
            draw(demo, tmp_path / "x.png", [], *window)
    assert not list(tmp_path.iterdir())


def test_every_unit_has_a_panel_of_its_own(demo):
    """Millimetres beside radians would look like nothing; a force beside its torque likewise."""
    panels = curves_of(demo, "coupling/error", (0.0, 1.0))
    assert [(one.unit, len(one.names), one.values.shape[1]) for one in panels] == [
        ("m", 3, 3),
        ("rad", 3, 3),
    ]
    np.testing.assert_array_equal(panels[1].values, demo["coupling/error"][:, 3:])
    panels = curves_of(demo, "leader/wrench_commanded_in_world", (0.0, 1.0))
    assert [(one.unit, one.names) for one in panels] == [("N", ["|force|"]), ("N·m", ["|torque|"])]
    assert [one.unit for one in curves_of(demo, "leader/mode", (0.0, 1.0))] == ["index"]


def test_wrenches_of_several_arms_are_drawn_number_by_number(demo):
    """Their first three are a force, but the rest is not its torque."""
    leader = demo.streams["leader"]
    four = np.tile(leader.channels["wrench_commanded_in_world"], 4)
    team = replace(
        leader,
        channels={"wrench_of_arms": four},
        units={"wrench_of_arms": "N, N·m"},
        labels={"wrench_of_arms": ()},
    )
    panels = curves_of(replace(demo, streams={"team": team}), "team/wrench_of_arms", (0.0, 1.0))
    assert [(one.unit, len(one.names)) for one in panels] == [("N", 12), ("N·m", 12)]


def test_what_was_not_measured_has_no_panel_but_a_word(demo, tmp_path):
    """In the picture and for the caller; nothing else to draw is refused by name. A late start is
    drawn from there.
    """
    leader = demo.streams["leader"]
    never = np.full_like(leader.channels["wrench_measured_in_world"], np.nan)
    late = leader.channels["position_tool_in_world"].copy()
    late[:5] = np.nan
    channels = {
        **leader.channels,
        "wrench_measured_in_world": never,
        "position_tool_in_world": late,
    }
    silent = replace(demo, streams={**demo.streams, "leader": replace(leader, channels=channels)})
    assert draw(silent, tmp_path / "all.svg", []) == ["leader/wrench_measured_in_world"]
    assert draw(demo, tmp_path / "whole.svg", []) == []
    with pytest.raises(
        BadValue, match="no reading of leader/wrench_measured_in_world from 0 s to 0.5 s"
    ):
        draw(silent, tmp_path / "x.png", ["leader/wrench_measured_in_world"], 0.0, 0.5)
    (place,) = curves_of(silent, "leader/position_tool_in_world", (0.0, 1.0))
    assert (
        np.isfinite(place.values[5:]).all()
        and not place.values[5].any()
        and "at 0.005 s" in place.title
    )


def test_a_long_unit_stays_on_its_axis(demo, tmp_path):
    """Smaller, but there."""
    leader = demo.streams["leader"]
    odd = replace(leader, units={**leader.units, "q": "furlongs per fortnight squared"})
    draw(replace(demo, streams={"leader": odd}), tmp_path / "q.svg", ["leader/q"])
    assert "furlongs per fortnight squared" in (tmp_path / "q.svg").read_text()
