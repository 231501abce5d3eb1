"""How a tool accelerates, and what an arm of few joints does with what it cannot do whole."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling.constraint_terms import ToolTerms, placing_inverse
from farhand.spatial import damped_inverse


@pytest.mark.parametrize("seed", range(8))
def test_an_arm_of_three_joints_keeps_to_the_place_rather_than_to_the_angle(seed):
    """Asked for a straight way and no turn, it misses the place by less than if both counted alike,
    and turns more.
    """
    J = np.random.default_rng(seed).normal(size=(6, 3))
    J[3:] *= 3.0  # joints turn the tool more than they move it: links of a third of a metre
    gamma, wanted = J @ J.T, np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    alike, placed = (
        gamma @ inverse(gamma, 0.01) @ wanted - wanted
        for inverse in (damped_inverse, placing_inverse)
    )
    assert np.linalg.norm(placed[:3]) < 0.99 * np.linalg.norm(alike[:3])
    assert np.linalg.norm(placed[3:]) > np.linalg.norm(alike[3:])


def test_an_arm_that_can_do_it_all_does_it_either_way():
    """With six joints nothing is given away."""
    J = np.random.default_rng(1).normal(size=(6, 6))
    gamma, wanted = J @ J.T, np.arange(1.0, 7.0)
    np.testing.assert_allclose(gamma @ placing_inverse(gamma, 1e-6) @ wanted, wanted, rtol=1e-3)


def test_a_known_torque_of_the_joints_acts_as_the_wrench_that_causes_it(pair):
    """A wrench h and joint torques Jᵀh are one thing, and push the tool by Γ h."""
    side, _ = pair(2)
    arm, h = side.arm, side.wrench
    terms = ToolTerms(arm.nv)
    accelerations = []
    for measured, known in ((h, None), (None, h @ arm.J), (None, None)):
        terms.update(arm, measured, known)
        accelerations.append(-terms.A)
    np.testing.assert_allclose(accelerations[1], accelerations[0], rtol=1e-9)
    np.testing.assert_allclose(accelerations[0] - accelerations[2], terms.gamma @ h, rtol=1e-9)
