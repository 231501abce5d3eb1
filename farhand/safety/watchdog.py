"""Watchdog: notices that nothing new has come for too long."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Watchdog:
    """Says when silence has lasted too long.

    Attributes:
        silence: longest time without anything new, [s].
    """

    silence: float = parameter(0.2, "s", "longest time without a packet", 0.001, 1000.0)

    def bites(self, silent_ns: int) -> bool:
        """Whether ``silent_ns`` [ns] of silence are too long."""
        return silent_ns > self.silence * 1e9
