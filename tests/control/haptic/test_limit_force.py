"""Limit and contact force: smooth, never pulling, and refused where no law exists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.haptic.haptic_objects import ContactForce, LimitForce
from farhand.errors import BadValue
from farhand.parameters import assign


@given(zone=st.floats(1e-3, 0.05), peak=st.floats(0.1, 10.0))
def test_a_limit_pushes_more_the_nearer_one_comes_and_never_pulls(zone: float, peak: float) -> None:
    """Zero at the edge of its zone with zero slope, its peak at the limit, more beyond."""
    law = LimitForce(zone, peak)
    force = law.magnitude(np.linspace(-zone, 2.0 * zone, 301))
    assert (np.diff(force) <= 1e-12).all() and (force >= 0.0).all()
    assert law.magnitude(zone) == 0.0 and law.magnitude(0.0) == pytest.approx(peak)
    assert law.magnitude(zone * (1 - 1e-4)) < 1e-6 * peak
    slope = (law.magnitude(0.5 * zone - 1e-6 * zone) - law.magnitude(0.5 * zone + 1e-6 * zone)) / (
        2e-6 * zone
    )
    assert slope == pytest.approx(1.5 * peak / zone, rel=1e-6)


def test_beyond_a_limit_its_wall_is_a_spring() -> None:
    """F_max − k₂ x."""
    law = LimitForce(0.030, 2.5, wall=800.0)
    beyond = -np.array([0.001, 0.01, 0.1])
    np.testing.assert_allclose(law.magnitude(beyond), 2.5 - 800.0 * beyond, rtol=1e-12)


def test_the_energy_of_the_zone_is_half_its_peak_times_its_width() -> None:
    """What a hand must spend to reach the limit."""
    law = LimitForce(0.030, 3.3)
    s = np.linspace(0.0, 0.030, 20_001)
    assert np.trapezoid(law.magnitude(s), s) == pytest.approx(0.5 * 3.3 * 0.030, rel=1e-6)


@given(peak=st.floats(2.3, 8.0), approach=st.floats(0.0, 0.15))
def test_a_contact_is_continuous_and_falls_by_a_newton_per_millimetre_halfway(
    peak: float, approach: float
) -> None:
    """Whenever the law exists."""
    law = ContactForce(peak=peak, approach=approach)
    for s in (0.0, law.margin * law.zone, law.zone):
        assert float(law.magnitude(s - 1e-9)) == pytest.approx(
            float(law.magnitude(s + 1e-9)), abs=1e-4
        )
    half = 0.5 * law.margin * law.zone
    slope = float(law.magnitude(half + 1e-7) - law.magnitude(half - 1e-7)) / 2e-4
    assert slope == pytest.approx(-1.0, abs=1e-3)
    assert np.isfinite(law.magnitude(np.linspace(-1.0, 1.0, 101))).all()


@given(peak=st.floats(2.3, 8.0), approach=st.floats(0.0, 0.15), share=st.floats(0.26, 1.0))
def test_a_contact_rises_evenly_on_approach_then_to_its_peak_then_as_a_spring(
    peak: float, approach: float, share: float
) -> None:
    """γ F_max (1 − s/d) as far as the last quarter, F_max at the surface, F_max − k₂ s beyond."""
    law = ContactForce(peak=peak, approach=approach)
    assert law.magnitude(share * law.zone) == pytest.approx(approach * peak * (1.0 - share))
    assert law.magnitude(2.0 * law.zone) == 0.0
    assert law.magnitude(0.0) == pytest.approx(peak)
    assert law.magnitude(-0.01) == pytest.approx(peak + 0.01 * law.wall)


@pytest.mark.parametrize("zone", [0.004, 0.008, 0.016])
@pytest.mark.parametrize("approach", [0.0, 0.2])
def test_a_contact_exists_from_twice_the_tanh_to_the_sinh(zone: float, approach: float) -> None:
    """Of what rises within its last quarter: 2 tanh(d_l/2) ≤ G < sinh d_l, in millimetres."""
    width = 250.0 * zone
    per_peak = 1.0 - 0.75 * approach
    for rise, inward in ((2.0 * np.tanh(0.5 * width), 1.001), (np.sinh(width), 0.999)):
        law = ContactForce(zone, inward * rise / per_peak, approach)
        assert law.magnitude(0.25 * zone - 1e-12) == pytest.approx(
            0.75 * approach * law.peak, abs=1e-6
        )
        with pytest.raises(BadValue, match="must be"):
            ContactForce(zone, rise / inward / per_peak, approach)


def test_a_wide_zone_does_not_overflow() -> None:
    """A metre: its hyperbolic sine has no number."""
    law = ContactForce(zone=1.0, peak=4.0, approach=0.0, margin=0.9)
    assert law.magnitude(0.9 - 1e-12) == pytest.approx(0.0, abs=1e-9)
    assert law.magnitude(0.0) == pytest.approx(4.0)


@pytest.mark.parametrize(
    "settings", [{"approach": 10.0}, {"peak": 1.0}, {"zone": 0.2, "peak": 1.5}]
)
def test_settings_without_a_law_are_refused_with_what_would_do(settings: dict[str, float]) -> None:
    """The stated γ = 10 among them."""
    with pytest.raises(BadValue, match="must be"):
        ContactForce(**settings)


def test_a_refused_change_leaves_the_law_as_it_was() -> None:
    """Through the parameters."""
    law = ContactForce()
    before = float(law.magnitude(0.004))
    with pytest.raises(BadValue):
        assign({"contact": law}, "contact.approach", 9.0)
    assert float(law.magnitude(0.004)) == before
