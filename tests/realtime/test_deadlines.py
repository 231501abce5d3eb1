"""Overrun policy: what counts as a storm. Sessions that fall behind are tested with the loop."""

from __future__ import annotations

from farhand.realtime import Deadlines


def test_overruns_leave_the_window_again():
    """499 late ticks, a quiet second, 499 more: never 500 within a thousand."""
    deadlines = Deadlines()
    for _ in range(2):
        assert not any(deadlines.record_tick(True) for _ in range(499))
        assert not any(deadlines.record_tick(False) for _ in range(1000))
