"""Geometric spring: the gradient of a potential, the same from every base frame."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.spatial import rotation_from_vector
from farhand_lab.youbot.geometric_spring import GeometricSpring

vectors = arrays(float, 3, elements=st.floats(-0.8, 0.8, allow_nan=False))
screws = arrays(float, 6, elements=st.floats(-1.0, 1.0, allow_nan=False))


@pytest.mark.parametrize("moment", ["sine", "angle"])
@given(vectors, vectors, vectors, screws)
def test_the_wrench_is_the_gradient_of_the_potential(moment, p, turn, turn_set, twist):
    """−dU/dt = w·V along any motion, so no closed path can gain energy."""
    spring, h = GeometricSpring(moment=moment), 1e-6
    R, R_set = rotation_from_vector(turn), rotation_from_vector(turn_set)

    def U(s: float) -> float:
        return spring.potential(
            np.zeros(3), R_set, p + s * twist[:3], rotation_from_vector(s * twist[3:]) @ R
        )

    power = spring.wrench(np.zeros(3), R_set, p, R) @ twist
    assert (U(-h) - U(h)) / (2.0 * h) == pytest.approx(power, abs=1e-3)


@given(vectors, vectors, vectors, vectors)
def test_turning_the_world_turns_the_wrench(p, turn, p_set, frame):
    """No axis of the base is special."""
    spring, Q = GeometricSpring(), rotation_from_vector(frame)
    R, R_set = rotation_from_vector(turn), rotation_from_vector(frame + 0.1)
    wrench = spring.wrench(p_set, R_set, p, R)
    turned = spring.wrench(Q @ p_set, Q @ R_set, Q @ p, Q @ R)
    np.testing.assert_allclose(turned, np.concatenate([Q @ wrench[:3], Q @ wrench[3:]]), atol=1e-9)


def test_the_sine_has_vanished_at_a_half_turn_and_the_angle_has_not():
    """What the docstring warns of."""
    half = rotation_from_vector(np.array([0.0, 0.0, np.pi - 1e-6]))
    p, R = np.zeros(3), np.eye(3)
    assert abs(GeometricSpring().wrench(p, half, p, R)[5]) < 1e-3
    assert GeometricSpring(moment="angle").wrench(p, half, p, R)[5] == pytest.approx(
        30.0 * np.pi, rel=1e-3
    )
