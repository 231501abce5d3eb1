"""Session: stations and the bridges between them, ticked at their own rates on one clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from numbers import Real
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from farhand.errors import BadValue, FarhandError, Mismatch, UnknownName
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.clock import Clock, VirtualClock
from farhand.loop.commands import DONE, Commands, Logged, Outcome, Request
from farhand.loop.station import Station
from farhand.loop.telemetry import Telemetry
from farhand.parameters import assign, value_text
from farhand.plants import SimulatedPlant
from farhand.realtime import Cycle, Deadlines
from farhand.safety import Trip
from farhand.world import World

TICKS_TIMED = 1 << 16
MOST_TRIPS = 10_000
"""Trips kept; at twice as many the older half is dropped, because a session may run for weeks."""

# Trips that hold at the same time.
MOST_AT_ONCE = 64


STAGES = ("physics", "sense", "law", "act")
"""The order of a tick. Commands are applied after ``physics``."""

SECTIONS = {"sense": "read", "law": "law", "act": "write"}
"""Where the timing table counts stations and bridges."""

ADDED = {"sense": "read", "law": "law"}
"""Where it counts what is added between them; the rest is ``other``."""


class Physics(Protocol):
    """Simulated physics that the session advances before every tick."""

    @property
    def unstable(self) -> str:
        """Why the simulation has diverged; empty while it has not."""

    def advance(self, to_ns: int) -> None:
        """Move on to ``to_ns``."""


class ProgramTarget(Protocol):
    """Where a program sends a station, see :mod:`farhand.loop.target`."""

    def release(self) -> None:
        """Let the station rest until the next target."""

    def give_back(self, taken: bool = False) -> None:
        """Leave the station to its couplings; refuse targets if it was driven or is ``taken``."""

    def objection(self) -> str:
        """Why the leader cannot follow the station while a program drives it; empty if it can."""

    def give(self) -> None:
        """Let programs drive the station while the leader follows."""


@dataclass(slots=True)
class Part:
    """Something the session calls at its own rate."""

    step: Callable[[int], None]  #: what to call, with the time in [ns]
    period_ns: int  #: how often, [ns]
    stage: str  #: of the tick, one of :data:`STAGES`
    next_ns: int = 0  #: when next, [ns]
    calls: int = 0  #: how often it was called
    section: str = "other"  #: of the timing table, one of :data:`farhand.realtime.timing.SECTIONS`
    call: Callable[[int], None] = field(init=False)  #: ``step``, timed on the wall clock

    def __post_init__(self) -> None:
        self.call = self.step


@dataclass(frozen=True)
class TripRecord:
    """A trip, and where it happened."""

    where: str
    trip: Trip


class Session:
    """N stations and the bridges between them. Each tick goes once round: sense, couple, act.

    Args:
        stations: what senses and acts.
        bridges: the couplings between them.
        worlds: simulated physics, advanced before every tick.
        telemetry: where every signal goes; a new ring by default.
        clock: virtual by default.
        commands: the way in.
        parameters: what ``set`` may change, by name.
        description: what a reader of the telemetry should know about the run.

    Each station publishes in the stream of its name, the first bridge in ``coupling``, the others
    in ``coupling-2``, ``coupling-3`` and so on.

    Raises:
        BadValue: two stations have one name.
        Mismatch: a bridge's station is missing, or a simulated plant's world; or a station is
            shared by bridges of which one needs it alone.
    """

    def __init__(
        self,
        stations: Iterable[Station],
        *,
        bridges: Iterable[Bridge] = (),
        worlds: Iterable[Physics] = (),
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        commands: Commands | None = None,
        parameters: dict[str, Any] | None = None,
        description: dict[str, Any] | None = None,
    ) -> None:
        self.stations = list(stations)
        self.bridges = list(bridges)
        self.worlds = list(worlds)
        self._check_parts()
        self.clock: Clock = clock or VirtualClock()
        self.commands = commands or Commands()
        self.parameters = {} if parameters is None else parameters
        self.telemetry = telemetry or Telemetry()
        self.now_ns = 0  #: time of the last tick, [ns]
        self.ticks = 0  #: how many there were
        #: ticks that began more than a period late or were skipped (wall clock only)
        self.overruns = 0
        self.skipped = 0  #: ticks that were not made
        #: what is done about them; ``set deadlines.…`` changes it
        simulates = any(not (isinstance(it, World) and it.only_shows) for it in self.worlds)
        self.deadlines = Deadlines.simulated() if simulates else Deadlines()
        self.parameters["deadlines"] = self.deadlines
        #: where the time of the ticks went (wall clock only)
        self.cycle: Cycle | None = None if self.clock.name == "virtual" else Cycle()
        self.trips: list[TripRecord] = []  #: every trip so far
        self.targets: list[ProgramTarget] = []  #: where programs send stations
        #: how long the last ticks took, [ns], as a ring
        self.tick_ns = np.zeros(TICKS_TIMED, np.int64)
        self.late_ns = np.zeros(TICKS_TIMED, np.int64)  #: how late they began, [ns], as a ring
        self._stopping = False
        for station in self.stations:
            self.telemetry.add(station.stream)
        for index, bridge in enumerate(self.bridges):
            if index:
                bridge.stream.name = f"coupling-{index + 1}"
            self.telemetry.add(bridge.stream)
        self.telemetry.freeze(description)
        stages = {
            "sense": [(station.sense, station.period_ns) for station in self.stations],
            "law": [(bridge.step, bridge.period_ns) for bridge in self.bridges],
            "act": [(station.act, station.period_ns) for station in self.stations],
        }
        #: what is called in a tick after the commands, in order
        self.parts = [
            Part(step, period_ns, stage, section=SECTIONS[stage])
            for stage, steps in stages.items()
            for step, period_ns in steps
        ]
        self._before_commands: list[Part] = []
        # whether all parts are due together: then their own times are brought up to date only when
        # somebody may look
        self._in_step, self._due_ns, self._made, self._began_ns = False, 0, 0, 0
        # how long the physics of the last tick took, and the time that it simulated, [ns]
        self._physics_ns, self._span_ns = 0, 0
        self._calls: tuple[Callable[[int], None], ...] = ()
        self._base_ns = min((part.period_ns for part in self.parts), default=0)

    def _check_parts(self) -> None:
        """Refuse a session that would run without one of its parts."""
        names = [station.name for station in self.stations]
        for name in names:
            if names.count(name) > 1:
                raise BadValue(f"two stations are named {name!r}; give each a name of its own")
        for station in self.stations:
            # a world may also stand behind physics of its own, so any will do
            if isinstance(station.plant, SimulatedPlant) and not self.worlds:
                remedy = "give the session worlds=[world]"
                raise Mismatch(f"the world of station {station.name!r} would stand still; {remedy}")
        for bridge in self.bridges:
            for station in bridge.stations:
                if station not in self.stations:
                    remedy = "give both of its stations to the session"
                    raise Mismatch(f"a bridge couples station {station.name!r}; {remedy}")
        for station in self.stations:
            laws = [bridge.laws[0] for bridge in self.bridges if station in bridge.stations]
            alone = [law.name for law in laws if not law.shares_arms]
            if alone and len(laws) > 1:
                why = f"law {alone[0]!r} takes its own effort for the only one"
                remedy = "couple several followers by 'position-position'"
                raise Mismatch(
                    f"{len(laws)} bridges share station {station.name!r}: {why}; {remedy}"
                )

    def add(
        self, step: Callable[[int], None], period_ns: int | None = None, *, after: str = "act"
    ) -> Part:
        """Call ``step(now_ns)`` in the tick, behind everything that is in the stage so far.

        Args:
            step: what to call; it must not block.
            period_ns: how often, [ns]; as often as the fastest part by default.
            after: the stage it belongs to. ``"physics"`` comes before the commands of a tick are
                applied, in every tick.
        """
        self._end_lockstep()
        if after not in STAGES:
            raise UnknownName("stage of a tick", after, STAGES)
        period_ns = self._base_ns if period_ns is None else period_ns
        part = Part(step, period_ns, after, section=ADDED.get(after, "other"))
        if after == "physics":
            self._before_commands.append(part)
        else:
            order = STAGES.index(after)
            place = sum(STAGES.index(other.stage) <= order for other in self.parts)
            self.parts.insert(place, part)
        return part

    def remove(self, part: Part) -> None:
        """Take out what :meth:`add` put in."""
        self._end_lockstep()
        (self._before_commands if part.stage == "physics" else self.parts).remove(part)

    def run(
        self, seconds: float, between: Callable[[], None] | None = None, every: float = 0.5
    ) -> None:
        """Run for ``seconds``; call ``between`` outside the ticks about every ``every`` seconds.

        Raises:
            BadValue: one of the times is negative or not a number, or there is nothing to run.
        """
        for what, value in (("seconds", seconds), ("every", every)):
            if not (isinstance(value, Real) and 0.0 <= value < math.inf):
                raise BadValue(
                    f"{what} = {value!r} of a session's run must be a number of seconds, 0 or more"
                )
        if not self.parts:
            raise BadValue("a session without stations and bridges has nothing to run")
        end_ns = self.now_ns + round(seconds * 1e9)
        pause_ns = self.now_ns + round(every * 1e9)
        self._in_step = len({(part.period_ns, part.next_ns) for part in self.parts}) == 1
        self._due_ns = self.parts[0].next_ns
        meters = {} if self.cycle is None else self.cycle.meters
        for part in self.parts:
            part.call = meters[part.section].timed(part.step) if meters else part.step
        self._calls = tuple(part.call for part in self.parts)
        if meters:
            # in lockstep, one look at the clock for neighbours of one section
            sections = groupby(self.parts, attrgetter("section"))
            self._calls = tuple(
                meters[name].timed(*(part.step for part in parts)) for name, parts in sections
            )
        self._base_ns = min(part.period_ns for part in self.parts)
        self.clock.start()
        origin_ns = self.now_ns
        while not self._stopping and (due_ns := self._next_due()) < end_ns:
            self.clock.wait_until(due_ns - origin_ns)
            late_ns = self.clock.late_ns
            if late_ns > self._base_ns:
                due_ns = self._fall_behind(due_ns, late_ns, end_ns)
            self._span_ns, self.now_ns = due_ns - self.now_ns, due_ns
            self._make(due_ns, late_ns)
            self.ticks += 1
            if between is not None and due_ns >= pause_ns:
                self._update_parts()
                between()
                pause_ns += round(every * 1e9)
        self.now_ns = end_ns if not self._stopping else self._next_due()
        self._end_lockstep()
        if between is not None:
            between()

    def _make(self, due_ns: int, late_ns: int) -> None:
        """One tick; on the wall clock its sections are timed."""
        before = time.perf_counter_ns()
        self._advance(due_ns)
        began = self._began_ns = time.perf_counter_ns()
        self._physics_ns = began - before
        self._tick(due_ns)
        took = time.perf_counter_ns() - began
        place = self.ticks % TICKS_TIMED
        self.tick_ns[place], self.late_ns[place] = took, late_ns
        if self.cycle is not None:
            self.cycle.meters["physics"].pending = self._physics_ns
            self.cycle.close(took, late_ns)
            if late_ns <= self._base_ns and self.deadlines.record_tick(late=False):
                self._stop_late(due_ns)

    def _advance(self, due_ns: int) -> None:
        """Bring the physics to ``due_ns`` [ns], and call what belongs before the commands."""
        for world in self.worlds:
            world.advance(due_ns)
            if world.unstable:
                self._stop_all(due_ns, "invalid", world.unstable)
        for part in self._before_commands:
            part.step(due_ns)
            part.calls += 1

    def _fall_behind(self, due_ns: int, late_ns: int, end_ns: int) -> int:
        """Count an overrun, skip ticks by the policy; the time of the tick to make, [ns]."""
        base_ns, skipped = self._base_ns, 0
        missed = min(self.deadlines.missed(late_ns, base_ns), (end_ns - 1 - due_ns) // base_ns)
        slow = self._physics_ns > max(self._span_ns, base_ns)
        if missed and slow and self.deadlines.catch_up_ns:
            # Skipped ticks leave all their physics to one tick, which would be later still, and the
            # next one later again. A simulation slower than time goes on in slow motion instead.
            self.clock.slip(late_ns)
            missed = 0
        if missed:
            now_ns = due_ns + missed * base_ns
            self._update_parts()
            for part in self.parts:
                part.next_ns += max(0, (now_ns - part.next_ns) // part.period_ns) * part.period_ns
            self._due_ns = self.parts[0].next_ns
            later_ns = self._next_due()
            skipped = (later_ns - due_ns) // base_ns
            due_ns = later_ns
        self.skipped += skipped
        self.overruns += 1 + skipped
        if self.deadlines.record_tick(late=True, skipped=skipped):
            self._stop_late(due_ns)
        return due_ns

    def _stop_late(self, now_ns: int) -> None:
        """Stop every station after too many overruns; name the slowest section."""
        heaviest = None if self.cycle is None else self.cycle.heaviest(self._base_ns)
        self._stop_all(now_ns, "overrun", self.deadlines.reason(self._base_ns, heaviest))

    def _stop_all(self, now_ns: int, kind: str, reason: str) -> None:
        """Stop every station."""
        for station in self.stations:
            station.guard.stop(now_ns, kind, reason)

    def _next_due(self) -> int:
        """When the next part is due, [ns]; parts of one rate and phase are due together."""
        return self._due_ns if self._in_step else min(part.next_ns for part in self.parts)

    def _update_parts(self) -> None:
        """Bring the parts' own times and counts up to date."""
        if self._in_step:
            for part in self.parts:
                part.next_ns, part.calls = self._due_ns, part.calls + self._made
            self._made = 0

    def _end_lockstep(self) -> None:
        """Let every part keep its own time, until the next run."""
        self._update_parts()
        self._in_step = False

    def finish(self) -> None:
        """Make :meth:`run` return after the present tick."""
        self._stopping = True

    def close(self) -> None:
        """Give the telemetry ring back."""
        self.telemetry.close()

    def _tick(self, now_ns: int) -> None:
        for request in self.commands.due(now_ns):
            self._apply(request, now_ns)
        if self.cycle is not None:
            self.cycle.meters["commands"].pending = time.perf_counter_ns() - self._began_ns
        if self._in_step:
            # before the calls: one of them may add a part, which ends the lockstep
            self._due_ns += self._base_ns
            self._made += 1
            for call in self._calls:
                call(now_ns)
        else:
            for part in self.parts:
                if part.next_ns <= now_ns:
                    part.call(now_ns)
                    part.next_ns += part.period_ns
                    part.calls += 1
        self._notice_trips()

    def _apply(self, request: Request, now_ns: int) -> None:
        """Carry out one command and log it; a refusal is logged with its reason."""
        try:
            outcome = self._carry_out(request, now_ns)
        except FarhandError as error:
            outcome = Outcome.refused(str(error))
        self.commands.note(Logged(self.ticks, now_ns, request, outcome))
        data = {"kind": "command", "tick": self.ticks, "name": request.name, "path": request.path}
        data |= {"value": request.value, "outcome": str(outcome), "done": outcome.done}
        # A value that was set is said with its name: "hand.open is now false"
        done = request.name == "set" and outcome.done
        text = f"{request.path} is {outcome}" if done else f"{request}: {outcome}"
        self.telemetry.event(now_ns, text, data)

    def _carry_out(self, request: Request, now_ns: int) -> Outcome:
        if request.name == "set":
            for bridge in self.bridges:
                if why := bridge.objection(request.path):
                    return Outcome.refused(why)
            value = assign(self.parameters, request.path, request.value)
            return Outcome(text=f"now {value_text(value)}")
        if request.name == "stop":
            self._stop_all(now_ns, "stop", "the operator stopped the session")
        elif request.name == "reset":
            for station in self.stations:
                station.reset()
        elif request.name in ("engage", "declutch", "take"):
            outcome = self._engage()
            for target in self.targets if outcome.done else ():
                target.give_back(taken=request.name == "take")
            return outcome
        elif request.name == "give":
            return self._give()
        else:
            for bridge in self.bridges:
                bridge.release()
            for target in self.targets:
                target.release()
        return DONE

    def _engage(self) -> Outcome:
        """Couple by every bridge; what is not plainly done comes first."""
        outcomes = [bridge.engage() for bridge in self.bridges]
        return next((outcome for outcome in outcomes if outcome != DONE), DONE)

    def _give(self) -> Outcome:
        """Let programs drive the followers, with the leaders coupled to them."""
        if not self.targets:
            return Outcome.refused("no program can send targets here: use farhand serve")
        for target in self.targets:
            if why := target.objection():
                return Outcome.refused(why)
        outcome = self._engage()
        for target in self.targets if outcome.done else ():
            target.give()
        return outcome

    def _notice_trips(self) -> None:
        """Log each trip once, when it first shows."""
        for station in self.stations:
            trip = station.guard.trip
            if trip is not None:
                self._log_trip(station.name, trip)
        for bridge in self.bridges:
            for trip in bridge.trips:
                self._log_trip("link", trip)

    def _log_trip(self, where: str, trip: Trip) -> None:
        if any(known.trip is trip for known in self.trips[-MOST_AT_ONCE:]):
            return
        if len(self.trips) >= 2 * MOST_TRIPS:
            del self.trips[:MOST_TRIPS]
        self.trips.append(TripRecord(where, trip))
        said = {"kind": "trip", "tick": self.ticks, "where": where, "trip": trip.kind}
        self.telemetry.event(trip.time_ns, f"{where} tripped: {trip.reason}", said)
