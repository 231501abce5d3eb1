"""Rate mode: nothing moves in the dead band; beyond it the speed grows smoothly and saturates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.mapping.vehicle import RateMode

angles = st.floats(-np.pi, np.pi)


@given(angles, st.floats(0.0, 0.0999))
def test_inside_the_dead_band_nothing_moves(angle, length):
    """Half of 0.2 m, in every direction of the plane."""
    offset = np.array([length * np.cos(angle), length * np.sin(angle), 0.0, 0.0])
    assert not RateMode().velocity(offset).any()


@given(angles, st.floats(0.101, 1.0))
def test_beyond_it_the_base_goes_where_the_hand_points(angle, length):
    """The direction is kept, and the speed is at most the top."""
    offset = np.array([length * np.cos(angle), length * np.sin(angle), 0.0, 0.0])
    v = RateMode().velocity(offset)
    assert np.linalg.norm(v) <= 0.2 + 1e-12
    np.testing.assert_allclose(v[:2] / np.linalg.norm(v), offset[:2] / length, atol=1e-9)


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4))
def test_the_map_is_odd(offset):
    """Back is as fast as forth."""
    mode = RateMode()
    np.testing.assert_allclose(
        mode.velocity(-np.array(offset)), -mode.velocity(np.array(offset)), atol=1e-15
    )


def test_speed_and_its_slope_begin_at_zero_at_the_edge():
    """No jump and no kink where a hand crosses the edge of the dead band."""
    mode, eps = RateMode(), 1e-6
    speed = [mode.velocity(np.array([0.1 + k * eps, 0.0, 0.0, 0.0]))[0] for k in (0, 1)]
    assert speed[0] == 0.0
    assert (speed[1] - speed[0]) / eps < 1e-3


@pytest.mark.parametrize("axis", range(4))
def test_full_offset_gives_full_speed_on_every_axis(axis):
    """And more than full no more than that."""
    mode = RateMode()
    for times in (1.0, 3.0):
        offset = np.zeros(4)
        offset[axis] = times * mode.full[axis]
        np.testing.assert_allclose(mode.velocity(offset), np.eye(4)[axis] * mode.top, atol=1e-12)


def test_the_velocity_changes_no_faster_than_its_rise_and_stops_when_let_go():
    """Half a second each way; letting go is an offset of None."""
    mode, dt = RateMode(), 0.01
    far = np.array([1.0, 0.0, 0.0, 0.0])
    up = np.array([mode.step(far, dt)[0] for _ in range(60)])
    down = np.array([mode.step(None, dt)[0] for _ in range(60)])
    assert np.abs(np.diff(np.concatenate([[0.0], up, down]))).max() <= 0.2 * dt / 0.5 + 1e-12
    assert up[-1] == pytest.approx(0.2) and up[48] < 0.2
    assert down[-1] == 0.0


def test_a_gamepad_with_two_sticks_is_the_same_part():
    """Six axes in two planes and two triggers, in the stick's own unit."""
    pad = RateMode(np.ones(6), np.full(6, 0.5), dead_band=0.1, groups=((0, 1), (2, 3)))
    v = pad.velocity(np.array([0.6, 0.8, 0.05, 0.05, 1.0, -1.0]))
    np.testing.assert_allclose(v, [0.3, 0.4, 0.0, 0.0, 0.5, -0.5])


@pytest.mark.parametrize(
    "wrong", [{"top": np.ones(3)}, {"groups": ((0, 1), (1, 2))}, {"groups": ((0, 7),)}]
)
def test_a_table_that_makes_no_sense_is_refused(wrong):
    """Unlike lengths, an axis in two groups, an axis that is not there."""
    with pytest.raises(BadValue, match="rate mode"):
        RateMode(**wrong)
