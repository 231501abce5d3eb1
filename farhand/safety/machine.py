"""State machine: named states, guarded transitions, timeouts, interlocks, and latched faults.

A machine is data plus four verbs: :meth:`Machine.start`, :meth:`Machine.post` an event,
:meth:`Machine.step` at every tick, :meth:`Machine.reset` after a fault. It has no clock and no
thread of its own: the same calls at the same times give the same states, and tests need no rig::

    machine = Machine(
        "lift",
        states=[
            State("ready"),
            State("lift", enter=ramp.begin, timeout=5.0),
            State("fault", enter=brakes.close),
        ],
        transitions=[
            Transition("ready", "lift", event="go", guard=lambda: gripped or "nothing is gripped"),
            Transition("lift", "ready", guard=lambda: height > 0.1),
        ],
        interlocks=[Interlock("cell", lambda: None if cell.fresh else "the load cell is silent")],
    )
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from farhand.errors import BadValue, FarhandError, UnknownName
from farhand.plants.plant import Channels
from farhand.safety.guard import Trip
from farhand.spatial import Array

Action = Callable[[], None]
Guarded = Callable[[], bool | str]
"""Whether a transition may be taken; a text says why not."""

ANY = "*"
"""Stands for every state but the fault."""

MAX_EVENTS = 1000
"""How many events a machine remembers."""


@dataclass(frozen=True)
class State:
    """One state."""

    name: str  #: unique in its machine
    enter: Action | None = None
    leave: Action | None = None
    #: called at every step in this state, the one that entered it included
    during: Action | None = None
    #: longest stay, [s], or a function that returns it
    timeout: float | Callable[[], float] = math.inf
    after: str = ""  #: where the timeout leads; to the fault if empty


@dataclass(frozen=True)
class Transition:
    """A way from one state to another."""

    source: str  #: where it begins; :data:`ANY` for every state but the fault
    target: str  #: where it leads
    event: str = ""  #: what it waits for; if empty, it is taken as soon as the guard allows
    guard: Guarded | None = None  #: whether it may be taken; always if None
    action: Action | None = None  #: called between leaving and entering


@dataclass(frozen=True)
class Interlock:
    """A condition that must hold; once broken, the machine is in the fault."""

    name: str  #: of the interlock, and kind of the trip
    broken: Callable[[], str | None]  #: the reason if the condition does not hold, None if it does
    #: where it is watched; everywhere if empty. Interlocks of the first state must hold for the
    #: machine to start.
    states: frozenset[str] = frozenset()

    def watched_in(self, state: str) -> bool:
        """Whether it counts in this state."""
        return not self.states or state in self.states


class MachineEvent(NamedTuple):
    """One thing a machine did or refused to do."""

    time_ns: int
    source: str
    target: str  #: state after; the same if nothing changed
    cause: str  #: event, guard, timeout or reason, in words


class Machine:
    """Runs states and transitions: one transition per event, and at most one by itself per step.

    In a step the order is: interlocks, events in the order posted, transitions without an event in
    the order declared, the timeout. An event that no transition waits for is ignored and noted.

    Args:
        states: the first is where it starts.
        transitions: in order of precedence.
        fault: name of the state in which faults are latched.
        report: called with the time [ns] and a line of text at every event, such as
            :meth:`Telemetry.event`.

    Attributes:
        state: name of the present state; the first one's before the start.
        running: whether it was started.
        trip: why it is in the fault, or None.
        waiting: why the next transition is not taken yet, if its guard says so.
        history: the last :data:`MAX_EVENTS` events, oldest first.

    Raises:
        BadValue: a state named twice, or one that no transition leads to.
        UnknownName: a transition, timeout or interlock names an unknown state.
    """

    def __init__(
        self,
        name: str,
        states: Iterable[State],
        transitions: Iterable[Transition],
        interlocks: Iterable[Interlock] = (),
        fault: str = "fault",
        report: Callable[[int, str], None] | None = None,
    ) -> None:
        listed = list(states)
        self.name, self.fault, self.report = name, fault, report
        self._states = {state.name: state for state in listed}
        self._transitions, self._interlocks = list(transitions), list(interlocks)
        self.initial = listed[0].name if listed else ""
        self._check(len(listed))
        self._index = {state.name: float(number) for number, state in enumerate(listed)}
        self.state, self.running, self.waiting = self.initial, False, ""
        self.trip: Trip | None = None
        self.history: deque[MachineEvent] = deque(maxlen=MAX_EVENTS)
        self._events: deque[str] = deque()
        self._entered_ns = self._now_ns = 0
        self._channel: Array | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """Names of all states, in the order declared; what is recorded is the index into this."""
        return tuple(self._states)

    @property
    def elapsed(self) -> float:
        """How long it has been in the present state at the last step, [s]."""
        return (self._now_ns - self._entered_ns) * 1e-9

    def record(self, stream: Channels) -> None:
        """Declare a channel for the index of the state."""
        self._channel = stream.channel(f"state_{self.name}", 1, "index")

    def start(self, now_ns: int) -> None:
        """Enter the first state.

        Raises:
            BadValue: it runs already, is in the fault, or interlocks do not hold, which are named.
        """
        if self.running or self.trip is not None:
            why = "runs already" if self.running else "must be reset first"
            raise BadValue(f"{self.name} does not start: it {why}")
        self._refuse_broken("does not start")
        self.running, self._now_ns = True, now_ns
        self._events.clear()
        self._enter(self.initial, "started")

    def stop(self, now_ns: int, cause: str = "stopped") -> None:
        """Go back to the first state and stop there; a latched fault stays latched."""
        self._now_ns = now_ns
        if not self.running or self.trip is not None:
            return
        self._leave()
        self.running = False
        self._enter(self.initial, cause)

    def post(self, event: str) -> None:
        """Queue an event for the next step.

        Raises:
            UnknownName: no transition waits for such an event in any state.
        """
        known = {transition.event for transition in self._transitions if transition.event}
        if event not in known:
            raise UnknownName(f"event of {self.name}", event, known)
        self._events.append(event)

    def fail(self, now_ns: int, kind: str, reason: str) -> None:
        """Latch a fault from outside; the first reason stays."""
        self._now_ns = now_ns
        if self.trip is not None:
            return
        self.trip = Trip(now_ns, kind, reason)
        self._events.clear()
        for part in (self._leave, lambda: self._enter(self.fault, reason)):
            try:
                part()
            # a failure on the way must not keep it out of the fault
            except FarhandError as error:
                self._note(self.state, f"while failing: {error}")

    def reset(self, now_ns: int, state: str = "") -> None:
        """Leave the fault for ``state``, the first one if empty.

        Raises:
            BadValue: the interlock that failed, or one of the first state, still does not hold.
        """
        self._now_ns = now_ns
        if self.trip is None:
            return
        self._refuse_broken("cannot be reset", self.trip.kind)
        self.trip = None
        # what was asked for during the fault must not happen now
        self._events.clear()
        self._leave()
        self._enter(state or self.initial, "reset")

    def step(self, now_ns: int) -> str:
        """Do what is due at ``now_ns`` [ns] and return the state."""
        self._now_ns = now_ns
        if self.running and self.trip is None:
            try:
                self._step()
            except FarhandError as error:
                self.fail(now_ns, "action", str(error))
        if self._channel is not None:
            self._channel[0] = self._index[self.state]
        return self.state

    def _refuse_broken(self, what: str, also: str = "") -> None:
        """Raise with the reasons of all broken interlocks of the first state, and of ``also``."""
        locks = self._interlocks
        watched = [lock for lock in locks if lock.watched_in(self.initial) or lock.name == also]
        broken = [reason for lock in watched if (reason := lock.broken()) is not None]
        if broken:
            raise BadValue(f"{self.name} {what}: {'; '.join(broken)}")

    def _step(self) -> None:
        for lock in self._interlocks:
            if lock.watched_in(self.state) and (reason := lock.broken()) is not None:
                self.fail(self._now_ns, lock.name, reason)
                return
        moved = False
        for _ in range(len(self._events)):
            moved |= self._take(self._events.popleft())
        if not moved and not self._take(""):
            self._check_timeout()
        during = self._states[self.state].during
        if during is not None:
            during()

    def _take(self, event: str) -> bool:
        """Take the first transition that waits for this event and may be taken."""
        here = (self.state, ANY)
        ways = [way for way in self._transitions if way.event == event and way.source in here]
        reasons = []
        for way in ways:
            allowed = True if way.guard is None else way.guard()
            if allowed is True:
                self._move(way.target, event or "condition met", way.action)
                return True
            reasons.append(allowed or "not yet")
        text = "; ".join(reasons)
        if event:
            self._note(self.state, f"{event} ignored" + (f": {text}" if text else ""))
        else:
            self.waiting = text
        return False

    def _check_timeout(self) -> None:
        state = self._states[self.state]
        limit = state.timeout() if callable(state.timeout) else state.timeout
        if limit == math.inf or self._now_ns - self._entered_ns < round(1e9 * limit):
            return
        if state.after:
            self._move(state.after, f"after {limit:g} s")
        else:
            waited = f", waiting: {self.waiting}" if self.waiting else ""
            self.fail(self._now_ns, "timeout", f"{state.name} took longer than {limit:g} s{waited}")

    def _move(self, target: str, cause: str, action: Action | None = None) -> None:
        self._leave()
        if action is not None:
            action()
        self._enter(target, cause)

    def _leave(self) -> None:
        leave = self._states[self.state].leave
        if leave is not None and self.running:
            leave()

    def _enter(self, target: str, cause: str) -> None:
        self._note(target, cause)
        self.state, self._entered_ns, self.waiting = target, self._now_ns, ""
        enter = self._states[target].enter
        if enter is not None:
            enter()

    def _note(self, target: str, cause: str) -> None:
        self.history.append(MachineEvent(self._now_ns, self.state, target, cause))
        if self.report is not None:
            way = f"{self.state} → {target}" if target != self.state else self.state
            self.report(self._now_ns, f"{self.name}: {way} ({cause})")

    def _check(self, count: int) -> None:
        """Every name must be known, and every state must be reachable."""
        if not count or len(self._states) != count:
            raise BadValue(f"{self.name} needs states with names of their own")
        named = {self.fault, *(way.target for way in self._transitions)}
        named |= {way.source for way in self._transitions} - {ANY}
        named |= {state.after for state in self._states.values() if state.after}
        named |= {name for lock in self._interlocks for name in lock.states}
        for name in sorted(named):
            if name not in self._states:
                raise UnknownName(f"state of {self.name}", name, self._states)
        reached = {self.initial, self.fault, *(way.target for way in self._transitions)}
        reached |= {state.after for state in self._states.values()}
        unreachable = [name for name in self._states if name not in reached]
        if unreachable:
            raise BadValue(f"{self.name}: nothing leads to {', '.join(unreachable)}")
