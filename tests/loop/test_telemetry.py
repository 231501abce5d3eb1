"""Telemetry across processes: no torn record, no waiting writer, no file left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.loop.telemetry import EVENT_CAPACITY, MAX_EVENT_BYTES, Reader, Stream, Telemetry

SPAWN = multiprocessing.get_context("spawn")
HAMMERED = 200_000
WIDE = 500


@pytest.fixture
def telemetry():
    """A small telemetry that is closed at the end."""
    with Telemetry(capacity=8) as made:
        yield made


def count_up(stream: Stream, values: np.ndarray, records: range) -> None:
    """Commit records whose values all equal their number, which is also their time."""
    for k in records:
        values[:] = k
        stream.commit(k)


def hammer(connection: Connection) -> None:
    """Child process: write wide records into a small ring as fast as it goes."""
    with Telemetry(capacity=16) as telemetry:
        stream = telemetry.stream("count", 1000.0)
        values = stream.channel("k", WIDE, "-")
        telemetry.freeze()
        connection.send(telemetry.path)
        connection.recv()
        count_up(stream, values, range(HAMMERED))


def drain_forever(path: Path, connection: Connection) -> None:
    """Child process: a reader that never rests."""
    reader = Reader(path)
    connection.send("reading")
    while True:
        reader.drain("count")
        reader.latest("count")


def test_a_reader_in_another_process_never_sees_a_torn_record_while_the_writer_laps_it() -> None:
    """Records are self-consistent and in order, and those seen and those lost add up to those
    written.
    """
    connection, far_end = SPAWN.Pipe()
    child = SPAWN.Process(target=hammer, args=(far_end,))
    child.start()
    reader = Reader(connection.recv())
    connection.send("go")
    seen = lost_in_all = 0
    newest = last_latest = -1
    closed = False
    while not closed:
        closed = reader.closed
        times, rows, lost = reader.drain("count")
        assert np.array_equal(rows, np.repeat(times[:, None].astype(float), WIDE, axis=1))
        assert np.all(np.diff(times, prepend=newest) > 0)
        newest = int(times[-1]) if times.size else newest
        latest = reader.latest("count")
        if latest is not None:
            assert np.array_equal(latest[1]["k"], np.full(WIDE, latest[0]))
            assert latest[0] >= max(newest, last_latest)
            last_latest = latest[0]
        seen += times.size
        lost_in_all += lost
    child.join()
    assert seen + lost_in_all == HAMMERED
    assert seen > 0
    assert lost_in_all > 0
    assert newest == HAMMERED - 1


def test_a_stopped_reader_does_not_stop_the_writer() -> None:
    """With the reader frozen at an arbitrary instruction, the writer laps it a thousand times and
    ends.
    """
    with Telemetry(capacity=16) as telemetry:
        stream = telemetry.stream("count", 1000.0)
        values = stream.channel("k", WIDE, "-")
        telemetry.freeze()
        connection, far_end = SPAWN.Pipe()
        child = SPAWN.Process(target=drain_forever, args=(telemetry.path, far_end))
        child.start()
        assert child.pid is not None
        connection.recv()
        try:
            os.kill(child.pid, signal.SIGSTOP)
            count_up(stream, values, range(16_000))
            latest = Reader(telemetry.path).latest("count")
        finally:
            child.kill()
            child.join()
        assert latest is not None
        assert latest[0] == 15_999


def test_what_is_written_to_a_channel_is_read_under_its_name(telemetry) -> None:
    """Values, times and streams do not mix."""
    leader, follower = telemetry.stream("leader", 1000.0), telemetry.stream("follower", 500.0)
    q, wrench = (
        leader.channel("q", 2, "rad"),
        leader.channel("wrench_contact_in_world", 6, "N, N·m"),
    )
    far_q = follower.channel("q", 3, "rad")
    telemetry.freeze()
    q[:], wrench[:], far_q[:] = (1, 2), np.arange(6), (7, 8, np.nan)
    leader.commit(10)
    follower.commit(20)
    q[0] = -1.0
    reader = Reader(telemetry.path)
    latest = reader.latest("leader")
    assert latest is not None
    assert latest[0] == 10
    np.testing.assert_array_equal(latest[1]["q"], [1, 2])
    np.testing.assert_array_equal(latest[1]["wrench_contact_in_world"], np.arange(6))
    times, rows, lost = reader.drain("follower")
    np.testing.assert_array_equal(times, [20])
    np.testing.assert_array_equal(rows[:, reader.columns("follower")["q"]], [[7, 8, np.nan]])
    assert lost == 0


def test_two_readers_each_have_their_own_place(telemetry) -> None:
    """The page and the recorder do not take records from each other."""
    stream = telemetry.stream("count", 1000.0)
    values = stream.channel("k", 1, "-")
    telemetry.freeze()
    one, other = Reader(telemetry.path), Reader(telemetry.path)
    count_up(stream, values, range(3))
    assert one.drain("count")[0].tolist() == [0, 1, 2]
    count_up(stream, values, range(3, 5))
    assert one.drain("count")[0].tolist() == [3, 4]
    assert one.drain("count")[0].tolist() == []
    assert other.drain("count")[0].tolist() == [0, 1, 2, 3, 4]


def test_times_keep_every_nanosecond(telemetry) -> None:
    """A time of day in nanoseconds has more digits than a float64."""
    stream = telemetry.stream("count", 1000.0)
    telemetry.freeze()
    now = 1_789_000_000_123_456_789
    stream.commit(now)
    reader = Reader(telemetry.path)
    assert reader.latest("count") == (now, {})
    assert reader.drain("count")[0].tolist() == [now]


def test_the_header_tells_a_reader_all_it_needs(telemetry) -> None:
    """Streams with rates, channels with units and labels, and the description of the run."""
    stream = telemetry.stream("leader", 1000)
    stream.channel("force", 3, "N", labels=("x", "y", "z"))
    telemetry.freeze({"rig": "dual-arm", "seed": 7})
    header = Reader(telemetry.path).header
    assert header["description"] == {"rig": "dual-arm", "seed": 7}
    assert header["streams"] == {
        "leader": {
            "rate": 1000.0,
            "capacity": 8,
            "channels": [{"name": "force", "unit": "N", "size": 3, "labels": ["x", "y", "z"]}],
        }
    }


def test_events_arrive_once_and_in_order_even_those_from_before_the_freeze(telemetry) -> None:
    """Events have their own ring and their own times."""
    telemetry.event(1, "assembled")
    telemetry.freeze()
    reader = Reader(telemetry.path)
    telemetry.event(2, "clutch engaged: 30 N·m")
    assert reader.events() == [(1, "assembled"), (2, "clutch engaged: 30 N·m")]
    telemetry.event(3, "trip")
    assert reader.events() == [(3, "trip")]
    assert reader.events() == []


def test_events_overwritten_unread_are_counted(telemetry) -> None:
    """Silence would look like peace."""
    telemetry.freeze()
    for k in range(EVENT_CAPACITY + 5):
        telemetry.event(k, "trip")
    events = Reader(telemetry.path).events()
    assert events[0] == (5, "lost 5 events")
    assert len(events) == 1 + EVENT_CAPACITY


@given(st.text(st.characters(codec=None), max_size=20), st.integers(1, 30))
def test_any_text_makes_an_event_of_at_most_240_bytes(part: str, times: int) -> None:
    """Cut between characters, never through one; characters that UTF-8 lacks become question
    marks.
    """
    with Telemetry(capacity=2) as telemetry:
        telemetry.freeze()
        telemetry.event(1, part * times)
        [(_, arrived)] = Reader(telemetry.path).events()
    expected = (part * times).encode("utf-8", "replace").decode()
    assert expected.startswith(arrived)
    assert len(arrived.encode()) <= 240
    cut = len(expected.encode()) > 240
    assert len(arrived.encode()) > 240 - 4 if cut else arrived == expected


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
def test_data_that_fill_an_event_to_its_last_byte_fit(spare, fits) -> None:
    """With the text; a byte more, and only their kind is left."""
    text, frame = "a" * 100, len('{"kind": "k", "x": ""}')
    data = {"kind": "k", "x": "y" * (MAX_EVENT_BYTES - 100 - frame - spare)}
    with Telemetry(capacity=2) as telemetry:
        telemetry.freeze()
        telemetry.event(1, text, data)
        assert Reader(telemetry.path).events_with_data() == [
            (1, text, data if fits else {"kind": "k", "cut": True})
        ]


def test_signals_side_by_side_lie_behind_those_that_were_there(telemetry) -> None:
    """One array for all of them, and those that come later begin after it."""
    stream = telemetry.stream("leader", 1000.0)
    before = stream.channel("before", 2, "-")
    both = stream.block(("q", 2, "rad", ("a", "b")), ("v", 1, "rad/s", ()))
    after = stream.channel("after", 1, "-")
    telemetry.freeze()
    assert len(both) == 3
    before[:], both[:], after[:] = (1, 2), (3, 4, 5), 6
    stream.commit(0)
    reader = Reader(telemetry.path)
    assert reader.drain("leader")[1].tolist() == [[1, 2, 3, 4, 5, 6]]
    assert {name: values.tolist() for name, values in reader.latest("leader")[1].items()} == {
        "before": [1, 2],
        "q": [3, 4],
        "v": [5],
        "after": [6],
    }


@pytest.mark.parametrize("t_ns", [None, 0.5, 2**63])
def test_an_event_with_an_invalid_time_is_kept_and_does_not_raise(telemetry, t_ns) -> None:
    """A trip message must not bring down the tick that trips."""
    telemetry.freeze()
    telemetry.event(t_ns, "trip")
    [(time, text)] = Reader(telemetry.path).events()
    assert time == 0
    assert text == f"trip (at the invalid time {t_ns!r})"


def test_the_parts_keep_the_arrays_they_were_given(telemetry) -> None:
    """Adding channels and freezing do not move what a part holds on to."""
    stream = telemetry.stream("leader", 1000.0)
    first = stream.channel("first", 2, "m")
    second = stream.channel("second", 1, "m")
    telemetry.freeze()
    first[:], second[:] = (1, 2), 3
    stream.commit(0)
    _, rows, _ = Reader(telemetry.path).drain("leader")
    assert rows.tolist() == [[1, 2, 3]]


def test_a_reader_keeps_what_was_there_when_the_writer_closed() -> None:
    """The recorder drains the ring after the run is over."""
    with Telemetry(capacity=4) as telemetry:
        stream = telemetry.stream("count", 1000.0)
        values = stream.channel("k", 1, "-")
        telemetry.freeze()
        reader = Reader(telemetry.path)
        count_up(stream, values, range(3))
        assert not reader.closed
    assert reader.closed
    assert reader.drain("count")[0].tolist() == [0, 1, 2]


SCRIPT = """
from farhand.loop.telemetry import Telemetry
telemetry = Telemetry(capacity=2)
telemetry.freeze()
print(telemetry.path, flush=True)
{end}
"""


def run_owner(end: str) -> Path:
    """Run a process that owns a ring and ends in some way; return where its ring was."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)], capture_output=True, text=True, check=False
    )
    return Path(ran.stdout.splitlines()[0])


def test_the_file_is_gone_after_close() -> None:
    """Shared memory is memory."""
    with Telemetry(capacity=2) as telemetry:
        telemetry.freeze()
        assert telemetry.path.exists()
    assert not telemetry.path.exists()


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0"])
def test_the_file_is_gone_when_its_owner_forgets_to_close(end) -> None:
    """The interpreter's exit does it."""
    assert not run_owner(end).exists()


def test_a_forked_child_that_exits_leaves_the_file_to_its_owner() -> None:
    """The child inherits the finaliser but not the ring."""
    end = "import os\nif os.fork() == 0: raise SystemExit\nos.wait()\n"
    end += "assert telemetry.path.exists()\nprint('there')"
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines()[1:] == ["there"]


def test_the_file_of_a_killed_owner_is_swept_by_the_next_run_and_that_of_a_living_one_is_not() -> (
    None
):
    """Nothing runs at SIGKILL, so the next run cleans up."""
    abandoned = run_owner("import os\nos.kill(os.getpid(), 9)")
    assert abandoned.exists()
    with Telemetry(capacity=2) as living, Telemetry(capacity=2) as later:
        living.freeze()
        assert not abandoned.exists()
        later.freeze()
        assert living.path.exists()


def test_an_event_carries_data_for_programs(tmp_path):
    """Whole or not at all; the words for people are the same either way."""
    with Telemetry() as telemetry:
        telemetry.freeze()
        telemetry.event(
            5,
            "set hand.drag",
            {"kind": "command", "value": np.array([0.1, 0.2]), "tick": np.int64(7)},
        )
        telemetry.event(6, "much", {"kind": "command", "value": "x" * 2000})
        telemetry.event(7, "plain")
        found = Reader(telemetry.path).events_with_data()
    assert found == [
        (5, "set hand.drag", {"kind": "command", "value": [0.1, 0.2], "tick": 7}),
        (6, "much", {"kind": "command", "cut": True}),
        (7, "plain", None),
    ]


def test_the_writer_can_tell_how_far_behind_a_reader_is():
    """As a share of the ring; what was overwritten lies behind the reader too."""
    with Telemetry(capacity=8) as telemetry:
        fast, slow = telemetry.stream("fast", 1000.0), telemetry.stream("slow", 10.0)
        fast.channel("x", 1, "-")
        slow.channel("x", 1, "-")
        telemetry.freeze()
        reader = Reader(telemetry.path)
        assert telemetry.names == ["fast", "slow"] and telemetry.backlog(reader.taken) == 0.0
        for t_ns in range(6):
            fast.commit(t_ns)
        assert telemetry.backlog(reader.taken) == 0.75
        reader.drain("fast")
        assert reader.taken == [6, 0] and telemetry.backlog(reader.taken) == 0.0
        for t_ns in range(20):
            slow.commit(t_ns)
        reader.drain("slow")
        assert reader.taken == [6, 20]


def _circle() -> list:
    circle: list = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize("value", [{(1, 2): 3}, _circle()])
def test_an_event_whose_data_is_no_json_keeps_its_text(telemetry, value) -> None:
    """The value of a command may be anything."""
    telemetry.freeze()
    telemetry.event(5, "set", {"kind": "command", "value": value})
    [(time, text, data)] = Reader(telemetry.path).events_with_data()
    assert (time, text, data) == (5, "set", {"kind": "command", "cut": True})
