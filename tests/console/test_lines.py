"""Springs, boxes and trails are where their ends are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.console.geometry import TRAIL_POINTS, Trail, box_edges, coil, dashes

POINTS = st.tuples(*[st.floats(-2.0, 2.0)] * 3).map(np.array)


@given(POINTS, POINTS)
def test_a_spring_is_drawn_from_one_end_to_the_other_without_a_gap(a, b):
    """Whatever its direction or length, none included."""
    segments = coil(a, b)
    np.testing.assert_allclose(segments[0, 0], a, atol=1e-6)
    np.testing.assert_allclose(segments[-1, 1], b, atol=1e-6)
    np.testing.assert_allclose(segments[1:, 0], segments[:-1, 1], atol=1e-6)
    assert np.isfinite(segments).all()


def test_dashes_cover_half_of_the_way():
    """As long as the gaps between them, nearly."""
    drawn = np.linalg.norm(
        np.diff(dashes(np.zeros(3), np.array([1.0, 0.0, 0.0])), axis=1), axis=2
    ).sum()
    assert drawn == pytest.approx(0.5, abs=0.02)


def test_a_box_has_twelve_edges_along_the_axes():
    """Four of each length."""
    lengths = np.linalg.norm(
        np.diff(box_edges(np.zeros(3), np.array([1.0, 2.0, 3.0])), axis=1), axis=2
    ).ravel()
    assert sorted(lengths.round(6)) == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_a_trail_forgets_what_is_old_and_what_was_before_a_jump_in_time():
    """A slider moved back must not draw a line across the picture."""
    trail = Trail()
    for t in range(0, 10_000, 10):
        trail.add(t * 1_000_000, np.array([1e-3 * t, 0.0, 0.0]))
    assert trail.points.shape == (TRAIL_POINTS, 2, 3)
    assert trail.points[0, 0, 0] == pytest.approx(10.0 - 6.0, abs=0.1)
    assert trail.add(1_000_000_000, np.zeros(3))
    assert not trail.points.any()
