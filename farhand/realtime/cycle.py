"""Cycle: where the time of a tick goes, section by section."""

from __future__ import annotations

from farhand.realtime.histogram import Histogram

SECTIONS = {
    "physics": "the simulated physics",
    "commands": "carrying out commands",
    "read": "reading the arms",
    "law": "the law",
    "write": "writing to the arms",
    "other": "something else in the tick",
}
"""Sections in the order of a tick; publishing belongs to the part that publishes."""


class Meter:
    """Time of one section.

    Attributes:
        pending: in the present tick so far, [ns].
        histogram: of the ticks in which it ran.
    """

    __slots__ = ("histogram", "pending")

    def __init__(self) -> None:
        self.pending, self.histogram = 0, Histogram()

    def close(self) -> None:
        """End the tick."""
        if self.pending:
            self.histogram.add(self.pending)
            self.pending = 0


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
