"""Gears found from friction at steady speeds."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction import Gears
from farhand_lab.cooperative.identification import fit_gears, there_and_back

SPEEDS = np.array(
    [[v, v, v, v, v, ratio * v] for v in np.geomspace(0.01, 1.0, 10) for ratio in (1.0, 0.4, -0.6)]
)


@pytest.mark.parametrize("name", ["reduced", "akbas"])
def test_the_curves_of_all_joints_come_back_from_exact_friction(name: str) -> None:
    """To 1 % of each joint's largest, also at a ratio of wrist speeds that is not in the data."""
    truth = Gears(set=name)
    found = fit_gears(SPEEDS, truth.curve(SPEEDS))
    for ratio in (0.4, -0.2):
        v = np.geomspace(0.02, 1.0, 30)[:, None] * np.array([1.0, 1.0, 1.0, 1.0, 1.0, ratio])
        off = np.abs(found.curve(v) - truth.curve(v)).max(axis=0) / np.abs(truth.curve(v)).max(
            axis=0
        )
        assert off.max() < 0.01


def test_one_ratio_of_wrist_speeds_cannot_tell_a_shared_gear_from_two_of_their_own() -> None:
    """With the ratio fixed, the measured speeds fit and another ratio does not."""
    truth, one = Gears(set="reduced"), SPEEDS[::3]
    found = fit_gears(one, truth.curve(one))
    assert np.abs(found.curve(one) - truth.curve(one)).max() < 0.1
    other = one * np.array([1.0, 1.0, 1.0, 1.0, 1.0, -0.8])
    assert np.abs(found.curve(other) - truth.curve(other))[:, 4:].max() > 0.1


def test_what_is_the_same_both_ways_drops_out() -> None:
    """Weight and springs are."""
    friction, weight = np.array([3.0, -2.0]), np.array([100.0, -50.0])
    np.testing.assert_array_equal(there_and_back(weight + friction, weight - friction), friction)


def test_too_few_speeds_are_refused() -> None:
    """With the shapes named."""
    with pytest.raises(BadValue, match=r"n ≥ 6, not \(3, 6\)"):
        fit_gears(np.ones((3, 6)), np.ones((3, 6)))
