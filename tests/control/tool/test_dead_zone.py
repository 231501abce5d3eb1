"""Dead zone: odd, continuous, and nothing outside it changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.tool.task import DeadZone

readings = st.lists(st.floats(-50.0, 50.0), min_size=6, max_size=6)


@given(w=readings, width=st.floats(0.01, 10.0), power=st.floats(1.0, 9.0))
def test_it_is_odd_and_never_makes_a_reading_larger(w, width: float, power: float):
    """Whatever its width and exponent; outside it nothing is changed."""
    zone, wrench = DeadZone(force=width, moment=width, exponent=power), np.array(w)
    passed = zone.apply(wrench)
    np.testing.assert_array_equal(zone.apply(-wrench), -passed)
    assert (np.abs(passed) <= np.abs(wrench) + 1e-12).all()
    outside = np.abs(wrench) >= width
    np.testing.assert_array_equal(passed[outside], wrench[outside])


def test_a_width_of_zero_lets_everything_through():
    """The zone can be switched off."""
    zone = DeadZone(force=0.0, moment=0.0)
    wrench = np.array([1e-9, -2.0, 0.0, 3.0, 1e-12, 0.1])
    np.testing.assert_array_equal(zone.apply(wrench), wrench)


def test_a_tenth_of_the_width_counts_a_thousandth():
    """With the default cube, in forces and in moments by their own widths."""
    passed = DeadZone().apply(np.array([0.1, 0, 0, 0.01, 0, 0]))
    np.testing.assert_allclose(passed, [1e-3, 0, 0, 1e-4, 0, 0], atol=1e-15)
