"""Lateness: a loop that stood still stops its arm, for what it acts on is no longer what is."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter
from farhand.safety.guard import Guard


@dataclass
class Lateness:
    """Trips a station after a pause of its own loop: the process was stopped, or the machine was busy elsewhere.

    The other side has gone on meanwhile; to follow it at once would be a jump. Many short delays
    are the business of
    :class:`farhand.realtime.Deadlines`.
    """

    limit: float = parameter(
        0.1, "s", "how late a tick may begin before the arm is stopped", 0.001, 10.0
    )

    def check(self, late_ns: int, now_ns: int, guard: Guard) -> None:
        """Look at how late a tick began, [ns], at ``now_ns`` [ns]; trip the guard if that is too late."""
        if late_ns > self.limit * 1e9:
            guard.stop(
                now_ns, "late", f"a tick began {late_ns * 1e-9:.3f} s late (limit {self.limit:g} s)"
            )
