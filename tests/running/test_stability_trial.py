"""How a trial tells what shakes from what creeps."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.running.stability_trial import CREEP_CYCLES, swinging

T = np.arange(0.0, 5.0, 1e-3)


@pytest.mark.parametrize("frequency", [1.2, 3.0, 40.0])
def test_a_swing_counts_whole(frequency):
    """Of more than a few cycles in the window."""
    v = np.sin(2.0 * np.pi * frequency * T)[:, None]
    assert frequency * 5.0 > CREEP_CYCLES
    assert swinging(v)[0] == pytest.approx(np.sqrt(0.5), rel=0.05)


@pytest.mark.parametrize("rate", [-0.5, 0.1, 0.5])
def test_what_runs_away_without_a_swing_does_not_count(rate):
    """And of a swing a thousand times smaller that rides on it, all remains."""
    runs = np.exp(rate * T)[:, None]
    assert swinging(runs)[0] < 3e-5 * runs.max()
    ripple = 1e-3 * np.sin(2.0 * np.pi * 3.0 * T)[:, None]
    assert swinging(runs + ripple)[0] == pytest.approx(1e-3 * np.sqrt(0.5), rel=0.05)
