"""A pen that was switched on in the wrong place is set right in its inkwell, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.simulated.haptic import VERDICTS, HapticPlant
from farhand.robots import load_robot
from farhand.world import Placed, World


@pytest.fixture
def pen() -> HapticPlant:
    """An omni by itself, its counters 4 mm off."""
    made = HapticPlant(World({"pen": Placed(load_robot("omni"))}), "pen")
    made.profile.inkwell.offset = 0.004
    return made


def checked(pen: HapticPlant, now_ns: int) -> str:
    """What a check finds."""
    pen.profile.inkwell.check = False
    pen.read(now_ns)
    pen.profile.inkwell.check = True
    pen.read(now_ns + 1_000_000)
    return VERDICTS[pen.profile.inkwell.verdict]


def test_counters_that_are_off_are_set_right_and_then_good(pen):
    """The pen itself does not move."""
    np.testing.assert_allclose(pen.read(1_000_000).q[:3], pen.port.q[:3] + 0.004, atol=1e-4)
    assert checked(pen, 2_000_000) == "was off, now corrected"
    np.testing.assert_allclose(pen.read(4_000_000).q[:3], pen.port.q[:3], atol=1e-4)
    assert checked(pen, 5_000_000) == "good"


def test_away_from_its_inkwell_nothing_is_set_right(pen):
    """There the true place is not known."""
    pen.port.q[0] = 0.02
    assert checked(pen, 1_000_000) == "not in its inkwell"
    assert pen.profile.inkwell.offset == 0.004
