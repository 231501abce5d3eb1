"""Ctrl-C and the processes that are started beside the one it is meant for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REPEAT_S = 0.05
"""Time after which an interrupt that was swallowed comes again, [s]."""


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C does nothing, also to a process that is started meanwhile, which inherits that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ending_workers() -> Iterator[None]:
    """Ctrl-C ends the workers too; left alone they would do all that waits for them first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_with_parent() -> None:
    """In a worker: end as soon as the process that started it is gone, however it went.

    A worker of a pool would wait for work without end: it holds both ends of its queue.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


@contextmanager
def repeating_interrupts() -> Iterator[None]:
    """Ctrl-C that falls into a callback from C code comes again a moment later.

    Python can only print an exception there and go on. numba has such callbacks as it compiles.
    """
    before, timers = sys.unraisablehook, list[threading.Timer]()
    # To the main thread itself, which may be asleep
    to_main = (threading.main_thread().ident, signal.SIGINT)

    def repeat(swallowed: sys.UnraisableHookArgs) -> None:
        if swallowed.exc_type is not KeyboardInterrupt:
            before(swallowed)
            return
        try:
            timers.append(threading.Timer(REPEAT_S, signal.pthread_kill, to_main))
            timers[-1].start()
        # The next one may fall into this
        except KeyboardInterrupt:
            repeat(swallowed)

    sys.unraisablehook = repeat
    try:
        yield
    except Exception:
        # What the callback left undone may fail before the interrupt comes again
        if any(timer.is_alive() for timer in timers):
            raise KeyboardInterrupt from None
        raise
    finally:
        for timer in timers:
            timer.cancel()
        sys.unraisablehook = before


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, instead of what they do otherwise."""
    stopped = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in numbers}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
