"""History: the signals of a run, read from the telemetry ring and kept in bounded memory."""

from __future__ import annotations

import contextlib
import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import UnknownName
from farhand.loop.telemetry import Reader

Array = np.ndarray

MAX_ROWS = 50_000
"""Rows kept per stream; above it, every second one is dropped."""

CHUNK_ROWS = 8192
"""Records added in one step."""

MAX_EVENTS = 20_000
"""Events kept; at twice as many the older half is dropped."""


class ThinnedRows:
    """Rows of one stream, ``width`` numbers each, thinned out as they grow too many."""

    def __init__(self, width: int) -> None:
        self.stride = 1  #: one record out of this many is kept
        self._seen = 0
        self._count = 0
        self._times = np.zeros(0)
        self._rows = np.zeros((0, width))

    def trim(self) -> None:
        """Release memory that holds no row."""
        self._times, self._rows = self.times.copy(), self.rows.copy()

    @property
    def times(self) -> Array:
        """When, [s]."""
        return self._times[: self._count]

    @property
    def rows(self) -> Array:
        """All channels side by side."""
        return self._rows[: self._count]

    def add(self, times: Array, rows: Array) -> None:
        """Keep every ``stride``-th new record; above :data:`MAX_ROWS`, drop every second row."""
        if len(times) and len(self._times) < MAX_ROWS + CHUNK_ROWS:
            self._make_room()
        for start in range(0, len(times), CHUNK_ROWS):
            self._add(times[start : start + CHUNK_ROWS], rows[start : start + CHUNK_ROWS])

    def _add(self, times: Array, rows: Array) -> None:
        kept = slice(-self._seen % self.stride, None, self.stride)
        self._seen += len(times)
        times, rows = times[kept], rows[kept]
        end = self._count + len(times)
        self._times[self._count : end] = times
        self._rows[self._count : end] = rows
        self._count = end
        while self._count > MAX_ROWS:
            half = (self._count + 1) // 2
            self._times[:half] = self.times[::2].copy()
            self._rows[:half] = self.rows[::2].copy()
            self._count = half
            self.stride *= 2

    def _make_room(self) -> None:
        """Reserve all room that is ever needed."""
        # A mapping of its own: the system provides its memory only as it is written to, and gets
        # all of it back. Growing heap arrays would leave holes, some ten megabytes per session.
        times, rows, most = self.times, self.rows, MAX_ROWS + CHUNK_ROWS
        self._times, self._rows = (_mapped((most, *old.shape[1:])) for old in (times, rows))
        self._times[: len(times)] = times
        self._rows[: len(rows)] = rows


def _mapped(shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    private = mmap.mmap(-1, max(8 * count, 8), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # a kernel without large pages refuses, and gives small ones
        with contextlib.suppress(OSError):
            private.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(private, count=count).reshape(shape)


class History:
    """Signals of a run by stream and channel, from the telemetry ring at a path."""

    def __init__(self, ring: Path) -> None:
        self.reader = Reader(ring)
        self.events: list[tuple[int, str]] = []
        self.lost = 0
        self._kept: dict[str, ThinnedRows] = {}
        for name, stream in self.reader.header["streams"].items():
            width = sum(channel["size"] for channel in stream["channels"])
            self._kept[name] = ThinnedRows(width)

    def pull(self) -> dict[str, tuple[Array, Array]]:
        """Take in new records, and return them as (times [s], rows) per stream."""
        new = {}
        for name in self._kept:
            times_ns, rows, lost = self.reader.drain(name)
            self.lost += lost
            new[name] = (times_ns * 1e-9, rows)
            self._kept[name].add(*new[name])
        self.events += self.reader.events()
        if len(self.events) >= 2 * MAX_EVENTS:
            del self.events[:-MAX_EVENTS]
        return new

    def times(self, stream: str) -> Array:
        """Times of the kept records of a stream, [s]."""
        return self._stream(stream).times

    def signal(self, stream: str, channel: str) -> Array:
        """Values of a channel, one row per record.

        Raises:
            UnknownName: there is no such stream, or it has no such channel.
        """
        rows, columns = self._stream(stream).rows, self.reader.columns(stream)
        if channel not in columns:
            raise UnknownName(f"channel of stream {stream!r}", channel, columns)
        return rows[:, columns[channel]]

    def _stream(self, name: str) -> ThinnedRows:
        if name not in self._kept:
            raise UnknownName("stream", name, self._kept)
        return self._kept[name]

    @property
    def latest(self) -> float:
        """Time of the newest kept record, [s]; 0 before the first."""
        ends = (float(kept.times[-1]) for kept in self._kept.values() if len(kept.times))
        return max(ends, default=0.0)

    def state(self) -> dict[str, Any]:
        """Everything gathered, to be sent to another process."""
        for kept in self._kept.values():
            kept.trim()
        gathered = {"kept": self._kept, "events": self.events, "lost": self.lost}
        return {**gathered, "place": self.reader.place}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what another process gathered from the same ring."""
        self._kept = state["kept"]
        self.events = state["events"]
        self.lost = state["lost"]
        self.reader.place = state["place"]


class Gathered:
    """Numbers of a run, gathered in another process; they can be sent and taken over."""

    _gathered: tuple[str, ...] = ("_running",)
    history: History  #: the signals of the run

    def state(self) -> dict[str, Any]:
        """Everything gathered, to be sent to another process."""
        own = vars(self)
        return {"history": self.history.state(), **{name: own[name] for name in self._gathered}}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what another process gathered from the same run."""
        self.history.restore(state["history"])
        vars(self).update({name: state[name] for name in self._gathered})
