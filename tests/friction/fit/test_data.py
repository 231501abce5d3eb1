"""Recordings: read, refused with their line, written and read again."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog, make_log, read_recording, write_recording


def table(count: int = 200, seconds: float = 2.0) -> np.ndarray:
    """A joint that swings."""
    time = np.linspace(0.0, seconds, count)
    return np.column_stack([time, np.sin(time), np.cos(time), 0.1 * np.cos(time)])


def test_a_recording_comes_back_from_its_file(tmp_path):
    """To nine digits, whatever the order of the columns."""
    log = make_log(table(), "x")
    write_recording(tmp_path / "log.csv", log)
    again = read_recording(tmp_path / "log.csv")
    for column in ("time", "position", "velocity", "torque"):
        np.testing.assert_allclose(getattr(again, column), getattr(log, column), atol=1e-8)
    assert len(again) == 200 and again.repeated == 0
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0] == "t,position,velocity,torque"
    swapped = [",".join(reversed(line.split(","))) for line in lines]
    (tmp_path / "swapped.csv").write_text("\n".join(swapped) + "\n")
    np.testing.assert_array_equal(read_recording(tmp_path / "swapped.csv").torque, again.torque)
    assert JointLog(*np.array([[0.0, 1.0, 3.0, 4.0, 5.0]] * 4)).step == 1.0


def test_times_that_repeat_are_dropped_and_those_that_go_back_are_refused(tmp_path):
    """By their line; more than half of them repeated is too few digits."""
    path = tmp_path / "log.csv"
    rows = table()
    rows[50, 0] = rows[49, 0]
    write_recording(path, JointLog(*rows.T))
    found = read_recording(path)
    assert found.repeated == 1 and len(found) == 199
    assert found.position[49] == pytest.approx(rows[49, 1], abs=1e-8)
    assert found.position[50] == pytest.approx(rows[51, 1], abs=1e-8)
    rows[70, 0] = rows[69, 0] - 0.001
    write_recording(path, JointLog(*rows.T))
    with pytest.raises(BadValue, match="line 72: t goes back"):
        read_recording(path)
    for digits, refused in ((2, False), (1, True)):
        rows = table(300, 15.0)
        rows[:, 0] = np.round(rows[:, 0], digits)
        rows[:, 0] = np.floor(rows[:, 0] * 4.0) / 4.0 if refused else rows[:, 0]
        write_recording(path, JointLog(*rows.T))
        if refused:
            with pytest.raises(BadValue, match="239 of 300 samples repeat"):
                read_recording(path)
        else:
            assert read_recording(path).repeated == 0
    half = np.repeat(table(150), 2, axis=0)
    write_recording(path, JointLog(*half.T))
    assert read_recording(path).repeated == 150


def test_what_is_too_short_or_shows_nothing_is_refused():
    """A hundred samples and a second; a joint that moves, a torque that changes."""
    assert make_log(table(100, 1.0))
    with pytest.raises(BadValue, match="99 samples"):
        make_log(table(99, 2.0))
    with pytest.raises(BadValue, match="lasts 0.99 s"):
        make_log(table(200, 0.99))
    still = table()
    still[:, 1] = 0.3
    assert make_log(still)
    still[:, 2] = 0.0
    with pytest.raises(BadValue, match="always at rest"):
        make_log(still)
    still[:, 1] = np.sin(still[:, 0])
    assert make_log(still)
    flat = table()
    flat[:, 3] = 0.2
    with pytest.raises(BadValue, match="torque is 0.2 N·m throughout"):
        make_log(flat)
