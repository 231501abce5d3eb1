"""Alignment: unlike timings become one phase."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand.learning.alignment import align, mean_rotation, warp
from farhand.spatial import rotation_from_vector


def test_a_warp_undoes_a_timing():
    """A curve played with another timing is found again where it belongs."""
    s = np.linspace(0.0, 1.0, 200)
    late = s**1.5
    curve = lambda u: np.stack([np.sin(3 * u), np.cos(2 * u)], axis=1)  # noqa: E731
    found = warp(curve(late), curve(s))
    assert np.abs(found - late).max() < 0.03


@given(st.floats(0.5, 2.0))
def test_warps_never_go_back(power):
    """Time runs forwards from the beginning to the end, whatever is compared."""
    s = np.linspace(0.0, 1.0, 60)
    found = warp(np.sin(6 * s**power)[:, None], np.cos(5 * s)[:, None])
    assert found[0] == 0.0 and abs(found[-1] - 1.0) < 1e-12 and (np.diff(found) > 0.0).all()


def test_aligned_demonstrations_lie_closer_together(shown):
    """Than the same ones merely stretched to one length; durations are kept."""
    aligned = align(shown)
    s = np.linspace(0.0, 1.0, 400)
    stretched = np.stack([[np.interp(s * d.duration, d.times, c) for c in d.position.T] for d in shown])
    before = stretched.std(axis=0).mean()
    assert aligned.motion[:, :, :3].std(axis=0).mean() < 0.6 * before
    assert abs(aligned.duration - np.mean([d.duration for d in shown])) < 1e-12


def test_the_mean_of_two_turns_is_half_way():
    """Of rotations about one axis."""
    two = np.stack([rotation_from_vector(np.array([0.0, 0.0, angle])) for angle in (0.2, 0.8)])
    np.testing.assert_allclose(mean_rotation(two), rotation_from_vector(np.array([0.0, 0.0, 0.5])), atol=1e-12)
