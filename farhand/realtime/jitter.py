"""How late the ticks of an empty loop begin, and which rates that is good enough for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from farhand.loop.clock import WallClock
from farhand.realtime.histogram import Histogram
from farhand.realtime.privileges import Grant, real_time

MEASURED_HZ = 1000.0
JUDGED_HZ = (250, 500, 1000, 4000)

LATE_SHARE = 0.1
"""Share of a period that a tick may be late without harm."""


def measure(
    seconds: float, core: int | None = None, progress: Callable[[float], None] | None = None
) -> Jitter:
    """Run the loop with the privileges of a real one.

    Args:
        seconds: how long, [s].
        core: to stay on; any by default.
        progress: called with the share that is done, about twice a second, outside the ticks.
    """
    clock, late, period_ns = WallClock(), Histogram(), round(1e9 / MEASURED_HZ)
    ticks, batch = round(seconds * MEASURED_HZ), round(MEASURED_HZ / 2)
    with real_time(core) as grants:
        done = 0
        while done < ticks:
            clock.start()
            for tick in range(1, min(batch, ticks - done) + 1):
                clock.wait_until(tick * period_ns)
                late.add(clock.late_ns)
            done += batch
            if progress is not None:
                progress(min(done / ticks, 1.0))
    return Jitter(late, list(grants))


class Jitter:
    """How late the ticks of an empty loop began.

    Args:
        late: all of them.
        grants: what the operating system granted the loop.
    """

    def __init__(self, late: Histogram, grants: list[Grant]) -> None:
        self.late, self.grants = late, grants

    @property
    def scheduler(self) -> str:
        """What the loop ran under."""
        return next((grant.what for grant in self.grants if grant.name == "scheduler"), "ordinary")

    @property
    def overruns(self) -> int:
        """Ticks that began more than a period late."""
        return self.late.over(1.0 / MEASURED_HZ)

    def verdicts(self) -> dict[str, str]:
        """Each of :data:`JUDGED_HZ` judged by :func:`verdict`."""
        return {str(rate): verdict(self.late, 1.0 / rate) for rate in JUDGED_HZ}

    def result(self) -> dict[str, Any]:
        """All of it, ready for JSON; times in s."""
        return {
            "rate": MEASURED_HZ,
            "ticks": self.late.count,
            "overruns": self.overruns,
            "scheduler": self.scheduler,
            "lateness": self.late.summary(),
            "verdicts": self.verdicts(),
            "privileges": [asdict(grant) for grant in self.grants],
            "histogram": [list(bar) for bar in self.late.bars()],
        }


def verdict(late: Histogram, period: float) -> str:
    """Whether a loop of that period [s] holds its rate on a machine with that lateness.

    - ``ok``: 99.9 % of the ticks begin within a tenth of the period after their time;
    - ``marginal``: 99 % do, and 99.9 % within a whole period;
    - ``no``: anything worse.

    The longest delay does not count: without a real-time kernel it is a matter of chance.
    """
    p99, p999 = late.percentile(99.0), late.percentile(99.9)
    if p999 <= LATE_SHARE * period:
        return "ok"
    return "marginal" if p99 <= LATE_SHARE * period and p999 <= period else "no"
