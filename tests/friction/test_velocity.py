"""Velocity from encoder ticks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.errors import FarhandError
from farhand.friction import velocity as velocity_filter
from farhand.friction.velocity import StateVariableFilter, quantised
from farhand.rigs.pair.parts import friction_help
from farhand.robots import load_robot

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


@pytest.mark.parametrize("damping", [0.6, 1.0, 1.5])
@pytest.mark.parametrize("hertz", [5.0, 20.0])
def test_a_swing_is_followed_as_the_equation_says(damping, hertz):
    """Velocity over position is s ω²/(s² + 2ζω s + ω²): amplitude and lag below and at the
    cut-off.
    """
    w, s = 2.0 * np.pi * 20.0, 2j * np.pi * hertz
    t = 1e-4 * np.arange(20_000)
    live = StateVariableFilter(20.0, damping)
    velocity = live.filtered(np.sin(2.0 * np.pi * hertz * t), 1e-4)
    gain = s * w**2 / (s**2 + 2.0 * damping * w * s + w**2)
    expected = np.imag(gain * np.exp(s * t))
    np.testing.assert_allclose(velocity[10_000:], expected[10_000:], atol=3e-4 * abs(gain))


def test_the_step_may_change_on_the_way_and_so_may_the_cut_off():
    """A ramp stays exact; a reset forgets, a new cut-off counts from the next step."""
    live, position = StateVariableFilter(), 0.0
    for k in range(3000):
        dt = 1e-3 if k % 3 else 2e-3
        position += 0.7 * dt
        velocity = live.step(np.array([position]), dt)
    assert velocity[0] == pytest.approx(0.7)
    live.cutoff = 200.0
    live.refresh()
    for _ in range(10):
        slowed = live.step(np.array([position]), 1e-3)[0]
    assert abs(slowed) < 0.01 * 0.7
    live.reset()
    assert live.step(np.array([9.0]), 1e-3)[0] == 0.0
    with pytest.raises(FarhandError, match="at least one sample"):
        live.filtered(np.zeros(0), DT)
    with pytest.raises(FarhandError, match="at least one sample"):
        live.filtered(np.array(1.0), DT)


def test_an_encoder_reports_the_nearest_tick():
    """And a perfect one the position itself."""
    position = np.array([-0.26, -0.24, 0.0, 0.24, 0.26, 0.74])
    np.testing.assert_allclose(quantised(position, 0.5), [-0.5, 0.0, 0.0, 0.0, 0.5, 0.5])
    np.testing.assert_array_equal(quantised(position, 0.0), position)


def test_the_friction_help_of_a_machine_prepares_its_filter_before_the_first_tick(monkeypatch):
    """The first matrix exponential took 0.14 s of the first tick, and the guards tripped."""
    arm = Arm.of(load_robot("so101"))
    arm.update(np.zeros(6), np.zeros(6))
    ready = friction_help(load_robot("so101"), 1_000_000)
    monkeypatch.setattr(velocity_filter, "expm", None)
    np.testing.assert_array_equal(ready.torque(arm, np.zeros(6), None), np.zeros(6))
