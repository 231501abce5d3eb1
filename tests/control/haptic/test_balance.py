"""Balance: e newtons at an edge, always inward, never more than the device shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.haptic.synthetic import BalanceForce


@given(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_it_pushes_towards_the_middle_of_the_sole_within_the_peak(x: float, y: float) -> None:
    """Wherever the centre of gravity is."""
    law = BalanceForce()
    middle = (law.low + law.high) / 2.0
    force = law.force(np.array([x, y, 0.1]))
    assert np.linalg.norm(force) <= law.peak * (1 + 1e-12) and force[2] == 0.0
    assert (force[:2] * (middle - [x, y]) >= -1e-12).all()


def test_an_edge_is_e_newtons_and_a_millimetre_inside_a_factor_e_less() -> None:
    """On one axis."""
    law = BalanceForce()
    assert -law.force(np.array([0.090, 0.0, 0.1]))[0] == pytest.approx(math.e)
    assert -law.force(np.array([0.089, 0.0, 0.1]))[0] == pytest.approx(1.0)
    for edge, inward in (((0.090, 0.0), (-1, 0)), ((-0.060, 0.0), (1, 0)), ((0.0, 0.025), (0, -1))):
        for inside, size in ((0.0, math.e), (0.001, 1.0), (0.003, math.exp(-2.0))):
            force = law.force(np.array([*(np.array(edge) + inside * np.array(inward)), 0.1]))
            np.testing.assert_allclose(force[:2], size * np.array(inward), atol=1e-8)
    assert law.warns(np.array([0.0851, 0.0, 0.1])) and not law.warns(np.array([0.0849, 0.0, 0.1]))
    assert law.warns(np.array([0.0, -0.0201, 0.1])) and not law.warns(np.array([0.0, -0.0199, 0.1]))
    assert law.warns(np.array([0.086, 0.0, 0.1])) and not law.warns(np.array([0.0, 0.0, 0.1]))


def test_over_a_corner_both_axes_push_and_the_resultant_is_the_peak() -> None:
    """Along the diagonal."""
    law = BalanceForce()
    np.testing.assert_allclose(law.force(np.array([*law.low, 0.1]))[:2], law.peak * math.sqrt(0.5))
    np.testing.assert_allclose(law.force(np.array([-0.5, 0.0, 0.1]))[0], law.peak)


def test_the_zero_moment_point_lags_behind_an_accelerating_body() -> None:
    """It is x − z ẍ/g."""
    point = BalanceForce().zero_moment(np.array([0.01, 0.0, 0.2]), np.array([0.981, 0.0, 0.0]))
    np.testing.assert_allclose(point, [-0.01, 0.0], atol=1e-12)
    moon = BalanceForce().zero_moment(np.array([0.0, 0.01, 0.2]), np.array([0.0, 0.3, 9.0]), 1.62)
    np.testing.assert_allclose(moon, [0.0, 0.01 - 0.2 * 0.3 / 1.62], atol=1e-12)
