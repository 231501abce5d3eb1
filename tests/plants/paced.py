"""A clock for tests with real machines or their stand-ins."""

from __future__ import annotations

from farhand.loop.clock import WallClock


class Paced:
    """The wall clock without what comes with it: no compiled law, so that the test is short."""

    name = "wall"

    def __init__(self) -> None:
        self._clock, self.late_ns = WallClock(), 0
        self.start, self.wait_until = self._clock.start, self._clock.wait_until
