"""Callbacks of a haptic loop by priority, repeated or called once by request, and H-34.

The loop has no clock and no thread of its own: a session calls :meth:`CallbackLoop.tick` in virtual
time, a :class:`~farhand.plants.drivers.worker.Worker` in wall time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np

from farhand.control.haptic.haptic_objects import exact_arm
from farhand.control.haptic.synthetic import SyntheticForce
from farhand.errors import BadValue
from farhand.mapping.limbs import ArmChain
from farhand.plants.drivers.worker import Timing, Worker, urgent
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

Action = Callable[[int], None]
"""Called with the time, [ns]."""

MIN, DEFAULT, MAX = 0, 50, 100  # priorities
MS = 1_000_000  # [ns]


@dataclass
class Ticket:
    """A call that somebody waits for."""

    name: str  #: of the call
    done_ns: int | None = None  #: when it was done, [ns]; None until then
    _event: threading.Event = field(default_factory=threading.Event)

    def finish(self, now_ns: int) -> None:
        """Note that it was done and wake all that wait."""
        self.done_ns = now_ns
        self._event.set()

    def wait(self, timeout: float = 1.0) -> bool:
        """Block the calling thread until it is done, or for ``timeout`` [s]; wall time only."""
        return self._event.wait(timeout)


@dataclass(frozen=True)
class _Callback:
    priority: int
    order: int
    name: str
    action: Action
    ticket: Ticket | None = None


class CallbackLoop:
    """Asynchronous callbacks repeat in every tick; a synchronous one runs once for its caller.

    Within a tick the order is by priority, then by age. What a callback schedules runs in the next
    tick.
    """

    def __init__(self) -> None:
        self._callbacks: list[_Callback] = []
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
            self._callbacks = [entry for entry in self._callbacks if entry.name != name]

    def tick(self, now_ns: int) -> None:
        """Call everything that is due."""
        with self._lock:
            due = sorted(self._callbacks, key=lambda entry: (-entry.priority, entry.order))
            self._callbacks = [entry for entry in self._callbacks if entry.ticket is None]
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
            self._callbacks.append(_Callback(priority, self._order, name, action, ticket))


Caller = Generator[Ticket | int, None, None]
"""A thread in virtual time: yields a ticket to wait for it, or a number to sleep that many [ns]."""


def run_virtual(loop: CallbackLoop, callers: list[Caller], period_ns: int, until_ns: int) -> None:
    """Tick a loop in virtual time with threads beside it that wait for tickets or times."""
    waiting: dict[int, Ticket | int] = {index: 0 for index in range(len(callers))}
    for now_ns in range(0, until_ns, period_ns):
        for index, blocked in list(waiting.items()):
            if isinstance(blocked, Ticket):
                ready = blocked.done_ns is not None
            else:
                ready = now_ns >= blocked
            if not ready:
                continue
            request = next(callers[index], None)
            if request is None:
                del waiting[index]
            else:
                waiting[index] = now_ns + request if isinstance(request, int) else request
        loop.tick(now_ns)


@experiment("H-34")
def callbacks() -> Finding:
    """A virtual second with a caller beside the loop; a wall-clock second with a real force."""
    loop, log = CallbackLoop(), list[tuple[str, int]]()
    for name, priority in (("force", 50), ("calibration", MIN), ("device", MAX)):
        loop.asynchronous(name, lambda now_ns, name=name: log.append((name, now_ns)), priority)  # type: ignore[misc]
    went_on: list[int] = []
    run_virtual(loop, [_copying(loop, log, went_on)], MS, 1000 * MS)
    device = np.array([at for name, at in log if name == "device"])
    uneven = int(np.ptp(np.diff(device)))
    order = [name for name, at in log if at == 5 * MS]
    # requested before the tick at 5 ms, done within it, so its caller goes on before the next one
    blocked = went_on == [5, 6] and order == ["device", "force", "copy", "calibration"]
    timing, answered = _in_wall_time()
    ok = uneven == 0 and len(device) == 1000 and blocked and timing.mean >= 500.0 and answered
    note = (
        f"in a tick: {', '.join(order)}; wall clock {timing.mean:.0f} Hz with the arm's limits as "
        f"force, p99 interval {1e3 * timing.p99:.2f} ms, beside the machine's other programs"
    )
    return Finding(uneven, ok, note)


def _copying(loop: CallbackLoop, log: list[tuple[str, int]], went_on: list[int]) -> Caller:
    """Sleep until 5 ms, have data copied and wait for it."""
    yield 5 * MS
    went_on.append(5)
    yield loop.synchronous("copy", lambda now_ns: log.append(("copy", now_ns)), 50)
    went_on.append(loop.ticks)


def _in_wall_time() -> tuple[Timing, bool]:
    """How evenly the loop runs with a real force, and whether another thread was served."""
    loop, force, shown = CallbackLoop(), SyntheticForce(objects=exact_arm(ArmChain())), np.zeros(3)
    place = np.array([0.14, 0.11, -0.12])
    loop.asynchronous("force", lambda now_ns: shown.__setitem__(slice(None), force.force(place)))
    worker, served = Worker("haptics", loop.tick, 1000.0), list[bool]()

    def call() -> None:
        served.append(loop.synchronous("copy", lambda now_ns: None).wait())

    with urgent():
        worker.start()
    caller = threading.Thread(target=call)
    caller.start()
    time.sleep(1.0)
    caller.join(1.0)
    worker.stop()
    return Timing.of(worker.times_ns), served == [True] and worker.error is None


MUTATIONS = [
    Mutation("no-priorities", "callbacks run in the order they were added", ("H-34",)).change(
        CallbackLoop, "_add", lambda whole: lambda self, n, a, p, t: whole(self, n, a, 50, t)
    )
]
