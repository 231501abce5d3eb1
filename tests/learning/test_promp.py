"""Probabilistic movement primitives against what Gaussians are in closed form."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.learning.primitives import ProbabilisticPrimitive

PHASE = np.linspace(0.0, 1.0, 201)


def shown(count: int = 8) -> np.ndarray:
    """Bows of unlike height, with a second dimension (a force, say) that is always three times the
    first.
    """
    heights = np.linspace(0.8, 1.2, count)
    return np.stack(
        [
            np.stack([h * np.sin(np.pi * PHASE), 3 * h * np.sin(np.pi * PHASE)], axis=1)
            for h in heights
        ]
    )


def test_mean_and_deviation_are_those_of_the_demonstrations():
    """At every phase; the deviation has a little more, for what nobody showed."""
    learnt = ProbabilisticPrimitive.fit(PHASE, shown(), 20)
    np.testing.assert_allclose(learnt.movement(PHASE), shown().mean(axis=0), atol=1e-3)
    expected = shown().std(axis=0, ddof=1)[100]
    np.testing.assert_allclose(learnt.deviation(PHASE)[100], expected, rtol=0.03)


def test_a_via_point_in_one_dimension_moves_the_other_by_what_they_have_in_common():
    """Position 10 % higher in the middle: the force that always was three times as high goes
    along.
    """
    learnt = ProbabilisticPrimitive.fit(PHASE, shown(), 20)
    bent = learnt.conditioned(0.5, np.array([1.1, np.nan])).movement(PHASE)
    np.testing.assert_allclose(bent[100], [1.1, 3.3], rtol=0.01)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(-3.0, 3.0))
def test_every_point_can_be_passed(at, value):
    """Also one far from all demonstrations; there the uncertainty is gone, and nowhere has it
    grown.
    """
    learnt = ProbabilisticPrimitive.fit(PHASE, shown(), 20)
    bent = learnt.conditioned(at, np.array([value, np.nan]))
    place = np.array([at])
    np.testing.assert_allclose(bent.movement(place)[0, 0], value, atol=2e-3)
    assert bent.deviation(place)[0, 0] < 1e-3
    assert (bent.deviation(PHASE) < learnt.deviation(PHASE) + 1e-6).all()
