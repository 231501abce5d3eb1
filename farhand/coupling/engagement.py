"""Engagement: fades a law's efforts in and out, so that neither side ever feels a jump."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Engagement:
    r"""How far two sides are coupled, from 0 (apart) to 1 (fully).

    The gain moves along :math:`3s^2 - 2s^3`, whose slope is zero at both ends.

    Attributes:
        wanted: whether the sides are to be coupled.
        number: counts engagements, so that the other end of a link can tell a new one from the
            last.
        gain: present factor on the efforts, [-].
    """

    ramp: float = parameter(0.2, "s", "time to fade efforts in and out", 0.001, 10.0)

    def __post_init__(self) -> None:
        """Start apart."""
        self.wanted, self.number, self.gain, self._s = False, 0, 0.0, 0.0

    def engage(self, number: int | None = None) -> None:
        """Begin to couple, as the next engagement or the one of the given number."""
        self.wanted, self.number = True, self.number + 1 if number is None else number

    def release(self) -> None:
        """Begin to part."""
        self.wanted = False

    def step(self, dt: float) -> float:
        """Move the gain on by ``dt`` [s] and return it."""
        target = 1.0 if self.wanted else 0.0
        if self._s != target:
            change = dt / self.ramp
            self._s = min(1.0, self._s + change) if self.wanted else max(0.0, self._s - change)
            self.gain = self._s * self._s * (3.0 - 2.0 * self._s)
        return self.gain
