"""Watches: small parts beside the stations that notice trouble, act on it and report it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.safety.guard import Guard, Trip
from farhand.safety.handle import DeadMan

Report = Callable[[int, str], None]
"""Takes an event: when [ns], and its text."""


@dataclass
class Watchdog:
    """Decides when silence has lasted too long, and how far a new map may move the target."""

    silence: float = parameter(0.2, "s", "longest time without a packet", 0.001, 1000.0)
    age: float = parameter(0.5, "s", "oldest state acted on, across a network", 0.001, 1000.0)
    jump: float = parameter(0.02, "m", "how far a new map may move the target", 0.0, 10.0)
    turn: float = parameter(0.1, "rad", "how far a new map may turn the target", 0.0, 10.0)

    def has_expired(self, silent_ns: int) -> bool:
        """Whether ``silent_ns`` [ns] of silence are too long."""
        return silent_ns > self.silence * 1e9

    def objection(self, jump: float, turn: float) -> str:
        """Why a map that moves the target by so much at once, [m] and [rad], is not followed."""
        if jump <= self.jump and turn <= self.turn:
            return ""
        moved = f"{1e3 * jump:.0f} mm and {turn:.2f} rad at once"
        limits = f"limits {1e3 * self.jump:g} mm and {self.turn:g} rad"
        return f"a new map would move the target by {moved} ({limits})"


@dataclass
class Lateness:
    """Trips a station after a pause of its own loop: the process was stopped, or the machine busy.

    The other side has gone on meanwhile; to follow it at once would be a jump. Many short delays
    are the task of :class:`farhand.realtime.Deadlines`.
    """

    limit: float = parameter(0.1, "s", "how late a tick may begin", 0.001, 10.0)

    def check(self, late_ns: int, now_ns: int, guard: Guard) -> None:
        """Trip the guard if a tick began too late; both times in [ns]."""
        if late_ns > self.limit * 1e9:
            reason = f"a tick began {late_ns * 1e-9:.3f} s late (limit {self.limit:g} s)"
            guard.stop(now_ns, "late", reason)


@dataclass
class Switch:
    """A dead-man switch that the operator holds for as long as the follower may move."""

    held: bool = parameter(True, "-", "whether the operator holds the dead-man switch")


@dataclass
class OverheatStop:
    """Stop when the force sensor is too hot to be trusted or to survive.

    Either its own flag or a temperature above ``limit`` trips; the trip stays after it has cooled
    down. A temperature that is not a number trips as well: a broken thermometer must not look like
    a cool sensor.
    """

    limit: float = parameter(120.0, "°C", "temperature that stops the arm", 0.0, 500.0)
    margin: float = parameter(10.0, "°C", "how much cooler it must be for a reset", 0.0, 100.0)

    def __post_init__(self) -> None:
        self.trip: Trip | None = None
        self._last = math.nan

    def check(self, temperature: float | None, flag: bool, now_ns: int) -> bool:
        """Whether the arm may move; the temperature [°C] is None if it is not measured."""
        if flag:
            self._last = math.inf
            self._stop(now_ns, "overheat", "the force sensor reports that it is too hot")
        elif temperature is not None:
            self._last = temperature
            if math.isnan(temperature):
                self._stop(now_ns, "invalid", "the force sensor's temperature is not a number")
            elif temperature > self.limit:
                reason = f"the force sensor is at {temperature:.1f} °C (limit {self.limit:g} °C)"
                self._stop(now_ns, "overheat", reason)
        else:
            self._last = -math.inf
        return self.trip is None

    def reset(self) -> None:
        """Allow motion again.

        Raises:
            BadValue: the sensor is still hot, or its temperature is not known.
        """
        allowed = self.limit - self.margin
        # "not <=" also refuses NaN
        if self.trip is not None and not self._last <= allowed:
            flag = self._last == math.inf
            last = "its own flag is up" if flag else f"last reading {self._last:g} °C"
            need = f"it must be below {allowed:g} °C"
            raise BadValue(f"cannot reset: the force sensor is too hot, {last}; {need}")
        self.trip = None

    def _stop(self, now_ns: int, kind: str, reason: str) -> None:
        if self.trip is None:
            self.trip = Trip(now_ns, kind, reason)


class BridgeSwitch(Protocol):
    """Couples and parts two stations; the bridges of :mod:`farhand.loop.bridges` implement it."""

    def engage(self) -> Any:
        """Couple; the outcome has ``done`` and, as text, the reason of a refusal."""

    def release(self) -> None:
        """Part."""


class TemperatureSensor(Protocol):
    """A sensor that measures its own temperature; simulated and real wrist cells implement it."""

    reading: float

    @property
    def hot(self) -> bool:
        """Its own overheat flag."""


class GripWatch:
    """Parts the coupling when the handle is released; a new grip couples again what was coupled."""

    def __init__(
        self, deadman: DeadMan, bridge: BridgeSwitch, engaged: Callable[[], bool], report: Report
    ) -> None:
        self._deadman, self._bridge, self._engaged, self._report = deadman, bridge, engaged, report
        self._gripped: bool | None = None
        self._resume = False

    def step(self, now_ns: int) -> None:
        """Check the grip."""
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
    """Trips a station whose sensor is too hot; a reset before it has cooled down trips it again."""

    def __init__(self, stop: OverheatStop, sensor: TemperatureSensor, guard: Guard) -> None:
        self._stop, self._sensor, self._guard = stop, sensor, guard

    def step(self, now_ns: int) -> None:
        """Check the temperature."""
        stop, guard = self._stop, self._guard
        if stop.trip is not None and guard.trip is None:
            try:
                stop.reset()
            except BadValue as error:
                guard.stop(now_ns, "overheat", str(error))
        stop.check(self._sensor.reading, self._sensor.hot, now_ns)
        if stop.trip is not None:
            guard.stop(now_ns, stop.trip.kind, stop.trip.reason)


class Announcer:
    """Reports the text of each source whenever it changes.

    Args:
        report: takes events.
        sources: each returns a sentence about the present, or an empty text.
        pause: shortest time between two events of one source, [s].
    """

    def __init__(self, report: Report, *sources: Callable[[], str], pause: float = 0.2) -> None:
        self._report, self._sources, self._pause_ns = report, sources, round(1e9 * pause)
        self._last = [""] * len(sources)
        self._again_ns = [0] * len(sources)

    def step(self, now_ns: int) -> None:
        """Check all sources."""
        for k, source in enumerate(self._sources):
            text = source()
            if text == self._last[k] or now_ns < self._again_ns[k]:
                continue
            self._last[k] = text
            if text:
                self._again_ns[k] = now_ns + self._pause_ns
                self._report(now_ns, text)
