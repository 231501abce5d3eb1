"""Clocks: virtual time waits for nothing, wall time for the deadline of the next tick."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells a session when to go on."""

    name: str  #: ``"virtual"`` or ``"wall"``
    late_ns: int  #: how far behind its deadline the last wait ended, [ns]

    def start(self) -> None:
        """Make now the time 0."""

    def wait_until(self, t_ns: int) -> None:
        """Return at ``t_ns`` after the start, [ns], or at once when that has passed."""

    def slip(self, ns: int) -> None:
        """Let its time stand still for so long, [ns]."""


class VirtualClock:
    """Time goes on as fast as the computer can: the same run gives the same log to the bit."""

    name = "virtual"
    late_ns = 0

    def start(self) -> None:
        """Nothing to start."""

    def wait_until(self, t_ns: int) -> None:
        """Go on at once."""

    def slip(self, ns: int) -> None:
        """Nothing: it is never late."""


class WallClock:
    """Time as on the wall: sleep until shortly before the deadline, then spin.

    Args:
        spin_ns: how long before the deadline sleeping turns into spinning, [ns].
    """

    name = "wall"

    def __init__(self, spin_ns: int = 100_000) -> None:
        self.late_ns = 0
        self._spin_ns = spin_ns
        self._origin_ns = time.monotonic_ns()

    def start(self) -> None:
        """Make now the time 0."""
        self._origin_ns = time.monotonic_ns()

    def wait_until(self, t_ns: int) -> None:
        """Sleep, then spin, until the deadline."""
        deadline = self._origin_ns + t_ns
        left = deadline - time.monotonic_ns()
        if left > self._spin_ns:
            time.sleep((left - self._spin_ns) * 1e-9)
        while (now := time.monotonic_ns()) < deadline:
            pass
        self.late_ns = now - deadline

    def slip(self, ns: int) -> None:
        """Count the deadlines from a later start."""
        self._origin_ns += ns
