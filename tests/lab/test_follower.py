"""Stability of followers: sources/cooperative §4.3, time simulation, and trends from physics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from farhand_lab.cooperative.stability import FollowerLoop, least_damping, simulated, stiffest

G13S = FollowerLoop(1.0, 35.0, 1250.0, 20.0, 500.0)


@pytest.mark.parametrize(
    ("kd", "r", "k"), [(250.0, 20.0, 129.0), (250.0, 500.0, 61.0), (1250.0, 500.0, 1299.0)]
)
def test_the_largest_coupling_is_that_of_the_specification(kd, r, k):
    """C-4 within 3 %."""
    assert stiffest(replace(G13S, kd=kd, r_force=r)) == pytest.approx(k, rel=0.03)


def test_a_rigid_coupling_needs_less_damping_with_a_slower_filter():
    """C-5: about k_pf M / τ_f."""
    need = [least_damping(FollowerLoop(3e5, 9.0, 20.0, r, r)) for r in (20.0, 500.0, 5000.0)]
    assert need == pytest.approx([10_500.0, 2350.0, 686.0], rel=0.03)


def test_time_simulation_agrees_on_both_sides_of_the_boundary():
    """Stable 5 % below, unstable 5 % above."""
    k = stiffest(G13S)
    assert simulated(replace(G13S, stiffness=0.95 * k), 8.0)
    assert not simulated(replace(G13S, stiffness=1.05 * k), 8.0)


@pytest.mark.parametrize("followers", [1, 2, 3, 4])
def test_without_feedback_any_number_of_followers_is_stable(followers):
    """Springs and masses with damping only lose energy."""
    loop = FollowerLoop(1e4, 0.0, 0.0, damping=50.0, followers=followers, object_mass=20.0)
    assert loop.stable


def test_more_followers_on_one_object_bear_less_stiffness():
    """Each adds a loop that feels all the others."""
    loop = FollowerLoop(1.0, 9.0, 700.0, 20.0, 5000.0, damping=300.0, object_mass=20.0)
    found = [stiffest(replace(loop, followers=n)) for n in (1, 2, 3, 4)]
    assert found == sorted(found, reverse=True)
