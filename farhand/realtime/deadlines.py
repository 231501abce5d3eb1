"""What a session on the wall clock does about ticks that come late."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Deadlines:
    """The overrun policy.

    An *overrun* is a tick that begins more than a period late, or does not come at all.

    - Behind by at most ``catch_up``: the ticks that are due run at once, one after the other, until
      the session is on time again. Simulated physics needs every one of them.
    - Behind by more: all due ticks but the newest are *skipped*, and counted. For real hardware
      ``catch_up`` should be 0: it gains nothing from commands that come late.
    - ``storm`` overruns among the last ``window`` ticks trip every station (kind ``overrun``): a
      loop that is late half of the time acts on the past. A simulation is stopped only if it is
      hardly ever on time. A storm above the window never trips.
    """

    catch_up: float = parameter(0.0, "s", "how far behind ticks are still made up for", 0.0, 10.0)
    storm: int = parameter(500, "ticks", "late or skipped ticks that stop the arms", 1, 1_000_000)
    window: int = parameter(1000, "ticks", "last ticks among which they count", 1, 1_000_000)

    @classmethod
    def simulated(cls) -> Deadlines:
        """For a session that simulates its physics: it catches up, and tolerates more."""
        return cls(catch_up=0.1, storm=900)

    def __post_init__(self) -> None:
        """No overrun yet."""
        self.refresh()

    def refresh(self) -> None:
        """Forget all overruns."""
        self.catch_up_ns = round(self.catch_up * 1e9)
        self._marks, self._at, self._sum = bytearray(self.window), 0, 0

    def missed(self, late_ns: int, period_ns: int) -> int:
        """How many ticks to skip when the next one is this late, [ns]."""
        return late_ns // period_ns if late_ns > max(self.catch_up_ns, period_ns) else 0

    def record_tick(self, late: bool, skipped: int = 0) -> bool:
        """Count a tick and those skipped before it; True once there is a storm, then forgets it."""
        # The common case: nothing is late
        if not (late or self._sum):
            return False
        for mark in (*(min(skipped, self.window) * (1,)), late):
            self._sum += mark - self._marks[self._at]
            self._marks[self._at] = mark
            self._at = (self._at + 1) % self.window
        if self._sum < self.storm:
            return False
        self.refresh()
        return True

    def reason(self, period_ns: int, heaviest: str | None = None) -> str:
        """Why a storm trips, with the section that takes too long if it is known."""
        late = f"began more than {period_ns * 1e-6:g} ms late or not at all (limit {self.storm})"
        cause = heaviest or f"this computer does not hold {1e9 / period_ns:g} Hz"
        return f"{self.storm} of {self.window} ticks {late}: {cause}"
