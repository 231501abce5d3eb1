"""Recorded delays, replayed: what a link did one day, packet by packet."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.files import read_csv

LOST = frozenset({"", "lost", "nan"})
"""Words that stand for a packet that did not arrive."""

LARGEST = 10_000.0
"""Longest delay of a trace, [ms]."""


class Trace:
    """Round-trip delays over time, repeated from the start when they end.

    Attributes:
        times_ns: when each holds from, counted from the first, [ns].
        delays_ns: round trips, −1 where the packet was lost, [ns].
        length_ns: after how long it begins again, [ns].
    """

    def __init__(self, times: np.ndarray, delays_ms: np.ndarray) -> None:
        """Make a trace of times [s] that grow and round trips [ms], NaN for a loss."""
        if len(times) < 2 or not (np.diff(times) > 0.0).all():
            raise BadValue("a trace of delays needs two rows or more, with times that grow")
        seconds = times - times[0]
        self.times_ns = np.round(1e9 * seconds).astype(int).tolist()
        self.delays_ns = (
            np.where(np.isnan(delays_ms), -1, np.round(1e6 * np.nan_to_num(delays_ms)))
            .astype(int)
            .tolist()
        )
        # the last holds for a mean step
        self.length_ns = self.times_ns[-1] + self.times_ns[-1] // (len(times) - 1)

    def at(self, now_ns: int) -> int | None:
        """The round trip of a packet sent now, [ns]; None if it is lost."""
        delay = self.delays_ns[bisect_right(self.times_ns, now_ns % self.length_ns) - 1]
        return None if delay < 0 else delay


def read_trace(path: Path) -> Trace:
    """Read a CSV file with the columns ``t`` [s] and ``delay_ms`` (round trip; empty or ``lost`` for a loss).

    Raises:
        FileError: the file cannot be read.
        BadValue: it is no such table, or a delay is below 0 or above 10 s; the message names the
            line.
    """
    table = read_csv(path, ("t", "delay_ms"), "delays")
    delays = np.full(len(table.rows), np.nan)
    for k, word in enumerate(table.column("delay_ms")):
        if word.strip().lower() in LOST:
            continue
        try:
            delays[k] = float(word)
        except ValueError:
            delays[k] = -1.0
        if not 0.0 <= delays[k] <= LARGEST:
            where = f"{table.name} line {table.lines[k]}"
            raise BadValue(
                f"{where}: delay_ms {word[:20]!r} is not within 0 to {LARGEST:g}, empty or lost"
            )
    return Trace(table.numbers("t")[:, 0], delays)
