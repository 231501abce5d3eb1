"""Position-only mapping: positions pass, turns do not, and neither do torques."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand.mapping.workspace import PositionOnlyMapping
from farhand.parameters import assign
from farhand.spatial import rotation_from_vector

vectors = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)
sixes = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6).map(np.array)


def captured(p_a, r_a, p_b, r_b) -> PositionOnlyMapping:
    """A mapping engaged with both tools somewhere."""
    mapping = PositionOnlyMapping(motion_scale=0.7, force_scale=2.0, axes=np.array([0.0, 0.0, 0.5]))
    mapping.capture(p_a, rotation_from_vector(r_a), p_b, rotation_from_vector(r_b))
    return mapping


@given(vectors, vectors, vectors, vectors, vectors, vectors)
def test_the_orientation_stays_whatever_the_leader_does(p_a, r_a, p_b, r_b, moved, turned):
    """The tool starts where it is and keeps its orientation while the leader moves and turns."""
    mapping = captured(p_a, r_a, p_b, r_b)
    mapping.forward(p_a, rotation_from_vector(r_a), np.zeros(6))
    np.testing.assert_allclose(mapping.position, p_b, atol=1e-12)
    mapping.forward(p_a + moved, rotation_from_vector(turned), np.ones(6))
    np.testing.assert_allclose(mapping.rotation, rotation_from_vector(r_b), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(mapping.position - p_b), 0.7 * np.linalg.norm(moved), atol=1e-9
    )
    assert not mapping.twist[3:].any()


@given(vectors, sixes, sixes)
def test_the_way_back_is_the_power_dual_times_the_force_scale(p_a, twist, wrench):
    """f_b·v_t = f_a·v_a / s_f, torques left out on both sides."""
    mapping = captured(p_a, p_a, p_a, p_a)
    mapping.forward(p_a, np.eye(3), twist)
    back = np.zeros(6)
    mapping.back(wrench, back)
    np.testing.assert_allclose(2.0 * (wrench @ mapping.twist), back @ twist, atol=1e-9)
    np.testing.assert_allclose(mapping.matrix @ twist, mapping.twist, atol=1e-12)


def test_a_live_change_of_scale_moves_nothing():
    """The target stays, and so does the orientation."""
    mapping = captured(np.ones(3), np.zeros(3), np.zeros(3), np.array([0.3, 0.0, 0.0]))
    mapping.forward(np.ones(3), np.eye(3), np.zeros(6))
    before = mapping.position.copy(), mapping.rotation.copy()
    assign({"mapping": mapping}, "mapping.motion_scale", 0.5)
    mapping.forward(np.ones(3), np.eye(3), np.zeros(6))
    np.testing.assert_allclose(mapping.position, before[0], atol=1e-12)
    np.testing.assert_allclose(mapping.rotation, before[1], atol=1e-12)
