"""Ramp: a number that follows its target at a bounded rate and stops there exactly."""

from __future__ import annotations

from dataclasses import dataclass

NEAR = 1e-6
"""Share of one step from which the target counts as reached: 4000 steps of 0.005 must make 20, not 4001."""


@dataclass
class Ramp:
    """A value that moves to its target by at most ``rate`` per second.

    Attributes:
        value: now.
        target: where it goes.
        rate: largest change per second.
    """

    value: float
    target: float
    rate: float

    def step(self, dt: float) -> float:
        """Move on by ``dt`` [s] and return the value."""
        left, step = self.target - self.value, self.rate * dt
        if abs(left) <= step * (1.0 + NEAR):
            self.value = self.target
        else:
            self.value += step if left > 0.0 else -step
        return self.value

    def jump(self, value: float) -> None:
        """Be there at once, and stay."""
        self.value = self.target = value
