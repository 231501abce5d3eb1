"""What telemetry refuses: bad names, sizes, rates and files, and what comes too late."""

from __future__ import annotations

import pytest

from farhand.errors import BadValue, FarhandError, FileError, UnknownName
from farhand.loop.telemetry import MAX_VALUES, Reader, Telemetry


@pytest.fixture
def telemetry():
    """A small telemetry that is closed at the end."""
    with Telemetry(capacity=8) as made:
        yield made


@pytest.mark.parametrize("name", ["", "1st", "a b", "é", "x" * 65, "a\n", None])
def test_a_bad_name_is_refused(telemetry, name) -> None:
    """Names become topics and columns of files."""
    with pytest.raises(BadValue, match="stream name"):
        telemetry.stream(name, 1000.0)
    with pytest.raises(BadValue, match="channel name"):
        telemetry.stream("leader", 1000.0).channel(name, 1, "m")


def test_a_taken_name_is_refused(telemetry) -> None:
    """``events`` is taken from the start: it is the topic of the events."""
    stream = telemetry.stream("leader", 1000.0)
    stream.channel("q", 1, "rad")
    with pytest.raises(BadValue, match="'leader' is taken"):
        telemetry.stream("leader", 1000.0)
    with pytest.raises(BadValue, match="'events' is taken"):
        telemetry.stream("events", 1000.0)
    with pytest.raises(BadValue, match="'q' is taken"):
        stream.channel("q", 1, "rad")


@pytest.mark.parametrize("size", [0, -1, 1.5, True, MAX_VALUES + 1])
def test_a_bad_size_is_refused(telemetry, size) -> None:
    """The message says what would have fitted."""
    with pytest.raises(BadValue, match=f"from 1 to {MAX_VALUES}"):
        telemetry.stream("leader", 1000.0).channel("q", size, "rad")


def test_a_record_that_is_full_takes_no_more(telemetry) -> None:
    """The last number still fits; the message says how many are left."""
    stream = telemetry.stream("leader", 1000.0)
    stream.channel("most", MAX_VALUES - 2, "-")
    with pytest.raises(BadValue, match="from 1 to 2$"):
        stream.channel("more", 3, "-")
    last = stream.channel("last", 2, "-")
    telemetry.freeze()
    last[:] = 7.0
    stream.commit(0)
    assert Reader(telemetry.path).latest("leader")[1]["last"].tolist() == [7.0, 7.0]


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), float("inf"), "fast"])
def test_a_bad_rate_is_refused(telemetry, rate) -> None:
    """A rate is a positive number of hertz."""
    with pytest.raises(BadValue, match="rate of stream 'leader'"):
        telemetry.stream("leader", rate)


@pytest.mark.parametrize("capacity", [1, 0, 2.0])
def test_a_bad_capacity_is_refused(capacity) -> None:
    """One row could never be read while it is being written."""
    with pytest.raises(BadValue, match="at least 2"):
        Telemetry(capacity=capacity)


def test_labels_are_one_per_number_or_none(telemetry) -> None:
    """Two labels for three numbers are a mistake."""
    with pytest.raises(BadValue, match="2 labels for 3 values"):
        telemetry.stream("leader", 1000.0).channel("force", 3, "N", labels=("x", "y"))


def test_a_description_that_is_not_json_is_refused_and_can_be_mended(telemetry) -> None:
    """Nothing has been created by then."""
    with pytest.raises(BadValue, match="not JSON"):
        telemetry.freeze({"rig": object()})
    assert not telemetry.path.exists()
    telemetry.freeze({"rig": "youbot"})


def test_nothing_is_added_after_the_freeze(telemetry) -> None:
    """The layout of a file that others have open cannot change."""
    stream = telemetry.stream("leader", 1000.0)
    telemetry.freeze()
    with pytest.raises(FarhandError, match="already frozen"):
        telemetry.freeze()
    with pytest.raises(FarhandError, match="too late"):
        telemetry.stream("follower", 1000.0)
    with pytest.raises(FarhandError, match="too late"):
        stream.channel("q", 1, "rad")


def test_records_are_taken_only_between_freeze_and_close() -> None:
    """An error, not a crash and not silence."""
    telemetry = Telemetry(capacity=2)
    stream = telemetry.stream("leader", 1000.0)
    with pytest.raises(FarhandError, match="between freeze"):
        stream.commit(0)
    telemetry.freeze()
    telemetry.close()
    with pytest.raises(FarhandError, match="between freeze"):
        stream.commit(0)
    with pytest.raises(FarhandError, match="closed"):
        telemetry.freeze()
    telemetry.event(0, "dropped")
    telemetry.close()


def test_an_unknown_stream_is_answered_with_the_known_ones(telemetry) -> None:
    """And with the nearest one."""
    telemetry.stream("leader", 1000.0)
    telemetry.freeze()
    with pytest.raises(UnknownName, match="did you mean 'leader'"):
        Reader(telemetry.path).latest("leadr")


@pytest.mark.parametrize("content", [None, b"", b"MCAP, perhaps"])
def test_a_file_that_is_no_ring_is_refused(tmp_path, content) -> None:
    """Missing, empty or of another kind: one line with its name."""
    path = tmp_path / "a.ring"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError, match=r"a\.ring"):
        Reader(path)
