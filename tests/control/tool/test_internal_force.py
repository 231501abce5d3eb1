"""Internal force: what cancels on the object, what is left, and how one arm lets squeeze go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.tool.internal_force import SqueezeBleed, grasp_matrix, internal, nominal_shares
from farhand.errors import BadValue

teams = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        arrays(float, (n, 6), elements=st.floats(-100.0, 100.0)),
        arrays(float, (n, 3), elements=st.floats(-1.0, 1.0)),
    )
)


@settings(max_examples=60, deadline=None)
@given(teams)
def test_internal_wrenches_do_nothing_to_the_object(team):
    """Their sum and their moment about the centre vanish."""
    wrenches, places = team
    inner = internal(wrenches, places)
    np.testing.assert_allclose(grasp_matrix(places) @ inner.ravel(), 0.0, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(teams, st.sampled_from([None, 0.3]))
def test_the_internal_part_is_the_smallest_change_to_what_moves_the_object(team, length):
    """Both parts are at right angles, with moments as forces at a lever arm; one of 1 m unless
    another is given.
    """
    wrenches, places = team
    inner = internal(wrenches, places, *([] if length is None else [length]))
    weight = np.repeat([1.0, 1.0 / (length or 1.0)], 3)
    outer = wrenches - inner
    assert np.sum(weight * inner * weight * outer) == pytest.approx(0.0, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(teams)
def test_taking_the_internal_part_twice_changes_nothing(team):
    """A projection."""
    wrenches, places = team
    inner = internal(wrenches, places)
    np.testing.assert_allclose(internal(inner, places), inner, atol=1e-8)


def test_two_arms_that_pull_apart_are_all_squeeze_and_equal_lift_is_none():
    """The two cases everyone agrees on."""
    places = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    apart = np.zeros((2, 6))
    apart[:, 0] = [-30.0, 30.0]
    np.testing.assert_allclose(internal(apart, places), apart, atol=1e-9)
    lift = np.zeros((2, 6))
    lift[:, 2] = 50.0
    np.testing.assert_allclose(internal(lift, places), 0.0, atol=1e-9)


def test_one_arm_alone_cannot_squeeze():
    """All of its wrench goes into the object."""
    np.testing.assert_allclose(
        internal(np.ones((1, 6)), np.array([[0.3, 0.1, 0.0]])), 0.0, atol=1e-9
    )


def test_nominal_shares_balance_the_weight():
    """They sum to one without a moment; four arms at a rectangle's corners carry a quarter each."""
    corners = np.array([[x, y, 0.0] for x in (-0.8, 0.8) for y in (-0.1, 0.1)])
    np.testing.assert_allclose(nominal_shares(corners), 0.25)
    three = np.array([[-0.8, -0.1, 0.0], [0.8, -0.1, 0.0], [0.0, 0.1, 0.0]])
    np.testing.assert_allclose(nominal_shares(three) @ three, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "places",
    [[(0.3, 0.0, 0.0)], [(0.1, 0.0, 0.0), (0.2, 0.0, 0.0)], [(0.0, 0.2, 0.0), (0.1, 0.2, 0.0)]],
)
def test_grips_that_need_moments_share_the_weight_equally(places):
    """All on one side: forces alone would not carry it, or one of them would pull down."""
    np.testing.assert_allclose(nominal_shares(np.array(places)), 1.0 / len(places))


def test_the_nearer_grip_carries_more():
    """The lever rule."""
    shares = nominal_shares(np.array([[-0.1, 0.0, 0.2], [0.3, 0.0, 0.0]]))
    np.testing.assert_allclose(shares, [0.75, 0.25])


def test_squeeze_bleeds_away_from_where_it_was_within_its_bound():
    """Starts at what is there, never more than the bound, and falls by 1/e in its time."""
    bleed, weight = SqueezeBleed(time=2.0, most=10.0), np.array([0.0, 0.0, -50.0, 0.0, 0.0, 0.0])
    bleed.begin(weight + np.array([4.0, -30.0, 0.0, 0.0, 0.0, 1.0]), weight)
    np.testing.assert_allclose(bleed.left, [4.0, -10.0, 0.0, 0.0, 0.0, 1.0])
    for _ in range(500):
        left = bleed.step(0.004)
    np.testing.assert_allclose(left, np.array([4.0, -10.0, 0.0, 0.0, 0.0, 1.0]) / np.e)
    with pytest.raises(BadValue):
        bleed.step(0.0)
