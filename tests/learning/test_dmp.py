"""Dynamic movement primitives against what they are in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.learning.primitives import FADING, SPRING, MovementPrimitive

PHASE = np.linspace(0.0, 1.0, 401)


def learnt() -> MovementPrimitive:
    """From one minimum-jerk reach with a bow."""
    reach = 10 * PHASE**3 - 15 * PHASE**4 + 6 * PHASE**5
    return MovementPrimitive.fit(
        PHASE, np.stack([reach, 0.2 * np.sin(2 * np.pi * reach)], axis=1)[None], 30
    )


def test_without_weights_it_is_the_spring_in_closed_form():
    """The equation y'' + 2ωy' + ω²y = ω²(g − (g − y₀)e^(−as)) has a solution of three exponentials'
    shapes.
    """
    primitive = MovementPrimitive(np.array([1.0]), np.array([3.0]), np.zeros((20, 1)))
    w, a = SPRING, FADING
    c = -2.0 * w**2 / (w - a) ** 2  # particular part of the fading term
    A = 1.0 - 3.0 - c
    B = c * a + w * A
    expected = 3.0 + c * np.exp(-a * PHASE) + (A + B * PHASE) * np.exp(-w * PHASE)
    np.testing.assert_allclose(primitive.movement(PHASE)[:, 0], expected, atol=5e-5)


def test_it_repeats_what_it_was_shown():
    """One demonstration comes back to within a ten-thousandth of its size."""
    reach = 10 * PHASE**3 - 15 * PHASE**4 + 6 * PHASE**5
    np.testing.assert_allclose(learnt().movement(PHASE)[:, 0], reach, atol=5e-4)


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_it_ends_at_whatever_goal_it_is_given(x, y):
    """To within what the fading forcing term leaves; and it starts where it did."""
    moved = learnt().towards(np.array([x, y])).movement(PHASE)
    gap = np.linalg.norm(np.array([x, y]) - learnt().goal)
    np.testing.assert_allclose(moved[-1], [x, y], atol=1e-3 + 3e-3 * gap)
    np.testing.assert_allclose(moved[0], learnt().movement(PHASE)[0], atol=1e-12)


@given(st.floats(0.2, 0.8), st.floats(-0.3, 0.3))
def test_it_passes_its_via_point_and_keeps_its_ends(at, shift):
    """Exactly, and the movement elsewhere is bent no further than the point was."""
    before = learnt()
    point = before.movement(np.array([at]))[0] + shift
    after = before.through(at, point)
    np.testing.assert_allclose(after.movement(np.array([at]))[0], point, atol=1e-6)
    change = after.movement(PHASE) - before.movement(PHASE)
    np.testing.assert_allclose(change[[0, -1]], 0.0, atol=1e-6)
    assert np.abs(change).max() < 1.2 * abs(shift) + 1e-6


def test_a_via_point_outside_is_refused():
    """With the phase and its range."""
    with pytest.raises(BadValue, match="phase 1.5 is outside"):
        learnt().through(1.5, np.zeros(2))
