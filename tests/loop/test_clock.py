"""Clocks: virtual time waits for nothing, wall time for its deadline."""

from __future__ import annotations

import time

from farhand.loop.clock import VirtualClock, WallClock


def test_virtual_time_does_not_wait():
    """An hour of virtual time passes at once, and is never late."""
    clock = VirtualClock()
    clock.start()
    began = time.monotonic()
    clock.wait_until(3_600_000_000_000)
    assert time.monotonic() - began < 1.0
    assert clock.late_ns == 0


def test_wall_time_never_goes_on_before_the_deadline():
    """However the machine sleeps, a deadline has passed when the wait returns, and the lateness is
    how far.
    """
    clock = WallClock()
    began = time.monotonic_ns()
    clock.start()
    for deadline_ns in (2_000_000, 4_000_000, 4_050_000):
        clock.wait_until(deadline_ns)
        assert time.monotonic_ns() - began >= deadline_ns
        assert clock.late_ns >= 0


def test_a_deadline_in_the_past_returns_at_once_and_is_late():
    """A tick that took too long is followed by the next without a pause, and the lateness is
    known.
    """
    clock = WallClock()
    clock.start()
    time.sleep(0.003)
    clock.wait_until(1_000_000)
    assert clock.late_ns >= 2_000_000


def test_starting_again_moves_the_origin():
    """Time counts from the last start."""
    clock = WallClock()
    time.sleep(0.002)
    began = time.monotonic_ns()
    clock.start()
    clock.wait_until(1_000_000)
    assert time.monotonic_ns() - began >= 1_000_000
