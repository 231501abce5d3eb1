"""Link Map and odometry: mecanum wheels and their base, both ways, with power kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue
from farhand.plants.simulated.mecanum import TICK, LinkMap, Odometry, move_along_arc

LINK = LinkMap()
three = arrays(float, 3, elements=st.floats(-10, 10))
four = arrays(float, 4, elements=st.floats(-10, 10))


def test_wheels_and_base_are_inverse_and_pure_motions_are_pure() -> None:
    """B A = 1, and the signs of the wheels for forward, left and turning left."""
    np.testing.assert_allclose(LINK.B @ LINK.A, np.eye(3), atol=1e-15)
    assert np.sign(LINK.speeds(np.array([1.0, 0, 0]))).tolist() == [-1, 1, -1, 1]
    assert np.sign(LINK.speeds(np.array([0, 1.0, 0]))).tolist() == [1, 1, -1, -1]
    np.testing.assert_allclose(LINK.twist(np.ones(4)), [0, 0, LINK.radius / LINK.lever], atol=1e-15)


@given(twist=three, wrench=three)
def test_both_maps_keep_power(twist, wrench) -> None:
    """τ · w = W · V for torques made from a wrench, at the speeds of any twist."""
    assert LINK.torques(wrench) @ LINK.speeds(twist) == pytest.approx(
        wrench @ twist, rel=1e-12, abs=1e-12
    )


@given(torques=four, twist=three)
def test_torques_of_wheels_do_the_work_of_their_wrench(torques, twist) -> None:
    """The other way round: any four torques against the wrench they make."""
    assert LINK.wrench(torques) @ twist == pytest.approx(
        torques @ LINK.speeds(twist), rel=1e-12, abs=1e-9
    )


@given(wrench=three, other=st.floats(-5, 5))
def test_of_all_torques_that_make_a_wrench_the_map_takes_the_smallest(wrench, other) -> None:
    """Adding what the wheels can fight out among themselves changes nothing but the size."""
    inner = np.array([1.0, -1.0, -1.0, 1.0])
    np.testing.assert_allclose(LINK.wrench(inner), 0.0, atol=1e-12)
    torques = LINK.torques(wrench)
    assert np.linalg.norm(torques) <= np.linalg.norm(torques + other * inner) + 1e-12


@given(moved=three, turn=st.floats(-3, 3))
def test_moving_along_an_arc_is_many_small_moves(moved, turn) -> None:
    """A constant twist in one step and in ten thousand; what the small ones do in a straight line
    each is nearly it.
    """
    once, often = np.array([1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5])
    whole = np.array([moved[0], moved[1], turn])
    move_along_arc(once, whole)
    for _ in range(64):
        move_along_arc(often, whole / 64)
    np.testing.assert_allclose(once, often, atol=1e-9)


def test_odometry_knows_whole_counts_only_and_never_loses_the_rest() -> None:
    """Wheels that turn by a fifth of a count at a time still arrive."""
    odometry = Odometry(LINK)
    for k in range(1, 50_001):
        odometry.update(LINK.speeds(np.array([1.0, 0.0, 0.0])) * k * 0.2 * TICK * LINK.radius)
    assert odometry.pose[0] == pytest.approx(
        50_000 * 0.2 * TICK * LINK.radius, abs=TICK * LINK.radius
    )


def test_a_base_without_wheels_is_refused() -> None:
    """A radius of zero would divide by it."""
    with pytest.raises(BadValue, match="0 m"):
        LinkMap(radius=0.0)
