"""Bridge: a law between two stations, and its life: engagement, fading, energies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from farhand.coupling import Coupling
from farhand.errors import BadValue
from farhand.loop.bridges.end import End
from farhand.loop.commands import Outcome
from farhand.loop.station import Station
from farhand.loop.telemetry import Stream
from farhand.safety import Trip


class Bridge(ABC):
    """A law between two stations: what bridges in one process and across a link have in common.

    Args:
        a: the leader's end.
        b: the follower's end.
        laws: the law's instances: one, or one per end of a link, the follower's last.
        period_ns: time between evaluations, [ns].

    Attributes:
        period: time between evaluations, [s].
        stream: where it publishes; the session adds it to its telemetry.
    """

    def __init__(self, a: End, b: End, laws: list[Coupling], period_ns: int) -> None:
        if not period_ns >= 1:
            raise BadValue(f"a bridge has a period of {period_ns} ns; it must be positive")
        self.a = a
        self.b = b
        self.laws = laws
        self.period_ns, self.period = period_ns, period_ns * 1e-9
        self.stations: tuple[Station, ...] = (a.station, b.station)
        self._last_ns = 0
        self._law_error = laws[-1].error
        self.stream = stream = Stream("coupling", 1e9 / period_ns)
        port = laws[-1].port
        self._error = stream.channel("error", port.size, port.unit, port.axes)
        # a single number is written faster through a view of memory
        self._gain: Any = stream.channel("engagement", 1, "-").data
        self._energy: Any = stream.channel("port_energy", 2, "J", ("leader", "follower")).data
        self._age: Any = stream.channel("age", 2, "s", ("at_leader", "at_follower")).data
        laws[-1].record(stream)
        laws[0].mapping.record(stream)

    @property
    def trips(self) -> list[Trip]:
        """Trips of the bridge itself, beside those of its stations."""
        return []

    def engage(self) -> Outcome:
        """Couple the two sides as they stand; refused while a station is tripped."""
        for station in self.stations:
            if (trip := station.guard.trip) is not None:
                return Outcome.refused(f"{station.name} is tripped ({trip.reason}); reset first")
        for station in self.stations:
            station.rearm()
        self._engage()
        # One end may stand for both, so each remark comes once.
        remarks = dict.fromkeys(end.dropped for end in (self.a, self.b) if end.dropped)
        return Outcome(text="; ".join(["done", *remarks]))

    def objection(self, path: str) -> str:
        """Why the parameter of this name cannot be set here; empty if it can."""
        return ""

    @abstractmethod
    def release(self) -> None:
        """Fade the coupling out."""

    @abstractmethod
    def _engage(self) -> None: ...

    @abstractmethod
    def _evaluate(self, now_ns: int, dt: float) -> None: ...

    def step(self, now_ns: int) -> None:
        """Evaluate the law, hand out the efforts and publish."""
        dt = (now_ns - self._last_ns) * 1e-9
        self._last_ns = now_ns
        self._evaluate(now_ns, dt)
        self._error[:] = self._law_error
        a, b, energy, age = self.a, self.b, self._energy, self._age
        self._gain[0] = b.contribution.gain
        energy[0], energy[1] = a.energy, b.energy
        age[0], age[1] = a.remote.age, b.remote.age
        self._publish()
        self.stream.commit(now_ns)

    def _publish(self) -> None:
        """Write what a bridge has to say beside that; most have nothing."""
        return
