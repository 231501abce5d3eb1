"""Ramp: bounded rate, and an exact end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.haptic.engage import Ramp

values = st.floats(-1000.0, 1000.0, allow_nan=False)


@given(values, values, st.floats(0.1, 1e4), st.floats(1e-4, 0.1))
def test_a_ramp_never_steps_beyond_its_rate_and_never_overshoots(start, target, rate, dt):
    """And ends at the target itself."""
    ramp = Ramp(start, target, rate)
    low, high = sorted((start, target))
    for _ in range(50):
        before = ramp.value
        ramp.step(dt)
        assert (
            abs(ramp.value - before) <= rate * dt * (1.0 + 2e-6) + 1e-12
            and low <= ramp.value <= high
        )
    ramp.step(1e9)
    assert ramp.value == target


@pytest.mark.parametrize(
    ("start", "end", "rate", "ticks"), [(100.0, 700.0, 100.0, 6000), (10.0, 30.0, 5.0, 4000)]
)
def test_the_published_ramps_take_exactly_their_ticks(start, end, rate, ticks):
    """ER-25: the published sum took one tick more for kr and ended at 30.005."""
    ramp = Ramp(start, end, rate)
    count = 0
    while ramp.value != end:
        ramp.step(1e-3)
        count += 1
    assert count == ticks
