"""Gain design: from settling time to gains and back, and what the gains are worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import OutOfRange
from farhand_lab.gains import Gains

PUBLISHED = Gains(110.87, 16.85)

ratios = st.floats(0.3, 3.0)
times = st.floats(0.01, 10.0)
bands = st.sampled_from([0.01, 0.02, 0.05])


@given(times, ratios, bands)
def test_designed_gains_settle_when_asked(settling_time, ratio, band):
    """Forwards and back, for any settling time, damping ratio and band."""
    gains = Gains.design(settling_time, ratio, band)
    assert gains.settling_time(band) == pytest.approx(settling_time, rel=1e-6)
    assert gains.damping_ratio == pytest.approx(ratio)


@given(times, ratios, bands)
def test_after_the_settling_time_the_response_stays_inside_the_band(settling_time, ratio, band):
    """The true response, not its envelope; just before, it is outside."""
    gains = Gains.design(settling_time, ratio, band)
    later = gains.response(settling_time * np.linspace(1.0, 20.0, 4000))
    assert np.abs(later).max() <= band * (1.0 + 1e-6)
    assert abs(gains.response(np.array(0.999 * settling_time))) > band


@given(ratios, st.floats(1.0, 30.0))
def test_the_response_obeys_the_differential_equation(ratio, frequency):
    """Finite differences of e in ë + K_d ė + K_p e = 0, starting from 1 at rest."""
    gains, h = Gains(frequency**2, 2.0 * ratio * frequency), 1e-3 / frequency
    t = np.linspace(0.1, 3.0, 50) / frequency
    before, now, after = (gains.response(t + shift) for shift in (-h, 0.0, h))
    residual = (after - 2.0 * now + before) / h**2 + gains.derivative * (after - before) / (2.0 * h)
    np.testing.assert_allclose(residual / gains.proportional, -now, atol=1e-4)
    assert gains.response(np.zeros(1))[0] == pytest.approx(1.0)


def test_the_published_gains_are_worth_what_is_said_of_them():
    """The numbers of sources/dual-arm §2.8.

    10.53 rad/s, ζ 0.80, 1.51 % overshoot, 0.357 s, 69.9°, 67.9 ms, 118.7 ms.
    """
    assert (PUBLISHED.frequency, PUBLISHED.damping_ratio) == pytest.approx(
        (10.529, 0.8001), abs=1e-3
    )
    assert PUBLISHED.overshoot == pytest.approx(0.0151, abs=1e-4)
    assert [PUBLISHED.settling_time(b) for b in (0.05, 0.02, 0.01)] == pytest.approx(
        [0.322, 0.357, 0.603], abs=5e-4
    )
    assert PUBLISHED.crossover == pytest.approx(17.95, abs=0.01)
    assert np.degrees(PUBLISHED.phase_margin) == pytest.approx(69.9, abs=0.1)
    assert PUBLISHED.delay_margin == pytest.approx(0.0679, abs=1e-4)
    assert PUBLISHED.longest_period() == pytest.approx(0.1187, abs=1e-4)


@pytest.mark.parametrize("latency", [0, 1, 2])
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_below_the_longest_period_a_sampled_loop_converges_and_above_it_does_not(latency, share):
    """Simulated: a double integrator whose input is held and arrives whole samples late."""
    period = share * PUBLISHED.longest_period(latency)
    e, rate, waiting = 1.0, 0.0, [0.0] * latency
    for _ in range(400):
        waiting.append(-PUBLISHED.proportional * e - PUBLISHED.derivative * rate)
        u = waiting.pop(0)
        e, rate = e + period * rate + 0.5 * period**2 * u, rate + period * u
    assert (abs(e) < 1.0) == (share < 1.0)


def test_a_later_input_needs_a_faster_loop():
    """Latency costs."""
    periods = [PUBLISHED.longest_period(latency) for latency in range(4)]
    assert periods == sorted(periods, reverse=True)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_gains_that_cannot_bring_an_error_to_zero_are_refused(wrong):
    """Neither a gain nor a settling time may be zero, negative or endless."""
    with pytest.raises(OutOfRange):
        Gains(wrong, 1.0)
    with pytest.raises(OutOfRange):
        Gains(1.0, wrong)
    with pytest.raises(OutOfRange):
        Gains.design(wrong)
    with pytest.raises(OutOfRange):
        Gains.design(0.5, wrong)
    with pytest.raises(OutOfRange):
        Gains.design(0.5, 0.8, wrong)
