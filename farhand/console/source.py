"""Where the page's numbers come from, and where its requests go."""

from __future__ import annotations

import contextlib
import itertools
import threading
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np

from farhand.recording.loader import Recording

Array = np.ndarray
Record = tuple[int, dict[str, Array]]
Event = tuple[int, str, dict[str, Any] | None]


class Source(Protocol):
    """What a page reads; :class:`farhand.loop.telemetry.Reader` is one."""

    header: dict[str, Any]

    @property
    def closed(self) -> bool:
        """Whether nothing will come after what is there now."""

    def latest(self, stream: str) -> Record | None:
        """The newest record: its time [ns] and its channels by name; ``None`` before the first."""

    def events_with_data(self) -> list[Event]:
        """Events since the last call as (time [ns], text, data for programs)."""


class RecordedSource:
    """A recording that can be read as if it were happening."""

    def __init__(self, recording: Recording) -> None:
        self._streams, self._happened = recording.streams, recording.happened
        #: its streams, with the channels of each
        self.header: dict[str, Any] = {"streams": {n: _about(s) for n, s in self._streams.items()}}
        times = [s.times_ns for s in recording.streams.values() if s.times_ns.size]
        #: time of the first record, [ns]
        self.start_ns = min((int(time[0]) for time in times), default=0)
        #: time of the last record, [ns]
        self.end_ns = max((int(time[-1]) for time in times), default=0)
        self.now_ns = self.start_ns  #: the present time, [ns]
        self._read = 0  # events read so far

    @property
    def closed(self) -> bool:
        """Whether it is at its end."""
        return self.now_ns >= self.end_ns

    def seek(self, t_ns: int) -> None:
        """Go to a time, [ns]; after a step back, all events up to there come again."""
        if t_ns < self.now_ns:
            self._read = 0
        self.now_ns = min(max(t_ns, self.start_ns), self.end_ns)

    def latest(self, stream: str) -> Record | None:
        """The last record not after the present time."""
        data = self._streams[stream]
        index = int(np.searchsorted(data.times_ns, self.now_ns, side="right")) - 1
        if index < 0:
            return None
        channels = {name: values[index] for name, values in data.channels.items()}
        return int(data.times_ns[index]), channels

    def events_with_data(self) -> list[Event]:
        """Events up to the present time that were not read yet."""
        due = itertools.takewhile(lambda e: e.time_ns <= self.now_ns, self._happened[self._read :])
        events: list[Event] = [(e.time_ns, e.text, e.data or None) for e in due]
        self._read += len(events)
        return events


def _about(stream: Any) -> dict[str, Any]:
    """What the header of a telemetry ring says about a stream."""
    sizes = {name: values.shape[1] for name, values in stream.channels.items()}
    units = stream.units
    channels = [{"name": n, "size": size, "unit": units.get(n, "")} for n, size in sizes.items()]
    return {"rate": stream.rate, "channels": channels}


class Requests:
    """The way from the page's process to the session; any thread may send.

    Beside the session's commands there are ``restart`` (a new session with other options),
    ``again`` (the same session from its start), ``record``, ``deadman`` (whether one must be held),
    ``arrived`` (the first visitor is there) and ``end`` (with the value True, once confirmed).

    Args:
        outgoing: this process's end of the pipe; None for the page of a recording.
    """

    def __init__(self, outgoing: Connection | None) -> None:
        self._outgoing, self._lock = outgoing, threading.Lock()

    def send(self, name: str, path: str = "", value: object = None) -> None:
        """Send a request; does nothing if the session has ended."""
        if self._outgoing is None:
            return
        with self._lock, contextlib.suppress(OSError):
            self._outgoing.send((name, path, value))
