"""Live numbers of a link: what its two ends show while they run."""

from __future__ import annotations

import math

from farhand.link.endpoint import Endpoint

WINDOW_NS = 1_000_000_000
"""Time over which losses are counted, [ns]."""


class Live:
    """How one end's link does just now; a number that is not known is none.

    Args:
        endpoint: of the link.

    Attributes:
        round_trip: there and back, with the wait for a tick at both ends, [s].
        loss: share of packets lost in the last whole second, [-].
        age: of what is known of the other side, [s].
        offset: the other side's clock minus this one's, [s].
        silence: since a packet last arrived, [s].
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.round_trip = self.loss = self.age = self.offset = self.silence = math.nan
        self._next_ns, self._lost, self._received = WINDOW_NS, 0, 0

    def update(self, now_ns: int) -> None:
        """Look at the endpoint; ``now_ns`` [ns]."""
        endpoint = self._endpoint
        self.round_trip = _seconds(endpoint.round_trip_ns)
        self.age, self.silence = (
            _seconds(endpoint.age_ns(now_ns)),
            _seconds(endpoint.silence_ns(now_ns)),
        )
        self.offset = math.nan if endpoint.offset is None else _seconds(endpoint.offset.offset_ns)
        if now_ns >= self._next_ns:
            statistics = endpoint.statistics
            came = statistics.received + statistics.late
            lost, received = max(statistics.lost - self._lost, 0), came - self._received
            self.loss = lost / (lost + received) if lost + received else math.nan
            self._lost, self._received = statistics.lost, came
            self._next_ns = now_ns + WINDOW_NS

    def words(self) -> str:
        """All of it in one line."""
        shown = [
            f"round trip {_ms(self.round_trip)}",
            f"lost {'–' if math.isnan(self.loss) else f'{100.0 * self.loss:.1f} %'}",
            f"age {_ms(self.age)}",
            f"clock {'–' if math.isnan(self.offset) else f'{1e3 * self.offset:+.2f} ms'}",
        ]
        return ", ".join(shown)


def _seconds(time_ns: int | None) -> float:
    return math.nan if time_ns is None else time_ns * 1e-9


def _ms(seconds: float) -> str:
    return "–" if math.isnan(seconds) else f"{1e3 * seconds:.2f} ms"
