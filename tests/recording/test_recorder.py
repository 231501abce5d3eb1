"""The recorder: what was in the ring is in the file, or the file says that it is not."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from mcap.reader import make_reader

from farhand.errors import BadValue, FileError, UnknownName
from farhand.recording.loader import load
from farhand.recording.recorder import Recorder, check_destination, part_of, record_from, record_process
from farhand.telemetry import Reader, Telemetry

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def telemetry():
    """Two streams, one of them with labels, in a ring of eight."""
    with Telemetry(capacity=8) as made:
        leader = made.stream("leader", 1000.0)
        leader.channel("q", 2, "rad", labels=("shoulder", "elbow"))
        leader.channel("force", 1, "N")
        made.stream("follower", 500.0).channel("q", 1, "rad")
        made.freeze({"rig": "dual-arm", "seed": 7})
        yield made


@pytest.fixture
def path(tmp_path):
    """Where the recording goes."""
    return tmp_path / "run.mcap"


def commit(telemetry: Telemetry, stream: str, times: range) -> None:
    """Records whose values are all their time."""
    for t_ns in times:
        telemetry._streams[stream]._staging[1:] = t_ns
        telemetry._streams[stream].commit(t_ns)


def wait_for(condition) -> None:
    """Give another process up to 20 s."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_pump_moves_streams_and_events_from_the_ring_to_the_file(telemetry, path) -> None:
    """Each record once, in order, at its own time."""
    reader = Reader(telemetry.path)
    with Recorder(path, reader.header) as recorder:
        commit(telemetry, "leader", range(3))
        telemetry.event(1, "trip")
        assert record_from(reader, recorder) == 3
        assert record_from(reader, recorder) == 0
        commit(telemetry, "leader", range(3, 5))
        commit(telemetry, "follower", range(4, 5))
        assert record_from(reader, recorder) == 3
    recording = load(path)
    assert recording.streams["leader"].times_ns.tolist() == [0, 1, 2, 3, 4]
    assert recording.streams["leader"].channels["q"].tolist() == [[k, k] for k in range(5)]
    assert recording.streams["follower"].times_ns.tolist() == [4]
    assert recording.events == [(1, "trip")]


def test_lost_records_are_reported_in_the_file(telemetry, path) -> None:
    """Twelve records in a ring of eight: four are gone, and the file says so at the time of the gap's end."""
    reader = Reader(telemetry.path)
    commit(telemetry, "leader", range(12))
    with Recorder(path, reader.header) as recorder:
        record_from(reader, recorder)
    recording = load(path)
    assert recording.events == [(4, "lost 4 records of stream leader")]
    assert recording.streams["leader"].times_ns.tolist() == list(range(4, 12))


def test_the_file_has_its_name_only_when_it_is_whole(telemetry, path) -> None:
    """Until then it is a ``.part``, and an older recording of that name is untouched."""
    path.write_text("older")
    recorder = Recorder(path, Reader(telemetry.path).header)
    recorder.write("leader", [1], [[1, 2, 3]])
    assert part_of(path).exists()
    assert path.read_text() == "older"
    recorder.close()
    recorder.close()
    assert not part_of(path).exists()
    assert load(path).streams["leader"].times_ns.tolist() == [1]


def test_schemas_carry_units_and_labels_and_messages_are_plain_json(telemetry, path) -> None:
    """Any MCAP tool can show the file."""
    with Recorder(path, Reader(telemetry.path).header) as recorder:
        recorder.write("leader", [5], [[0.1, np.nan, -np.inf]])
    with open(path, "rb") as file:
        [(schema, channel, message)] = make_reader(file).iter_messages()
    assert schema is not None
    assert channel.topic == "/leader"
    assert channel.message_encoding == "json"
    assert schema.encoding == "jsonschema"
    assert message.data == b'{"q":[0.1,null],"force":[-1e999]}'
    assert message.log_time == message.publish_time == 5
    assert json.loads(schema.data)["properties"]["q"]["description"] == "[rad]: shoulder, elbow"


def test_a_wrong_shape_and_a_wrong_stream_are_refused(telemetry, path) -> None:
    """With the right shape, or the right names, in the message."""
    with Recorder(path, Reader(telemetry.path).header) as recorder:
        with pytest.raises(BadValue, match=r"\(1, 2\), not \(1, 3\)"):
            recorder.write("leader", [0], [[1, 2]])
        with pytest.raises(UnknownName, match="follower, leader"):
            recorder.write("lead", [0], [[1, 2, 3]])
        with pytest.raises(BadValue, match="-1 ns"):
            recorder.write("leader", [-1], [[1, 2, 3]])


def test_a_destination_that_cannot_be_written_is_refused_before_anything_starts(tmp_path) -> None:
    """A missing folder, a file where a folder should be, a folder where the file should be."""
    (tmp_path / "file").write_text("not a folder")
    for bad in (tmp_path / "missing" / "run.mcap", tmp_path / "file" / "run.mcap", tmp_path):
        with pytest.raises(FileError, match="cannot write"):
            Recorder(bad, {"streams": {}, "description": {}})
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path) -> None:
    """Before anything starts."""
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="not writable"):
        check_destination(tmp_path / "run.mcap")


def test_an_unfinished_recording_is_not_overwritten(telemetry, path) -> None:
    """What a crash left can still be salvaged."""
    part_of(path).write_text("salvage me")
    with pytest.raises(FileError, match="unfinished recording"):
        Recorder(path, Reader(telemetry.path).header)
    assert part_of(path).read_text() == "salvage me"


def test_a_full_disk_is_an_error_on_one_line_and_leaves_the_part(path, monkeypatch) -> None:
    """The final name never appears."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    recorder = Recorder(path, {"streams": {}, "description": {}})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        recorder.close()
    assert part_of(path).exists()
    assert not path.exists()


def test_the_child_process_drains_the_ring_before_it_ends(telemetry, path) -> None:
    """Records committed right before the stop are in the file."""
    stop = SPAWN.Event()
    child = SPAWN.Process(target=record_process, args=(telemetry.path, path, stop))
    child.start()
    wait_for(part_of(path).exists)
    commit(telemetry, "leader", range(8))
    stop.set()
    child.join()
    assert child.exitcode == 0
    recording = load(path)
    assert recording.streams["leader"].times_ns.tolist() == list(range(8))
    assert recording.metadata == {"rig": "dual-arm", "seed": 7}


@pytest.mark.parametrize("end", ["close", "terminate"])
def test_the_child_process_finishes_the_file_however_the_run_ends(telemetry, path, end) -> None:
    """The ring is closed without a word to the child, or the child is terminated."""
    never = SPAWN.Event()
    child = SPAWN.Process(target=record_process, args=(telemetry.path, path, never))
    child.start()
    wait_for(part_of(path).exists)
    commit(telemetry, "leader", range(3))
    telemetry.close() if end == "close" else child.terminate()
    child.join()
    assert child.exitcode == 0
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]


def orphan(ring_path, path, connection) -> None:
    """A parent that starts a recorder and waits to be killed."""
    never = SPAWN.Event()
    child = SPAWN.Process(target=record_process, args=(ring_path, path, never))
    child.start()
    connection.send(child.pid)
    child.join()


def test_a_recorder_whose_parent_is_killed_finishes_the_file(telemetry, path) -> None:
    """No orphan, no half file."""
    connection, far_end = SPAWN.Pipe()
    parent = SPAWN.Process(target=orphan, args=(telemetry.path, path, far_end))
    parent.start()
    connection.recv()
    wait_for(part_of(path).exists)
    commit(telemetry, "leader", range(3))
    parent.kill()
    parent.join()
    wait_for(path.exists)
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]


def test_the_child_process_survives_a_keyboard_interrupt(telemetry, path) -> None:
    """Ctrl-C reaches the whole group; the parent decides when the recording ends."""
    stop = SPAWN.Event()
    child = SPAWN.Process(target=record_process, args=(telemetry.path, path, stop))
    child.start()
    assert child.pid is not None
    wait_for(part_of(path).exists)
    os.kill(child.pid, signal.SIGINT)
    commit(telemetry, "leader", range(3))
    stop.set()
    child.join()
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]


def test_the_child_process_says_on_one_line_why_it_cannot_record(telemetry, tmp_path, capfd) -> None:
    """Exit code 2 and no traceback."""
    never = SPAWN.Event()
    child = SPAWN.Process(target=record_process, args=(telemetry.path, tmp_path / "no" / "run.mcap", never))
    child.start()
    child.join()
    assert child.exitcode == 2
    assert capfd.readouterr().err.count("\n") == 1
