"""Alignment: unlike timings become one phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand.learning.alignment import align, mean_rotation, rotation_at, warp
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
    stretched = np.stack(
        [[np.interp(s * d.duration, d.times, c) for c in d.position.T] for d in shown]
    )
    before = stretched.std(axis=0).mean()
    assert aligned.motion[:, :, :3].std(axis=0).mean() < 0.6 * before
    assert abs(aligned.duration - np.mean([d.duration for d in shown])) < 1e-12


def test_aligned_turns_are_those_that_were_shown_however_the_tool_lies(shown):
    """The tool on its side, turned about the world's z: both ends are found again."""
    lying = rotation_from_vector(np.array([1.5, 0.0, 0.0]))
    turned = [replace(one, rotation=one.rotation @ lying) for one in shown]
    aligned = align(turned)
    for one, motion in zip(turned, aligned.motion, strict=True):
        for at in (0, -1):
            learnt = rotation_at(motion[at, 3:], aligned.reference)
            np.testing.assert_allclose(learnt, one.rotation[at], atol=1e-9)


def test_the_mean_of_two_turns_is_half_way():
    """Of rotations about one axis."""
    two = np.stack([rotation_from_vector(np.array([0.0, 0.0, angle])) for angle in (0.2, 0.8)])
    np.testing.assert_allclose(
        mean_rotation(two), rotation_from_vector(np.array([0.0, 0.0, 0.5])), atol=1e-12
    )


def test_a_force_that_was_not_measured_is_what_the_others_measured(shown):
    """A sensor that falls silent half way leaves the mean of the rest, not zeros; the gap is
    told.
    """
    lost = [replace(one, force=one.force.copy()) for one in shown]
    for one in lost[:3]:
        one.force[400:500] = np.nan
    aligned = align(lost)
    missing = ~aligned.measured
    assert missing[:3].any(axis=1).all() and not missing[3:].any() and 0.03 < missing.mean() < 0.12
    at = missing[:3].all(axis=0)
    assert at.any()
    np.testing.assert_allclose(
        aligned.force[:3, at], np.stack([aligned.force[3:, at].mean(axis=0)] * 3), atol=1e-9
    )
    assert abs(np.linalg.norm(aligned.force.mean(axis=0), axis=1).max() - 20.0) < 1.5


def test_nobody_measured_for_a_moment_is_bridged_and_never_is_zero(shown):
    """From where somebody did to where somebody does again; without a force position alone aligns a
    demonstration.
    """
    lost = [replace(one, force=np.where(np.isfinite(one.force), np.nan, 0.0)) for one in shown]
    never = align(lost)
    assert not never.measured.any() and not never.force.any() and np.isfinite(never.motion).all()
    some = align([*lost[:1], *shown[1:]])
    assert not some.measured[0].any() and some.measured[1:].all() and np.isfinite(some.force).all()
    early = [replace(one, force=one.force.copy()) for one in shown]
    for one in early:
        one.force[:40] = np.nan  # all of them, at the beginning
    bridged = align(early)
    assert not bridged.measured[:, 0].any() and np.isfinite(bridged.force).all()
    np.testing.assert_allclose(bridged.force[:, 0], align(shown).force[:, 0], atol=0.3)
