"""Samples: no measurement is a value of its own, and a copy is a copy."""

from __future__ import annotations

import numpy as np

from farhand.plants import Sample


def test_a_new_sample_has_no_wrench():
    """None, not zero."""
    assert Sample(6, 6).wrench is None


def test_a_wrench_can_be_set_and_taken_away():
    """A sensor that fails leaves none behind."""
    sample = Sample(2, 2)
    sample.set_wrench(np.arange(6.0))
    np.testing.assert_array_equal(sample.wrench, np.arange(6.0))
    sample.set_wrench(None)
    assert sample.wrench is None


def test_a_copy_keeps_its_content_when_the_original_is_reused():
    """State, time and wrench, or that there is none."""
    sample = Sample(3, 2)
    sample.time_ns, sample.q[:], sample.v[:] = 5, 1.0, 2.0
    sample.set_wrench(np.full(6, 3.0))
    kept = sample.copy()
    sample.time_ns, sample.q[:], sample.v[:] = 6, 0.0, 0.0
    sample.set_wrench(None)
    assert kept.time_ns == 5
    np.testing.assert_array_equal(kept.q, np.ones(3))
    np.testing.assert_array_equal(kept.v, [2.0, 2.0])
    np.testing.assert_array_equal(kept.wrench, np.full(6, 3.0))
    assert sample.copy().wrench is None
