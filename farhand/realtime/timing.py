"""How long ticks take and how late they begin, in bounded memory."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Iterator

BITS = 5
FINE = 1 << (BITS + 1)
"""Durations below this are counted exactly, [ns]."""

MAX_NS = (1 << 40) - 1
"""Longer ones are counted as this, about 18 minutes, [ns]."""

SECTIONS = {
    "physics": "the simulated physics",
    "commands": "carrying out commands",
    "read": "reading the arms",
    "law": "the law",
    "write": "writing to the arms",
    "other": "something else in the tick",
}
"""Sections in the order of a tick; publishing belongs to the part that publishes."""


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


class Meter:
    """Time of one section.

    Attributes:
        pending: in the present tick so far, [ns].
        histogram: of the ticks in which it ran.
    """

    __slots__ = ("histogram", "pending")

    def __init__(self) -> None:
        self.pending, self.histogram = 0, Histogram()

    def timed(self, *steps: Callable[[int], None]) -> Callable[[int], None]:
        """All of these steps; the time they take together is put down here."""
        clock = time.perf_counter_ns

        def call(now_ns: int) -> None:
            before = clock()
            for step in steps:
                step(now_ns)
            self.pending += clock() - before

        return call

    def close(self) -> None:
        """End the tick."""
        if self.pending:
            self.histogram.add(self.pending)
            self.pending = 0


RATES = (20, 50, 100, 200, 500, 1000, 2000, 4000, 8000)
"""Rates that a loop is judged by, [Hz]."""


class Cycle:
    """Timing of a loop on the wall clock, over all of its run, in bounded memory.

    Attributes:
        late: how late ticks began.
        tick: how long they took, without simulated physics.
        meters: the sections by name.
    """

    def __init__(self) -> None:
        self.late, self.tick = Histogram(), Histogram()
        self.meters = {name: Meter() for name in SECTIONS}
        self._all = tuple(self.meters.values())

    def close(self, took_ns: int, late_ns: int) -> None:
        """End a tick, with how long it took and how late it began, [ns]."""
        for meter in self._all:
            meter.close()
        self.tick.add(took_ns)
        self.late.add(late_ns)

    def sections(self) -> dict[str, dict[str, float | None]]:
        """Percentiles of each section that ran, [s]."""
        return {
            name: meter.histogram.summary()
            for name, meter in self.meters.items()
            if meter.histogram.count
        }

    def holds(self) -> int | None:
        """The highest of :data:`RATES` that this loop can hold here, [Hz]; None if it holds none.

        99.9 % of the ticks, with their physics and their lateness, fit into its period.
        """
        physics = self.meters["physics"].histogram
        parts = [h.percentile(99.9) for h in (self.tick, self.late, physics) if h.count]
        return max((rate for rate in RATES if sum(parts) <= 1.0 / rate), default=None)

    def heaviest(self, period_ns: int) -> str | None:
        """The section that takes more than half of a period [ns] in most ticks, as text, or None.

        Another computer would not help much then.
        """
        histograms = {name: meter.histogram for name, meter in self.meters.items()}
        medians = {n: h.percentile(50.0) for n, h in histograms.items() if h.count}
        name = max(medians, key=medians.__getitem__, default=None)
        if name is None or medians[name] <= 0.5e-9 * period_ns:
            return None
        took, period = f"{1e3 * medians[name]:.3g} ms", f"{period_ns * 1e-6:g} ms"
        return f"{SECTIONS[name]} takes {took} of a period of {period}"
