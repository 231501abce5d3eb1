"""Lateness: a loop that stood still stops its arm."""

from __future__ import annotations

import pytest

from farhand.safety import Guard
from farhand.safety.watches import Lateness

MS = 1_000_000  # [ns]


@pytest.mark.parametrize(("late", "trips"), [(0, False), (99, False), (101, True), (5000, True)])
def test_a_tick_that_begins_too_late_trips(late, trips):
    """With how late it was and the limit."""
    guard = Guard()
    Lateness().check(late * MS, 7 * MS, guard)
    assert (guard.trip is not None) is trips
    if guard.trip is not None:
        assert (guard.trip.kind, guard.trip.time_ns) == ("late", 7 * MS)
        assert guard.trip.reason == f"a tick began {late / 1000:.3f} s late (limit 0.1 s)"
