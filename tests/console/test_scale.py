"""Arrows are as long as suits what a device can show, to a scale that can be read."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from farhand.console.scene import force_scale, scale_in_words


def rig_with(*peaks: float | None) -> SimpleNamespace:
    """As much of a rig as the scale asks for: devices with these peaks, arms where there is
    none.
    """
    forces = [math.inf if peak is None else peak for peak in peaks]
    stations = [SimpleNamespace(plant=SimpleNamespace(force_peak=force)) for force in forces]
    return SimpleNamespace(session=SimpleNamespace(stations=stations))


@pytest.mark.parametrize(
    ("peaks", "size", "newtons"),
    [
        ((None, None), 1.0, 40.0),
        ((3.3, None), 0.5, 2.0),
        ((12.0, None), 1.0, 4.0),
        ((None,), 0.25, 200.0),
    ],
)
def test_the_scale_fits_the_weakest_device_and_is_a_round_number(peaks, size, newtons):
    """Ten centimetres for 1, 2 or 4 times a power of ten."""
    assert force_scale(rig_with(*peaks), size) == newtons


def test_the_page_says_its_scale():
    """An arrow without one says nothing."""
    assert scale_in_words(40.0) == "arrows: 10 cm = 40 N"
