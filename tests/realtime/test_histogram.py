"""Histogram of durations: percentiles to 3 %, the largest exactly, and nothing that grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.realtime.timing import MAX_NS, Histogram


@given(
    st.lists(st.integers(0, 10**11), min_size=1, max_size=200), st.sampled_from([50.0, 99.0, 99.9])
)
def test_a_percentile_is_at_most_three_per_cent_too_long_and_never_too_short(durations, share):
    """Against the exact one: the smallest duration that the share does not exceed."""
    histogram = Histogram()
    for duration in durations:
        histogram.add(duration)
    exact = sorted(durations)[max(1, math.ceil(share * len(durations) / 100.0)) - 1] * 1e-9
    assert exact <= histogram.percentile(share) * (1.0 + 1e-12)
    assert histogram.percentile(share) <= exact * (1.0 + 1.0 / 32.0) + 1e-15


@given(st.lists(st.integers(0, MAX_NS), max_size=100))
def test_the_bars_hold_every_duration_once(durations):
    """Each lies in exactly one of them, and they do not overlap."""
    histogram = Histogram()
    for duration in durations:
        histogram.add(duration)
    bars = list(histogram.bars())
    assert sum(count for _, _, count in bars) == histogram.count == len(durations)
    for (_, end, _), (start, _, _) in zip(bars, bars[1:], strict=False):
        assert end <= start + 1e-15
    for duration in durations:
        assert sum(start - 1e-15 <= duration * 1e-9 < end - 1e-12 for start, end, _ in bars) == 1


def test_the_largest_is_exact_and_beyond_the_last_bucket_nothing_is_lost():
    """Half an hour is counted among the longest, and is known as what it is; a negative duration
    counts as none.
    """
    histogram = Histogram()
    for duration in (-5, 0, 123_456_789, 1_800_000_000_000):
        histogram.add(duration)
    assert histogram.summary()["max"] == 1800.0
    assert histogram.count == 4
    assert histogram.percentile(50.0) == 0.0
    assert histogram.over(1.0) == 1


def test_a_histogram_without_anything_has_no_percentiles():
    """None in the summary, for zero would be a measurement."""
    assert math.isnan(Histogram().percentile(50.0))
    assert set(Histogram().summary().values()) == {None}


@pytest.mark.parametrize("share", [50.0, 99.0, 99.9])
def test_the_percentiles_of_many_agree_with_numpy(share):
    """Lognormal lateness, as loops have it."""
    durations = (1e4 * np.random.default_rng(1).lognormal(0.0, 1.0, 20_000)).astype(int)
    histogram = Histogram()
    for duration in durations.tolist():
        histogram.add(duration)
    assert histogram.percentile(share) == pytest.approx(
        np.percentile(durations, share) * 1e-9, rel=0.04
    )
