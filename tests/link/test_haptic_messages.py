"""Messages of the bridge: sizes and orders exact on the wire, Farhand's order inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue
from farhand.link.messages import (
    MESSAGES,
    CartesianSetpoint,
    CartesianStiffness,
    HapticState,
    SpringWrench,
    Transform,
)
from farhand.spatial import rotation_from_vector

numbers = st.floats(-1e3, 1e3, allow_nan=False)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_message_names_as_many_fields_as_it_has_numbers(kind):
    """And refuses one more, one less, and what is not a number."""
    assert kind.SIZE == len(kind.FIELDS) and kind.UNIT
    for size in (kind.SIZE - 1, kind.SIZE + 1):
        with pytest.raises(BadValue, match=str(kind.SIZE)):
            kind.unpack(np.zeros(size))
    with pytest.raises(BadValue, match="not a number"):
        kind.unpack(np.full(kind.SIZE, np.nan))


@given(arrays(float, 6, elements=numbers))
def test_a_wrench_is_moment_first_on_the_wire_and_force_first_inside(wrench):
    """There and back nothing changes."""
    wire = SpringWrench(wrench).pack()
    assert wire.tolist() == [*wrench[3:], *wrench[:3]]
    assert SpringWrench.unpack(wire).wrench.tolist() == wrench.tolist()


@given(arrays(float, 3, elements=numbers), arrays(float, 4, elements=numbers))
def test_a_quaternion_is_scalar_first_on_the_wire_and_last_inside(position, quaternion):
    """x, y, z, qw, qx, qy, qz."""
    wire = CartesianSetpoint(position, quaternion).pack()
    assert wire.tolist() == [*position, quaternion[3], *quaternion[:3]]
    assert CartesianSetpoint.unpack(wire).quaternion.tolist() == quaternion.tolist()


@given(arrays(float, 3, elements=numbers), arrays(float, 3, elements=st.floats(-3.0, 3.0)))
def test_a_transform_comes_back_as_it_went(position, turn):
    """Sixteen numbers, row by row."""
    R = rotation_from_vector(turn)
    wire = Transform(position, R).pack()
    again = Transform.unpack(wire)
    assert (
        wire[3] == position[0]
        and np.array_equal(again.rotation, R)
        and np.array_equal(again.position, position)
    )


def test_a_mirror_is_not_a_rotation():
    """ER-08: the published bench test sent diag(1, −1, 1) at zero angles."""
    with pytest.raises(BadValue, match="proper rotation"):
        Transform.unpack(np.diag([1.0, -1.0, 1.0, 1.0]).ravel())


@pytest.mark.parametrize("place", [0, 1, 5, 10, 12, 13, 14, 15])
def test_a_matrix_that_stretches_or_projects_is_no_transform(place):
    """One axis is enough, or one number of the last row, of either sign."""
    for change in (-1e-3, 1e-3):
        wire = np.eye(4).ravel()
        wire[place] += change
        with pytest.raises(BadValue, match="homogeneous transform"):
            Transform.unpack(wire)


def test_a_stiffness_that_is_not_isotropic_is_refused():
    """The spring has one kt and one kr, and no coupling."""
    good = CartesianStiffness(700.0, 30.0).pack()
    assert CartesianStiffness.unpack(good) == CartesianStiffness(700.0, 30.0)
    for place in (1, 4, 8):
        bad = good.copy()
        bad[place] += 1.0
        with pytest.raises(BadValue, match="isotropic"):
            CartesianStiffness.unpack(bad)


def test_a_pen_has_two_flags_behind_six_numbers():
    """Button, then whether it displays forces."""
    for flags in ((True, False), (False, True)):
        again = HapticState.unpack(HapticState(np.ones(3), np.zeros(3), *flags).pack())
        assert (again.button, again.displays_force) == flags
    state = HapticState.unpack(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0]))
    assert (state.button, state.displays_force) == (False, True) and state.orientation.tolist() == [
        4.0,
        5.0,
        6.0,
    ]
