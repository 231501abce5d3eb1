"""Direct force control: the tool follows a push, can keep its orientation, and never jumps."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.direct_force import MODES, SELECTIONS, DirectForce, ForceLoop
from farhand.parameters import assign
from farhand.robots import load_robot
from farhand.spatial import rotation_vector
from farhand_lab.cooperative.bench import ScriptedPush, ideal
from farhand_lab.cooperative.force import quiet

ROBOT = load_robot("rx160")
WRENCH = np.array([12.0, -8.0, 5.0, 1.0, 0.5, -2.0])


def standing(**settings) -> tuple[DirectForce, ControlRequest]:
    controller = DirectForce(Arm.of(ROBOT, gravity=9.804), ForceLoop(**settings))
    controller.arm.update(ROBOT.home, np.zeros(6))
    asked = ControlRequest()
    asked.valid, asked.gain = True, 1.0
    return controller, asked


def test_in_compliance_it_adds_the_push_to_itself():
    """At rest τ = g + k_p Jᵀ h: what pushes is felt 1 + k_p times."""
    controller, asked = standing(kp=10.0)
    asked.wrench = WRENCH
    expected = controller.arm.gravity + 10.0 * WRENCH @ controller.arm.J
    np.testing.assert_allclose(controller.step(asked, 0).value, expected, atol=1e-9)


def test_a_wanted_force_is_exerted_and_its_error_fed_back():
    """f_d + k_p (f_d − f_f) with f_f = −h: at f_f = f_d only f_d is left."""
    controller, asked = standing(kp=10.0)
    controller.desired[:] = WRENCH
    asked.wrench = -WRENCH
    expected = controller.arm.gravity + WRENCH @ controller.arm.J
    np.testing.assert_allclose(controller.step(asked, 0).value, expected, atol=1e-9)
    np.testing.assert_allclose(controller.error, 0.0, atol=1e-12)


def test_what_the_offset_leaves_over_is_weakened_by_the_dead_zone():
    """An object of 50 N known to 0.3 N: 0.3³ N counts, so it does not sink or rise."""
    controller, asked = standing()
    controller.offset[2] = -50.0
    asked.wrench = np.array([0.0, 0.0, -50.3, 0.0, 0.0, 0.0])
    controller.step(asked, 0)
    assert controller.error[2] == pytest.approx(-(0.3**3))


def test_without_a_measurement_only_the_damping_is_left():
    """And an arm that does not listen takes the object's weight as support."""
    controller, asked = standing(kd=50.0, kd_moment=5.0)
    controller.arm.update(ROBOT.home, np.full(6, 0.2))
    torque = controller.step(asked, 0).value.copy()
    drag = -np.repeat([50.0, 5.0], 3) * controller.arm.twist
    np.testing.assert_allclose(torque - controller.arm.bias, drag @ controller.arm.J, atol=1e-9)
    controller.uses_cell, asked.wrench = False, WRENCH
    controller.support[:] = -WRENCH
    held = controller.step(asked, 4_000_000).value
    np.testing.assert_allclose(held - torque, -WRENCH @ controller.arm.J, atol=1e-9)


def test_the_integral_removes_a_lasting_force_and_stays_in_bounds():
    """∫ of 12 N for a second is 12 N·s, then the clamp."""
    controller, asked = standing(ki=1.0, limit=5.0)
    asked.wrench = WRENCH
    for tick in range(100):
        controller.step(asked, tick * 4_000_000)
    assert controller.integral[0] == pytest.approx(4.8, abs=0.01)
    for tick in range(400):
        controller.step(asked, tick * 4_000_000)
    assert controller.integral[0] == 5.0


def test_the_integral_acts_with_the_push_and_not_against_it():
    """τ = g + Jᵀ (k_p h + k_i ∫ h dt) at rest: the longer the push, the stronger the giving way."""
    controller, asked = standing(kp=10.0, ki=3.0)
    asked.wrench = WRENCH
    for tick in range(50):
        torque = controller.step(asked, tick * 4_000_000).value
    wrench = (10.0 + 3.0 * 50 * 0.004) * WRENCH
    expected = controller.arm.gravity + wrench @ controller.arm.J
    np.testing.assert_allclose(torque, expected, atol=1e-9)


@pytest.mark.parametrize("selection", ["wrist", "task", "least-norm", "least-energy"])
def test_the_turning_is_braked_as_the_law_says_whatever_the_arm_does(selection: str):
    """By finite differences of the motion that q̈* makes: ω̇ = −k_do ω, J̇q̇ included; the rows of
    the task also keep the tool from being accelerated.
    """
    controller, asked = standing(mode="hold", selection=selection)
    arm, h = controller.arm, 1e-5
    q, v = ROBOT.home + 0.2, np.array([0.9, -0.7, 0.8, -1.1, 0.6, 1.3])
    arm.update(q, v)
    controller.begin()
    spin = arm.twist[3:].copy()
    acceleration = controller.acceleration(asked, 0)
    twists = []
    for t in (-h, h):
        arm.update(q + t * v + 0.5 * t * t * acceleration, v + t * acceleration)
        twists.append(arm.twist.copy())
    rate = (twists[1] - twists[0]) / (2.0 * h)
    np.testing.assert_allclose(rate[3:], -controller.loop.kdo * spin, atol=1e-6)
    if selection == "task":
        np.testing.assert_allclose(rate[:3], 0.0, atol=1e-6)


@pytest.mark.parametrize("axis", range(3))
def test_pushed_along_an_axis_the_tool_goes_that_way(axis: int):
    """On the ideal plant, and at last at (1 + k_p) f / k_d."""
    push = np.zeros(6)
    push[axis] = 2.0
    log = ideal(quiet(ForceLoop(kp=10.0, kd=400.0)), ROBOT.home, 2.0, ScriptedPush(push))
    speed = (log.position[-1] - log.position[-2]) / 0.004
    assert speed[axis] == pytest.approx(0.055, rel=0.02)


@pytest.mark.parametrize("selection", ["joint", "wrist", "task"])
def test_orientation_is_held_while_the_tool_is_pushed_away(selection: str):
    """A centimetre or more of motion, less than a degree of turning."""
    loop = ForceLoop(kp=10.0, kd=400.0, mode="hold", selection=selection)
    log = ideal(
        quiet(loop), ROBOT.home, 1.0, ScriptedPush(np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]))
    )
    turned = np.degrees(np.linalg.norm(rotation_vector(log.rotation[-1] @ log.rotation[0].T)))
    assert np.linalg.norm(log.position[-1] - log.position[0]) > 0.01 and turned < 1.0


def test_the_selection_says_which_joints_do_what():
    """In joint space joints 4 to 6 turn and 1 to 3 push; the least norm turns with all of them."""
    for selection in SELECTIONS:
        controller, asked = standing(mode="hold", selection=selection)
        asked.wrench = WRENCH
        controller.step(asked, 0)
        controller.reference.rotation[:] = np.roll(np.eye(3), 1, axis=0) @ controller.arm.rotation
        turn = controller.acceleration(asked, 0)
        assert bool(np.abs(turn[:3]).max() == 0.0) is (selection in ("joint", "wrist"))
        push = controller.effort(asked)
        assert bool(np.abs(push[3:]).max() == 0.0) is (selection in ("joint", "wrist"))


def test_moments_act_in_the_third_mode_only():
    """A pure moment turns joints 4 to 6 in hold-moment and not in hold."""
    for mode in ("hold", "hold-moment"):
        controller, asked = standing(mode=mode)
        asked.wrench = np.array([0.0, 0.0, 0.0, 2.0, 3.0, 4.0])
        controller.step(asked, 0)
        assert bool(np.abs(controller.effort(asked)[3:]).max() > 1.0) is (mode == "hold-moment")


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_mode_fades_in_and_holds_what_it_finds(mode: str):
    """No torque jumps, and the orientation held is that of the moment."""
    controller, asked = standing(mode="compliance" if mode != "compliance" else "hold")
    asked.wrench = WRENCH
    controller.step(asked, 0)
    controller.arm.update(ROBOT.home + 0.1, np.zeros(6))
    before = controller.step(asked, 4_000_000).value.copy()
    assign(controller.parts, "force.mode", mode)
    np.testing.assert_allclose(controller.step(asked, 8_000_000).value, before, atol=0.05 * 29.0)
    if mode != "compliance":
        np.testing.assert_allclose(controller.reference.rotation, controller.arm.rotation)


@pytest.mark.parametrize("selection", ["task", "least-norm", "least-energy"])
def test_while_the_orientation_is_held_a_moment_at_the_wrist_does_not_act(selection: str):
    """At rest τ = g + k_p Jᵀ (f, 0): the pads may twist the tool as they like."""
    controller, asked = standing(kp=10.0, mode="hold", selection=selection)
    asked.wrench = WRENCH
    force = np.concatenate([WRENCH[:3], np.zeros(3)])
    expected = controller.arm.gravity + 10.0 * force @ controller.arm.J
    np.testing.assert_allclose(controller.step(asked, 0).value, expected, atol=1e-9)
