"""Workspace mapping: two-way, power-conserving, and without a jump when engaged or changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.mapping import WorkspaceMapping
from farhand.mapping.pen import PenMapping
from farhand.parameters import assign
from farhand.spatial import rotation_from_vector, rotation_vector

numbers = st.floats(-2.0, 2.0, allow_nan=False)
vectors = arrays(float, 3, elements=numbers)
screws = arrays(float, 6, elements=numbers)
scales = st.floats(0.05, 20.0)
EYE = np.eye(3)


def mapping_with(
    axes=(0.0, 0.0, 0.0), motion_scale: float = 1.0, force_scale: float = 1.0
) -> WorkspaceMapping:
    """A mapping with these parameters."""
    return WorkspaceMapping(
        motion_scale=motion_scale, force_scale=force_scale, axes=np.array(axes, dtype=float)
    )


@given(vectors, scales, screws, screws, vectors, vectors)
def test_the_way_back_is_the_power_dual_of_the_way_forward(
    axes, scale, twist, wrench, position, turn
):
    """With a force scale of one the follower's power is the leader's, for any axes and scale."""
    mapping, felt = mapping_with(axes, scale), np.zeros(6)
    mapping.forward(position, rotation_from_vector(turn), twist)
    mapping.back(wrench, out=felt)
    assert felt @ twist == pytest.approx(wrench @ mapping.twist, abs=1e-9)


@given(screws, screws, st.floats(0.0, 50.0))
def test_the_plain_mapping_is_its_own_power_dual_too(twist, wrench, force_scale):
    """Neither turned nor scaled: what is felt is the wrench times the force scale."""
    mapping, felt = mapping_with(force_scale=force_scale), np.zeros(6)
    mapping.forward(np.zeros(3), EYE, twist)
    mapping.back(wrench, out=felt)
    np.testing.assert_allclose(mapping.twist, twist)
    np.testing.assert_allclose(felt, force_scale * wrench)


@given(vectors, scales, vectors, vectors, vectors, vectors)
def test_capturing_makes_the_target_the_followers_pose(axes, scale, p_a, turn_a, p_b, turn_b):
    """At engagement the follower is already where it should be."""
    mapping = mapping_with(axes, scale)
    R_a, R_b = rotation_from_vector(turn_a), rotation_from_vector(turn_b)
    mapping.capture(p_a, R_a, p_b, R_b)
    mapping.forward(p_a, R_a, np.zeros(6))
    np.testing.assert_allclose(mapping.position, p_b, atol=1e-12)
    np.testing.assert_allclose(mapping.rotation, R_b, atol=1e-12)


@given(vectors, scales, vectors, vectors, vectors, vectors)
def test_the_twist_is_the_rate_of_the_target(axes, scale, p_a, turn_a, velocity, spin):
    """By finite differences of the mapped pose, with captured offsets."""
    mapping, h = mapping_with(axes, scale), 1e-6
    R_a = rotation_from_vector(turn_a)
    mapping.capture(p_a, R_a, np.ones(3), rotation_from_vector(np.array([0.3, -0.2, 0.9])))
    poses = []
    for step in (-h, h):
        mapping.forward(p_a + step * velocity, rotation_from_vector(step * spin) @ R_a, np.zeros(6))
        poses.append((mapping.position.copy(), mapping.rotation.copy()))
    mapping.forward(p_a, R_a, np.concatenate([velocity, spin]))
    (p0, R0), (p1, R1) = poses
    np.testing.assert_allclose(mapping.twist[:3], (p1 - p0) / (2 * h), atol=1e-6)
    rate = (R1 - R0) / (2 * h) @ mapping.rotation.T
    np.testing.assert_allclose(mapping.twist[3:], [rate[2, 1], rate[0, 2], rate[1, 0]], atol=1e-6)


@pytest.mark.parametrize(
    ("path", "value"), [("motion_scale", 3.0), ("motion_scale", 0.2), ("axes", "0,0,1.5")]
)
def test_a_live_change_makes_no_jump(path, value):
    """The target stays where it is; only further motion is mapped anew."""
    mapping = mapping_with((0.1, 0.2, 0.3), 1.5)
    p_a, R_a = np.array([0.4, -0.2, 0.7]), rotation_from_vector(np.array([0.5, 0.1, -0.3]))
    mapping.capture(p_a, R_a, np.array([1.0, 2.0, 3.0]), EYE)
    mapping.forward(p_a + 0.1, R_a, np.zeros(6))
    before = mapping.position.copy(), mapping.rotation.copy()
    p_now = p_a + 0.1
    mapping.forward(p_now, R_a, np.zeros(6))
    assign(mapping, path, value)
    mapping.forward(p_now, R_a, np.zeros(6))
    np.testing.assert_allclose(mapping.position, before[0], atol=1e-12)
    np.testing.assert_allclose(mapping.rotation, before[1], atol=1e-12)


def test_after_a_live_change_motion_is_scaled_anew():
    """A metre of the leader is now three of the follower."""
    mapping = mapping_with()
    p = np.array([0.4, -0.2, 0.7])
    mapping.forward(p, EYE, np.zeros(6))
    start = mapping.position.copy()
    assign(mapping, "motion_scale", 3.0)
    mapping.forward(p + [0.1, 0.0, 0.0], EYE, np.zeros(6))
    np.testing.assert_allclose(mapping.position - start, [0.3, 0.0, 0.0], atol=1e-12)


def test_a_change_between_capture_and_the_first_step_makes_no_jump():
    """Engage and a new scale may be asked for in the same tick."""
    mapping = mapping_with()
    p_a, p_b = np.array([0.4, -0.2, 0.7]), np.array([1.0, 0.0, 0.0])
    mapping.capture(p_a, EYE, p_b, EYE)
    assign(mapping, "motion_scale", 2.0)
    mapping.forward(p_a, EYE, np.zeros(6))
    np.testing.assert_allclose(mapping.position, p_b, atol=1e-12)


def test_a_change_after_capturing_anew_keeps_the_new_target():
    """The leader has moved while clutched; the captured target counts, not the one before."""
    mapping = mapping_with()
    leader = np.array([0.4, -0.2, 0.7])
    mapping.forward(leader, EYE, np.zeros(6))
    leader[:] = [0.1, 0.3, 0.2]
    target = np.array([0.9, 0.1, 0.0])
    mapping.capture(leader, EYE, target, EYE)
    assign(mapping, "motion_scale", 2.0)
    mapping.forward(leader, EYE, np.zeros(6))
    np.testing.assert_allclose(mapping.position, target, atol=1e-12)


@given(screws, vectors, scales, st.floats(0.0, 50.0))
def test_the_force_scale_multiplies_what_is_felt_and_nothing_else(wrench, axes, scale, force_scale):
    """Twice the scale, twice the force and the torque; the motion does not change."""
    plain, scaled = mapping_with(axes, scale), mapping_with(axes, scale, force_scale)
    felt, more = np.zeros(6), np.zeros(6)
    plain.back(wrench, out=felt)
    scaled.back(wrench, out=more)
    np.testing.assert_allclose(more, force_scale * felt, atol=1e-9)


def test_the_callers_wrench_is_left_alone():
    """The measured wrench belongs to the sensor."""
    for mapping in (mapping_with((0.2, 0.1, 0.0), 2.0, 3.0), mapping_with(force_scale=3.0)):
        wrench = np.arange(6.0)
        mapping.back(wrench, out=np.zeros(6))
        np.testing.assert_array_equal(wrench, np.arange(6.0))


@pytest.mark.parametrize(
    ("motion", "force", "taken"),
    [
        (0.0099, 1.0, False),
        (0.01, 0.0, True),
        (100.0, 100.0, True),
        (100.1, 1.0, False),
        (1.0, -0.01, False),
        (1.0, 100.1, False),
        (np.nan, 1.0, False),
    ],
)
def test_a_map_of_the_other_end_is_taken_inside_the_limits_only(motion, force, taken):
    """Or nothing changes, and the target is said to be infinitely far away."""
    for mapping in (mapping_with(), PenMapping()):
        before, revision = mapping.shape, mapping.revision
        shape = np.array([motion, force, 0.1, 0.2, 0.3])
        moved = mapping.adopt(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, *shape]))
        assert (moved == (np.inf, np.inf)) is not taken
        assert mapping.shape == (tuple(shape) if taken else before)
        assert mapping.revision == revision + taken
        assert bool((mapping.offset_position == 1.0).all()) is taken


def test_taking_over_a_map_says_how_far_that_moves_the_target():
    """In metres and radians, for the leader's last pose; the same map again moves nothing."""
    here, there = mapping_with((0.1, 0.2, 0.3), 2.0), mapping_with((0.3, -0.2, 0.1), 0.5)
    p_a, R_a = np.array([0.4, -0.2, 0.7]), rotation_from_vector(np.array([0.5, 0.1, -0.3]))
    poses = []
    for mapping, at in ((here, 0.3), (there, -0.4)):
        mapping.capture(p_a, R_a, np.full(3, at), rotation_from_vector(np.array([at, 0.0, 0.0])))
        mapping.forward(p_a + 0.1, R_a, np.zeros(6))
        poses.append((mapping.position.copy(), mapping.rotation.copy()))
    distance, angle = here.adopt(there.numbers)
    assert distance == pytest.approx(np.linalg.norm(poses[0][0] - poses[1][0]))
    assert angle == pytest.approx(np.linalg.norm(rotation_vector(poses[1][1] @ poses[0][1].T)))
    assert here.adopt(there.numbers) == pytest.approx((0.0, 0.0), abs=1e-7)
    here.forward(p_a + 0.1, R_a, np.zeros(6))
    np.testing.assert_allclose(here.position, poses[1][0], atol=1e-12)


@given(vectors, scales, screws)
def test_the_matrix_is_the_way_forward_of_twists(axes, scale, twist):
    """Of any axes and scale."""
    mapping = mapping_with(axes, scale)
    mapping.forward(np.zeros(3), EYE, twist)
    np.testing.assert_allclose(mapping.matrix @ twist, mapping.twist, atol=1e-12)
