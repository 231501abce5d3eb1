"""Ctrl-C: spared where it would do harm, passed on where work is left."""

from __future__ import annotations

import multiprocessing
import signal
import time

import pytest

from farhand.loop.interrupts import ending_workers, ignoring_interrupts


@pytest.fixture(autouse=True)
def handler():
    """Python's own: a shell starts its background jobs with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_ignored_interrupt_does_nothing_and_the_next_one_does():
    """The handler is back afterwards."""
    with ignoring_interrupts():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_ends_the_workers_too():
    """They do not go on with what they had to do."""
    worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60.0,))
    worker.start()
    with pytest.raises(KeyboardInterrupt), ending_workers():
        signal.raise_signal(signal.SIGINT)
    worker.join(10.0)
    assert worker.exitcode == -signal.SIGTERM
