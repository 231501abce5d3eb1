"""Transparency measures: identities that hold for every two-port, and the ideal one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.analysis.two_port import HybridMatrix
from farhand.errors import BadValue
from farhand_lab.youbot.measures import (
    bandwidth,
    felt_impedance,
    felt_inertia,
    fidelity,
    force_tracking_error,
    hard_contact,
    position_tracking_error,
    range_match,
    transparency,
)

stiffness = st.floats(1.0, 1e5)


def spring(kt: float, kf: float) -> HybridMatrix:
    """Static matrix of a position–position law with a force divisor."""
    return HybridMatrix(np.zeros(1), np.array([[[0.0, 1.0 / kf], [1.0, -1.0 / kt]]], complex))


@given(stiffness, stiffness, st.floats(1.0, 100.0))
def test_a_spring_law_feels_like_two_springs_in_series(kt, Z, kf):
    """Z_h = kt Z / (kf (kt + Z))."""
    assert felt_impedance(spring(kt, kf), Z)[0].real == pytest.approx(
        kt * Z / (kf * (kt + Z)), rel=1e-9
    )


@given(stiffness, stiffness, st.floats(1.0, 100.0))
def test_fidelity_is_the_slope_of_what_is_felt(kt, Z, kf):
    """By finite differences."""
    law, h = spring(kt, kf), 1e-5 * Z
    slope = (felt_impedance(law, Z + h) - felt_impedance(law, Z - h))[0].real / (2.0 * h)
    assert fidelity(law, Z)[0].real == pytest.approx(slope, rel=1e-4)


@given(stiffness)
def test_the_ideal_two_port_is_transparent_for_every_environment(Z):
    """H = [0, 1; 1, 0]: nothing of its own."""
    ideal = HybridMatrix(np.zeros(1), np.array([[[0.0, 1.0], [1.0, 0.0]]], complex))
    assert transparency(ideal, Z)[0] == pytest.approx(1.0)
    assert position_tracking_error(ideal)[0] == force_tracking_error(ideal)[0] == 0.0


def test_force_tracking_counts_the_declared_scale():
    """A law that divides by ten tracks exactly if ten is declared."""
    law = spring(700.0, 10.0)
    assert hard_contact(law)[0] == pytest.approx(10.0)
    assert force_tracking_error(law, 10.0)[0] == pytest.approx(0.0, abs=1e-12)


@given(st.floats(0.5, 20.0))
def test_the_bandwidth_of_a_first_order_lag_is_its_corner(corner):
    """Where the gain has fallen by 3 dB."""
    f = np.geomspace(0.01, 100.0, 2000)
    assert bandwidth(f, 1.0 / (1.0 + 1j * f / corner)) == pytest.approx(corner, rel=1e-3)


def test_a_response_that_never_falls_has_no_bandwidth_limit():
    """Infinite, not the last frequency."""
    assert bandwidth(np.array([1.0, 2.0]), np.ones(2)) == np.inf


@given(st.floats(0.1, 10.0), st.floats(0.0, 5.0))
def test_felt_inertia_is_what_is_left_of_a_mass_after_the_leaders_own(mass, own):
    """A pure mass with damping, whose force is in phase with acceleration only for the mass."""
    f = np.linspace(0.5, 5.0, 19)
    s = 2j * np.pi * f
    h = np.zeros((len(f), 2, 2), complex)
    h[:, 0, 0] = mass * s * s + 30.0 * s
    assert felt_inertia(HybridMatrix(f, h), own) == pytest.approx(mass - own, abs=1e-9)
    with pytest.raises(BadValue, match="10 and 20 Hz"):
        felt_inertia(HybridMatrix(f, h), band=(10.0, 20.0))


def test_range_match_is_the_share_of_the_follower_that_is_covered():
    """A pen of ±50 mm covers half of ±100 mm, all of it at a scale of two."""
    assert range_match((-0.05, 0.05), (-0.1, 0.1)) == pytest.approx(0.5)
    assert range_match((-0.05, 0.05), (-0.1, 0.1), 2.0) == pytest.approx(1.0)
    assert range_match((-0.05, 0.05), (0.2, 0.3)) == 0.0
