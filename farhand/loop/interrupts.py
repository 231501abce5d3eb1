"""Ctrl-C and the processes that are started beside the one it is meant for."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
