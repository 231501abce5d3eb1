"""The rate sphere: straight lines inside, a wall at its surface, rest in its middle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand_lab.humanoid.rate_sphere import RateSphere

coordinate = st.floats(-0.1, 0.1)


@given(offset=st.tuples(coordinate, coordinate, coordinate))
def test_speed_follows_the_offset_and_never_exceeds_the_top(
    offset: tuple[float, float, float],
) -> None:
    """Parallel to the offset, the pull against it."""
    sphere, at = RateSphere(), np.array(offset)
    v, f = sphere.velocity(at), sphere.force(at)
    assert np.linalg.norm(v) <= sphere.speed * (1 + 1e-12)
    assert np.linalg.norm(np.cross(v, at)) < 1e-12 and v @ at >= 0.0
    assert f @ at <= 0.0
    if np.linalg.norm(at) <= sphere.radius:
        np.testing.assert_allclose(v, sphere.speed * at / sphere.radius, atol=1e-12)
        np.testing.assert_allclose(f, -sphere.stiffness * at, atol=1e-9)


def test_the_anchor_is_rest() -> None:
    """No speed and no pull."""
    sphere = RateSphere(anchor=np.array([0.1, 0.2, 0.3]))
    assert not sphere.velocity(sphere.anchor).any() and not sphere.force(sphere.anchor).any()
