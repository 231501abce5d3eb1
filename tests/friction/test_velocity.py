"""Velocity from encoder ticks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import FarhandError
from farhand.friction.velocity import StateVariableFilter, quantised

DT = 1e-3
TICK = 6.08e-5


@given(speed=st.floats(-10.0, 10.0), cutoff=st.floats(2.0, 400.0))
@settings(max_examples=30, deadline=None)
def test_a_ramp_has_exactly_its_own_velocity(speed, cutoff):
    """No bias at any cut-off: what a held sample would cost is not there."""
    velocity = StateVariableFilter(cutoff).filtered(speed * DT * np.arange(5000), DT)
    np.testing.assert_allclose(velocity[-1], speed, rtol=1e-6, atol=1e-9)


def test_on_line_and_off_line_agree():
    """Stepping through a recording and filtering it whole give the same."""
    q = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    live = StateVariableFilter()
    np.testing.assert_allclose(
        [live.step(x, DT) for x in q], StateVariableFilter().filtered(q, DT), atol=1e-8
    )


def test_ticks_make_far_less_noise_than_differences_do():
    """At 0.05 rad/s with the youBot's encoder, more than ten times less."""
    q = quantised(0.05 * DT * np.arange(5000), TICK)
    velocity = StateVariableFilter().filtered(q, DT)
    assert np.diff(q / DT)[1000:].std() > 10.0 * velocity[1000:].std()


def test_a_joint_that_never_moved_has_no_velocity_wherever_it_stands():
    """The first reading is no jump from zero."""
    live = StateVariableFilter()
    assert all(live.step(np.array([3.0]), DT)[0] == 0.0 for _ in range(10))


@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan")])
def test_a_step_that_is_no_step_is_refused(dt):
    """Time goes forward."""
    with pytest.raises(FarhandError, match="dt"):
        StateVariableFilter().step(np.zeros(1), dt)
