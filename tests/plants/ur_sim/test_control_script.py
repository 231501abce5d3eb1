"""The register protocol of the uploaded control script."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farhand.plants.ur_sim.arm import pose_vector
from farhand.plants.ur_sim.controller import Runtime, SafetyMode

READY, DONE = 1, 2


def state(controller) -> int:
    return controller.exchange.values["output_int_register_0"]


def test_the_script_is_ready_once_uploaded(registers):
    """Register 0 says so, and the program plays."""
    assert state(registers.controller) == READY
    assert registers.controller.runtime is Runtime.PLAYING


def test_upper_registers_are_used_where_the_script_says_so(controller):
    """An offset of 24 moves every register."""
    text = "def rtde_control():\n # float register offset\n24 # int register offset\n24 "
    text += "#RTDE Control Script\nend"
    controller.upload(text)
    controller.cycle()
    assert controller.exchange.values["output_int_register_24"] == READY
    assert controller.exchange.values["output_int_register_0"] == 0


def test_a_move_is_done_when_it_is_done_and_waits_to_be_cleared(registers):
    """Not repeated while its number stands in the register."""
    arm = registers.controller.arm
    target = arm.q + 0.1
    registers.set(1, [*target, 1.0, 2.0], [0])
    registers.run(10)
    assert state(registers.controller) == READY
    registers.run(400)
    assert state(registers.controller) == DONE
    np.testing.assert_allclose(arm.q, target, atol=1e-3)
    registers.run(10)
    assert state(registers.controller) == DONE
    registers.set(0)
    registers.run(1)
    assert state(registers.controller) == READY


def test_a_move_beside_the_commands_tells_its_progress_and_can_be_stopped(registers):
    """Bit 15 of register 2 is set while it runs."""
    values, arm = registers.controller.exchange.values, registers.controller.arm
    assert registers.do(1, [*(arm.q + 1.0), 1.0, 2.0], [1]) < 3
    registers.run(100)
    assert values["output_int_register_2"] & 0x8000
    registers.do(34, [10.0], [0])
    assert not values["output_int_register_2"] & 0x8000
    np.testing.assert_allclose(arm.v_target, 0.0)
    assert arm.q[0] < arm.robot.home[0] + 0.5


def test_servoj_goes_on_while_its_number_stands_there_and_until_it_is_stopped(registers):
    """The script's thread keeps pulling to the last target after the register is cleared."""
    arm = registers.controller.arm
    target = arm.q + np.array([0, 0, 0, 0, 0, 0.1])
    registers.set(11, [*target, 0, 0, 0.002, 0.1, 300.0])
    registers.run(2)
    registers.set(0)
    registers.run(500)
    np.testing.assert_allclose(arm.q, target, atol=2e-3)
    registers.do(16, [10.0])
    assert not arm.v_target.any()


def test_speedj_reaches_its_speed_and_stops_when_told(registers):
    """At the acceleration given."""
    arm = registers.controller.arm
    registers.set(9, [0.3, 0, 0, 0, 0, 0, 1.0, 0.0])
    registers.run(75)
    assert arm.v_target[0] == pytest.approx(0.15, abs=0.01)
    registers.run(200)
    assert arm.v[0] == pytest.approx(0.3, abs=1e-3)
    registers.do(15, [2.0])
    registers.run(50)
    np.testing.assert_allclose(arm.v, 0.0, atol=1e-3)


def test_direct_torque_acts_only_while_its_number_stands_there(registers):
    """Cleared, the arm is stopped where it is."""
    arm = registers.controller.arm
    registers.set(66, [0, 0, 0, 0, 0, 1.0, *[0] * 12])
    registers.run(50)
    assert arm.torque_mode
    assert arm.v[5] > 0.1
    registers.set(0)
    registers.run(200)
    assert not arm.torque_mode
    np.testing.assert_allclose(arm.v, 0.0, atol=1e-3)


@pytest.mark.parametrize("other", [(1, [0] * 8), (9, [0] * 8), (66, [0] * 18), (34, [1.0])])
def test_two_threads_may_not_move_the_arm_at_once(registers, said, other):
    """A client that forgets servoStop learns it here and not from the arm."""
    registers.set(11, [*registers.controller.arm.q, 0, 0, 0.002, 0.1, 300.0])
    registers.run(2)
    registers.set(0)
    registers.run(2)
    registers.set(*other, [0])
    registers.run(2)
    assert registers.controller.runtime is Runtime.STOPPED
    assert "another thread is already controlling the robot: servo" in said[-1]


def test_a_pose_is_servoed_to_by_inverse_kinematics(registers):
    """servoL, 3 cm up."""
    arm = registers.controller.arm
    pose = pose_vector(*arm.pose(arm.q)) + [0, 0, 0.03, 0, 0, 0]
    registers.set(24, [*pose, 0, 0, 0.002, 0.1, 300.0])
    registers.run(500)
    np.testing.assert_allclose(arm.port.tool.position, pose[:3], atol=1e-3)


def test_questions_are_answered_from_the_model(registers):
    """Forward and inverse kinematics, the Jacobian and the mass matrix."""
    controller, arm = registers.controller, registers.controller.arm
    pose = pose_vector(*arm.pose(arm.q))
    registers.do(43)
    np.testing.assert_allclose(registers.answer(), pose, atol=1e-9)
    registers.do(46, pose)
    np.testing.assert_allclose(registers.answer(), arm.q, atol=1e-5)
    registers.set(67, ints=[0])
    registers.run(1)
    values = controller.exchange.values
    flat = [values[f"output_double_register_{index}"] for index in [*range(24), *range(36, 48)]]
    np.testing.assert_allclose(np.reshape(flat, (6, 6)), controller.model_now().M, atol=1e-9)


def test_the_watchdog_stops_the_program_when_commands_stay_away(registers, said):
    """And the arm with it, though speedJ would go on for ever."""
    controller = registers.controller
    registers.do(35, [10.0])
    registers.set(9, [0.3, 0, 0, 0, 0, 0, 5.0, 0.0])
    for _ in range(100):
        registers.run(40)
        registers.set(9, [0.3, 0, 0, 0, 0, 0, 5.0, 0.0])
        if controller.cycles > 400:
            break
    assert controller.arm.v[0] == pytest.approx(0.3, abs=1e-3)
    registers.run(51 + 50)
    assert controller.runtime is Runtime.STOPPED
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-3)
    assert "watchdog" in said[-1]


def test_a_target_too_far_away_is_a_protective_stop(registers, said):
    """The servo would have to race."""
    registers.set(11, [*(registers.controller.arm.q + 1.5), 0, 0, 0.002, 0.1, 300.0])
    registers.run(200)
    assert registers.controller.safety is SafetyMode.PROTECTIVE_STOP
    assert registers.controller.runtime is Runtime.PAUSED
    assert re.search("moves at|torque limit|from its target", said[-1])
    registers.run(300)
    np.testing.assert_allclose(registers.controller.arm.v, 0.0, atol=1e-3)


@pytest.mark.parametrize(
    ("number", "floats", "words"),
    [
        (6, [], "command 6"),
        (200, [], "command 200"),
        (1, [float("nan")] * 8, "holds nan"),
        (2, [9.0] * 8, "no joints"),
    ],
)
def test_what_cannot_be_done_ends_the_program_with_a_reason(registers, said, number, floats, words):
    """As an error in a script does on a controller; the arm stays."""
    registers.set(number, floats, [0])
    registers.run(3)
    assert registers.controller.runtime is Runtime.STOPPED
    assert words in said[-1]


def test_a_path_is_taken_from_the_text_of_the_script(controller):
    """Two moves, one after the other."""
    q = controller.arm.q
    moves = "".join(
        f"\tsignal_async_progress({i})\n\tmovej([{','.join(str(v) for v in q + step)}],a=2,v=1,r=0)\n"
        for i, step in enumerate((0.1, 0.05))
    )
    controller.upload(
        f"def rtde_control():\n # inject move path\n{moves} #RTDE Control Script\nend"
    )
    start = q.copy()
    controller.cycle()
    controller.exchange.set({"input_int_register_0": 45, "input_int_register_1": 0})
    highest = 0.0
    for _ in range(600):
        controller.cycle()
        highest = max(highest, float(controller.arm.q_target[0] - start[0]))
    assert highest == pytest.approx(0.1, abs=1e-6)
    np.testing.assert_allclose(controller.arm.q, start + 0.05, atol=1e-3)
    assert state(controller) == DONE


def test_stop_script_ends_the_program(registers):
    """Command 255."""
    registers.set(255)
    registers.run(2)
    assert registers.controller.runtime is Runtime.STOPPED
