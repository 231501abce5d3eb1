"""When the frames of a dataset were: found in the recording by their joints."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import FileError, Mismatch
from farhand.recording.lerobot import export_lerobot
from farhand.recording.lerobot_link import link_dataset


def test_every_frame_is_found_with_its_time_and_numbers(demo, tmp_path):
    """To the tick, once the arm moves; and the episodes are those of the recording."""
    export_lerobot([demo], tmp_path / "d", 50)
    found = link_dataset(tmp_path / "d", demo)
    assert found.state_error < 1e-5 and found.action_error < 1e-5
    np.testing.assert_allclose(found.times[10:25], 0.001 + 0.02 * np.arange(10, 25), atol=1e-9)
    episodes = json.loads((tmp_path / "d/meta/farhand.json").read_text())["episodes"]
    assert [round(one["end"], 3) for one in episodes] == [0.498, 0.799]


def test_a_frame_of_another_session_is_refused(demo, tmp_path):
    """And so is a folder that is no dataset."""
    export_lerobot([demo], tmp_path / "d", 50)
    follower = demo.streams["follower"]
    moved = replace(follower, channels=follower.channels | {"q": follower.channels["q"] + 1e-3})
    other = replace(demo, streams={**demo.streams, "follower": moved})
    with pytest.raises(Mismatch, match="frame 0 of .* is not in demo.mcap"):
        link_dataset(tmp_path / "d", other)
    with pytest.raises(FileError, match="no LeRobot dataset"):
        link_dataset(tmp_path, demo)
