"""Engagement: the gain goes from nothing to all and back, smoothly and in the time asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.coupling.engagement import Engagement


def gains(engagement: Engagement, seconds: float, dt: float = 1e-3) -> np.ndarray:
    """The gain of every step."""
    return np.array([engagement.step(dt) for _ in range(round(seconds / dt))])


@pytest.mark.parametrize("ramp", [0.05, 0.2, 1.0])
def test_the_gain_goes_from_zero_to_one_in_the_ramp(ramp):
    """Not before, not after."""
    engagement = Engagement(ramp=ramp)
    engagement.engage()
    found = gains(engagement, ramp + 0.01)
    ramp_steps = round(ramp / 1e-3)
    assert found[0] < 0.01
    assert found[ramp_steps - 2] < 1.0
    assert found[ramp_steps] == 1.0
    assert found[ramp_steps // 2 - 1] == pytest.approx(0.5, abs=1e-9)


def test_the_gain_starts_and_ends_with_zero_slope():
    """The hand feels no kink: the steepest slope is 1.5 over the ramp, in the middle."""
    engagement = Engagement(ramp=0.2)
    engagement.engage()
    slope = np.diff(np.concatenate([[0.0], gains(engagement, 0.25)])) / 1e-3
    assert slope.max() == pytest.approx(1.5 / 0.2, rel=0.01)
    assert slope[0] < 0.1 * slope.max()
    assert slope[199] < 0.1 * slope.max()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 150)), min_size=1, max_size=8))
def test_whatever_is_asked_for_the_gain_stays_between_zero_and_one_and_never_jumps(orders):
    """Engaging and releasing at any time, in any order, moves the gain by no more than 1.5 dt /
    ramp per step.
    """
    engagement, before = Engagement(), 0.0
    for wanted, steps in orders:
        engagement.engage() if wanted else engagement.release()
        for _ in range(steps):
            gain = engagement.step(1e-3)
            assert 0.0 <= gain <= 1.0
            assert abs(gain - before) <= 1.5e-3 / engagement.ramp + 1e-12
            assert (gain >= before) if wanted else (gain <= before)
            before = gain


def test_engagements_are_counted():
    """The other end of a link tells a new one from the last."""
    engagement = Engagement()
    numbers = []
    for _ in range(3):
        engagement.engage()
        numbers.append(engagement.number)
        engagement.release()
    assert numbers == [1, 2, 3]
    engagement.engage(41)
    assert (engagement.number, engagement.wanted) == (41, True)
    engagement.engage()
    assert engagement.number == 42


def test_nothing_is_engaged_at_the_start():
    """Coupling takes a command."""
    engagement = Engagement()
    assert gains(engagement, 0.1).max() == 0.0
    assert not engagement.wanted
