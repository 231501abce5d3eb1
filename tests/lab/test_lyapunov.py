"""The Lyapunov monitor: zero where the constraint is met, positive elsewhere; its potential."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.coupling import Side
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.spatial import (
    orientation_error,
    orientation_potential,
    rotation_from_vector,
    rotation_vector,
)
from farhand_lab.lyapunov import LyapunovMonitor

vectors = st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3).map(np.array)


def sides(shift: np.ndarray, turn: np.ndarray, rate: np.ndarray) -> tuple[Side, Side]:
    """A leader whose tool is ``shift`` and ``turn`` away from the follower's and moves."""
    a, b = Side("leader"), Side("follower")
    a.position[:], a.rotation[:], a.twist[:] = shift, rotation_from_vector(turn), rate
    return a, b


@given(vectors, vectors, vectors)
def test_it_is_zero_only_where_the_tie_is_met(shift, turn, rate):
    """Positive definite in error and rate."""
    monitor = LyapunovMonitor(VirtualConstraints())
    monitor.sample(*sides(shift, turn, np.concatenate([rate, rate])))
    assert monitor.translation >= 0.5 * float(shift @ shift) > -1.0
    assert monitor.rotation >= 0.0
    if np.abs(turn).max() > 1e-3 or np.abs(rate).max() > 1e-3:
        assert monitor.rotation > 0.0
    monitor.sample(*sides(np.zeros(3), np.zeros(3), np.zeros(6)))
    assert monitor.rotation == monitor.translation == 0.0


@pytest.mark.parametrize("kind", ["rotvec", "eps", "two-eps"])
@given(vectors, vectors)
def test_the_potential_changes_by_the_error_times_the_rate(kind, turn, rate):
    """U̇ = e_oᵀ ω̃ along any relative rotation, by finite differences: what the proof rests on."""
    h = 1e-6
    R = rotation_from_vector(turn)
    after, before = (
        rotation_vector(rotation_from_vector(sign * h * rate) @ R) for sign in (1.0, -1.0)
    )
    slope = (orientation_potential(after, kind) - orientation_potential(before, kind)) / (2.0 * h)
    assert slope == pytest.approx(
        float(orientation_error(rotation_vector(R), kind) @ rate), abs=1e-6
    )


def test_a_rise_is_noticed_and_the_first_sample_is_none():
    """From 0.1 rad to 0.2 rad and back."""
    monitor = LyapunovMonitor(VirtualConstraints())
    for angle in (0.1, 0.2, 0.1):
        monitor.sample(*sides(np.zeros(3), np.array([angle, 0.0, 0.0]), np.zeros(6)))
    assert monitor.rise == pytest.approx(0.5 * (0.2**2 - 0.1**2))
    assert monitor.largest == pytest.approx(0.5 * 0.2**2)
