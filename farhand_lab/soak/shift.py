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
from farhand_lab.soak.acts import AFTER, Act, Repertoire

EVERY = 0.25  # [s], between two looks at the session
PAUSE = 2.5  # [s], between two acts, on average
CALM = 1.0  # [s], at the beginning without any act
MOST = 20  # complaints kept of each kind
MISSING = re.compile(
    r"(variance_)?wrench_(measured|observed|raw|contact_raw)_in_(world|sensor)|q_reference|ik_status"
    r"|distances_to_limits|singular_margin"
)
"""Channels in which NaN or infinity is a value of its own: no measurement, nothing to follow,
nothing inverted."""

BY_LIMIT = (
    "force",
    "speed",
    "position",
    "workspace",
    "torque",
    "collision",
    "overheat",
    "overload",
)
"""Trips that need no fault: a hand may lead an arm beyond any limit. Their reason must name the
limit."""

NAMED = re.compile(r"limit|outside|beyond|more than|stuck", re.IGNORECASE)


@dataclass(frozen=True)
class Plan:
    """What is soaked: how a rig is built, and how far its hand reaches.

    Attributes:
        rig: its name.
        options: law, layer, scenario and link.
        seconds: how long, [s] of virtual time.
        reach: how far the hand drags, [m].
        speed: how fast at most, [m/s].
        calm: whether nothing is done that stops an arm.
    """

    rig: str
    options: Options
    seconds: float
    reach: float
    speed: float
    calm: bool = False


@dataclass
class ShiftLog:
    """What was seen, over all shifts of a rig.

    Attributes:
        seconds: of virtual time.
        ticks: made.
        commands: carried out or refused.
        refused: of them.
        acts: how often each was done.
        trips: how often each kind came, by ``where/kind``.
        causes: how often each cause explained one.
        unexplained: trips without a cause, in words.
        invalid: numbers that are none, in words.
        memory: resident size at each look, [MB], one list per shift.
        built: what each shift was, in a word.
        period: of the slowest part of the first session, whose history is the last to be full, [s].
    """

    seconds: float = 0.0
    ticks: int = 0
    commands: int = 0
    refused: int = 0
    acts: Counter[str] = field(default_factory=Counter)
    trips: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    memory: list[list[float]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    period: float = 0.0


class ShiftWatch:
    """Called between the ticks: lets the operator act, and looks at all that the session says.

    Args:
        rig: what runs.
        plan: what is soaked.
        rng: what decides.
        log: where it is noted.
    """

    def __init__(self, rig: Rig, plan: Plan, rng: np.random.Generator, log: ShiftLog) -> None:
        self._rig, self._calm, self._rng, self._log = rig, plan.calm, rng, log
        self._repertoire = Repertoire(rig, plan.reach, plan.speed, plan.calm, rng)
        self._reader = Reader(rig.session.telemetry.path)
        self._acts: list[Act] = []
        self._next, self._recover = CALM, 0.0
        self._known = 0
        self._checked = {name: self._finite(name) for name in self._reader.header["streams"]}
        log.memory.append([])

    def __call__(self) -> None:
        """Look, then act."""
        now = self._rig.session.now_ns * 1e-9
        self._rig.metrics.pull()
        self._look(now)
        self._explain(now)
        self._log.memory[-1].append(resident())
        if now >= self._next:
            self._act(now + EVERY)
        self._carry_on(now)

    def _finite(self, stream: str) -> list[tuple[str, slice]]:
        return [
            (name, at)
            for name, at in self._reader.columns(stream).items()
            if not MISSING.fullmatch(name)
        ]

    def _look(self, now: float) -> None:
        """Find numbers that are none."""
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
        if len(self._log.invalid) < MOST:
            self._log.invalid.append(f"{self._rig.scenario.name}, {self._rig.law}: {words}")

    def _explain(self, now: float) -> None:
        """Find the cause of every new trip."""
        self._acts = [act for act in self._acts if act.end + 2.0 * AFTER > now]
        trips = self._rig.session.trips
        for record in trips[self._known :]:
            self._log.trips[f"{record.where}/{record.trip.kind}"] += 1
            cause = cause_of(record, self._acts)
            if cause is not None:
                self._log.causes[cause] += 1
            elif len(self._log.unexplained) < MOST:
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
        self._next = act.end + self._rng.exponential(PAUSE)

    def _carry_on(self, now: float) -> None:
        """A while after a trip, reset and engage, or end the shift, as a person would."""
        session = self._rig.session
        tripped = any(s.guard.trip for s in session.stations) or any(
            b.trips for b in session.bridges
        )
        if not tripped:
            self._recover = 0.0
        elif not self._recover:
            self._recover = now + self._rng.uniform(0.5, 3.0)
        elif now >= self._recover:
            self._recover = 0.0
            if not session.bridges and not self._calm:
                session.finish()  # a job that has failed is over, unless it is a hand that leads
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
    if trip.kind in BY_LIMIT and NAMED.search(trip.reason):
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
        rig.session.run(plan.seconds, ShiftWatch(rig, plan, rng, log), EVERY)
        done = 1e-9 * rig.session.now_ns
        log.seconds += done
        log.ticks += rig.session.ticks
        log.commands += len(rig.session.commands.log) + rig.session.commands.forgotten
        log.refused += sum(not entry.outcome.done for entry in rig.session.commands.log)
        return done
    finally:
        rig.close()
        del rig
        gc.collect()  # what only waits for the collector is no leak


def resident() -> float:
    """Memory this process holds, [MB]."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
