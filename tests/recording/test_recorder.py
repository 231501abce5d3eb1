"""The recorder: what was in the ring is in the file, or the file says that it is not."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader

from farhand.errors import BadValue, FileError, UnknownName
from farhand.loop.latch import Latch
from farhand.loop.telemetry import Reader, Telemetry
from farhand.recording.destination import part_of
from farhand.recording.growing import growing
from farhand.recording.loader import load
from farhand.recording.recorder import BROKEN, Recorder, record_from, record_process
from farhand.recording.recover import recover

SPAWN = multiprocessing.get_context("spawn")
FORK = multiprocessing.get_context("fork")  # where many recorders have to be there at once


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
    """Twelve records in a ring of eight: four are gone, and the file says so at the time of the
    gap's end.
    """
    reader = Reader(telemetry.path)
    commit(telemetry, "leader", range(12))
    with Recorder(path, reader.header) as recorder:
        record_from(reader, recorder)
    recording = load(path)
    assert recording.events == [(4, "lost 4 records of stream leader")]
    assert recording.streams["leader"].times_ns.tolist() == list(range(4, 12))


def test_the_file_has_its_name_from_the_first_records_on_and_is_whole_after_every_flush(
    telemetry, path
) -> None:
    """An older recording of that name stays until there is something to put in its place."""
    path.write_text("older")
    recorder = Recorder(path, Reader(telemetry.path).header)
    assert part_of(path).exists() and path.read_text() == "older"
    for t_ns in range(3):
        recorder.write("leader", [t_ns], [[1, 2, 3]])
        recorder.flush()
        assert not part_of(path).exists()
        with open(path, "rb") as file:
            topics = [channel.topic for _, channel, _ in make_reader(file).iter_messages()]
        assert topics == ["/leader/state"] * (t_ns + 1)
        assert load(path).streams["leader"].times_ns.tolist() == list(range(t_ns + 1))
        assert not load(path).complete
    recorder.close()
    recorder.close()
    assert load(path).complete and load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]


@pytest.fixture
def arm() -> Iterator[Telemetry]:
    """One arm with everything that has a standard message, read 2 ms late."""
    with Telemetry(capacity=64) as made:
        stream = made.stream("arm", 500.0)
        for name, size, unit, labels in ARM:
            stream.channel(name, size, unit, labels)
        made.freeze({"rig": "toy"})
        yield made


ARM: list[tuple[str, int, str, tuple[str, ...]]] = [
    ("q", 2, "rad", ("shoulder", "elbow")),
    ("v", 2, "rad/s", ()),
    ("torque_commanded", 2, "N·m", ()),
    ("position_tool_in_world", 3, "m", ()),
    ("rotation_tool_in_world", 9, "-", ()),
    ("twist_tool_in_world", 6, "m/s, rad/s", ()),
    ("wrench_measured_in_world", 6, "N, N·m", ()),
    ("sample_age", 1, "ns", ()),
]


def arm_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random rows with a rotation about x that really is one, and an age of 2 ms."""
    rows = np.random.default_rng(5).normal(size=(count, 31))
    angle = np.linspace(0.0, 3.0, count)
    turn = np.zeros((count, 3, 3))
    turn[:, 0, 0] = 1.0
    turn[:, 1, 1] = turn[:, 2, 2] = np.cos(angle)
    turn[:, 2, 1], turn[:, 1, 2] = np.sin(angle), -np.sin(angle)
    rows[:, 9:18] = turn.transpose(0, 2, 1).reshape(count, 9)  # column by column
    rows[:, -1] = 2_000_000
    return 10_000_000 + np.arange(count) * 2_000_000, rows


def test_the_official_reader_and_rosbags_read_what_was_written(arm, path) -> None:
    """Counts, rates, times and values, as any ROS 2 tool sees them; measured things carry the
    device's time.
    """
    times, rows = arm_rows(40)
    with Recorder(path, Reader(arm.path).header) as recorder:
        recorder.write("arm", times[:25], rows[:25])
        recorder.flush()
        recorder.write("arm", times[25:], rows[25:])
    seen: dict[str, list] = {}
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        assert summary is not None and reader.get_header().profile == "ros2"
        for _, channel, message, decoded in reader.iter_decoded_messages():
            seen.setdefault(channel.topic, []).append((message, decoded))
    joints, wrench = seen["/arm/joint_states"], seen["/arm/wrench_measured_in_world"]
    command = seen["/arm/joint_commands"]
    assert [message.log_time for message, _ in joints] == times.tolist()
    assert [message.publish_time for message, _ in joints] == (times - 2_000_000).tolist()
    assert [message.publish_time for message, _ in command] == times.tolist()
    assert joints[3][1].header.stamp.nanosec == 14_000_000 and joints[3][1].name == [
        "shoulder",
        "elbow",
    ]
    np.testing.assert_array_equal(
        [list(d.position) + list(d.velocity) for _, d in joints], rows[:, :4]
    )
    np.testing.assert_array_equal([d.effort for _, d in command], rows[:, 4:6])
    np.testing.assert_array_equal(
        [[d.wrench.force.x, d.wrench.torque.z] for _, d in wrench], rows[:, [24, 29]]
    )
    turned = [d.pose.orientation for _, d in seen["/arm/pose_tool_in_world"]]
    np.testing.assert_allclose([o.x for o in turned], np.sin(np.linspace(0.0, 1.5, 40)), atol=1e-15)
    with AnyReader([path]) as bag:
        assert {c.topic: c.msgcount for c in bag.connections if c.msgcount} == {
            k: len(v) for k, v in seen.items()
        }
        assert len(seen["/arm/joint_states"]) == 40 and len(seen["/tf"]) == 4
        [connection] = [c for c in bag.connections if c.topic == "/arm/wrench_measured_in_world"]
        found = [
            (t, bag.deserialize(raw, connection.msgtype))
            for _, t, raw in bag.messages([connection])
        ]
    assert [t for t, _ in found] == times.tolist()
    np.testing.assert_array_equal([m.wrench.force.y for _, m in found], rows[:, 25])


def test_changes_of_mode_and_of_the_coupling_are_events(path) -> None:
    """Found in the signals themselves, outside the tick, across the border of two writes."""
    words = {"name": "mode", "unit": "index of free, hold", "size": 1, "labels": []}
    gain = {"name": "engagement", "unit": "-", "size": 1, "labels": []}
    header = {"streams": {"arm": {"rate": 1.0, "channels": [words, gain]}}, "description": {}}
    with Recorder(path, header) as recorder:
        recorder.write("arm", [0, 1], [[0, 0], [0, 0.5]])
        recorder.write("arm", [2, 3, 4], [[1, 1], [1, 0], [7, 0]])
    assert [(e.time_ns, e.kind, e.text) for e in load(path).happened] == [
        (1, "coupling", "arm engaged"),
        (2, "mode", "arm mode: free to hold"),
        (3, "coupling", "arm parted"),
        (4, "mode", "arm mode: hold to 7"),
    ]


def test_a_wrong_shape_and_a_wrong_stream_are_refused(telemetry, path) -> None:
    """With the right shape, or the right names, in the message."""
    with Recorder(path, Reader(telemetry.path).header) as recorder:
        with pytest.raises(BadValue, match=r"\(1, 2\), not \(1, 3\)"):
            recorder.write("leader", [0], [[1, 2]])
        with pytest.raises(UnknownName, match="follower, leader"):
            recorder.write("lead", [0], [[1, 2, 3]])
        with pytest.raises(BadValue, match="-1 ns"):
            recorder.write("leader", [-1], [[1, 2, 3]])


def test_two_runs_do_not_record_to_one_file(telemetry, path) -> None:
    """Neither before the first records of the other nor after; when it has ended, its file may be
    replaced.
    """
    header = Reader(telemetry.path).header
    with Recorder(path, header) as first:
        with pytest.raises(FileError, match=r"another run is recording to .*run\.mcap\.part"):
            Recorder(path, header)
        first.write("leader", [1], [[1, 2, 3]])
        first.flush()
        with pytest.raises(FileError, match=r"another run is recording to .*run\.mcap;"):
            Recorder(path, header)
    Recorder(path, header).close()
    assert not load(path).streams["leader"].times_ns.size


def fill(path, telemetry_path, stop, word) -> None:
    """Record with a limit on the size of files, which the disk answers as if it were full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    record_process(telemetry_path, path, stop, None, None, word)


def test_a_full_disk_ends_the_recording_with_a_word_and_keeps_what_fitted(path) -> None:
    """The file is whole, says why it ends, and the run hears of it; nothing that was written is
    lost.
    """
    heard, word = FORK.Pipe(duplex=False)
    noise = np.random.default_rng(0)
    with Telemetry(capacity=4096) as telemetry:
        stream = telemetry.stream("leader", 1000.0)
        values = stream.channel("q", 20, "rad")
        telemetry.freeze({})
        child = FORK.Process(target=fill, args=(path, telemetry.path, Latch(FORK), word))
        child.start()
        for t_ns in range(40_000):
            values[:] = noise.normal(size=20)
            stream.commit(t_ns)
            time.sleep(0.001)
            if not child.is_alive():
                break
    assert child.exitcode == 2 and "File too large" in heard.recv()
    recording = load(path)
    assert (
        recording.events[-1][1].startswith("recording stopped: cannot write")
        and not recording.complete
    )
    times = recording.streams["leader"].times_ns
    assert len(times) > 100 and times.tolist() == list(range(len(times)))
    assert 30_000 < path.stat().st_size <= 40_000
    saved = recover(path, path.with_name("saved.mcap"))
    assert load(saved.path).events == recording.events and not load(saved.path).complete


def test_the_child_process_drains_the_ring_before_it_ends(telemetry, path) -> None:
    """Records committed right before the stop are in the file."""
    stop = Latch(SPAWN)
    child = SPAWN.Process(target=record_process, args=(telemetry.path, path, stop))
    child.start()
    wait_for(lambda: part_of(path).exists() or path.exists())
    commit(telemetry, "leader", range(8))
    stop.set()
    child.join()
    assert child.exitcode == 0
    recording = load(path)
    assert recording.streams["leader"].times_ns.tolist() == list(range(8))
    assert (recording.metadata["rig"], recording.metadata["seed"]) == ("dual-arm", 7)
    assert recording.complete and recording.metadata["ended"] == "in order"


def test_a_run_that_an_error_ends_is_told_from_one_that_ended(telemetry, path) -> None:
    """Whether it records in its own process or tells the recorder's."""
    with (
        pytest.raises(ZeroDivisionError),
        Recorder(path, Reader(telemetry.path).header) as recorder,
    ):
        recorder.write("leader", [1], [[1, 2, 3]])
        raise ZeroDivisionError
    assert (
        not load(path).complete
        and load(path).metadata["ended"] == "broken off: ZeroDivisionError in the run"
    )
    stop = Latch(SPAWN)
    stop.set(BROKEN)
    record_process(telemetry.path, path, stop)
    assert (
        not load(path).complete
        and load(path).metadata["ended"] == "broken off: an error in the run"
    )


@pytest.mark.parametrize("end", ["close", "terminate"])
def test_the_child_process_finishes_the_file_however_the_run_ends(telemetry, path, end) -> None:
    """The ring is closed without a word to the child, or the child is terminated; it tells why,
    should the run wait.
    """
    never = Latch(SPAWN)
    heard, word = SPAWN.Pipe(duplex=False)
    child = SPAWN.Process(
        target=record_process, args=(telemetry.path, path, never, None, None, word)
    )
    child.start()
    wait_for(lambda: part_of(path).exists() or path.exists())
    commit(telemetry, "leader", range(3))
    telemetry.close() if end == "close" else child.terminate()
    child.join()
    assert child.exitcode == 0
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]
    why = {
        "close": "the run has closed its telemetry unexpectedly",
        "terminate": "the recorder was terminated",
    }
    assert not load(path).complete and load(path).metadata["ended"] == f"broken off: {why[end]}"
    assert heard.poll() and heard.recv() == why[end]


def test_a_recorder_killed_at_any_moment_leaves_a_file_that_opens_and_lacks_less_than_a_second(
    tmp_path,
) -> None:
    """Twenty recorders of one ring, each killed at a moment of its own, as by kill -9."""
    with Telemetry(capacity=4096) as telemetry:
        stream = telemetry.stream("leader", 1000.0)
        values = stream.channel("q", 20, "rad")
        telemetry.freeze({})
        never = Latch(FORK)
        paths = [tmp_path / f"{index}.mcap" for index in range(20)]
        children = [
            FORK.Process(target=record_process, args=(telemetry.path, path, never))
            for path in paths
        ]
        for child in children:
            child.start()
        ends = np.random.default_rng(int(time.time())).uniform(0.4, 1.9, len(children))
        killed_ns, began = [0] * len(children), time.monotonic_ns()
        while not all(killed_ns):
            now_ns = time.monotonic_ns() - began
            values[:] = now_ns
            stream.commit(now_ns)
            for index, child in enumerate(children):
                if not killed_ns[index] and now_ns > ends[index] * 1e9:
                    killed_ns[index] = now_ns
                    child.kill()
            time.sleep(0.001)
        for child in children:
            child.join()
    for path, killed in zip(paths, killed_ns, strict=True):
        if not path.exists():
            pytest.fail(
                f"{path} does not exist although its recorder ran for {killed * 1e-9:.1f} s"
            )
        recording = load(recover(path, path.with_suffix(".saved")).path)
        assert killed - recording.streams["leader"].times_ns[-1] < 1e9
        np.testing.assert_array_equal(
            recording["leader/q"][:, 7], recording.streams["leader"].times_ns
        )


def orphan(ring_path, path, connection) -> None:
    """A parent that starts a recorder and waits to be killed."""
    never = Latch(SPAWN)
    child = SPAWN.Process(target=record_process, args=(ring_path, path, never))
    child.start()
    connection.send(child.pid)
    child.join()


def test_a_recorder_whose_parent_is_killed_finishes_the_file(telemetry, path) -> None:
    """No orphan, no half file, and no word that the run ended in order."""
    connection, far_end = SPAWN.Pipe()
    parent = SPAWN.Process(target=orphan, args=(telemetry.path, path, far_end))
    parent.start()
    connection.recv()
    wait_for(lambda: part_of(path).exists() or path.exists())
    commit(telemetry, "leader", range(3))
    parent.kill()
    parent.join()
    wait_for(lambda: path.exists() and not growing(path))
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]
    assert not load(path).complete
    assert load(path).metadata["ended"] == "broken off: the run's process has ended unexpectedly"


def test_the_child_process_survives_a_keyboard_interrupt(telemetry, path) -> None:
    """Ctrl-C reaches the whole group; the parent decides when the recording ends."""
    stop = Latch(SPAWN)
    child = SPAWN.Process(target=record_process, args=(telemetry.path, path, stop))
    child.start()
    assert child.pid is not None
    wait_for(lambda: part_of(path).exists() or path.exists())
    os.kill(child.pid, signal.SIGINT)
    commit(telemetry, "leader", range(3))
    stop.set()
    child.join()
    assert load(path).streams["leader"].times_ns.tolist() == [0, 1, 2]


def test_the_child_process_says_on_one_line_why_it_cannot_record(
    telemetry, tmp_path, capfd
) -> None:
    """Exit code 2 and no traceback."""
    never = Latch(SPAWN)
    child = SPAWN.Process(
        target=record_process, args=(telemetry.path, tmp_path / "no" / "run.mcap", never)
    )
    child.start()
    child.join()
    assert child.exitcode == 2
    assert capfd.readouterr().err.count("\n") == 1
