"""Callbacks of a haptic loop: what runs in every tick, in order of priority, and what others may have run once.

The loop has no clock and no thread of its own: a session calls :meth:`CallbackLoop.tick` in virtual
time, a
:class:`~farhand.plants.drivers.worker.Worker` in wall time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from farhand.errors import BadValue

Action = Callable[[int], None]
"""Called with the time, [ns]."""

MIN, DEFAULT, MAX = 0, 50, 100
"""Priorities."""


@dataclass
class Ticket:
    """A call that somebody waits for.

    Attributes:
        name: of the call.
        done_ns: when it was done, [ns]; None until then.
    """

    name: str
    done_ns: int | None = None
    _event: threading.Event = field(default_factory=threading.Event)

    def finish(self, now_ns: int) -> None:
        """Note that it was done and wake whoever waits."""
        self.done_ns = now_ns
        self._event.set()

    def wait(self, timeout: float = 1.0) -> bool:
        """Block the calling thread until it is done, or for ``timeout`` [s]; wall time only."""
        return self._event.wait(timeout)


@dataclass(frozen=True)
class _Entry:
    priority: int
    order: int
    name: str
    action: Action
    ticket: Ticket | None = None


class CallbackLoop:
    """Asynchronous callbacks repeat in every tick; a synchronous one runs once, and its caller waits for it.

    Within a tick the order is by priority, then by age. What a callback schedules runs in the next
    tick.
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._lock = threading.Lock()
        self._order = 0
        self.ticks = 0

    def asynchronous(self, name: str, action: Action, priority: int = DEFAULT) -> None:
        """Have ``action`` called in every tick from the next on; the caller goes on at once."""
        self._add(name, action, priority, None)

    def synchronous(self, name: str, action: Action, priority: int = DEFAULT) -> Ticket:
        """Have ``action`` called once, in the next tick; the caller waits for the ticket."""
        ticket = Ticket(name)
        self._add(name, action, priority, ticket)
        return ticket

    def remove(self, name: str) -> None:
        """Take a callback out."""
        with self._lock:
            self._entries = [entry for entry in self._entries if entry.name != name]

    def tick(self, now_ns: int) -> None:
        """Call everything that is due."""
        with self._lock:
            due = sorted(self._entries, key=lambda entry: (-entry.priority, entry.order))
            self._entries = [entry for entry in self._entries if entry.ticket is None]
        for entry in due:
            entry.action(now_ns)
            if entry.ticket is not None:
                entry.ticket.finish(now_ns)
        self.ticks += 1

    def _add(self, name: str, action: Action, priority: int, ticket: Ticket | None) -> None:
        if not MIN <= priority <= MAX:
            raise BadValue(f"priority of {name!r} is {priority}; it must be {MIN} to {MAX}")
        with self._lock:
            self._order += 1
            self._entries.append(_Entry(priority, self._order, name, action, ticket))


Caller = Generator[Ticket | int, None, None]
"""A thread in virtual time: yields a ticket to wait for it, or a number to sleep that many [ns]."""


def run_virtual(loop: CallbackLoop, callers: list[Caller], period_ns: int, until_ns: int) -> None:
    """Tick a loop in virtual time with threads beside it; a thread goes on when what it waits for has happened."""
    waiting: dict[int, Ticket | int] = {index: 0 for index in range(len(callers))}
    for now_ns in range(0, until_ns, period_ns):
        for index, blocked in list(waiting.items()):
            ready = (
                blocked.done_ns is not None if isinstance(blocked, Ticket) else now_ns >= blocked
            )
            if not ready:
                continue
            said = next(callers[index], None)
            if said is None:
                del waiting[index]
            else:
                waiting[index] = now_ns + said if isinstance(said, int) else said
        loop.tick(now_ns)
