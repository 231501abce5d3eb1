"""Recorded delays are replayed as they were, and a file that is none is refused by its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue, FileError
from farhand.link.network import EmulatedLink, Trace, read_trace
from farhand.parameters import assign

MS = 1_000_000


def written(folder, text: str):
    """A file with this text."""
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_packet_has_the_delay_of_its_moment(tmp_path):
    """Half the recorded round trip each way; a lost one stays lost; after the end it begins
    again.
    """
    path = written(tmp_path, "delay_ms,t\n40,5.00\nlost,5.01\n,5.02\n60,5.03\n")
    link = EmulatedLink(trace=str(path))
    assert not link.perfect
    channel = link.channels.forward
    for k in range(5):
        channel.send(10 * k * MS, bytes([k]))
    assert [list(channel.receive(t * MS)) for t in (19, 20, 59, 60)] == [
        [],
        [b"\0"],
        [],
        [bytes([3]), bytes([4])],
    ]
    assert link.networks[0].counters.lost == 2


def test_a_trace_that_holds_is_repeated():
    """The last row holds as long as the rows do on average."""
    trace = Trace(np.array([0.0, 0.1, 0.2]), np.array([10.0, np.nan, 30.0]))
    assert [trace.at(t * 10 * MS) for t in (0, 9, 10, 20, 29, 30)] == [
        10 * MS,
        10 * MS,
        None,
        30 * MS,
        30 * MS,
        10 * MS,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,delay_ms\n0,10\n1,-3\n", "line 3: delay_ms is not within 0 to 10000"),
        ("t,delay_ms\n0,10\n1,fast\n", "line 3: delay_ms is not"),
        ("t,delay_ms\n0,0\n1,10000\n2,10001\n", "line 4: delay_ms is not"),
        ("t,delay_ms\n1,10\n0,10\n", "times that grow"),
        ("t,delay_ms\n1,10\n", "two rows"),
        ("t,delay_ms\nx,10\n2,10\n", "line 2: t is not a number"),
        ("time,delay\n1,10\n", "lacks the columns t,delay_ms"),
    ],
)
def test_what_is_no_trace_is_refused_by_its_line(text, message, tmp_path):
    """In one line, with what is wrong."""
    with pytest.raises(BadValue, match=message):
        read_trace(written(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "secret\n",
        "secret,secret,t,delay_ms\n1,2,3,4\n",
        "t,delay_ms\nsecret,1\n",
        "t,delay_ms\n1,secret\n",
    ],
)
def test_nothing_of_a_file_that_is_no_trace_is_repeated(text, tmp_path):
    """A visitor of the page may name any file, and reads the refusal."""
    with pytest.raises(BadValue) as caught:
        read_trace(written(tmp_path, text))
    assert "secret" not in str(caught.value)


def test_a_device_is_no_trace():
    """It would never end."""
    with pytest.raises(BadValue, match="zero is not a trace of delays"):
        read_trace(Path("/dev/zero"))


def test_a_trace_is_set_by_its_path_and_a_missing_one_changes_nothing(tmp_path):
    """As ``--set link.trace=FILE`` does."""
    link = EmulatedLink(delay=10.0)
    with pytest.raises(FileError, match="nowhere.csv"):
        assign(link, "trace", str(tmp_path / "nowhere.csv"))
    assert link.trace == ""
    assign(link, "trace", str(written(tmp_path, "t,delay_ms\n0,40\n1,40\n")))
    link.channels.forward.send(0, b"x")
    assert link.channels.forward.receive(20 * MS) == [b"x"]


def test_a_file_that_is_too_long_is_no_trace(tmp_path, monkeypatch):
    """A byte more than allowed is too much."""
    text = "t,delay_ms\n0,10\n1,10\n"
    monkeypatch.setattr("farhand.link.network.MAX_TRACE_BYTES", len(text))
    assert read_trace(written(tmp_path, text)).at(0) == 10 * MS
    with pytest.raises(BadValue, match="trace.csv is not a trace of delays"):
        read_trace(written(tmp_path, text + "\n"))


def test_a_repeated_trace_is_as_long_as_its_rows_are_apart():
    """Uneven rows: the last one holds for the mean step, whatever the clock began with."""
    trace = Trace(np.array([7.0, 7.1, 7.4]), np.array([1.0, 2.0, 3.0]))
    assert trace.length_ns == 600 * MS
    assert [trace.at(t * MS) for t in (99, 100, 399, 400, 599, 600, 1300)] == [
        delay * MS for delay in (1, 2, 2, 3, 3, 1, 2)
    ]
