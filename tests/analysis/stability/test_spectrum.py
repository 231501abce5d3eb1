"""Stability by eigenvalues, by turns round the circle, and by closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.analysis.stability.cells import position_force, position_position, rendered_wall
from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.spectrum import (
    CharacteristicCircle,
    is_calm,
    largest_stable,
    largest_stable_delay,
    least_damped,
    rounding_gains,
    stable,
    unrolled,
)

AWAY = Contact(1000.0, 50.0)


def reflecting(stiffness, delay=0, filtered=0.0):
    law = position_force(2000.0, 60.0, 10.0)
    return Loop(
        law,
        LoopTool(1.0, 2.0),
        LoopTool(1.0, 5.0),
        HANDS["soft"],
        Contact(stiffness, 5.0),
        1e-3,
        delay,
        filtered,
    )


@settings(max_examples=40, deadline=None)
@given(st.floats(50.0, 2e4), st.integers(1, 30), st.sampled_from([0.0, 100.0]))
def test_turns_round_the_circle_agree_with_eigenvalues(stiffness, delay, filtered):
    """The winding count is the eigenvalue test without the eigenvalues."""
    loop = reflecting(stiffness, delay, filtered)
    largest = np.abs(np.linalg.eigvals(unrolled(*loop.matrices(), delay))).max()
    if abs(largest - 1.0) > 1e-5:
        assert CharacteristicCircle(loop, delay).stable(delay) == (largest < 1.0)


def test_the_limit_of_a_sampled_wall_is_the_one_of_jury():
    """For z² − (φ₁₁ + φ₂₂ − γ₁K) z + det: the wall is stable while det(Φ − Γ K C) < 1."""
    mass, damping, T = 1.0, 10.0, 1e-3

    def loop(K: float) -> Loop:
        tools = LoopTool(mass, damping), LoopTool(1.0, 5.0)
        return Loop(rendered_wall(K), *tools, HANDS["none"], AWAY, T)

    phi, gamma = loop(1.0).plant()
    P, g = phi[:2, :2], gamma[:2, 0]
    exact = (1.0 - np.linalg.det(P)) / (g[1] * P[0, 1] - g[0] * P[1, 1])
    assert largest_stable(loop, 10.0, 1e6) == pytest.approx(exact, rel=0.01)
    # Colgate: what is passive is stable, with any hand
    assert exact == pytest.approx(2.0 * damping / T, rel=0.02)


def test_free_tools_that_stay_where_they_are_put_count_as_stable():
    """An eigenvalue of one is a position nobody holds."""
    law = position_position(500.0, 20.0)
    loop = Loop(law, LoopTool(1.0, 2.0), LoopTool(1.0, 2.0), HANDS["none"], Contact(0.0), 1e-3)
    assert stable(loop)
    assert stable(replace(loop, law=position_position(500.0, 2500.0))) is False


def test_the_longest_delay_is_where_the_eigenvalues_leave_the_circle():
    """One tick more and the largest eigenvalue is outside."""
    ticks = int(largest_stable_delay(reflecting(1000.0), 200))
    sizes = [
        np.abs(np.linalg.eigvals(unrolled(*reflecting(1000.0).matrices(), d))).max()
        for d in (ticks, ticks + 1)
    ]
    assert sizes[0] < 1.0 < sizes[1]


def test_without_anything_on_the_link_delay_does_not_matter():
    """A rendered wall does not care how late the other side is."""
    loop = Loop(rendered_wall(1000.0), LoopTool(1.0, 10.0), LoopTool(1.0, 5.0), HANDS["soft"], AWAY)
    assert largest_stable_delay(loop, 50) == math.inf
    assert largest_stable_delay(replace(loop, law=rendered_wall(1e6)), 50) == -1.0


def test_a_loop_shakes_at_the_frequency_of_its_least_damped_mode():
    """A hand's mass between two springs: √(K/m)."""
    loop = Loop(rendered_wall(9000.0), LoopTool(1.0, 18.0), LoopTool(1.0, 5.0), HANDS["none"], AWAY)
    mode = least_damped(loop)
    assert mode.frequency == pytest.approx(math.sqrt(9000.0) / (2 * np.pi), rel=0.02)
    assert mode.amplitudes == pytest.approx((1.0, 0.0), abs=1e-6)


def test_the_frequency_does_not_depend_on_how_it_was_found():
    """Eigenvalues of a short delay line and the turns of a long one name the same motion."""
    loop = reflecting(1000.0)
    ticks = int(largest_stable_delay(loop, 200))
    short = least_damped(replace(loop, delay=ticks))
    z = CharacteristicCircle(loop, ticks).nearest(ticks)
    assert abs(np.angle(z)) / (2 * np.pi * loop.period) == pytest.approx(short.frequency, rel=0.02)


def test_friction_stills_small_bumps_and_not_large_ones():
    """Dry friction takes A, viscous friction A²: only small oscillations die."""
    loop = Loop(
        rendered_wall(30_000.0), LoopTool(0.5, 5.0, 1.0), LoopTool(1.0, 5.0), HANDS["soft"], AWAY
    )
    assert not stable(loop)
    assert is_calm(loop, 1e-5)
    assert not is_calm(loop, 1e-2)


def test_encoder_steps_matter_less_the_larger_the_oscillation():
    """The first harmonic of the rounding error falls with the amplitude, and is never more than a
    square wave's.
    """
    errors = [max(map(abs, rounding_gains(amplitude))) for amplitude in (0.5, 1.0, 2.0, 5.0, 20.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] <= 2.0 / np.pi
    assert errors[3] < 0.2


def test_encoder_steps_only_ever_lower_the_limit():
    """A loop that is calm with steps is calm without."""
    plain = largest_stable(lambda K: reflecting(K, 10, 100.0), 10.0, 1e6)
    stepped = largest_stable(lambda K: reflecting(K, 10, 100.0), 10.0, 1e6, quanta=5.0)
    assert 0.7 * plain < stepped <= plain
