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
    assert law.warns(np.array([0.086, 0.0, 0.1])) and not law.warns(np.array([0.0, 0.0, 0.1]))


def test_the_zero_moment_point_lags_behind_an_accelerating_body() -> None:
    """It is x − z ẍ/g."""
    point = BalanceForce().zero_moment(np.array([0.01, 0.0, 0.2]), np.array([0.981, 0.0, 0.0]))
    np.testing.assert_allclose(point, [-0.01, 0.0], atol=1e-12)
