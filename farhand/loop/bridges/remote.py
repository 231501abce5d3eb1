"""Remote bridge: this process's end of a coupling whose other end runs elsewhere."""

from __future__ import annotations

import math

from farhand.link.endpoint import LinkMonitor
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.linked import LinkEnd
from farhand.loop.clock import Clock
from farhand.loop.commands import Outcome
from farhand.safety import Trip
from farhand.safety.watches import Lateness

FAREWELLS = 5
"""How often a side that ends says so: packets may be lost."""


class RemoteBridge(Bridge):
    """One end of a coupling: the law on its own side and the last packet; its own half counts.

    Args:
        end: of the station in this process.
        period_ns: time between evaluations and packets, [ns].
        clock: that knows how late a tick is; None where time is virtual.
    """

    def __init__(
        self, end: LinkEnd, *, period_ns: int = 1_000_000, clock: Clock | None = None
    ) -> None:
        super().__init__(end, end, [end.law], period_ns)
        self.stations = (end.station,)
        self.end = end  #: of the station in this process
        self.live = LinkMonitor(end.endpoint)  #: how the link does
        self.lateness = Lateness()  #: how late ticks may come
        self._clock = clock
        # Index of the far side in channels that have one number per side.
        self._far = 1 if end.leads else 0
        units = {"round_trip": "s", "loss": "-", "age": "s", "offset": "s", "silence": "s"}
        self._numbers = {
            name: self.stream.channel(f"link_{name}", 1, unit) for name, unit in units.items()
        }

    @property
    def trips(self) -> list[Trip]:
        """The trip of this end of the link, if there is one."""
        return [] if self.end.trip is None else [self.end.trip]

    def engage(self) -> Outcome:
        """Couple, if this is the leader's end and it hears the follower."""
        if not self.end.leads:
            return Outcome.refused("the leader couples the two sides; ask there")
        if self.live.silence > self.end.watchdog.silence:
            silence = f"{self.live.silence:.1f} s"
            return Outcome.refused(f"nothing heard from the follower for {silence}")
        if self.end.endpoint.incoming.tripped:
            return Outcome.refused("the follower has tripped; reset it there first")
        if not self.end.switch.held:
            return Outcome.refused("nobody holds the dead-man switch")
        return super().engage()

    def objection(self, path: str) -> str:
        """At the follower's end the leader's map counts."""
        if self.end.leads or not path.startswith("law.mapping."):
            return ""
        return "the leader decides on the mapping; set it there"

    def release(self) -> None:
        """Part; the other end does so when it hears of it."""
        self.end.pending = False
        self.end.engagement.release()

    def leave(self, now_ns: int) -> None:
        """Part for good, and say so to the other end a few times; ``now_ns`` [ns]."""
        self.release()
        self.end.endpoint.outgoing.leaving = True
        for _ in range(FAREWELLS):
            self.end.send(now_ns)

    def _engage(self) -> None:
        self.end.pending = not self.end.engagement.wanted  # until the other end has been heard

    def _evaluate(self, now_ns: int, dt: float) -> None:
        if self._clock is not None:
            self.lateness.check(self._clock.late_ns, now_ns, self.end.station.guard)
        self.end.receive(now_ns)
        self.end.step(now_ns, dt, self.period)

    def _publish(self) -> None:
        far, live = self._far, self.live
        live.update(self.end.endpoint.local_ns(self._last_ns))
        self._energy[far] = self._age[far] = math.nan
        for name, channel in self._numbers.items():
            channel[0] = getattr(live, name)
