"""Callbacks: in order of priority in every tick, and once for those who wait."""

from __future__ import annotations

import threading

import pytest

from farhand.errors import BadValue
from farhand.plants.drivers.worker import Worker
from farhand_lab.humanoid.callbacks import MAX, MIN, CallbackLoop, run_virtual


def test_a_tick_goes_by_priority_then_by_age() -> None:
    """However they were added."""
    loop, log = CallbackLoop(), []
    for name, priority in (("a", 50), ("low", MIN), ("high", MAX), ("b", 50)):
        loop.asynchronous(name, lambda now_ns, name=name: log.append(name), priority)
    loop.tick(0)
    assert log == ["high", "a", "b", "low"]


def test_a_synchronous_call_runs_once_and_its_virtual_caller_waits_for_it() -> None:
    """It goes on in the tick after."""
    loop, log = CallbackLoop(), []

    def caller():
        log.append("asks")
        yield loop.synchronous("copy", lambda now_ns: log.append("copied"))
        log.append("goes on")

    run_virtual(loop, [caller()], 1_000_000, 5_000_000)
    assert log == ["asks", "copied", "goes on"] and loop.ticks == 5


def test_a_thread_in_wall_time_is_woken_when_its_call_is_done() -> None:
    """Real threads."""
    loop = CallbackLoop()
    worker = Worker("loop", loop.tick, 500.0)
    worker.start()
    done = []
    thread = threading.Thread(
        target=lambda: done.append(loop.synchronous("copy", lambda now_ns: None).wait(5.0))
    )
    thread.start()
    thread.join(6.0)
    worker.stop()
    assert done == [True]


def test_a_removed_callback_is_called_no_more_and_a_priority_has_limits() -> None:
    """0 to 100."""
    loop, log = CallbackLoop(), []
    loop.asynchronous("a", lambda now_ns: log.append(1))
    loop.remove("a")
    loop.tick(0)
    assert log == []
    with pytest.raises(BadValue, match="priority"):
        loop.asynchronous("b", lambda now_ns: None, 101)
