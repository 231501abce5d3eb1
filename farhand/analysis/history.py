"""History: the signals of a run, taken from the telemetry ring between ticks and kept in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from farhand.telemetry import Reader

Array = np.ndarray

MOST_ROWS = 50_000
"""Rows kept per stream; beyond this every second one is dropped, again and again."""


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
        self._times, self._rows = np.zeros(1024), np.zeros((1024, width))

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
        wanted = np.arange(-self._seen % self.stride, len(times), self.stride)
        self._seen += len(times)
        end = self._count + len(wanted)
        while end > len(self._times):  # doubled, so that adding stays cheap however long the run
            self._times = np.concatenate([self._times, np.zeros_like(self._times)])
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._times[self._count : end], self._rows[self._count : end] = times[wanted], rows[wanted]
        self._count = end
        while self._count > MOST_ROWS:
            half = (self._count + 1) // 2
            self._times[:half], self._rows[:half] = self.times[::2].copy(), self.rows[::2].copy()
            self._count, self.stride = half, self.stride * 2


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
        return new

    def times(self, stream: str) -> Array:
        """Times of the kept records of a stream, [s]."""
        return self._kept[stream].times

    def signal(self, stream: str, channel: str) -> Array:
        """Kept values of a channel, one row per record."""
        return self._kept[stream].rows[:, self.reader.columns(stream)[channel]]
