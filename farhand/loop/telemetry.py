"""Telemetry: every signal of a run, at its own rate, in shared memory that other processes read."""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import struct
import uuid
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue, FarhandError, FileError, UnknownName
from farhand.ring import (
    MAGIC,
    RingReader,
    RingWriter,
    Span,
    align,
    create_file,
    remove_file,
    shared_folder,
)

MAX_VALUES = 512  # numbers in one record of a stream
MAX_EVENT_BYTES = 1000  # of an event with its data
MAX_TEXT_BYTES = 240
EVENT_CAPACITY = 1024

# magic, length of the JSON header that follows [bytes], 1 when the writer has closed
_START = struct.Struct("@8sqq")
_CLOSED_WORD = 2  # place of the last of them, in 8-byte words
# time [ns], lengths of text and data [bytes], both
_EVENT = struct.Struct(f"@qqq{MAX_EVENT_BYTES}s")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,63}")


class Stream:
    """Signals that are sampled together: one rate, one time per record, one ring.

    A stream owns the arrays its channels are written to. It publishes once a :class:`Telemetry`
    has it (:meth:`Telemetry.add`); one that belongs to none drops its records.

    Args:
        name: such as ``"leader"``.
        rate: nominal rate, [Hz].
    """

    def __init__(self, name: str, rate: float) -> None:
        if not isinstance(rate, int | float) or not (math.isfinite(rate) and rate > 0):
            raise BadValue(f"rate of stream {name!r} is {rate!r} Hz, not a positive number")
        self.name = name
        self.rate = float(rate)
        self._added = False
        self._channels: dict[str, dict[str, Any]] = {}
        self._staging = np.zeros(1 + MAX_VALUES)  # the time as raw int64, then the values
        self._stamp = self._staging[:1].view(np.int64).data
        self._payload = memoryview(b"")
        self._ring: RingWriter | None = None
        self._frozen = False

    def channel(
        self, name: str, size: int, unit: str, labels: Sequence[str] = ()
    ) -> NDArray[np.float64]:
        """Add a signal; returns the array to write it to, valid for the life of the stream.

        Args:
            name: unique in the stream, such as ``"wrench_contact_in_world"``.
            size: how many numbers.
            unit: of all of them, such as ``"N·m"``, or ``"-"``.
            labels: one per number, such as ``("x", "y", "z")``, or none.
        """
        if self._frozen:
            raise FarhandError(f"channel {name!r} comes too late: stream {self.name!r} is frozen")
        _check_name("channel", name, self._channels)
        free = MAX_VALUES - self._width
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= free:
            raise BadValue(
                f"size of channel {name!r} is {size!r}, not a whole number from 1 to {free}"
            )
        if labels and len(labels) != size:
            raise BadValue(
                f"channel {name!r} has {len(labels)} labels for {size} values; give {size} or none"
            )
        start = 1 + self._width
        self._channels[name] = {"name": name, "unit": unit, "size": size, "labels": list(labels)}
        return self._staging[start : start + size]

    def block(self, *channels: tuple[str, int, str, Sequence[str]]) -> NDArray[np.float64]:
        """Add signals side by side, each as (name, size, unit, labels); returns one array."""
        start = 1 + self._width
        for name, size, unit, labels in channels:
            self.channel(name, size, unit, labels)
        return self._staging[start : 1 + self._width]

    def commit(self, t_ns: int) -> None:
        """Publish the channels as one record at ``t_ns`` [ns]; call from one thread only."""
        ring = self._ring
        if ring is None:
            if not self._added:
                return
            raise FarhandError(
                f"stream {self.name!r} takes records only between freeze() and close()"
            )
        self._stamp[0] = t_ns
        ring.push(self._payload)

    @property
    def count(self) -> int:
        """How many records were published."""
        return self._ring.count if self._ring is not None else 0

    @property
    def _width(self) -> int:
        return sum(channel["size"] for channel in self._channels.values())

    def _open(self, ring: RingWriter) -> None:
        self._payload = self._staging[: 1 + self._width].data.cast("B")
        self._ring = ring

    def _close(self) -> None:
        self._frozen = True
        self._ring = None


class Telemetry:
    """The writing end: add streams, :meth:`freeze`, then commit records from the tick.

    Args:
        path: the ring file; ``None`` takes a new name in the shared-memory file system.
        capacity: records each stream keeps before it overwrites the oldest.

    Attributes:
        path: what a :class:`Reader` opens.
    """

    def __init__(self, path: Path | None = None, capacity: int = 8192) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 2:
            raise BadValue(
                f"capacity of the telemetry ring is {capacity!r}, not a whole number of at least 2"
            )
        self._own_name = path is None
        self.path = (
            shared_folder() / f"farhand-{uuid.uuid4().hex}.ring" if path is None else Path(path)
        )
        self._capacity = capacity
        self._streams: dict[str, Stream] = {}
        self._early_events: list[bytes] = []
        self._event_ring: RingWriter | None = None
        self._file: mmap.mmap | None = None
        self._unlink: weakref.finalize[..., Telemetry] | None = None
        self._closed = False

    def stream(self, name: str, rate: float) -> Stream:
        """Add a new stream of records at ``rate`` [Hz]."""
        return self.add(Stream(name, rate))

    def add(self, stream: Stream) -> Stream:
        """Publish a stream that exists."""
        name = stream.name
        if self._file is not None or self._closed:
            raise FarhandError(f"stream {name!r} comes too late: the telemetry is frozen")
        _check_name("stream", name, [*self._streams, "events"])
        stream._added = True
        self._streams[name] = stream
        return stream

    def freeze(self, description: dict[str, Any] | None = None) -> None:
        """Lay out the file; from here on records are taken and channels are not.

        Args:
            description: what a reader or a recording should know of the run (rig, law, seed, ...);
                JSON values.
        """
        if self._file is not None or self._closed:
            raise FarhandError(
                "the telemetry is already frozen" if self._file else "the telemetry is closed"
            )
        header = {
            "streams": {
                s.name: {
                    "rate": s.rate,
                    "capacity": self._capacity,
                    "channels": list(s._channels.values()),
                }
                for s in self._streams.values()
            },
            "description": description or {},
        }
        try:
            text = json.dumps(header).encode()
        except (TypeError, ValueError) as error:
            raise BadValue(f"the description of the run is not JSON: {error}") from None
        spans = _layout(header, len(text))
        self._file = create_file(
            self.path, _START.pack(MAGIC, len(text), 0) + text, spans[-1].end, self._own_name
        )
        self._unlink = weakref.finalize(self, remove_file, self.path, os.getpid())
        for stream, span in zip(self._streams.values(), spans, strict=False):
            stream._frozen = True
            stream._open(RingWriter(self._file, span))
        self._event_ring = RingWriter(self._file, spans[-1])
        for record in self._early_events:
            self._event_ring.push(record)
        self._early_events.clear()

    def event(self, t_ns: int, text: str, data: dict[str, Any] | None = None) -> None:
        """Publish a line of text at ``t_ns`` [ns], cut to 240 bytes; never raises, never waits.

        Events before :meth:`freeze` are kept until then; events after :meth:`close` are dropped.
        One thread only.

        Args:
            t_ns: when, [ns].
            text: for people.
            data: the same for programs, as JSON values; where it does not fit, only its kind and
                that it was cut.
        """
        try:
            record = _pack_event(t_ns, text, data)
        except (struct.error, TypeError):
            record = _pack_event(0, f"{text} (at the invalid time {t_ns!r})", data)
        if self._event_ring is not None:
            self._event_ring.push(record)
        elif not self._closed:
            self._early_events.append(record)

    @property
    def names(self) -> list[str]:
        """The streams, in order."""
        return list(self._streams)

    def backlog(self, taken: Sequence[int]) -> float:
        """Unread share of the fullest ring, for a reader that has ``taken`` these counts."""
        waiting = [
            stream.count - done for stream, done in zip(self._streams.values(), taken, strict=False)
        ]
        return max(waiting, default=0) / self._capacity

    def close(self) -> None:
        """Tell the readers, and remove the file; readers that have it open keep what is in it."""
        for stream in self._streams.values():
            stream._close()
        self._event_ring = None
        self._closed = True
        if self._file is not None and self._unlink is not None:
            self._file[8 * _CLOSED_WORD] = 1
            self._unlink()
            self._file = None

    def __enter__(self) -> Telemetry:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


class Reader:
    """The reading end, in this process or another. Each reader has its own place in every stream.

    Args:
        path: :attr:`Telemetry.path` of a frozen telemetry.
    """

    def __init__(self, path: Path) -> None:
        try:
            with open(path, "rb") as file:
                self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise FileError(f"cannot open the telemetry ring {path}: {error.strerror}") from None
        except ValueError:
            raise FileError(f"{path} is empty, not a telemetry ring") from None
        if self._file[:8] != MAGIC:
            raise FileError(f"{path} is not a telemetry ring of this version of Farhand")
        length = _START.unpack_from(self._file)[1]
        #: ``{"streams": {name: {"rate", "capacity", "channels": [{"name", "unit", "size",
        #: "labels"}]}}, "description": {...}}``
        self.header: dict[str, Any] = json.loads(self._file[_START.size : _START.size + length])
        spans = _layout(self.header, length)
        self._words = np.frombuffer(self._file, dtype=np.int64)
        self._rings = {
            name: RingReader(self._words, span)
            for name, span in zip(self.header["streams"], spans, strict=False)
        }
        self._columns = {name: columns(stream) for name, stream in self.header["streams"].items()}
        self._events = RingReader(self._words, spans[-1])

    @property
    def closed(self) -> bool:
        """Whether the writer has closed: nothing will come after what is there now."""
        return bool(self._words[_CLOSED_WORD])

    def columns(self, stream: str) -> dict[str, slice]:
        """Where each channel lies in a row of :meth:`drain`."""
        self._ring(stream)
        return self._columns[stream]

    def latest(self, stream: str) -> tuple[int, dict[str, NDArray[np.float64]]] | None:
        """The newest record: its time [ns] and its channels by name; ``None`` before the first."""
        record = self._ring(stream).newest()
        if record is None:
            return None
        values = record[1:].view(np.float64)
        return int(record[0]), {name: values[part] for name, part in self.columns(stream).items()}

    def drain(self, stream: str) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
        """All records since the last call, oldest first.

        Returns:
            times [ns], shape (n,); values, shape (n, all channels side by side); how many were
                overwritten unread.
        """
        records, lost = self._ring(stream).take()
        return records[:, 0].copy(), records[:, 1:].view(np.float64), lost

    @property
    def taken(self) -> list[int]:
        """How many records of each stream lie behind this reader, taken or lost."""
        return [ring.position for ring in self._rings.values()]

    @property
    def place(self) -> list[int]:
        """How far this reader is in every stream; another reader can go on from there."""
        return [*self.taken, self._events.position]

    @place.setter
    def place(self, place: Sequence[int]) -> None:
        for ring, position in zip((*self._rings.values(), self._events), place, strict=True):
            ring.position = position

    def skip(self) -> None:
        """Leave out everything that is there now."""
        for ring in (*self._rings.values(), self._events):
            ring.skip()

    def events(self) -> list[tuple[int, str]]:
        """Events since the last call as (time [ns], text); overwritten ones are counted."""
        return [(t_ns, text) for t_ns, text, _ in self.events_with_data()]

    def events_with_data(self) -> list[tuple[int, str, dict[str, Any] | None]]:
        """As :meth:`events`, each with what it says to programs."""
        records, lost = self._events.take()
        found = [_unpack_event(record) for record in records]
        if lost:
            found.insert(0, (found[0][0] if found else 0, f"lost {lost} events", None))
        return found

    def _ring(self, stream: str) -> RingReader:
        try:
            return self._rings[stream]
        except KeyError:
            raise UnknownName("stream", stream, self._rings) from None


def columns(stream: dict[str, Any]) -> dict[str, slice]:
    """Where each channel lies in a row; ``stream`` is one entry of ``header["streams"]``."""
    parts: dict[str, slice] = {}
    start = 0
    for channel in stream["channels"]:
        parts[channel["name"]] = slice(start, start + channel["size"])
        start += channel["size"]
    return parts


def _check_name(kind: str, name: str, taken: Iterable[str]) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadValue(
            f"{kind} name {name!r} must be a letter, then at most 63 letters, digits or _./-"
        )
    if name in taken:
        raise BadValue(f"{kind} name {name!r} is taken; the taken ones are {', '.join(taken)}")


def _pack_event(t_ns: int, text: str, data: dict[str, Any] | None = None) -> bytes:
    encoded = str(text).encode("utf-8", "replace")[:MAX_TEXT_BYTES]
    whole = encoded.decode("utf-8", "ignore").encode()  # without the half of a character at the cut
    try:
        more = b"" if data is None else json.dumps(data, default=_as_json).encode()
    except (TypeError, ValueError, RecursionError):  # no JSON, whatever a caller has put in
        more = bytes(MAX_EVENT_BYTES + 1)
    if data is not None and len(whole) + len(more) > MAX_EVENT_BYTES:
        more = json.dumps({"kind": str(data.get("kind", ""))[:40], "cut": True}).encode()
    return _EVENT.pack(t_ns, len(whole), len(more), whole + more)


def _unpack_event(record: NDArray[np.int64]) -> tuple[int, str, dict[str, Any] | None]:
    length, more, content = int(record[1]), int(record[2]), record[3:].tobytes()
    return (
        int(record[0]),
        content[:length].decode(),
        json.loads(content[length : length + more]) if more else None,
    )


def _as_json(value: Any) -> Any:
    """Arrays and NumPy's numbers as lists and numbers, anything else as its words."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _layout(header: dict[str, Any], header_bytes: int) -> list[Span]:
    """The rings of the streams in order, then that of the events."""
    shapes = [
        (s["capacity"], 1 + sum(c["size"] for c in s["channels"]))
        for s in header["streams"].values()
    ]
    shapes.append((EVENT_CAPACITY, _EVENT.size // 8))
    spans: list[Span] = []
    for capacity, words in shapes:
        offset = spans[-1].end if spans else align(_START.size + header_bytes)
        spans.append(Span(offset, capacity, words))
    return spans
