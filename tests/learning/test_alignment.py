"""Alignment: unlike timings become one phase."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.learning.alignment import (
    _accumulated,
    _continuous,
    _distance,
    _features,
    _filled,
    _sampled,
    _smoothed,
    align,
    mean_rotation,
    rotation_at,
    warp,
)
from farhand.learning.demonstration import Demonstration
from farhand.spatial import rotation_from_vector, rotation_vector
from tests.learning.conftest import ROBOT


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


def slow_paths(cost: np.ndarray, wait: float) -> np.ndarray:
    """Cheapest sum of costs to every cell, cell by cell."""
    total = np.full(cost.shape, np.inf)
    for i in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            ways = [0.0] if i == j == 0 else []
            ways += [total[i - 1, j - 1]] if i and j else []
            ways += [total[i - 1, j] + wait] if i else []
            ways += [total[i, j - 1] + wait] if j else []
            total[i, j] = cost[i, j] + min(ways)
    return total


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_cheapest_way_is_that_of_the_textbook(seed):
    """Step by step through the table, with a cost of 0.02 for waiting."""
    rng = np.random.default_rng(seed)
    cost = rng.random((rng.integers(2, 9), rng.integers(2, 9))) ** 4
    np.testing.assert_allclose(_accumulated(cost), slow_paths(cost, 0.02), atol=1e-12)


def test_a_warp_is_the_mean_place_on_the_cheapest_path():
    """By hand: the path is followed back from the end and smoothed over eleven steps."""
    rng = np.random.default_rng(3)
    a, b = np.cumsum(rng.random((40, 2)), axis=0), np.cumsum(rng.random((55, 2)), axis=0)
    a, b = a / 20.0, b / 27.0
    total = slow_paths(np.square(a[:, None] - b[None]).sum(axis=2), 0.02)
    i, j, places = 39, 54, [[] for _ in range(40)]
    while True:
        places[i].append(j)
        if i == j == 0:
            break
        ways = {(i - 1, j - 1): 0.0, (i - 1, j): 0.02, (i, j - 1): 0.02}
        ways = {cell: total[cell] + wait for cell, wait in ways.items() if min(cell) >= 0}
        i, j = min(ways, key=lambda cell: (ways[cell], cell))
    steps = np.maximum(np.diff([np.mean(row) / 54.0 for row in places]), 0.1 / 39.0)
    padded = np.concatenate([[steps[0]] * 5, steps, [steps[-1]] * 5])
    smooth = [padded[k : k + 11].mean() for k in range(39)]
    expected = np.concatenate([[0.0], np.cumsum(smooth)]) / np.sum(smooth)
    np.testing.assert_allclose(warp(a, b), expected, atol=1e-9)


def test_all_demonstrations_get_the_mean_timing():
    """Three with timings of their own: aligned, all pass the same place at the same phase, and on
    average they are as far along as they were.
    """
    s = np.linspace(0.0, 1.0, 1200)
    shown = []
    for k, bend in enumerate((-0.15, 0.0, 0.15)):
        u = s + bend * np.sin(np.pi * s)
        position = np.stack([u, u**2, 0.0 * u], axis=1)
        rotation = np.stack([rotation_from_vector(np.array([0.0, 0.0, 0.3 * x])) for x in u])
        force = np.stack([10.0 * u, 0.0 * u, 0.0 * u], axis=1)
        source = Path(f"{k}.mcap")
        shown.append(Demonstration(source, ROBOT, (k + 1.0) * s, position, rotation, force))
    aligned = align(shown, 101)
    assert aligned.durations.tolist() == [1.0, 2.0, 3.0] and aligned.duration == 2.0
    np.testing.assert_allclose(aligned.phase, np.linspace(0.0, 1.0, 101))
    x = aligned.motion[:, :, 0]
    assert np.abs(x - x.mean(axis=0)).max() < 0.04
    np.testing.assert_allclose(x.mean(axis=0), aligned.phase, atol=0.03)
    np.testing.assert_allclose(x[:, [0, -1]], [[0.0, 1.0]] * 3, atol=1e-9)
    np.testing.assert_allclose(aligned.motion[:, :, 1], x**2, atol=1e-3)
    np.testing.assert_allclose(aligned.force[:, :, 0], 10.0 * x, atol=0.01)
    for k in (0, 50, 100):
        turned = rotation_at(aligned.motion[1, k, 3:], aligned.reference)
        expected = rotation_from_vector(np.array([0.0, 0.0, 0.3 * x[1, k]]))
        np.testing.assert_allclose(turned, expected, atol=1e-4)


def test_a_turn_beyond_half_a_revolution_goes_on_and_small_vectors_may_change_sign():
    """A joint that turns from 2.8 to 3.6 rad, either way; one that swings through zero."""
    for way in (1.0, -1.0):
        angles = way * np.linspace(2.8, 3.6, 40)
        turns = [rotation_vector(rotation_from_vector(np.array([0.0, 0.0, x]))) for x in angles]
        assert np.abs(np.diff(np.array(turns)[:, 2])).max() > 3.0
        np.testing.assert_allclose(_continuous(np.array(turns))[:, 2], angles, atol=1e-6)
    swing = np.outer(np.linspace(-0.9, 0.9, 4), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(_continuous(swing), swing)
    jump = np.array([[0.0, 1.2, 0.0], [0.0, -1.1, 0.0]])
    np.testing.assert_allclose(_continuous(jump)[1], [0.0, 2.0 * np.pi - 1.1, 0.0])
    near = np.array([[0.0, 1.2, 0.0], [0.0, -0.7, 0.0]])
    np.testing.assert_array_equal(_continuous(near), near)


def sampled(force: np.ndarray) -> np.ndarray:
    """Nine columns: a reach of 2 m, no turn, this force along x."""
    columns = np.zeros((len(force), 9))
    columns[:, 0] = np.linspace(0.0, 2.0, len(force))
    columns[:, 6] = force
    columns[~np.isfinite(force), 6:] = np.nan
    return columns


def test_features_are_positions_and_forces_over_their_ranges():
    """Both from 0 to 1; forces only if 95 % are there; a force below 1 N is not blown up."""
    force = np.linspace(0.0, 20.0, 100)
    first, second = _features([sampled(force), sampled(0.5 * force)])
    np.testing.assert_allclose(first[:, 0], np.linspace(0.0, 1.0, 100))
    np.testing.assert_allclose(first[:, 3], force / 20.0)
    np.testing.assert_allclose(second[:, 3], force / 40.0)
    (small,) = _features([sampled(force / 40.0)])
    np.testing.assert_allclose(small[:, 3], force / 40.0)
    for missing, counts in ((4, True), (6, False)):
        gap = force.copy()
        gap[50 : 50 + missing] = np.nan
        one, other = _features([sampled(gap), sampled(force)])
        assert one[:, 3].any() == other[:, 3].any() == counts
        if counts:
            np.testing.assert_allclose(one[:, 3], force / 20.0, atol=1e-9)
    still = sampled(force)
    still[:, 0] = 0.0
    assert np.isfinite(_features([still])[0]).all()


def test_gaps_are_filled_by_the_others_and_bridged_where_nobody_measured():
    """The mean of those that have one; a line over what nobody has; nothing at all is zero."""
    force = np.arange(30.0).reshape(2, 5, 3)
    lost = force.copy()
    lost[0, 1] = np.nan
    lost[:, 3] = np.nan
    found = _filled(lost)
    np.testing.assert_allclose(found[0, 1], force[1, 1])
    mean = force.mean(axis=0)
    np.testing.assert_allclose(found[:, 3], np.stack([0.5 * (mean[2] + mean[4])] * 2))
    known = np.isfinite(lost)
    np.testing.assert_allclose(found[known], force[known])
    assert not _filled(np.full((2, 5, 3), np.nan)).any()


def test_a_force_between_two_readings_is_there_if_the_nearer_one_is():
    """Half way to a gap counts as measured; a demonstration is taken at shares of its duration."""
    times = np.linspace(0.0, 4.0, 5)
    force = np.stack([times, times, times], axis=1)
    force[3] = np.nan
    position = np.stack([times, 0 * times, 0 * times], axis=1)
    one = Demonstration(Path("x"), ROBOT, times, position, np.tile(np.eye(3), (5, 1, 1)), force)
    found = _sampled(one, np.eye(3), np.array([0.0, 0.25, 0.6, 0.65, 0.9, 1.0]))
    np.testing.assert_allclose(found[:, 0], [0.0, 1.0, 2.4, 2.6, 3.6, 4.0])
    np.testing.assert_allclose(found[[0, 1, 2, 4, 5], 6], [0.0, 1.0, 2.4, 3.6, 4.0])
    assert np.isnan(found[3, 6:]).all()


def test_the_mean_of_rotations_is_a_rotation_even_of_opposite_turns():
    """Determinant one; the mean of turns about three axes by equal angles is none."""
    turns = [rotation_from_vector(0.4 * way * e) for e in np.eye(3) for way in (1.0, -1.0)]
    np.testing.assert_allclose(mean_rotation(np.stack(turns)), np.eye(3), atol=1e-12)
    far = np.stack([np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0])])
    assert np.linalg.det(mean_rotation(far)) == pytest.approx(1.0)


def test_the_reference_is_the_mean_of_all_orientations_of_a_short_recording(shown):
    """Below four hundred samples every one counts."""
    short = []
    for one in shown:
        picked = np.unique(np.round(np.linspace(0.0, 1.0, 300) ** 2 * 799).astype(int))
        parts = {name: getattr(one, name)[picked] for name in ("times", "position", "rotation")}
        short.append(replace(one, **parts, force=one.force[picked]))
    every = np.concatenate([one.rotation for one in short])
    np.testing.assert_allclose(align(short).reference, mean_rotation(every), atol=1e-12)


def test_a_path_that_waits_goes_on_at_a_tenth_of_the_mean_pace():
    """And a path of equal steps stays as it is."""
    wait = np.concatenate([np.zeros(20), np.linspace(0.0, 1.0, 21)])
    steps = np.diff(_smoothed(wait))
    assert steps[5] / steps[-5] == pytest.approx((0.1 / 40.0) / (1.0 / 20.0))
    even = np.linspace(0.0, 1.0, 41)
    np.testing.assert_allclose(_smoothed(even), even, atol=1e-12)
    # a step is spread over eleven
    jump = np.concatenate([np.linspace(0.0, 0.2, 21), np.linspace(0.8, 1.0, 21)])
    high = np.flatnonzero(np.diff(_smoothed(jump)) > 0.02)
    assert len(high) == 11 and high[5] == 20


def test_the_distance_of_two_is_the_sum_of_their_squared_differences():
    """None to itself, the same both ways; the one nearest to all others leads."""
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.5, 2.0], [0.0, 5.0]])
    assert _distance(a, b) == _distance(b, a) == pytest.approx(0.25 + 9.0 + 1.0)
    assert _distance(a, a) == 0.0


def test_things_that_do_not_differ_are_matched_all_the_same():
    """Long and short, either way: from the beginning to the end."""
    for n, m in ((60, 20), (20, 60), (2, 30), (30, 2)):
        found = warp(np.zeros((n, 1)), np.zeros((m, 1)))
        assert len(found) == n and found[0] == 0.0 and found[-1] == pytest.approx(1.0)
        assert (np.diff(found) > 0.0).all()
