"""Shaking is told from a hand's work."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.analysis.oscillation import find, swing_at

TIMES = np.arange(0.0, 10.0, 2e-3)


def test_a_steady_oscillation_is_found_with_its_frequency_and_size():
    """On top of a slow drift."""
    values = 0.05 * TIMES + 3e-3 * np.sin(2 * np.pi * 4.0 * TIMES) * (TIMES > 4.0)
    hit = find("tracking error", TIMES, values)
    assert hit is not None
    assert hit.frequency == pytest.approx(4.0, rel=0.05)
    assert hit.amplitude == pytest.approx(3e-3, rel=0.05)
    assert str(hit).startswith("the tracking error oscillates by ±3 mm at 4 Hz")


def test_growing_counts_and_dying_away_does_not():
    """A contact that rings and settles is no fault."""
    wave = 5.0 * np.sin(2 * np.pi * 5.0 * TIMES)
    assert find("contact force", TIMES, wave * np.exp(0.3 * (TIMES - 10.0))) is not None
    assert find("contact force", TIMES, wave * np.exp(-3.0 * TIMES)) is None


def test_what_swings_is_seen_in_another_signal_too_or_not():
    """An error swings by itself where packets jitter; a tool that shakes is in both."""
    shaking = 3e-3 * np.sin(2 * np.pi * 7.3 * TIMES)
    hit = find("tracking error", TIMES, shaking)
    assert hit is not None
    hand = np.stack([0.3 * np.sin(0.4 * TIMES), 0.1 * TIMES**2, 0.0 * TIMES], axis=1)
    assert swing_at(hit, TIMES, hand) < 1e-4
    moved = hand + np.outer(shaking, [0.6, 0.0, 0.8])
    assert swing_at(hit, TIMES, moved) == pytest.approx(3e-3, rel=0.05)


def test_small_slow_and_irregular_motions_are_nobodys_fault():
    """Sensor noise, a hand that wipes, a hand that works."""
    rng = np.random.default_rng(1)
    assert find("contact force", TIMES, rng.normal(0.0, 0.3, len(TIMES))) is None
    assert find("contact force", TIMES, 20.0 * np.sin(2 * np.pi * 0.4 * TIMES)) is None
    assert find("contact force", TIMES, np.cumsum(rng.normal(0.0, 0.5, len(TIMES)))) is None


def test_a_signal_that_is_not_measured_does_not_oscillate():
    """Rigs without a force sensor record no numbers."""
    assert find("contact force", TIMES, np.full(len(TIMES), np.nan)) is None
    assert find("contact force", TIMES[:0], TIMES[:0]) is None
