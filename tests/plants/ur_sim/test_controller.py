"""Modes, programs and safety of the simulated controller."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.plants.ur_sim.arm import CYCLE
from farhand.plants.ur_sim.controller import RobotMode, Runtime, SafetyMode


def run(controller, seconds: float) -> None:
    for _ in range(round(seconds / CYCLE)):
        controller.cycle()


def moving(controller) -> None:
    """A program that turns the base for two seconds."""
    controller.upload("def turn():\n speedj([0.5,0,0,0,0,0], 2.0, t=2)\n stopj(2)\nend")
    run(controller, 0.5)
    assert controller.arm.v[0] == pytest.approx(0.5, abs=1e-3)


def test_clients_see_the_state_of_the_arm(controller):
    """Joints, pose, modes and time."""
    run(controller, 0.1)
    values = controller.exchange.values
    assert values["timestamp"] == pytest.approx(0.1)
    np.testing.assert_allclose(values["actual_q"], controller.arm.q)
    np.testing.assert_allclose(values["actual_TCP_pose"][:3], controller.arm.port.tool.position)
    assert (values["robot_mode"], values["safety_mode"], values["runtime_state"]) == (7, 1, 1)
    assert values["robot_status_bits"] == 1
    assert values["safety_status_bits"] == 1


def test_a_stopped_program_leaves_a_standing_arm(controller):
    """However it was moving."""
    moving(controller)
    controller.stop()
    run(controller, 0.3)
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-3)
    assert controller.runtime is Runtime.STOPPED


def test_a_paused_program_goes_on_where_it_was(controller):
    """The arm stands meanwhile."""
    moving(controller)
    assert controller.pause()
    run(controller, 0.5)
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-3)
    assert controller.play()
    run(controller, 0.5)
    assert controller.arm.v[0] == pytest.approx(0.5, abs=1e-3)


def test_a_protective_stop_can_be_unlocked_after_five_seconds(controller, said):
    """Not sooner, and no program is taken until then."""
    moving(controller)
    controller.protective_stop("a test")
    assert controller.exchange.values["safety_status_bits"] == 1
    run(controller, 1.0)
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-3)
    assert controller.exchange.values["safety_status_bits"] == 1 << 2 | 1 << 10
    assert not controller.unlock()
    controller.upload("def p():\n sync()\nend")
    assert "refused" in said[-1]
    run(controller, 4.1)
    assert controller.unlock()
    assert controller.safety is SafetyMode.NORMAL
    assert controller.play()


def test_power_off_ends_the_program_and_closes_the_brakes(controller):
    """Nothing moves; brake release brings it back."""
    moving(controller)
    controller.power(RobotMode.POWER_OFF)
    run(controller, 0.3)
    q = controller.arm.q.copy()
    run(controller, 0.3)
    np.testing.assert_allclose(controller.arm.q, q, atol=1e-4)
    assert not controller.play()
    assert controller.exchange.values["robot_status_bits"] == 0
    controller.power(RobotMode.RUNNING)
    run(controller, 0.3)
    np.testing.assert_allclose(controller.arm.q, q, atol=1e-3)


def test_digital_outputs_change_only_where_the_mask_says(controller):
    """Tool outputs are bits 16 and 17."""
    exchange = controller.exchange
    exchange.set({"standard_digital_output_mask": 0b11, "standard_digital_output": 0b01})
    exchange.set({"tool_digital_output_mask": 0b10, "tool_digital_output": 0b11})
    exchange.set({"standard_digital_output_mask": 0b10, "standard_digital_output": 0b10})
    assert exchange.values["actual_digital_output_bits"] == 0b11 | 0b10 << 16


def test_registers_that_do_not_exist_are_refused(controller):
    """48 of each kind."""
    with pytest.raises(BadValue, match="output_int_register_48"):
        controller.write_int(48, 1)
    with pytest.raises(BadValue, match="output_double_register_48"):
        controller.write_floats(47, np.zeros(2))


def test_a_broken_limit_stops_the_arm_and_says_why(controller, said):
    """Joint 3 is sent beyond its range: a protective stop, and standing still."""
    far = controller.arm.robot.limits.lower[2] - 0.1
    controller.upload(f"def far():\n movej([0,-1.57,{far},-1.57,1.57,0], a=3, v=2)\nend")
    run(controller, 5.0)
    assert controller.safety is SafetyMode.PROTECTIVE_STOP
    assert "joint 2" in controller.reason
    assert "protective stop" in said[-1]
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-2)


def test_the_speed_slider_slows_moves_and_speeds_down(controller):
    """To half, without a jump; where the mask is zero nothing changes."""
    exchange = controller.exchange
    exchange.set({"speed_slider_mask": 0, "speed_slider_fraction": 0.1})
    run(controller, 1.0)
    assert exchange.values["speed_scaling"] == 1.0
    exchange.set({"speed_slider_mask": 1, "speed_slider_fraction": 0.5})
    assert exchange.values["target_speed_fraction"] == 0.5
    controller.cycle()
    assert 0.99 < exchange.values["speed_scaling"] < 1.0
    run(controller, 0.5)
    assert exchange.values["speed_scaling"] == pytest.approx(0.5)
    controller.upload("def turn():\n speedj([0.5,0,0,0,0,0], 2.0, t=1)\n stopj(2)\nend")
    run(controller, 0.5)
    assert controller.arm.v[0] == pytest.approx(0.25, abs=1e-3)
    run(controller, 1.0)
    q = [round(float(value), 6) for value in controller.arm.q_target]
    q[0] += 0.4
    # 0.9 s at full speed
    controller.upload(f"def go():\n movej({q}, a=2, v=1)\nend")
    run(controller, 1.7)
    assert controller.runtime is Runtime.PLAYING
    run(controller, 0.2)
    assert controller.runtime is Runtime.STOPPED
    assert controller.arm.q[0] == pytest.approx(q[0], abs=1e-3)


def test_a_slider_at_zero_halts_a_move_until_it_is_raised(controller):
    """The program waits."""
    q = [round(float(value), 6) for value in controller.arm.q_target]
    q[0] += 0.4
    controller.upload(f"def go():\n movej({q}, a=2, v=1)\nend")
    run(controller, 0.3)
    controller.exchange.set({"speed_slider_mask": 1, "speed_slider_fraction": 0.0})
    run(controller, 2.0)
    np.testing.assert_allclose(controller.arm.v, 0.0, atol=1e-3)
    assert controller.runtime is Runtime.PLAYING
    controller.exchange.set({"speed_slider_mask": 1, "speed_slider_fraction": 1.0})
    run(controller, 1.5)
    assert controller.arm.q[0] == pytest.approx(q[0], abs=1e-3)


def test_analog_outputs_are_set_where_the_mask_says(controller):
    """A share of 4 to 20 mA or of 0 to 10 V."""
    exchange = controller.exchange
    both = {"standard_analog_output_0": 0.5, "standard_analog_output_1": 0.5}
    mask, kind = "standard_analog_output_mask", "standard_analog_output_type"
    exchange.set({mask: 1, kind: 0, **both})
    assert exchange.values["standard_analog_output0"] == pytest.approx(0.012)
    assert exchange.values["standard_analog_output1"] == 0.0
    exchange.set({mask: 2, kind: 2, **both})
    assert exchange.values["standard_analog_output0"] == pytest.approx(0.012)
    assert exchange.values["standard_analog_output1"] == pytest.approx(5.0)
    assert exchange.values["analog_io_types"] == 8
    exchange.set({mask: 3, kind: 3, "standard_analog_output_0": float("nan")})
    assert exchange.values["standard_analog_output0"] == pytest.approx(0.012)
