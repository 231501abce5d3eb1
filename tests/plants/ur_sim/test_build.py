"""Putting a simulated controller together."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import Mismatch
from farhand.plants.ur_sim.build import GRASP_DELAY_S, simulated_controller


def test_only_arms_of_six_joints_have_such_a_controller():
    """An iiwa has seven."""
    with pytest.raises(Mismatch, match="six joints; iiwa14 has 7"):
        simulated_controller("iiwa14")


def test_the_hand_waits_until_a_program_has_run_for_a_while():
    """So that a client can zero the sensor first; then it moves a floating tool."""
    controller = simulated_controller(hand=0.1)
    arm = controller.arm
    for _ in range(600):
        controller.cycle()
    assert not arm.port.wrench.any()
    controller.upload("def wait():\n sleep(99)\nend")
    for _ in range(round((GRASP_DELAY_S - 0.1) / 0.002)):
        controller.cycle()
    assert not arm.port.wrench.any()
    for _ in range(1300):
        controller.cycle()
    assert arm.port.wrench[2] > 1.0
    assert np.isfinite(arm.q).all()
