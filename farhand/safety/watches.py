"""Watches: small parts that a session ticks beside its stations, to act on what they see and to say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from farhand.errors import BadValue
from farhand.safety.deadman import DeadMan
from farhand.safety.guard import Guard
from farhand.safety.interlock import OverheatStop

Report = Callable[[int, str], None]
"""Takes an event: when [ns], and what."""


class Engageable(Protocol):
    """What couples two stations and parts them: a bridge."""

    def engage(self) -> Any:
        """Couple; the outcome has ``done`` and, as text, the reason of a refusal."""

    def release(self) -> None:
        """Part."""


class TemperatureSensor(Protocol):
    """A sensor that knows how hot it is.

    Attributes:
        reading: of its thermometer, [°C].
        hot: its own overheat flag.
    """

    reading: float

    @property
    def hot(self) -> bool:
        """Whether it says that it is too hot."""


class GripWatch:
    """Parts the coupling when the handle is let go, and couples again on a new grip if it was coupled before.

    Args:
        deadman: that knows of the grip.
        bridge: what is parted.
        engaged: whether it is coupled now.
        report: takes events.
    """

    def __init__(
        self, deadman: DeadMan, bridge: Engageable, engaged: Callable[[], bool], report: Report
    ) -> None:
        self._deadman, self._bridge, self._engaged, self._report = deadman, bridge, engaged, report
        self._gripped: bool | None = None
        self._resume = False

    def step(self, now_ns: int) -> None:
        """Look at the grip."""
        gripped, before = self._deadman.enabled, self._gripped
        self._gripped = gripped
        if not gripped:
            if before is not False:
                self._resume = self._engaged()
                self._report(now_ns, "handle let go: the follower stands and the leader is held")
            self._bridge.release()
        elif before is False:
            result = "not coupled before"
            if self._resume:
                outcome = self._bridge.engage()
                result = "coupled" if outcome.done else str(outcome)
            self._report(now_ns, f"handle gripped again: {result}")


class OverheatWatch:
    """Trips a station whose sensor is too hot; a reset before it has cooled down trips it again.

    Args:
        stop: the limit.
        sensor: what gets hot.
        guard: of the station.
    """

    def __init__(self, stop: OverheatStop, sensor: TemperatureSensor, guard: Guard) -> None:
        self._stop, self._sensor, self._guard = stop, sensor, guard

    def step(self, now_ns: int) -> None:
        """Look at the temperature."""
        stop, guard = self._stop, self._guard
        if stop.trip is not None and guard.trip is None:
            try:
                stop.reset()
            except BadValue as error:
                guard.stop(now_ns, "overheat", str(error))
        if not stop.check(self._sensor.reading, self._sensor.hot, now_ns) and stop.trip is not None:
            guard.stop(now_ns, stop.trip.kind, stop.trip.reason)


class Announcer:
    """Reports what its sources say whenever they say something new.

    Args:
        report: takes events.
        sources: each gives a sentence about the present, empty when there is nothing to say.
        pause: shortest time between two events of one source, [s].
    """

    def __init__(self, report: Report, *sources: Callable[[], str], pause: float = 0.2) -> None:
        self._report, self._sources, self._pause_ns = report, sources, round(1e9 * pause)
        self._said = [""] * len(sources)
        self._again_ns = [0] * len(sources)

    def step(self, now_ns: int) -> None:
        """Ask all sources."""
        for k, source in enumerate(self._sources):
            text = source()
            if text == self._said[k] or now_ns < self._again_ns[k]:
                continue
            self._said[k] = text
            if text:
                self._again_ns[k] = now_ns + self._pause_ns
                self._report(now_ns, text)
