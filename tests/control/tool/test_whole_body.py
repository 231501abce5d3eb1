"""Whole-body control: power is kept, the base can be left out, helpers add what they say."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.assists import JointDamping, WallAssist, WheelCompensation
from farhand.control.tool.torque import Base, WholeBodyController
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.plants.simulated.mecanum import LinkMap
from farhand.robots import load_robot
from farhand.safety.handle import JointWall

ROBOT = load_robot("youbot")


@pytest.fixture
def arm() -> Arm:
    arm = Arm.of(ROBOT)
    arm.update(
        ROBOT.home + np.array([0.1, -0.2, 0.7, 0.1, 0.1, -0.1, -0.1, 0.2]),
        np.linspace(-0.4, 0.5, 8),
    )
    return arm


def asked(effort: list[float]) -> ControlRequest:
    wish = ControlRequest()
    wish.effort[:], wish.valid = effort, True
    return wish


def test_joint_power_is_tool_power_and_the_weight_is_carried(arm) -> None:
    """(τ − g) · q̇ = w · ν, with base and arm."""
    wish = asked([3.0, -2.0, 5.0, 0.3, -0.1, 0.2])
    torque = WholeBodyController(arm, "free").step(wish, 0).value
    assert (torque - arm.gravity) @ arm.v == pytest.approx(wish.effort @ arm.twist, rel=1e-12)


def test_a_base_that_is_off_gets_exactly_nothing_even_while_held(arm) -> None:
    """Neither a share of the wrench, nor of holding still, nor compensation."""
    helpers = {"compensation": WheelCompensation()}
    controller = WholeBodyController(arm, "hold", base=Base(False), helpers=helpers)
    for _ in range(3):
        torque = controller.step(asked([30.0, -20.0, 5.0, 0.3, -0.1, 0.2]), 0).value
        assert not torque[:3].any()
        assert torque[3:7].all()


def test_every_helper_adds_its_torque_and_shows_its_settings(arm) -> None:
    """The sum of what they say alone; a wall is set as the wall itself."""
    wall = JointWall(zone=np.radians(3.0))
    wall.watch(ROBOT.limits.lower[3:], ROBOT.limits.upper[3:])
    helpers = {"drag": JointDamping(2.0), "wall": WallAssist(wall, 3)}
    plain = WholeBodyController(arm, "free").step(asked([1.0] * 6), 0).value.copy()
    controller = WholeBodyController(arm, "free", helpers=helpers)
    helped = controller.step(asked([1.0] * 6), 0).value
    expected = -2.0 * arm.v + np.concatenate([np.zeros(3), wall.torque(arm.q[3:], arm.v[3:])])
    np.testing.assert_allclose(helped - plain, expected, atol=1e-12)
    assert controller.parts["wall"] is wall and controller.parts["drag"].damping == 2.0


def test_compensation_pushes_the_base_along_its_motion_by_the_wheels_friction(arm) -> None:
    """Wheels at 1.05 rad/s: 90 % of each one's own friction, in world axes of a turned base."""
    helper = WheelCompensation(FrictionCompensation(make("youbot-wheels", 4)))
    q, v = arm.q.copy(), np.zeros(8)
    heading = np.array([np.cos(q[2]), np.sin(q[2])])
    for _ in range(500):
        q[:2] += 0.05 * 1e-3 * heading
        arm.update(q, v)
        force = helper.torque(arm, np.zeros(8), None)
    speeds = LinkMap().speeds(np.array([0.05, 0.0, 0.0]))
    np.testing.assert_allclose(
        helper.added, 0.9 * make("youbot-wheels", 4).steady(speeds), rtol=0.02
    )
    assert force[:2] @ heading == pytest.approx(np.abs(helper.added).sum() / 0.0475, rel=1e-6)
    assert not force[3:].any()


def test_at_rest_compensation_helps_in_the_direction_of_the_command(arm) -> None:
    """A turned base that stands: four times the small force asked for, times the share of 90 %."""
    asked_for = np.array([0.2, -0.1, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    force = WheelCompensation().torque(arm, asked_for, None)
    np.testing.assert_allclose(force, 3.6 * asked_for, atol=1e-12)
