"""Shift: one session of a rig from start to end under a random operator, watched all the while."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from farhand.loop.session import TripRecord
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, Rig, build_rig
from farhand_lab.soak.acts import TRIP_DELAY_S, Act, Repertoire

CHECK_PERIOD_S = 0.25
MEAN_PAUSE_S = 2.5  # between two acts
QUIET_START_S = 1.0  # without any act
MAX_COMPLAINTS = 20  # kept of each kind
MAY_BE_NAN = re.compile(
    r"(variance_)?wrench_(measured|observed|raw|contact_raw)_in_(world|sensor)|q_reference|ik_status"
    r"|distances_to_limits|singular_margin"
)
"""Channels in which NaN or infinity means "no measurement" or "nothing to follow"."""

LIMIT_TRIPS = frozenset("force speed position workspace torque collision overheat overload".split())
"""Trips without a fault: a hand may lead an arm beyond a limit. Their reason must name it."""

NAMES_LIMIT = re.compile(r"limit|outside|beyond|more than|stuck", re.IGNORECASE)


@dataclass(frozen=True)
class Plan:
    """How a rig is built and what its hand does."""

    rig: str  #: its name
    options: Options  #: law, layer, scenario and link
    seconds: float  #: virtual time, [s]
    reach: float  #: how far the hand drags, [m]
    speed: float  #: largest speed of the hand, [m/s]
    calm: bool = False  #: do nothing that stops an arm


@dataclass
class ShiftLog:
    """What happened in all shifts of a rig."""

    seconds: float = 0.0  #: virtual time, [s]
    ticks: int = 0
    commands: int = 0  #: number of commands, refused ones included
    refused: int = 0
    acts: Counter[str] = field(default_factory=Counter)  #: number of acts by name
    trips: Counter[str] = field(default_factory=Counter)  #: number of trips by ``where/kind``
    causes: Counter[str] = field(default_factory=Counter)  #: number of trips by cause
    unexplained: list[str] = field(default_factory=list)  #: messages about trips without a cause
    invalid: list[str] = field(default_factory=list)  #: messages about values that are not numbers
    #: resident size at each check, [MB], one list per shift
    memory: list[list[float]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)  #: law, layer, scenario and delay of each shift
    #: of the slowest part of the first session, whose history is the last to be full, [s]
    period: float = 0.0


class ShiftWatch:
    """Called between the ticks: checks all signals and trips, and lets the operator act."""

    def __init__(self, rig: Rig, plan: Plan, rng: np.random.Generator, log: ShiftLog) -> None:
        self._rig, self._calm, self._rng, self._log = rig, plan.calm, rng, log
        self._repertoire = Repertoire(rig, plan.reach, plan.speed, plan.calm, rng)
        self._reader = Reader(rig.session.telemetry.path)
        self._acts: list[Act] = []
        self._next, self._recover = QUIET_START_S, 0.0
        self._known = 0
        self._checked = {name: self._finite(name) for name in self._reader.header["streams"]}
        log.memory.append([])

    def __call__(self) -> None:
        """Check, then act."""
        now = self._rig.session.now_ns * 1e-9
        self._rig.metrics.pull()
        self._look(now)
        self._explain(now)
        self._log.memory[-1].append(resident())
        if now >= self._next:
            self._act(now + CHECK_PERIOD_S)
        self._carry_on(now)

    def _finite(self, stream: str) -> list[tuple[str, slice]]:
        columns = self._reader.columns(stream).items()
        return [(name, at) for name, at in columns if not MAY_BE_NAN.fullmatch(name)]

    def _look(self, now: float) -> None:
        """Find values that are not numbers."""
        for stream, checked in self._checked.items():
            _, rows, lost = self._reader.drain(stream)
            if lost:
                self._complain(f"{now:.3f} s: {lost} records of {stream} lost")
            if np.isfinite(rows).all():
                continue
            for name, at in checked:
                if not np.isfinite(rows[:, at]).all():
                    self._complain(f"{now:.3f} s: {stream}/{name} is not a number")
        data = self._rig.world.data
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            self._complain(f"{now:.3f} s: the state of the world is not a number")

    def _complain(self, words: str) -> None:
        if len(self._log.invalid) < MAX_COMPLAINTS:
            self._log.invalid.append(f"{self._rig.scenario.name}, {self._rig.law}: {words}")

    def _explain(self, now: float) -> None:
        """Find the cause of every new trip."""
        self._acts = [act for act in self._acts if act.end + 2.0 * TRIP_DELAY_S > now]
        trips = self._rig.session.trips
        for record in trips[self._known :]:
            self._log.trips[f"{record.where}/{record.trip.kind}"] += 1
            cause = cause_of(record, self._acts)
            if cause is not None:
                self._log.causes[cause] += 1
            elif len(self._log.unexplained) < MAX_COMPLAINTS:
                words = (
                    f"{record.trip.time_ns * 1e-9:.3f} s: {record.where} {record.trip.kind}: "
                    f"{record.trip.reason}"
                )
                self._log.unexplained.append(f"{self._rig.scenario.name}, {self._rig.law}: {words}")
        self._known = len(trips)

    def _act(self, at: float) -> None:
        choices = self._repertoire.choices
        act = choices[self._rng.integers(len(choices))](at)
        self._acts.append(act)
        self._log.acts[act.name] += 1
        self._next = act.end + self._rng.exponential(MEAN_PAUSE_S)

    def _carry_on(self, now: float) -> None:
        """Reset and engage some time after a trip, or end the shift, as a person would."""
        session = self._rig.session
        guards = any(station.guard.trip for station in session.stations)
        if not (guards or any(bridge.trips for bridge in session.bridges)):
            self._recover = 0.0
        elif not self._recover:
            self._recover = now + self._rng.uniform(0.5, 3.0)
        elif now >= self._recover:
            self._recover = 0.0
            if not session.bridges and not self._calm:
                # A failed job is over, unless a hand leads
                session.finish()
                return
            session.commands.post("reset")
            if session.bridges:
                session.commands.post("engage", at_ns=round((now + 0.5) * 1e9))


def cause_of(record: TripRecord, acts: list[Act]) -> str | None:
    """The act or the limit that caused a trip; None if it is not known."""
    trip, time = record.trip, record.trip.time_ns * 1e-9
    for act in reversed(acts):
        if act.explains(record.where, trip.kind, time):
            return act.name
    if trip.kind in LIMIT_TRIPS and NAMES_LIMIT.search(trip.reason):
        return f"limit of {trip.kind}"
    return None


def work(plan: Plan, seed: int, log: ShiftLog) -> float:
    """One shift; how long it was, [s] of virtual time."""
    rng = np.random.default_rng([seed, 77])
    rig = build_rig(plan.rig, plan.options)
    try:
        options = plan.options
        log.built.append(f"{rig.law} {options.layer} {rig.scenario.name} {options.delay:g} ms")
        log.period = log.period or max(part.period_ns for part in rig.session.parts) * 1e-9
        rig.session.run(plan.seconds, ShiftWatch(rig, plan, rng, log), CHECK_PERIOD_S)
        done = 1e-9 * rig.session.now_ns
        log.seconds += done
        log.ticks += rig.session.ticks
        log.commands += len(rig.session.commands.log) + rig.session.commands.forgotten
        log.refused += sum(not entry.outcome.done for entry in rig.session.commands.log)
        return done
    finally:
        rig.close()
        del rig
        # What only waits for the collector is not a leak
        gc.collect()


def resident() -> float:
    """Memory this process holds, [MB]."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
