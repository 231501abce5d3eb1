"""Axis map: exact signs, the power dual, and the pen's angles as a tool rotation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue
from farhand.mapping.pen import (
    PEN,
    TOOL_TURN,
    AxisMap,
    pen_rotation,
    tool_quaternion,
    tool_rotation,
)
from farhand.spatial import rotation_from_vector

vectors = arrays(float, 3, elements=st.floats(-10.0, 10.0, allow_nan=False))
PROPER = [
    tuple(s * a for s, a in zip(signs, axes, strict=True))
    for axes in itertools.permutations((1, 2, 3))
    for signs in itertools.product((1, -1), repeat=3)
    if np.linalg.det(np.eye(3)[[a - 1 for a in axes]] * np.array(signs)[:, None]) > 0
]


def test_there_are_24_ways_to_lay_axes_over_axes_without_a_mirror():
    """The rotations of a cube."""
    assert len(PROPER) == 24


@pytest.mark.parametrize("rows", PROPER)
def test_every_proper_map_is_a_rotation_of_zeros_and_ones(rows):
    """So that mapping costs no rounding."""
    A = AxisMap(rows).matrix
    assert np.array_equal(A @ A.T, np.eye(3)) and np.isin(A, (-1.0, 0.0, 1.0)).all()


@given(st.sampled_from(PROPER), vectors, vectors)
def test_forces_go_back_as_the_power_dual(rows, velocity, force):
    """What the robot's force does on the mapped motion, it does on the pen's."""
    axes = AxisMap(rows)
    assert force @ axes.forward(velocity) == pytest.approx(axes.back(force) @ velocity, abs=1e-12)


def test_the_published_map_turns_x_and_y_round():
    """H = (−x, −y, +z)."""
    assert PEN.forward(np.array([1.0, 2.0, 3.0])).tolist() == [-1.0, -2.0, 3.0]


@pytest.mark.parametrize("rows", [(1, 1, 2), (0, 1, 2), (1, 2, 4), (-1, 2, 3), (2, 1, 3)])
def test_a_map_that_loses_or_mirrors_an_axis_is_refused(rows):
    """One clear line, with the axes in it."""
    with pytest.raises(BadValue, match="axes"):
        AxisMap(rows)


def test_a_level_pen_points_the_tool_forward_and_45_degrees_down():
    """RotY(135°): the tool's z axis is (0.707, 0, −0.707)."""
    np.testing.assert_allclose(
        tool_rotation(np.zeros(3))[:, 2], [np.sqrt(0.5), 0.0, -np.sqrt(0.5)], atol=1e-15
    )
    np.testing.assert_allclose(
        tool_quaternion(np.zeros(3)), [0.0, 0.9238795, 0.0, 0.3826834], atol=1e-7
    )


@given(arrays(float, 3, elements=st.floats(-3.0, 3.0)))
def test_the_pen_seen_as_a_rotation_makes_the_same_tool(angles):
    """R_turn A R_pen Aᵀ is the published product of four rotations."""
    A, turn = PEN.matrix, rotation_from_vector(np.array(TOOL_TURN))
    np.testing.assert_allclose(
        turn @ A @ pen_rotation(angles) @ A.T, tool_rotation(angles), atol=1e-12
    )
