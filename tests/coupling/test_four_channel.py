"""Four channels against Newton's law for both arms, and what happens when a wrench is lost."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.coupling import FourChannel, Side
from farhand.coupling.constraint_terms import LEVER
from farhand.mapping import WorkspaceMapping
from farhand.robots import load_robot
from tests.coupling.conftest import acceleration

DT = 1e-3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_the_follower_accelerates_as_the_mapped_leader_does(seed, scale, pair):
    """With exact models ë + K_d ė + K_p e = 0, whatever pushes on either side, however the
    workspace is turned.
    """
    axes = (0.0, 0.0, 0.0) if scale == 1.0 else (0.3, -0.8, 0.5)
    law = FourChannel(
        mapping=WorkspaceMapping(motion_scale=scale, axes=np.array(axes)), damping=0.0
    )
    a, b = pair(seed)
    law.engage(a, b)
    b.arm.update(b.arm.q + 0.01, b.arm.v.copy())
    on_a, on_b = law.step(a, b, DT)
    lead, follow = acceleration(a, on_a.wrench), acceleration(b, on_b.wrench)
    wanted = law.mapping.matrix @ lead + law.derivative * law.rate + law.proportional * law.error
    np.testing.assert_allclose(follow, wanted, rtol=1e-8, atol=1e-8)


def test_sides_that_agree_show_the_hand_the_contact_and_nothing_else(pair):
    """No lag, no velocity: the leader gets exactly what the follower measures."""
    law, (a, b) = FourChannel(), pair(3, moving=False)
    law.engage(a, b)
    b.wrench = np.array([10.0, -5.0, 2.0, 0.1, 0.2, -0.3])
    on_a, _ = law.step(a, b, DT)
    np.testing.assert_allclose(on_a.wrench, b.wrench, atol=1e-12)


def test_a_follower_that_lags_is_felt_as_far_as_asked(pair):
    """The lag pulls the hand back with the share β."""
    felt = []
    for share in (0.0, 1.0):
        law, (a, b) = FourChannel(lag_share=share), pair(3, moving=False)
        law.engage(a, b)
        a.arm.update(a.arm.q + 0.01, a.arm.v.copy())
        felt.append(law.step(a, b, DT)[0].wrench.copy())
    assert np.abs(felt[0]).max() < 1e-12
    assert felt[1] @ law.error < 0.0


def test_a_wrench_that_is_lost_fades_and_is_never_taken_for_zero_at_once(pair):
    """To 1/e of it in a fifth of a second, whichever side has lost it."""
    wrench = np.array([10.0, -4.0, 6.0, 1.0, 0.5, -0.2])
    law, (a, b) = FourChannel(damping=0.0), pair(3, moving=False)
    law.engage(a, b)
    a.wrench, b.wrench = -2.0 * wrench, wrench
    felt, pulled = (effort.wrench.copy() for effort in law.step(a, b, DT))
    a.wrench = b.wrench = None
    for _ in range(200):
        on_a, on_b = law.step(a, b, DT)
    np.testing.assert_allclose(on_a.wrench, felt / np.e, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(on_b.wrench, pulled / np.e, rtol=1e-9, atol=1e-9)


def test_damping_at_the_leader_brakes_the_hand_and_is_named_local(pair):
    """It takes power from the leader's motion, turns excepted, and the follower still follows."""
    a, b = pair(3)
    law, plain = FourChannel(damping=0.0, leader_damping=30.0), FourChannel(damping=0.0)
    for each in (law, plain):
        each.engage(a, b)
    without = plain.step(a, b, DT)[0].wrench.copy()
    on_a, on_b = law.step(a, b, DT)
    np.testing.assert_allclose(on_a.wrench[:3] - without[:3], -30.0 * a.twist[:3], atol=1e-9)
    np.testing.assert_allclose(on_a.wrench[3:], without[3:], atol=1e-9)
    np.testing.assert_allclose(on_a.local, on_a.wrench - without, atol=1e-9)
    wanted = acceleration(a, on_a.wrench) + law.derivative * law.rate + law.proportional * law.error
    np.testing.assert_allclose(acceleration(b, on_b.wrench), wanted, rtol=1e-8, atol=1e-8)


def test_a_follower_of_three_joints_keeps_to_the_place(pair):
    """Least squares of what it cannot do whole, in which a radian counts as little as LEVER
    metres.
    """
    a, _ = pair(3, moving=False)
    b = Side("follower", Arm.of(load_robot("phua_leg")))
    b.arm.update(np.array([0.2, 0.3, -0.4]), np.zeros(3))
    law = FourChannel(damping=0.5, lag_share=0.0)
    law.engage(a, b)
    b.arm.update(np.array([0.25, 0.2, -0.3]), np.zeros(3))
    on_b = law.step(a, b, DT)[1]
    gamma = b.arm.J @ np.linalg.solve(b.arm.M, b.arm.J.T)
    weight = np.repeat([1.0, LEVER], 3)
    rows = np.vstack([weight[:, None] * gamma, 0.5 * np.eye(6)])
    asked = np.concatenate([weight * law.proportional * law.error, np.zeros(6)])
    expected = np.linalg.lstsq(rows, asked, rcond=None)[0]
    np.testing.assert_allclose(on_b.wrench, expected, rtol=1e-6, atol=1e-9)


def test_a_wrench_of_an_earlier_engagement_is_forgotten(pair):
    """What was felt before parting does not come back with the next engagement."""
    law, (a, b) = FourChannel(), pair(3, moving=False)
    law.engage(a, b)
    b.wrench = np.full(6, 10.0)
    law.step(a, b, DT)
    b.wrench = None
    law.engage(a, b)
    np.testing.assert_allclose(law.step(a, b, DT)[0].wrench, 0.0, atol=1e-9)


def test_near_a_singularity_the_inverse_gives_way_in_all_directions_alike(pair):
    """Γ (Γ² + ρ² I)⁻¹ K_p e for arms of six joints at rest whose hand feels no lag."""
    law, (a, b) = FourChannel(damping=0.5, lag_share=0.0), pair(3, moving=False)
    law.engage(a, b)
    b.arm.update(b.arm.q + 0.01, b.arm.v.copy())
    on_b = law.step(a, b, DT)[1]
    gamma = b.arm.J @ np.linalg.solve(b.arm.M, b.arm.J.T)
    wanted = law.proportional * law.error
    expected = gamma @ np.linalg.solve(gamma @ gamma + 0.25 * np.eye(6), wanted)
    np.testing.assert_allclose(on_b.wrench, expected, rtol=1e-8, atol=1e-9)
