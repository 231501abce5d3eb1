"""The limb controller engages without a jump, ignores tremor, and stays if it cannot follow."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.control.joint.limb import MotionDeadBand
from farhand.mapping.limbs import ArmChain
from farhand_lab.humanoid.teleoperation import PenLead

Q = np.radians([30.0, 40.0, 60.0])
HAND = np.array([0.01, -0.02, 0.03])


def led(misread: float = 0.03, scale: float = 2.0) -> PenLead:
    lead = PenLead(Q, np.full(3, misread), scale)
    lead.begin(HAND)
    return lead


def test_taking_over_moves_nothing_whatever_the_potentiometers_say() -> None:
    """The place it was sent to before is where it begins."""
    np.testing.assert_allclose(led().step(HAND), Q, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 2.0, 3.0, 4.0])
def test_the_wrist_moves_as_the_hand_times_the_scale(scale: float) -> None:
    """On a reachable path."""
    lead, arm, step = led(scale=scale), ArmChain(), np.array([-0.004, 0.002, 0.003])
    lead.step(HAND)
    q = lead.step(HAND + step)
    np.testing.assert_allclose(arm.forward(q) - arm.forward(Q), scale * step, atol=1e-12)


def test_a_place_out_of_reach_leaves_the_last_positions_and_says_so() -> None:
    """And coming back goes on from there."""
    lead = led()
    lead.step(HAND)
    np.testing.assert_allclose(lead.step(HAND + [0.5, 0.0, 0.0]), Q, atol=1e-12)
    assert lead.controller.status == "unreachable"
    np.testing.assert_allclose(lead.step(HAND), Q, atol=1e-12)
    assert lead.controller.status == "solved"


def test_tripped_or_without_a_target_it_stays() -> None:
    """And takes over anew afterwards without a jump."""
    lead = led()
    lead.step(HAND)
    lead.request.tripped = True
    np.testing.assert_allclose(lead.step(HAND + 0.005), Q, atol=1e-12)
    lead.request.tripped = False
    np.testing.assert_allclose(lead.step(HAND + 0.005), Q, atol=1e-12)


def test_the_dead_band_passes_a_place_once_and_then_only_what_differs() -> None:
    """By a millimetre on any axis, from the last that passed."""
    band = MotionDeadBand(1e-3)
    places = [
        (0.0, 0.0, 0.0),
        (9e-4, 0.0, 0.0),
        (0.0, -9e-4, 9e-4),
        (1.1e-3, 0.0, 0.0),
        (2e-3, 0.0, 0.0),
    ]
    assert [band.step(np.array(place)) for place in places] == [True, False, False, True, False]
    assert band.passed == 2


def test_one_joint_moves_by_itself_while_nothing_leads_the_limb() -> None:
    """Within its range; a coupling that leads goes first, and begins where the joint was left."""
    lead = led()
    lead.controller.single.joint, lead.controller.single.angle = 3, 9.0
    lead.request.target = None
    q = np.array(lead.controller.step(lead.request, 0).value)
    np.testing.assert_allclose(q, [Q[0], Q[1], ArmChain().highest[2]], atol=1e-12)
    np.testing.assert_allclose(lead.step(HAND), q, atol=1e-12)
