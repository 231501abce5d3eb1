"""Latch: one process waits, another lets it go on; none hangs when the other is killed."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from farhand.loop.latch import Latch

CONTEXT = multiprocessing.get_context("spawn")


def wait_for(latch: Latch, ready, seconds: float) -> None:
    ready.send(None)
    raise SystemExit(0 if latch.wait(seconds) else 3)


@pytest.fixture
def waiting():
    """A latch and a process that waits for it."""
    latch = Latch(CONTEXT)
    here, there = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=wait_for, args=(latch, there, 30.0), daemon=True)
    child.start()
    assert here.poll(30.0)
    yield latch, child
    child.kill()


def test_who_waits_goes_on_when_it_is_set(waiting):
    """In another process, and at once."""
    latch, child = waiting
    latch.set()
    child.join(10.0)
    assert child.exitcode == 0


def test_setting_it_does_not_wait_for_one_that_was_killed_asleep(waiting):
    """As an event of the standard library does, for ever."""
    latch, child = waiting
    child.kill()
    child.join()
    began = time.monotonic()
    latch.set()
    assert time.monotonic() - began < 1.0


def test_waiting_ends_after_its_time_and_a_cleared_latch_holds_again():
    """The answer tells which it was."""
    latch = Latch(CONTEXT)
    assert not latch.wait(0.02)
    latch.set()
    assert latch.wait(0.0) and latch.wait(10.0)
    latch.clear()
    assert not latch.wait(0.0)


class Watch:
    """Time that only passes in sleep."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_a_wait_lasts_as_long_as_it_may_and_looks_every_hundredth_of_a_second(monkeypatch):
    """The last sleep is the rest of the time; a latch that is set says its word."""
    watch, latch = Watch(), Latch(CONTEXT)
    monkeypatch.setattr("farhand.loop.latch.time", watch)
    assert latch.word == 0
    assert not latch.wait(0.025)
    assert watch.slept == pytest.approx([0.01, 0.01, 0.005])
    latch.set()
    assert latch.wait(10.0) and latch.word == 1
    latch.set(5)
    assert latch.word == 5
    assert len(watch.slept) == 3
