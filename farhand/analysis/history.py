"""History: the signals of a run, taken from the telemetry ring between ticks and kept in bounded memory."""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from farhand.loop.telemetry import Reader

Array = np.ndarray

MOST_ROWS = 50_000
"""Rows kept per stream; beyond this every second one is dropped, again and again."""

MOST_AT_ONCE = 8192
"""Records taken in one step."""

MOST_EVENTS = 20_000
"""Events kept; at twice as many the older half is forgotten."""


class Kept:
    """Rows of one stream, thinned out as they grow too many.

    Args:
        width: numbers per row.

    Attributes:
        stride: every how-many-th record is kept.
    """

    def __init__(self, width: int) -> None:
        self.stride = 1
        self._seen = 0
        self._count = 0
        self._times, self._rows = np.zeros(0), np.zeros((0, width))

    def trim(self) -> None:
        """Let go of memory that holds no row."""
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
        """Keep every ``stride``-th of the new records; beyond :data:`MOST_ROWS`, drop every second one."""
        if len(times) and len(self._times) < MOST_ROWS + MOST_AT_ONCE:
            self._make_room()
        for start in range(0, len(times), MOST_AT_ONCE):
            self._add(times[start : start + MOST_AT_ONCE], rows[start : start + MOST_AT_ONCE])

    def _add(self, times: Array, rows: Array) -> None:
        wanted = np.arange(-self._seen % self.stride, len(times), self.stride)
        self._seen += len(times)
        end = self._count + len(wanted)
        self._times[self._count : end], self._rows[self._count : end] = times[wanted], rows[wanted]
        self._count = end
        while self._count > MOST_ROWS:
            half = (self._count + 1) // 2
            self._times[:half], self._rows[:half] = self.times[::2].copy(), self.rows[::2].copy()
            self._count, self.stride = half, self.stride * 2

    def _make_room(self) -> None:
        """All the room it will ever need, in a mapping of its own.

        The system gives its memory only as it is written to, and gets all of it back. Arrays from
        the heap that grow step by step leave holes there instead, some ten megabytes with every
        session.
        """
        times, rows = self.times, self.rows
        self._times, self._rows = (
            _mapped((MOST_ROWS + MOST_AT_ONCE, *old.shape[1:])) for old in (times, rows)
        )
        self._times[: len(times)], self._rows[: len(rows)] = times, rows


def _mapped(shape: tuple[int, ...]) -> Array:
    private = mmap.mmap(
        -1, max(8 * math.prod(shape), 8), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    )
    return np.frombuffer(private, count=math.prod(shape)).reshape(shape)


class History:
    """Signals of a run by stream and channel.

    Args:
        ring: path of the telemetry ring.
    """

    def __init__(self, ring: Path) -> None:
        self.reader = Reader(ring)
        self.events: list[tuple[int, str]] = []
        self.lost = 0
        self._kept: dict[str, Kept] = {}
        for name, stream in self.reader.header["streams"].items():
            width = sum(channel["size"] for channel in stream["channels"])
            self._kept[name] = Kept(width)

    def pull(self) -> dict[str, tuple[Array, Array]]:
        """Take what is new, and return it as (times [s], rows) per stream."""
        new = {}
        for name in self._kept:
            times_ns, rows, lost = self.reader.drain(name)
            self.lost += lost
            new[name] = (times_ns * 1e-9, rows)
            self._kept[name].add(*new[name])
        self.events += self.reader.events()
        if len(self.events) >= 2 * MOST_EVENTS:
            del self.events[:-MOST_EVENTS]
        return new

    def times(self, stream: str) -> Array:
        """Times of the kept records of a stream, [s]."""
        return self._kept[stream].times

    def signal(self, stream: str, channel: str) -> Array:
        """Kept values of a channel, one row per record."""
        return self._kept[stream].rows[:, self.reader.columns(stream)[channel]]

    @property
    def latest(self) -> float:
        """Time of the newest record that was kept, [s]; 0 before the first."""
        return max(
            (float(kept.times[-1]) for kept in self._kept.values() if len(kept.times)), default=0.0
        )

    def state(self) -> dict[str, Any]:
        """All that was taken in, fit to be sent to another process."""
        for kept in self._kept.values():
            kept.trim()
        return {
            "kept": self._kept,
            "events": self.events,
            "lost": self.lost,
            "place": self.reader.place,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what another process has taken in from the same ring, and go on from there."""
        self._kept, self.events, self.lost = state["kept"], state["events"], state["lost"]
        self.reader.place = state["place"]


class Gathered:
    """What is gathered from a run by a process that is not the one that runs it: can be sent there and taken over."""

    _gathered: tuple[str, ...] = ("_running",)
    history: History  #: the signals of the run

    def state(self) -> dict[str, Any]:
        """All that was gathered, fit to be sent to another process."""
        return {
            "history": self.history.state(),
            **{name: getattr(self, name) for name in self._gathered},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what another process has gathered from the same run."""
        self.history.restore(state["history"])
        for name in self._gathered:
            setattr(self, name, state[name])
