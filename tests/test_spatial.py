"""Rotations, twists and wrenches: changing frame makes and loses no power."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.spatial import (
    adjoint,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
    skew,
    total,
    twist_in_parent,
    wrench_at,
    wrench_in_parent,
)

numbers = st.floats(-3.0, 3.0, allow_nan=False, width=64)
vectors = arrays(float, 3, elements=numbers)
screws = arrays(float, 6, elements=numbers)
rotations = vectors.map(rotation_from_vector)
unit_quaternions = (
    arrays(float, 4, elements=numbers)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
    .map(lambda q: q / np.linalg.norm(q))
)


@given(vectors, vectors)
def test_skew_is_the_cross_product(a, b):
    """S(a) b = a × b."""
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b), atol=1e-13)


@given(rotations, vectors, screws, screws)
def test_power_does_not_depend_on_the_frame(R, p, twist, wrench):
    """A wrench times a twist is the same number in the child's and in the parent's frame."""
    there = wrench_in_parent(R, p, wrench) @ twist_in_parent(R, p, twist)
    assert there == pytest.approx(
        wrench @ twist, abs=1e-12 * (1 + 100 * np.linalg.norm(wrench) * np.linalg.norm(twist))
    )


@given(rotations, vectors, screws, screws)
def test_the_adjoint_moves_twists_and_its_transpose_moves_wrenches_back(R, p, twist, wrench):
    """V_s = Ad V_b and h_b = Adᵀ h_s."""
    ad = adjoint(R, p)
    np.testing.assert_allclose(ad @ twist, twist_in_parent(R, p, twist), atol=1e-12)
    np.testing.assert_allclose(ad.T @ wrench_in_parent(R, p, wrench), wrench, atol=1e-11)


@given(rotations, vectors, rotations, vectors)
def test_adjoints_compose_as_the_poses_do(R1, p1, R2, p2):
    """Ad(T₁ T₂) = Ad(T₁) Ad(T₂)."""
    np.testing.assert_allclose(
        adjoint(R1 @ R2, R1 @ p2 + p1), adjoint(R1, p1) @ adjoint(R2, p2), atol=1e-11
    )


@given(screws, screws, vectors)
def test_moving_the_reference_point_of_wrench_and_twist_keeps_the_power(wrench, twist, shift):
    """A wrench about another point does the same work on the twist of that point."""
    moved = np.concatenate([twist[:3] + np.cross(twist[3:], shift), twist[3:]])
    assert wrench_at(wrench, shift) @ moved == pytest.approx(wrench @ twist, abs=1e-11)


@given(screws, vectors)
def test_moving_a_wrench_there_and_back_changes_nothing(wrench, shift):
    """The shift is undone by its opposite."""
    np.testing.assert_allclose(wrench_at(wrench_at(wrench, shift), -shift), wrench, atol=1e-12)


@given(unit_quaternions)
def test_a_quaternion_survives_the_way_through_a_matrix(q):
    """Up to the sign that means nothing; what comes back has w ≥ 0."""
    back = quaternion_from_rotation(rotation_from_quaternion(q))
    assert back[3] >= 0.0
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-7
    np.testing.assert_allclose(
        rotation_from_quaternion(back), rotation_from_quaternion(q), atol=1e-12
    )


@given(unit_quaternions, st.floats(0.01, 100.0))
def test_the_length_of_a_quaternion_does_not_matter(q, length):
    """It is normalised first, and the result is a rotation."""
    R = rotation_from_quaternion(length * q)
    np.testing.assert_allclose(R, rotation_from_quaternion(q), atol=1e-12)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_quaternions_are_x_y_z_w():
    """A quarter turn about z takes x to y."""
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        rotation_from_quaternion(np.array([0, 0, half, half])) @ [1, 0, 0], [0, 1, 0], atol=1e-15
    )


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3), st.floats(0.0, np.pi - 1e-6))
def test_a_rotation_vector_comes_back_from_its_matrix(axis, angle):
    """Below half a turn axis times angle is unique."""
    vector = angle * axis / np.linalg.norm(axis)
    np.testing.assert_allclose(rotation_vector(rotation_from_vector(vector)), vector, atol=1e-6)


@given(
    vectors.filter(lambda v: np.linalg.norm(v) > 1e-3),
    st.sampled_from([1e-4, 1e-6, 1e-8, 1e-10, 0.0, -1e-8, -1e-4]),
)
def test_near_half_a_turn_the_rotation_vector_is_still_a_rotation_the_short_way_round(axis, below):
    """At π the axis has two signs; either is right, and the matrix it makes is the one that was
    given.
    """
    R = rotation_from_vector((np.pi - below) * axis / np.linalg.norm(axis))
    vector = rotation_vector(R)
    assert np.linalg.norm(vector) <= np.pi + 1e-9
    np.testing.assert_allclose(rotation_from_vector(vector), R, atol=1e-7)


def test_no_rotation_is_the_zero_vector():
    """The identity has no axis, and needs none."""
    np.testing.assert_array_equal(rotation_vector(np.eye(3)), np.zeros(3))


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc tells how much is allocated"
)
@pytest.mark.parametrize(
    "work", [quaternion_from_rotation, rotation_vector], ids=lambda work: work.__name__
)
def test_rotations_keep_no_memory(work):
    """A link converts four of them per tick: 80 bytes kept each time made an hour of it cost 0.6
    GB.
    """
    fields = [(f"field_{number}", ctypes.c_size_t) for number in range(10)]
    allocated = ctypes.CDLL(None).mallinfo2
    allocated.restype = type("Allocated", (ctypes.Structure,), {"_fields_": fields})
    rotation = rotation_from_vector(np.array([0.1, 0.2, 0.3]))
    work(rotation)
    before = allocated().field_7  # bytes in use
    for _ in range(5000):
        work(rotation)
    assert allocated().field_7 - before < 100_000


def test_the_total_is_the_sum_over_the_axes():
    """To the last digit or two."""
    axes = np.array([1e3, -2.0, 0.5, 1e-3, 7.0, -9.0])
    assert total(axes) == pytest.approx(axes.sum(), rel=1e-15)
