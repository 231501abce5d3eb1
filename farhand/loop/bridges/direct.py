"""Bridges: a law between two stations, in one process or across a link."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from farhand.coupling import Coupling, Effort, Side
from farhand.coupling.engagement import Engagement
from farhand.coupling.trial import UNANSWERED, admit, describe_error, failure
from farhand.errors import BadValue
from farhand.loop.station import Station
from farhand.loop.telemetry import Telemetry
from farhand.safety import Trip

Array = np.ndarray

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""The tool's axes, by name."""

SHAPE = (6,)
NO_NUMBER = "gave an effort that is not a number"


class End:
    """One station's end of a bridge: what the law asks of it, faded by the engagement, and the energy that passes.

    Args:
        station: the local station.
        remote: the other side, as this end knows it.
    """

    def __init__(self, station: Station, remote: Side) -> None:
        self.station, self.remote = station, remote
        self.contribution = station.join()
        self.energy = 0.0  # put into the coupling by this side, net [J]
        self.asked, self._faded = np.zeros(6), np.zeros(6)
        self._pulls = station.controller.exerts_effort
        self._passive = None if station.drives.all() else ~station.drives

    @property
    def dropped(self) -> str:
        """Which of a law's efforts this station cannot exert, in words; empty if none."""
        axes = [axis for axis, drives in zip(AXES, self.station.drives, strict=True) if not drives]
        return (
            f"the {self.station.name} is passive in {', '.join(axes)}: efforts there are dropped"
            if axes
            else ""
        )

    def take(self, effort: Effort) -> bool:
        """Remember what the law asks for, unless it is not a number; a wrench only if the station exerts wrenches.

        Raises:
            Exception: of any kind, if it is no effort at all.
        """
        wrench = effort.wrench
        if wrench.shape != SHAPE:
            raise ValueError(f"a wrench of shape {wrench.shape}")
        if not float(wrench.dot(wrench)) < math.inf:
            return False
        if self._pulls:
            self.asked[:] = wrench
            if self._passive is not None:
                self.asked[self._passive] = 0.0  # nor do they count as energy put in
        self.contribution.target = effort.target
        return True

    def part(self) -> None:
        """Forget where the law wanted the tool: what fades out pulls no further."""
        self.contribution.target = None

    def apply(self, gain: float, dt: float) -> None:
        """Hand the faded wrench to the station and account for its energy."""
        contribution = self.contribution
        contribution.gain = gain
        contribution.wrench = (
            self.asked if gain == 1.0 else np.multiply(self.asked, gain, self._faded)
        )
        self.energy -= float(contribution.wrench.dot(self.station.arm.twist)) * dt

    def stop(self, now_ns: int, law: Coupling, why: str) -> None:
        """Trip the station's guard over a law that failed, with the reason that stands behind its name."""
        self.station.guard.stop(now_ns, "invalid", f"law {law.name!r} {why}")


class Bridge(ABC):
    """A law between two stations: what bridges in one process and across a link have in common.

    Args:
        a: the leader's end.
        b: the follower's end.
        period_ns: time between evaluations, [ns].
    """

    def __init__(self, a: End, b: End, period_ns: int) -> None:
        if not period_ns >= 1:
            raise BadValue(f"a bridge has a period of {period_ns} ns; it must be positive")
        self.a, self.b, self.period_ns = a, b, period_ns
        self.stations = (a.station, b.station)
        self._last_ns = 0

    @property
    @abstractmethod
    def laws(self) -> list[Coupling]:
        """The law's instances: one, or one per end of a link."""

    @property
    def trips(self) -> list[Trip]:
        """Trips of the bridge itself, beside those of its stations."""
        return []

    def record(self, telemetry: Telemetry, name: str) -> None:
        """Declare this bridge's channels in a stream of that name."""
        self._law_error = self.laws[-1].error
        self._stream = telemetry.stream(name, 1e9 / self.period_ns)
        self._error = self._stream.channel("error", 6, "m, rad", AXES)
        self._gain = self._stream.channel("engagement", 1, "-")
        self._energy = self._stream.channel("port_energy", 2, "J", ("leader", "follower"))
        self._age = self._stream.channel("age", 2, "s", ("at_leader", "at_follower"))
        if hasattr(self.laws[-1], "record"):
            self.laws[-1].record(self._stream)  # what it has to say beside its error

    def engage(self) -> str:
        """Couple the two sides as they stand; refused, with the reason, while a station is tripped."""
        for station in self.stations:
            if station.guard.trip is not None:
                return (
                    f"refused: {station.name} is tripped ({station.guard.trip.reason}); reset first"
                )
        for station in self.stations:
            station.rearm()
        self._engage()
        return "; ".join(["done", *(end.dropped for end in (self.a, self.b) if end.dropped)])

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
        self._gain[0] = self.b.contribution.gain
        self._energy[0], self._energy[1] = self.a.energy, self.b.energy
        self._age[0], self._age[1] = self.a.remote.age, self.b.remote.age
        self._publish()
        self._stream.commit(now_ns)

    def _publish(self) -> None:
        """Write what a bridge has to say beside that; most have nothing."""
        return


class DirectBridge(Bridge):
    """A law between two stations in one process: evaluated once, both efforts used.

    Releasing fades out the last efforts without evaluating the law again, so nothing a law says
    after a fault is felt. A law that raises, or answers with anything but two efforts of six
    numbers, stops both stations.

    Args:
        law: the coupling.
        a: the leader's station.
        b: the follower's.
        period_ns: time between evaluations, [ns].

    Raises:
        Mismatch: the law needs something that the stations do not have.
        BadValue: it does not answer as a law must.
    """

    def __init__(self, law: Coupling, a: Station, b: Station, period_ns: int = 1_000_000) -> None:
        admit(law, a.arm, b.arm, a.observer is not None and b.observer is not None)
        super().__init__(End(a, b.side), End(b, a.side), period_ns)
        self.law, self.engagement = law, Engagement()
        self._laws, self._pending = [law], False

    @property
    def laws(self) -> list[Coupling]:
        """The one law."""
        return self._laws

    def _engage(self) -> None:
        self._pending = not self.engagement.wanted  # until both sides have been sensed in this tick

    def release(self) -> None:
        """Fade the coupling out."""
        self._pending = False
        self.engagement.release()

    def _evaluate(self, now_ns: int, dt: float) -> None:
        a, b, engagement = self.a, self.b, self.engagement
        if a.station.guard.trip is not None or b.station.guard.trip is not None:
            self.release()
        # the last efforts must have faded before new ones begin
        if self._pending and engagement.gain == 0.0:
            self._pending = False
            self._couple(now_ns)
        if engagement.wanted:
            self._ask(now_ns, dt)
        if not engagement.wanted:
            a.part()
            b.part()
        gain = engagement.step(dt)
        a.apply(gain, dt)
        b.apply(gain, dt)

    def _couple(self, now_ns: int) -> None:
        """Let the law take the sides as they stand, and begin."""
        try:
            self.law.engage(self.a.station.side, self.b.station.side)
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, f"raised {describe_error(error)}")
        else:
            self.engagement.engage()

    def _ask(self, now_ns: int, dt: float) -> None:
        """Evaluate the law, and remember what it asks for."""
        a, b, answer = self.a, self.b, UNANSWERED
        try:
            answer = on_a, on_b = self.law.step(a.station.side, b.station.side, dt)
            if not (a.take(on_a) and b.take(on_b)):
                self._fail(now_ns, NO_NUMBER)
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, failure(answer, error))

    def _fail(self, now_ns: int, why: str) -> None:
        """Stop both stations: nothing sensible is known of either's effort."""
        for end in (self.a, self.b):
            end.stop(now_ns, self.law, why)
        self.engagement.release()
