"""From the telemetry ring to an MCAP file that ROS 2 tools open, in a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farhand.errors import BadValue, FarhandError, FileError, UnknownName
from farhand.loop.latch import Latch
from farhand.loop.telemetry import Reader, columns
from farhand.recording.cdr import event_content, log_content, record
from farhand.recording.definitions import definition, full_name
from farhand.recording.destination import check_destination, part_of
from farhand.recording.growing import GrowingFile, Index
from farhand.recording.topics import AGE, topics_of

INDEX = "index of "
"""Units with this start list the words that a number stands for: ``index of free, hold``."""

FORMAT = 2
"""Version of what is in the file; a reader refuses a newer one."""

PUMP_PERIOD_S = 0.05  # between two looks at the ring
HURRIED_PERIOD_S = 0.005  # the same when the run waits for the recorder
SYNC_PERIOD_S = 1.0  # between two waits for the disk
CHUNK_NS = 250_000_000  # of the run's time, at most, in one chunk
LAST_STOP_S = 1.0  # for the run to end in order when both were asked to terminate
BROKEN = 2
"""What a run sets ``stop`` to if an error has ended it."""

EVENTS_TOPIC, LOG_TOPIC = "/events", "/rosout"
METADATA_NAME = "farhand"
END_NAME = "farhand/end"
ENDED, IN_ORDER = "ended", "in order"
"""The last metadata say how the run ended: so, or why it broke off. A file without them ended in
order if it has an index."""

RingEvent = tuple[int, str, dict[str, Any] | None]
"""Time [ns], text, and data for programs."""

_LEVELS = {"trip": 40, "lost": 30, "full": 40}


class Watch:
    """Notices changes of modes and buttons, and couplings that begin or end.

    Args:
        streams: of the telemetry's header.
    """

    def __init__(self, streams: dict[str, Any]) -> None:
        self._watched: dict[str, list[tuple[str, int, list[str]]]] = {}
        self._last: dict[tuple[str, str], float] = {}
        for name, stream in streams.items():
            places = columns(stream)
            watched = self._watched[name] = []
            for channel in (channel for channel in stream["channels"] if channel["size"] == 1):
                key, unit = channel["name"], channel["unit"]
                if unit.startswith(INDEX):
                    words = unit.removeprefix(INDEX).split(", ")
                    watched.append((key, places[key].start, words))
                elif key == "engagement":
                    watched.append((key, places[key].start, []))

    def changes(
        self, stream: str, times: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> Iterator[tuple[int, str, str]]:
        """Changes in new rows of a stream as (time [ns], kind, words)."""
        for name, column, words in self._watched[stream]:
            values = rows[:, column] if words else (rows[:, column] > 0.0).astype(float)
            first = self._last.get((stream, name), values[0] if words else 0.0)
            before = np.concatenate([[first], values[:-1]])
            self._last[stream, name] = values[-1]
            for place in np.flatnonzero(values != before):
                new, old = values[place], before[place]
                if words:
                    text = f"{stream} {name}: {_word(words, old)} to {_word(words, new)}"
                else:
                    text = f"{stream} {'engaged' if new else 'parted'}"
                yield int(times[place]), "mode" if words else "coupling", text


def _word(words: list[str], value: float) -> str:
    whole = np.isfinite(value) and value == int(value) and 0 <= value < len(words)
    return words[int(value)] if whole else f"{value:g}"


@dataclass
class About:
    """What a recording holds beside its signals."""

    texts: dict[str, str] = field(default_factory=dict)  # by name: how the run was set up, as JSON
    files: dict[str, bytes] = field(default_factory=dict)  # by name: models and the like


class Recorder:
    """Writes an MCAP file: ROS 2 messages in CDR, each topic at its own rate, times in nanoseconds.

    A message's log time is the tick's; its publish time and stamp are the device's for what a
    device measured. The file appears under its name with the first records, and is whole after
    every :meth:`flush`.

    Args:
        path: the file, which may exist already and is then replaced when the first records are
            written.
        header: :attr:`farhand.loop.telemetry.Reader.header`; its description becomes the file's
            metadata.
        about: what else to say.

    Attributes:
        time_ns: latest time in the file so far, [ns].
        lost: records that were overwritten before they could be written, by stream.
    """

    def __init__(self, path: Path, header: dict[str, Any], about: About | None = None) -> None:
        self._path, self._part = Path(os.path.realpath(path)), part_of(path)
        self._streams = {name: columns(stream) for name, stream in header["streams"].items()}
        streams = self._streams.items()
        self._widths = {n: max((c.stop for c in parts.values()), default=0) for n, parts in streams}
        self._seen = dict.fromkeys(self._streams, 0)
        self._watch = Watch(header["streams"])
        self.lost = dict.fromkeys(self._streams, 0)
        self.time_ns, self._events = 0, 0
        self._pending: list[bytes] = []
        self._indexes: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
        self._size, self._named = 0, False
        check_destination(path)
        with self._one_line_errors():
            # Left by a run that died before its first record, as check_destination made sure
            self._part.unlink(missing_ok=True)
            self._file = GrowingFile(self._part)
            self._describe(header, about or About())
            self._declare(header)

    def write(self, stream: str, times_ns: ArrayLike, rows: ArrayLike) -> None:
        """Take records of one stream; they are in the file after the next :meth:`flush`.

        Args:
            stream: its name.
            times_ns: shape (n,), [ns], not negative.
            rows: shape (n, all channels side by side), as
                :meth:`farhand.loop.telemetry.Reader.drain` gives them.
        """
        if stream not in self._streams:
            raise UnknownName("stream", stream, self._streams)
        times, values = np.asarray(times_ns, dtype=np.int64), np.asarray(rows, dtype=np.float64)
        if values.shape != (times.size, self._widths[stream]):
            expected = (times.size, self._widths[stream])
            raise BadValue(f"rows of stream {stream!r} have shape {values.shape}, not {expected}")
        if not times.size:
            return
        if times.min() < 0:
            raise BadValue(f"a record has the time {times.min()} ns; MCAP has no times before 0")
        age = self._streams[stream].get(AGE)
        device = times
        if age is not None:
            device = np.maximum(times - values[:, age.start].astype(np.int64), 0)
        for topic, channel in self._topics[stream]:
            data = topic.block(channel, self._seen[stream], times, device, values)
            self._keep(channel, data, times[-self._seen[stream] % topic.every :: topic.every])
        self._seen[stream] += times.size
        self.time_ns = max(self.time_ns, int(times.max()))
        for t_ns, kind, text in self._watch.changes(stream, times, values):
            self.event(t_ns, text, kind)

    def event(
        self, t_ns: int, text: str, kind: str = "note", data: dict[str, Any] | None = None
    ) -> None:
        """Take a line of text at ``t_ns`` [ns], and what belongs to it."""
        if t_ns < 0:
            raise BadValue(f"an event has the time {t_ns} ns; MCAP has no times before 0")
        extra = json.dumps(data, ensure_ascii=False) if data else ""
        kind = (data or {}).get("kind") or kind
        now = np.array([t_ns], dtype=np.int64)
        event = event_content(t_ns, kind, text, extra)
        line = log_content(t_ns, _LEVELS.get(kind, 20), f"farhand.{kind}", text)
        for channel, content in ((self._event_channel, event), (self._log_channel, line)):
            self._keep(channel, record(channel, self._events, t_ns, content), now)
        self._events += 1
        self.time_ns = max(self.time_ns, t_ns)

    def flush(self) -> None:
        """Write what was taken as one chunk."""
        if not self._pending:
            return
        with self._one_line_errors():
            self._file.chunk(b"".join(self._pending), self._index())
            self._clear()
            self._name()

    def sync(self) -> None:
        """Wait until the disk has it."""
        with self._one_line_errors():
            self._file.sync()

    def close(self, broken: str = "") -> None:
        """Write the rest, finish the file and give it its name.

        Args:
            broken: why the run broke off; it ended in order if nothing is given.
        """
        if self._file.closed:
            return
        self.flush()
        ended = f"broken off: {broken}" if broken else IN_ORDER
        with self._one_line_errors():
            last = {"lost": json.dumps(self.lost), "time_ns": str(self.time_ns), ENDED: ended}
            self._file.metadata(END_NAME, last)
            self._file.finish()
            self._name()

    def give_up(self, reason: str) -> None:
        """Close without what could not be written, with the reason in the file; never raises."""
        self._clear()
        if self._file.closed:
            return
        self.event(self.time_ns, f"recording stopped: {reason}", "full")
        with suppress(OSError):
            self._file.give_up(b"".join(self._pending), self._index())
            self._name()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close("" if kind is None else f"{kind.__name__} in the run")

    def _describe(self, header: dict[str, Any], about: About) -> None:
        said = header["description"].items()
        texts = {key: json.dumps(value, ensure_ascii=False) for key, value in said}
        streams = header["streams"].items()
        shape = {n: {k: stream[k] for k in ("rate", "channels")} for n, stream in streams}
        texts |= {"format": str(FORMAT), "streams": json.dumps(shape)}
        self._file.metadata(METADATA_NAME, texts)
        for name, text in about.texts.items():
            self._file.metadata(f"{METADATA_NAME}/{name}", {name: text})
        for name, content in about.files.items():
            kind = "application/xml" if name.endswith(".xml") else "text/plain"
            self._file.attachment(name, kind, content)

    def _declare(self, header: dict[str, Any]) -> None:
        self._topics: dict[str, list[tuple[Any, int]]] = {}
        shared: dict[str, int] = {}
        for name, stream in header["streams"].items():
            self._topics[name] = []
            for topic in topics_of(name, stream, self._streams[name]):
                if topic.name not in shared:
                    about = (full_name(topic.type), topic.definition, topic.metadata)
                    shared[topic.name] = self._file.channel(topic.name, *about)
                self._topics[name].append((topic, shared[topic.name]))
        self._event_channel = self._plain_channel(EVENTS_TOPIC, "farhand_msgs/Event")
        self._log_channel = self._plain_channel(LOG_TOPIC, "rcl_interfaces/Log")

    def _plain_channel(self, topic: str, kind: str) -> int:
        quality = {"offered_qos_profiles": ""}
        return self._file.channel(topic, full_name(kind), definition(kind), quality)

    def _name(self) -> None:
        if not self._named:
            os.replace(self._part, self._path)
            self._named = True

    def _keep(self, channel: int, data: bytes, times: NDArray[np.int64]) -> None:
        if times.size:
            places = self._size + np.arange(times.size) * (len(data) // times.size)
            self._indexes.setdefault(channel, []).append((times, places))
            self._pending.append(data)
            self._size += len(data)

    def _index(self) -> list[Index]:
        return [
            (channel, np.concatenate([t for t, _ in parts]), np.concatenate([p for _, p in parts]))
            for channel, parts in self._indexes.items()
        ]

    def _clear(self) -> None:
        self._pending.clear()
        self._indexes.clear()
        self._size = 0

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(f"cannot write {self._path}: {error.strerror}") from None


def record_from(reader: Reader, recorder: Recorder) -> int:
    """Move everything new in the ring to the file, with a note of what was lost.

    Returns:
        how many records were written.
    """
    drained = {stream: reader.drain(stream) for stream in reader.header["streams"]}
    events = reader.events_with_data()
    written = 0
    for stream, (times_ns, _, lost) in drained.items():
        written += times_ns.size
        if lost:
            recorder.lost[stream] += lost
            t_ns = int(times_ns[0]) if times_ns.size else recorder.time_ns
            recorder.event(t_ns, f"lost {lost} records of stream {stream}", "lost")
    for t_ns, text, data in events:
        recorder.event(t_ns, text, "note", data)
    starts = [int(times_ns[0]) for times_ns, _, _ in drained.values() if times_ns.size]
    ends = [int(times_ns[-1]) for times_ns, _, _ in drained.values() if times_ns.size]
    for begin in range(min(starts, default=0), max(ends, default=-1) + 1, CHUNK_NS):
        for stream, (times_ns, rows, _) in drained.items():
            part = slice(*np.searchsorted(times_ns, (begin, begin + CHUNK_NS)))
            recorder.write(stream, times_ns[part], rows[part])
        recorder.flush()
    recorder.flush()
    return written


@dataclass(frozen=True)
class RecordOrder:
    """What :func:`record_orders` is to record next; see :func:`record_process`."""

    ring_path: Path
    mcap_path: Path
    earlier: tuple[RingEvent, ...] = ()
    hurry: bool = False


def record_orders(
    orders: Connection, reports: Connection, stop: Latch, taken: MutableSequence[int] | None = None
) -> None:
    """Record what is ordered, one file after the other, until nobody can order any more.

    The target of a :class:`multiprocessing.Process`.

    Args:
        orders: an :class:`About` for the files that follow, or a :class:`RecordOrder`.
        reports: receives why a recording stopped before its end.
        stop: set to end the present recording.
        taken: receives the number of records taken, by stream.
    """
    about: About | None = None
    with suppress(EOFError, OSError):
        while True:
            order = orders.recv()
            if isinstance(order, About):
                about = order
                continue
            where = (order.ring_path, order.mcap_path, stop, about, taken, reports)
            # It has reported why
            with suppress(SystemExit):
                record_process(*where, hurry=order.hurry, earlier=order.earlier)


def record_process(
    ring_path: Path,
    mcap_path: Path,
    stop: Latch,
    about: About | None = None,
    taken: MutableSequence[int] | None = None,
    word: Connection | None = None,
    hurry: bool = False,
    earlier: Sequence[RingEvent] = (),
) -> None:
    """Record until ``stop`` is set, the ring is closed, or this process or its parent ends.

    The file says that the run ended in order only if ``stop`` was set, and not to :data:`BROKEN`.
    In a process of its own it leaves Ctrl-C to the parent, and exits with code 2 if the file cannot
    be written.

    Args:
        ring_path: the telemetry ring.
        mcap_path: the file.
        stop: set when to end.
        about: what the file should say.
        taken: where to count the records taken, by stream.
        word: receives why the recording stopped before its end.
        hurry: whether the run waits for this process, as in virtual time.
        earlier: events from before the recording began.
    """
    parent = multiprocessing.parent_process()
    terminated: list[bool] = []
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
        with suppress(OSError):
            os.nice(0 if hurry else 5)
    recorder: Recorder | None = None

    def ending() -> str | None:
        stopped = stop.wait(HURRIED_PERIOD_S if hurry else PUMP_PERIOD_S)
        if stopped or (terminated and stop.wait(LAST_STOP_S)):
            return "an error in the run" if stop.word == BROKEN else IN_ORDER
        if parent is not None and not parent.is_alive():
            return "the run's process has ended unexpectedly"
        return "the recorder was terminated" if terminated else None

    try:
        reader = Reader(ring_path)
        recorder = Recorder(mcap_path, reader.header, about)
        _catch_up(reader, recorder, earlier)
        why = _record_until(ending, reader, recorder, taken)
        # In virtual time the run would otherwise wait for ever for this process
        if why and word is not None:
            with suppress(OSError):
                word.send(why)
    except FarhandError as error:
        _explain(error, recorder, word)
        raise SystemExit(2) from None


def _catch_up(reader: Reader, recorder: Recorder, earlier: Sequence[RingEvent]) -> None:
    """Write the events of the run so far, each once: the earlier ones and those in the ring."""
    if not earlier:
        return
    known = {_key(event) for event in earlier}
    others = [event for event in reader.events_with_data() if _key(event) not in known]
    for t_ns, text, data in sorted([*earlier, *others], key=lambda event: event[0]):
        recorder.event(t_ns, text, "note", data)


def _key(event: RingEvent) -> tuple[object, ...]:
    """What makes a command of a run the same in its log and in the ring."""
    data = event[2] or {}
    return event[0], *(data.get(key) for key in ("kind", "tick", "name", "path", "outcome"))


def _record_until(
    ending: Callable[[], str | None],
    reader: Reader,
    recorder: Recorder,
    taken: MutableSequence[int] | None,
) -> str:
    """Move what is new to the file until the end; why the run broke off, or nothing."""
    why, synced = None, time.monotonic()
    while why is None:
        closed = reader.closed
        why = ending() or ("the run has closed its telemetry unexpectedly" if closed else None)
        record_from(reader, recorder)
        if taken is not None:
            taken[:] = reader.taken
        if time.monotonic() - synced > SYNC_PERIOD_S:
            recorder.sync()
            synced = time.monotonic()
    broken = "" if why == IN_ORDER else why
    recorder.close(broken)
    return broken


def _explain(error: FarhandError, recorder: Recorder | None, word: Connection | None) -> None:
    """Leave the reason in the file, and report it to the run, or else on the terminal."""
    if recorder is not None:
        recorder.give_up(str(error))
    if word is None:
        print(f"farhand: {error}", file=sys.stderr)
        return
    with suppress(OSError):
        word.send(str(error))
