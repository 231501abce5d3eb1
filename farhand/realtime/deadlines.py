"""Deadlines: what a session on the wall clock does about ticks that come late."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Deadlines:
    """The overrun policy.

    An *overrun* is a tick that begins more than a period late, or does not come at all.

    - Behind by at most ``catch_up``: ticks that are due are made at once, one after the other,
      until the session is on time again. Physics that the session carries along needs every one of
      them.
    - Behind by more: all ticks whose time has passed are *skipped* but the newest, and counted.
      There is never a longer burst. Where the plant is real hardware, ``catch_up`` should be 0: it
      gains nothing by commands that come late.
    - ``storm`` overruns among the last ``window`` ticks trip every station (kind ``overrun``): a
      loop that is late half of the time acts on what was, not on what is. Where all is simulated
      nothing comes to harm, and only a session that is hardly ever on time is stopped. More than
      the window never trips.
    """

    catch_up: float = parameter(0.0, "s", "how far behind ticks are still made up for", 0.0, 10.0)
    storm: int = parameter(
        500, "ticks", "so many late or skipped ticks stop the arms", 1, 1_000_000
    )
    window: int = parameter(1000, "ticks", "among so many of the last ticks", 1, 1_000_000)

    @classmethod
    def simulated(cls) -> Deadlines:
        """For a session that carries its own physics: it makes up for every tick, and is patient."""
        return cls(catch_up=0.1, storm=900)

    def __post_init__(self) -> None:
        """No overrun yet."""
        self.refresh()

    def refresh(self) -> None:
        """Start counting anew."""
        self.catch_up_ns = round(self.catch_up * 1e9)
        self._marks, self._at, self._sum = bytearray(self.window), 0, 0

    def missed(self, late_ns: int, period_ns: int) -> int:
        """How many ticks to skip when the next one is so late, [ns]; the newest whose time has come is made."""
        return late_ns // period_ns if late_ns > max(self.catch_up_ns, period_ns) else 0

    def record_tick(self, overrun: bool, skipped: int = 0) -> bool:
        """Note a tick and those skipped before it; whether that makes it a storm, after which counting starts anew."""
        if not (overrun or self._sum):
            return False  # the common case: all is quiet
        for mark in (*(min(skipped, self.window) * (1,)), overrun):
            self._sum += mark - self._marks[self._at]
            self._marks[self._at] = mark
            self._at = (self._at + 1) % self.window
        if self._sum < self.storm:
            return False
        self.refresh()
        return True

    def reason(self, period_ns: int, heaviest: str | None = None) -> str:
        """Why a storm trips, in words; what takes too long is blamed where that is known, else the computer."""
        late = f"{self.storm} of {self.window} ticks began more than {period_ns * 1e-6:g} ms late or not at all"
        return f"{late} (limit {self.storm}): {heaviest or f'this computer does not hold {1e9 / period_ns:g} Hz'}"
