"""Friction compensation around any torque controller."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import TorqueController
from farhand.errors import Mismatch
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.plants import Brake
from farhand.robots import load_robot
from farhand_lab.youbot.compensated import CompensatedController

UR5E = load_robot("ur5e")


def wrapped(joints: int = 6, **options) -> tuple[CompensatedController, ControlRequest, Arm]:
    """A torque controller with compensation for joints that lose 2 N·m, coupled, at rest."""
    arm = Arm.of(UR5E)
    arm.update(UR5E.home, np.zeros(6))
    asked = ControlRequest()
    asked.effort[:3], asked.gain, asked.valid = (20.0, 0.0, 0.0), 1.0, True
    helper = FrictionCompensation(make("coulomb", joints, coulomb=2.0))
    return CompensatedController(TorqueController(arm, "free", **options), arm, helper), asked, arm


def test_at_rest_each_joint_is_helped_along_what_is_asked_of_it():
    """Beyond gravity, towards the effort, never by more than 90 % of the friction."""
    controller, asked, arm = wrapped()
    wanted = asked.effort @ arm.J
    added = controller.step(asked, 0).value - wanted - arm.gravity
    assert (added * wanted >= 0.0).all()
    assert 0.5 < np.abs(added).max() <= 1.8 + 1e-12


def test_a_moving_joint_gets_nine_tenths_of_its_friction_back():
    """Along the motion, once the filter has seen it."""
    controller, asked, arm = wrapped()
    asked.effort[:] = 0.0
    for k in range(400):
        arm.update(UR5E.home + 0.3 * 1e-3 * k, np.full(6, 0.3))
        added = controller.step(asked, k * 1_000_000).value - arm.gravity
    np.testing.assert_allclose(added, 1.8, rtol=1e-6)


def test_nothing_is_added_to_a_brake_or_without_a_sample():
    """Velocity that is not known is not compensated."""
    controller, asked, arm = wrapped(can_brake=True)
    asked.valid, asked.gain = False, 0.0
    asked.effort[:] = 0.0
    command = controller.step(asked, 0)
    assert isinstance(command, Brake)
    np.testing.assert_allclose(command.value, arm.gravity, atol=1e-9)


def test_a_model_with_another_number_of_joints_is_refused():
    """Six joints need six."""
    with pytest.raises(Mismatch, match="5 joints, the arm 6"):
        wrapped(joints=5)


def test_its_parameters_are_found_beside_those_of_the_inner_controller():
    """A user sets ``compensation.gain`` by path."""
    controller, _, _ = wrapped()
    assert set(controller.parts) == {"still", "compensation"}
