"""Ctrl-C and the processes that are started beside the one it is meant for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
