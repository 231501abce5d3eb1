"""Playback: the ring fills as it did when the recording was made."""

from __future__ import annotations

import time

import numpy as np
import pytest

from farhand.errors import OutOfRange
from farhand.loop.telemetry import Reader
from farhand.recording.playback import Playback


def test_a_recording_comes_back_into_a_ring_record_by_record(demo):
    """At its own times, with its events, in the order of time."""
    playback = Playback(demo)
    reader = Reader(playback.telemetry.path)
    playback.play_to(299_999_999)
    times, rows, lost = reader.drain("leader")
    assert lost == 0 and times.tolist() == list(range(0, 300_000_000, 1_000_000))
    np.testing.assert_array_equal(rows[:, reader.columns("leader")["q"]], demo["leader/q"][:300])
    assert "release: done" not in [text for _, text in reader.events()]
    playback.play_to(playback.end_ns)
    assert len(reader.drain("leader")[0]) == 500
    assert "release: done" in [text for _, text in reader.events()]
    playback.close()
    assert reader.closed


def test_the_speed_is_kept(demo):
    """Eight times faster than recorded."""
    playback = Playback(demo, speed=8.0)
    began = time.monotonic()
    playback.run()
    assert 0.099 < time.monotonic() - began < 1.0
    playback.close()
    with pytest.raises(OutOfRange, match="speed = 0"):
        Playback(demo, speed=0.0)
