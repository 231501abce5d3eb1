"""Torque controller: efforts become joint torque over the weight; a stopped arm is held."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.assists import FrictionOffset
from farhand.control.tool.torque import RELEASE_TIME_S, TorqueController
from farhand.plants import Brake, JointTorque
from farhand.robots import load_robot

UR5E = load_robot("ur5e")
WRENCH = np.array([5.0, -3.0, 2.0, 0.1, 0.2, -0.3])


def controlled(rest: str = "free", **options) -> tuple[TorqueController, ControlRequest]:
    """A UR5e at home and what is asked of it: coupled, with a wrench."""
    arm = Arm.of(UR5E)
    arm.update(UR5E.home, np.zeros(6))
    asked = ControlRequest()
    asked.effort[:], asked.gain, asked.valid = WRENCH, 1.0, True
    return TorqueController(arm, rest, **options), asked


def test_torque_is_the_transposed_jacobian_times_the_wrench_plus_the_weight():
    """τ = Jᵀ w + g, whatever the arm does when it is not coupled."""
    for rest in ("free", "hold"):
        controller, asked = controlled(rest)
        command = controller.step(asked, 0)
        arm = controller.arm
        np.testing.assert_allclose(command.value, arm.J.T @ WRENCH + arm.gravity, atol=1e-12)
        assert isinstance(command, JointTorque) and not controller.holding


def test_a_blind_arm_is_braked_where_it_has_brakes():
    """Without a sample, brakes carry on; without brakes the model's prediction does."""
    for can_brake, kind in ((True, Brake), (False, JointTorque)):
        controller, asked = controlled("hold", can_brake=can_brake)
        asked.effort[:], asked.gain, asked.valid = 0.0, 0.0, False
        command = controller.step(asked, 0)
        assert isinstance(command, kind)
        np.testing.assert_allclose(command.value, controller.arm.gravity, atol=1e-9)


def test_a_tripped_arm_is_held_and_let_go_of_softly_after_a_reset():
    """What held it fades out over its own time, without a step larger than its share."""
    controller, asked = controlled("free")
    asked.effort[:], asked.gain, asked.tripped = 0.0, 0.0, True
    controller.step(asked, 0)
    controller.arm.update(UR5E.home + 0.01, np.zeros(6))  # pushed away while held
    held = controller.step(asked, 1).value - controller.arm.gravity
    assert controller.holding and np.abs(held).max() > 1.0
    asked.tripped = False
    first = controller.step(asked, 2).value - controller.arm.gravity
    np.testing.assert_allclose(first, (1.0 - 1e-3 / RELEASE_TIME_S) * held, rtol=1e-9)
    left = [
        np.abs(controller.step(asked, n).value - controller.arm.gravity).max()
        for n in range(3, 3 + 300)
    ]
    assert not controller.holding
    assert np.abs(np.diff(left)).max() < 1.01 * np.abs(held).max() * 1e-3 / RELEASE_TIME_S
    assert left[-1] < 1e-9


def test_an_arm_that_is_half_coupled_is_half_held():
    """A hold at rest gives way to the coupling by its gain; a free arm is never held."""
    held = {}
    for rest in ("hold", "free"):
        for gain in (0.0, 0.5, 1.0):
            controller, asked = controlled(rest)
            asked.effort[:], asked.gain = 0.0, 0.0
            controller.step(asked, 0)
            controller.arm.update(UR5E.home + 0.01, np.zeros(6))
            asked.gain = gain
            held[rest, gain] = controller.step(asked, 1).value - controller.arm.gravity
    assert np.abs(held["hold", 0.0]).max() > 1.0
    np.testing.assert_allclose(held["hold", 0.5], 0.5 * held["hold", 0.0], atol=1e-9)
    for gain in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(held["free", gain], 0.0, atol=1e-9)


def test_giving_up_leaves_the_weight():
    """The stillest thing that can be said."""
    controller, asked = controlled()
    controller.step(asked, 0)
    controller.give_up()
    np.testing.assert_array_equal(controller.command.value, controller.arm.gravity)


def test_what_can_be_set_is_listed():
    """Holding still always, help against friction where there is any."""
    assert set(controlled()[0].parts) == {"still"}
    assert set(controlled(assist=FrictionOffset())[0].parts) == {"still", "assist"}


def test_a_tripped_machine_is_left_to_its_own_brakes_and_holds_anew_after_a_reset():
    """A slow loop's torques would swing it; the pull of the coupling fades first."""
    controller, asked = controlled("hold", can_brake=True, brakes_on_trip=True)
    asked.tripped, asked.gain = True, 0.5
    assert isinstance(controller.step(asked, 0), JointTorque)
    asked.effort[:], asked.gain = 0.0, 0.0
    assert isinstance(controller.step(asked, 1), Brake)
    controller.arm.update(UR5E.home + 0.05, np.zeros(6))  # where the brakes stopped it
    asked.tripped = False
    command = controller.step(asked, 2)
    assert isinstance(command, JointTorque)
    np.testing.assert_allclose(command.value, controller.arm.gravity, atol=1e-6)
