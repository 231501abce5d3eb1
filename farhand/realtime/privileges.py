"""Privileges of a real-time loop: what the system grants, and how to get the rest.

Each is requested by itself, so that one refusal does not cost the others. All are given back when
the loop ends. Threads and processes that the loop starts get none of them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

PRIORITY = 80
"""Of the loop under SCHED_FIFO, 1 to 99: above the kernel's device threads at 50, below its
watchdogs."""

MCL_CURRENT, MCL_FUTURE = 1, 2
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
CAP_IPC_LOCK = 14
CATCH_UP_S = 0.05
"""For the threads of arms on buses: their samples must be fresh in the first tick."""

NAMES = ("scheduler", "memory", "timer", "core", "collector")

Undo = Callable[[], None]


@dataclass(frozen=True)
class Grant:
    """One privilege, granted or not."""

    name: str  # one of :data:`NAMES`
    had: bool  # whether it was granted
    what: str  # what holds now
    cure: str = ""  # how to get it if it was refused


@contextmanager
def real_time(core: int | None = None) -> Iterator[list[Grant]]:
    """Run the calling thread as a real-time loop, as far as permitted.

    Args:
        core: to stay on; any by default.

    Yields:
        what was granted and what was not.
    """
    grants: list[Grant] = []
    with ExitStack() as stack:
        requests = [_lock_memory, _tighten_timer, _hold_collector, _take_priority]
        if core is not None:
            requests.insert(0, partial(_pin, core))
        for request in requests:
            grant, undo = request()
            grants.append(grant)
            stack.callback(undo)
        # while memory is locked and the collector runs, threads that read arms cannot
        time.sleep(CATCH_UP_S)
        yield sorted(grants, key=lambda grant: NAMES.index(grant.name))


def _nothing() -> None: ...


def _take_priority() -> tuple[Grant, Undo]:
    """SCHED_FIFO for this thread; children start without it."""
    cure = "allow it with 'ulimit -r 99', '@realtime - rtprio 99' in limits.conf, or CAP_SYS_NICE"
    if not hasattr(os, "SCHED_FIFO"):
        cure = "use Linux: this system has no SCHED_FIFO"
        return Grant("scheduler", False, "ordinary", cure), _nothing
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    except OSError:
        return Grant("scheduler", False, "ordinary (SCHED_OTHER)", cure), _nothing

    def undo() -> None:
        try:
            os.sched_setscheduler(0, policy, parameters)
        except OSError:
            # Without CAP_SYS_NICE the flag for children cannot be removed
            with suppress(OSError):
                os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, parameters)

    return Grant("scheduler", True, f"SCHED_FIFO {PRIORITY}"), undo


def _lock_memory() -> tuple[Grant, Undo]:
    """Keep all memory, present and future, from being paged out."""
    cure = "'ulimit -l unlimited', '@realtime - memlock unlimited' in limits.conf, or CAP_IPC_LOCK"
    refused = Grant("memory", False, "not locked", f"allow it with {cure}")
    library = _library()
    # Under a limit, locking future memory would make later allocations fail
    if library is None or not hasattr(library, "mlockall") or not may_lock():
        return refused, _nothing
    if library.mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
        return refused, _nothing
    return Grant("memory", True, "locked"), lambda: library.munlockall() and None


def may_lock() -> bool:
    """Whether memory may be locked without a limit."""
    try:
        import resource
    except ImportError:
        return False
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY:
        return True
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    held = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff")), "0")
    return bool(int(held, 16) >> CAP_IPC_LOCK & 1)


def _tighten_timer() -> tuple[Grant, Undo]:
    """Wake up when asked, not up to 50 µs later."""
    cure = "use Linux: this system has no timer slack to set"
    refused = Grant("timer", False, "up to 50 µs late", cure)
    library = _library()
    if library is None or not hasattr(library, "prctl"):
        return refused, _nothing
    before = library.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    if before < 0 or library.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) != 0:
        return refused, _nothing

    def undo() -> None:
        library.prctl(PR_SET_TIMERSLACK, before, 0, 0, 0)

    return Grant("timer", True, "slack 1 ns"), undo


def _pin(core: int) -> tuple[Grant, Undo]:
    """Stay on one core."""
    if not hasattr(os, "sched_setaffinity"):
        cure = "use Linux: this system cannot bind a thread to a core"
        return Grant("core", False, "any", cure), _nothing
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except (OSError, ValueError, OverflowError):
        allowed = ", ".join(str(number) for number in sorted(before))
        cure = f"core {core} is not available; choose one of {allowed}"
        return Grant("core", False, "any", cure), _nothing
    return Grant("core", True, f"{core}"), lambda: os.sched_setaffinity(0, before)


@contextmanager
def off_core(core: int | None) -> Iterator[None]:
    """Keep this thread, and all that it starts, off the core of a loop, if there is another.

    What runs there between two ticks empties the caches: with three viewers attached, a tick then
    takes half as long again.
    """
    before = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if core is None or not before - {core}:
        yield
        return
    os.sched_setaffinity(0, before - {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def collector_held() -> Iterator[None]:
    """No garbage collection meanwhile: for a process that must answer within milliseconds."""
    _, undo = _hold_collector()
    try:
        yield
    finally:
        undo()


def _hold_collector() -> tuple[Grant, Undo]:
    """No garbage collection: a full one takes tens of milliseconds."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()

    def undo() -> None:
        gc.unfreeze()
        if was_on:
            gc.enable()

    return Grant("collector", True, "frozen and off"), undo


def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
