"""History: the signals of a run, taken from the telemetry ring between ticks and kept in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from farhand.telemetry import Reader

Array = np.ndarray

MOST_ROWS = 50_000
"""Rows kept per stream; beyond this every second one is dropped, again and again."""


@dataclass
class Kept:
    """Rows of one stream.

    Attributes:
        times: when, [s].
        rows: all channels side by side.
        stride: every how-many-th record is kept.
    """

    times: Array
    rows: Array
    stride: int = 1
    seen: int = field(default=0, repr=False)


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
            self._kept[name] = Kept(np.zeros(0), np.zeros((0, width)))

    def pull(self) -> dict[str, tuple[Array, Array]]:
        """Take what is new, and return it as (times [s], rows) per stream."""
        new = {}
        for name in self._kept:
            times_ns, rows, lost = self.reader.drain(name)
            self.lost += lost
            new[name] = (times_ns * 1e-9, rows)
            self._keep(name, *new[name])
        self.events += self.reader.events()
        return new

    def times(self, stream: str) -> Array:
        """Times of the kept records of a stream, [s]."""
        return self._kept[stream].times

    def signal(self, stream: str, channel: str) -> Array:
        """Kept values of a channel, one row per record."""
        return self._kept[stream].rows[:, self.reader.columns(stream)[channel]]

    def _keep(self, name: str, times: Array, rows: Array) -> None:
        kept = self._kept[name]
        wanted = (np.arange(kept.seen, kept.seen + len(times)) % kept.stride) == 0
        kept.seen += len(times)
        kept.times = np.concatenate([kept.times, times[wanted]])
        kept.rows = np.concatenate([kept.rows, rows[wanted]])
        while len(kept.times) > MOST_ROWS:
            kept.times, kept.rows, kept.stride = kept.times[::2], kept.rows[::2], kept.stride * 2
