"""Watchdog: notices that nothing new has come for too long."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Watchdog:
    """Says when silence has lasted too long."""

    silence: float = parameter(0.2, "s", "longest time without a packet", 0.001, 1000.0)
    age: float = parameter(0.5, "s", "oldest state acted on, across a network", 0.001, 1000.0)

    def has_expired(self, silent_ns: int) -> bool:
        """Whether ``silent_ns`` [ns] of silence are too long."""
        return silent_ns > self.silence * 1e9
