"""Numbers are written the same way in every report."""

from __future__ import annotations

import pytest

from farhand.report.numbers import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (-0.0, "0"),
        (61.018, "61.0"),
        (0.99994 * 100, "100"),
        (20.0, "20"),
        (2500.4, "2500"),
        (10615.2, "10,615"),
        (0.00123456, "0.00123"),
        (-0.5, "-0.500"),
        (2.3e-9, "2.30·10⁻⁹"),
        (2.967e-31, "< 10⁻¹²"),
        (-2.967e-31, "< 10⁻¹²"),
        (8.4712e117, "8.47·10¹¹⁷"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_has_three_digits(value, text):
    """More would pretend to know more; fewer would hide a difference of one per cent."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00912, "0.009"), (0.0004, "< 0.001"), (0.0, "0"), (-0.0011, "-0.001"), (86.48, "86.5")],
)
def test_nothing_is_finer_than_the_resolution_of_its_quantity(value, text):
    """What a sensor or a simulation cannot tell from zero is not a number with an exponent."""
    assert number(value, resolution=1e-3) == text
