"""Payload: what is carried weighs in the model, and leaves it exactly as it was."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.tool.payload import Payload
from farhand.errors import OutOfRange
from farhand.robots import load_robot
from farhand.robots.edits import add_payload
from farhand.sensing import Load

LOAD = Load(2.5, np.array([0.02, -0.03, 0.1]))


def test_a_merged_load_makes_the_model_that_of_an_arm_with_it():
    """Mass matrix and weight equal those of a robot to which the same mass is fixed."""
    robot = load_robot("rx160")
    arm, truth = Arm.of(robot), Arm.of(robot.edited(add_payload(LOAD.mass, LOAD.com)))
    Payload(arm).merge(LOAD)
    for one in (arm, truth):
        one.update(robot.home, np.full(6, 0.3))
    np.testing.assert_allclose(arm.M, truth.M, atol=1e-12)
    np.testing.assert_allclose(arm.bias, truth.bias, atol=1e-10)


def test_a_second_load_takes_the_place_of_the_first():
    """As when guiding goes on after a stop: nothing is carried twice."""
    robot = load_robot("rx160")
    once, twice = Arm.of(robot), Arm.of(robot)
    Payload(once).merge(LOAD)
    payload = Payload(twice)
    for load in (Load(4.0, np.zeros(3)), LOAD, LOAD):
        payload.merge(load)
    for arm in (once, twice):
        arm.update(robot.home, np.full(6, 0.3))
    np.testing.assert_array_equal(twice.M, once.M)
    np.testing.assert_array_equal(twice.gravity, once.gravity)


def test_removing_it_restores_the_model_to_the_bit():
    """Also after it was merged twice: a second load takes the place of the first."""
    arm = Arm.of(load_robot("rx160"))
    arm.update(load_robot("rx160").home, np.zeros(6))
    before, payload = arm.gravity.copy(), Payload(arm, 20.0)
    payload.merge(LOAD)
    payload.merge(LOAD)
    payload.remove()
    arm.compute()
    np.testing.assert_array_equal(arm.gravity, before)
    assert payload.load.mass == 0.0


def test_more_than_the_limit_is_refused_and_nothing_is_changed():
    """The mass and the limit are named."""
    arm = Arm.of(load_robot("rx160"))
    payload = Payload(arm, 2.0)
    with pytest.raises(OutOfRange, match="mass of the load = 2.5"):
        payload.merge(LOAD)
    assert payload.load.mass == 0.0
