"""Clocks: virtual time waits for nothing, wall time for its deadline."""

from __future__ import annotations

import time

import pytest

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


class Watch:
    """Time that only passes in sleep, and by 1 µs at each look."""

    def __init__(self) -> None:
        self.now_ns, self.slept = 5_000_000, []

    def monotonic_ns(self) -> int:
        self.now_ns += 1_000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_ns += round(seconds * 1e9)


@pytest.mark.parametrize(
    ("deadline_ns", "slept_ns"), [(900_000, 899_000 - 30_000), (31_001, 0), (20_000, 0), (0, 0)]
)
def test_wall_time_sleeps_until_shortly_before_the_deadline_then_looks_until_it_has_come(
    monkeypatch, deadline_ns, slept_ns
):
    """30 µs before it sleep ends, so that a lazy sleeper is not late; what is shorter is not slept
    at all. Each look takes 1 µs, and the last is late by less than that.
    """
    watch = Watch()
    monkeypatch.setattr("farhand.loop.clock.time", watch)
    clock = WallClock(spin_ns=30_000)
    clock.start()
    began_ns = watch.now_ns
    clock.wait_until(deadline_ns)
    if slept_ns:
        assert watch.slept == pytest.approx([slept_ns * 1e-9], rel=1e-9)
    else:
        assert sum(watch.slept) <= 1e-9
    assert clock.late_ns == watch.now_ns - (began_ns + deadline_ns)
    assert 0 <= clock.late_ns < (1_000 if deadline_ns else 3_000)
