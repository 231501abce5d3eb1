"""A histogram of durations with buckets 3 % wide, allocated once.

Each duration below 64 ns has its own bucket; above, each power of two has 32 equal buckets.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

BITS = 5
FINE = 1 << (BITS + 1)
"""Durations below this are counted exactly, [ns]."""

MAX_NS = (1 << 40) - 1
"""Longer ones are counted as this, about 18 minutes, [ns]."""


class Histogram:
    """How often each duration came.

    Attributes:
        count: how many were added.
        largest: the longest of them, exactly, [ns].
    """

    __slots__ = ("_counts", "count", "largest")

    def __init__(self) -> None:
        self._counts = array("q", bytes(8 * (_bucket(MAX_NS) + 1)))
        self.count, self.largest = 0, 0

    def add(self, duration_ns: int) -> None:
        """Count one duration, [ns]; a negative one counts as none."""
        if duration_ns > self.largest:
            self.largest = duration_ns
        self._counts[_bucket(min(max(duration_ns, 0), MAX_NS))] += 1
        self.count += 1

    def percentile(self, share: float) -> float:
        """Duration that ``share`` percent do not exceed, up to 3 % too long, [s]; NaN if empty."""
        if not self.count:
            return math.nan
        rank, total = max(1, math.ceil(share * self.count / 100.0)), 0
        for bucket, count in enumerate(self._counts):
            total += count
            if total >= rank:
                return min(_end(bucket), self.largest) * 1e-9
        return self.largest * 1e-9

    def bars(self) -> Iterator[tuple[float, float, int]]:
        """Start and end of every bucket that is not empty, [s], and its count."""
        for bucket, count in enumerate(self._counts):
            if count:
                yield _start(bucket) * 1e-9, (_end(bucket) + 1) * 1e-9, count

    def over(self, duration: float) -> int:
        """How many took longer than that, [s], to the nearest bucket."""
        return sum(count for start, _, count in self.bars() if start > duration)

    def summary(self) -> dict[str, float | None]:
        """Median, 99th and 99.9th percentile and the longest, [s]; None if empty."""
        if not self.count:
            return dict.fromkeys(("p50", "p99", "p999", "max"))
        shares = {"p50": 50.0, "p99": 99.0, "p999": 99.9}
        percentiles = {name: self.percentile(share) for name, share in shares.items()}
        return {**percentiles, "max": self.largest * 1e-9}


def _bucket(duration_ns: int) -> int:
    if duration_ns < FINE:
        return duration_ns
    shift = duration_ns.bit_length() - BITS - 1
    return (shift << BITS) + (duration_ns >> shift)


def _start(bucket: int) -> int:
    """Shortest duration in a bucket, [ns]."""
    if bucket < FINE:
        return bucket
    shift = (bucket >> BITS) - 1
    return (bucket - (shift << BITS)) << shift


def _end(bucket: int) -> int:
    """Longest duration in a bucket, [ns]."""
    return _start(bucket + 1) - 1
