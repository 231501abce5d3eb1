"""Around the ticks: a recorder that cannot start says so, and a run that fails leaves a finished
recording.
"""

from __future__ import annotations

import pytest

from farhand.errors import FileError
from farhand.loop.clock import VirtualClock, WallClock
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.recorder import RecorderProcess, RunRecording
from farhand.running.run import drive, faults_of


@pytest.fixture
def rig():
    rig = build_rig("dual-arm", Options(scenario="rest"))
    yield rig
    rig.close()


def test_a_recorder_that_cannot_start_is_an_error_before_the_first_tick(rig, tmp_path, capfd):
    """Nobody teleoperates for an hour in the belief that it was recorded."""
    rig.session.clock = WallClock()
    with pytest.raises(FileError, match="is not a folder"):
        RunRecording(rig, tmp_path / "missing" / "r.mcap")


def test_a_recorder_that_ends_in_virtual_time_is_noticed_and_the_run_goes_on(rig, tmp_path):
    """No waiting for somebody who is not there."""
    outcome = drive(rig, 3.0, tmp_path / "missing" / "r.mcap")
    assert outcome.seconds == 3.0
    assert "is not a folder" in str(outcome.unrecorded)


def test_a_run_that_breaks_off_leaves_what_it_recorded(rig, tmp_path, monkeypatch):
    """What was recorded before a bug is what the bug is found with."""
    whole = rig.session.bridges[0].step

    def step(now_ns):
        if now_ns == 700_000_000:
            raise ZeroDivisionError
        whole(now_ns)

    rig.session.parts[2].step = step
    with pytest.raises(ZeroDivisionError):
        drive(rig, 1.0, tmp_path / "r.mcap")
    assert len(load(tmp_path / "r.mcap").streams["coupling"].times_ns) == 700


@pytest.mark.parametrize("clock", [VirtualClock, WallClock])
def test_a_recording_that_somebody_removed_is_missed(clock, tmp_path, monkeypatch):
    """The recorder goes on writing to it and notices nothing."""
    path = tmp_path / "gone.mcap"

    class Removed(RecorderProcess):
        def close(self):
            super().close()
            path.unlink()

    monkeypatch.setattr("farhand.running.recorder.RecorderProcess", Removed)
    rig = build_rig("dual-arm", Options(scenario="rest", clock=clock()))
    outcome = drive(rig, 0.1, path)
    assert outcome.unrecorded == f"{path} was removed while it was written"
    assert faults_of(rig, outcome)
    rig.close()
