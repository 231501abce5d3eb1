"""The motor behind the registers: closed forms of a direct-current motor, and its protections."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from farhand.plants.servo_arm.description import STEP, load_arm
from farhand.plants.servo_arm.simulated_arm import SimulatedArm, settled

PAN = 0
"""A joint about a vertical axis, which gravity does not turn."""


@pytest.fixture(params=["so101", "koch-leader"])
def arm(request):
    """A Feetech and a Dynamixel arm without gravity."""
    return SimulatedArm(load_arm(request.param), np.random.default_rng(1), gravity=0.0)


def friction(arm, joint):
    """Dry and viscous friction of a joint in the model, [N·m] and [N·m·s/rad]."""
    model = arm.world.model
    return float(model.dof_frictionloss[joint]), float(model.dof_damping[joint])


def set_effort(servo, share):
    """Let the motor push with a share of its duty or of its stall current, open loop."""
    if servo.feetech:
        servo["operating_mode"] = 2
        servo["torque_enable"] = 1
        servo["goal_effort"] = round(1000 * share)
    else:
        servo["operating_mode"] = 0
        servo["torque_enable"] = 1
        servo["goal_current"] = round(share * servo.servo.model.stall / servo.servo.model.current)


def test_speed_without_load_is_that_of_the_data_sheet_less_friction():
    """At half the duty: ω = (τ_s u − τ_c)/μ."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    set_effort(servo, 0.3)
    settled(arm, 0.6)
    dry, viscous = friction(arm, PAN)
    volts = servo.volts / servo.servo.volts
    assert arm.port.v[PAN] == pytest.approx((0.3 * 2.94 * volts - dry) / viscous, rel=0.02)
    servo.read(0, 1)
    assert servo["present_velocity"] == pytest.approx(arm.port.v[PAN] / STEP, abs=1)
    assert servo["present_load"] == 300


def test_a_held_current_is_a_torque_at_any_speed():
    """A current loop has no back-EMF: the arm accelerates by the torque less the friction."""
    arm = SimulatedArm(load_arm("koch-leader"), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    set_effort(servo, 0.25)
    settled(arm, 0.05)
    v, t = float(arm.port.v[PAN]), arm.world.now_ns
    settled(arm, 0.05)
    gained = float(arm.port.v[PAN]) - v
    inertia = np.zeros((arm.port.nv, arm.port.nv))
    mujoco.mj_fullM(arm.world.model, arm.world.data, inertia)
    dry, _ = friction(arm, PAN)
    expected = (0.25 * servo.stall - dry) * (arm.world.now_ns - t) * 1e-9
    assert gained * inertia[PAN, PAN] == pytest.approx(expected, rel=0.1)
    servo.read(0, 1)
    assert servo["present_current"] == pytest.approx(0.25 * 1470, abs=2)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_torque_limit_caps_the_force_of_a_position_servo(share):
    """Against a stop, a Feetech servo that is far from its goal pushes with its limit."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    servo["torque_enable"] = 1
    servo["torque_limit"] = round(1000 * share)
    arm.port.q[PAN] = arm.robot.limits.upper[PAN]
    servo["goal_position"] = servo["max_position_limit"]
    servo["max_position_limit"] = 4095
    servo["goal_position"] = 4095
    settled(arm, 0.3)
    servo.read(0, 1)
    assert servo["present_load"] == pytest.approx(1000 * share, abs=1)
    assert arm.port.torque[PAN] == pytest.approx(share * 2.94 * servo.volts / 12.0, rel=0.01)


def test_a_released_servo_leaves_dry_friction_only(arm):
    """An open winding does not brake: pushed, the joint keeps its speed but for dry friction."""
    arm.release()
    arm.port.v[PAN] = 1.0
    settled(arm, 0.01)
    dry, viscous = friction(arm, PAN)
    motor = arm.servos[PAN].stall / arm.servos[PAN].top_speed
    left = max(0.0, viscous - motor)
    assert arm.port.v[PAN] > 1.0 - 0.02 * (dry + left) / float(arm.world.model.dof_armature[PAN])


def test_the_gears_have_play():
    """Reversed, the motor turns for a moment before the joint feels it."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1), gravity=0.0)
    set_effort(arm.servos[PAN], 0.2)
    settled(arm, 0.02)
    assert arm.port.torque[PAN] > 0.0
    set_effort(arm.servos[PAN], -0.2)
    settled(arm, 0.001)
    # nothing but what the open winding takes back
    assert arm.port.torque[PAN] > -0.1 * arm.servos[PAN].stall
    settled(arm, 0.1)
    assert arm.port.torque[PAN] < -0.1 * arm.servos[PAN].stall


@pytest.mark.parametrize("name", ["so101", "koch"])
def test_a_joint_that_is_faster_than_its_motor_is_braked(name):
    """A little duty in the direction of the motion: the gears touch on the other side, and the
    back-EMF brakes at once, less the duty's torque, as in closed form.
    """
    arm = SimulatedArm(load_arm(name), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    servo["operating_mode"] = 2 if servo.feetech else 16
    servo["torque_enable"] = 1
    servo["goal_effort" if servo.feetech else "goal_pwm"] = round(0.05 * servo._full)
    settled(arm, 0.02)
    arm.port.v[PAN] = 2.0
    settled(arm, 0.005)
    pushed = 0.05 * servo.stall * servo.volts / servo.servo.volts
    assert arm.port.torque[PAN] == pytest.approx(pushed, rel=0.05)


def test_overload_is_reported_and_the_servo_weakens():
    """After two seconds above 80 %, a Feetech servo falls back to 20 % and says so."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    arm.port.q[PAN] = arm.robot.limits.upper[PAN]
    servo["max_position_limit"] = 4095
    servo["torque_enable"] = 1
    servo["goal_position"] = 4095
    settled(arm, 1.5)
    assert servo.error == 0
    settled(arm, 0.8)
    assert servo.error == 32
    servo.read(0, 1)
    assert servo["present_load"] == pytest.approx(200, abs=1)
    servo.write(40, b"\x01")
    assert servo.error == 0


def test_a_brown_out_restarts_every_servo():
    """Torque off, SRAM as at the factory, silent for a while; the stored calibration stays."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    for servo in arm.servos:
        servo["torque_enable"] = 1
    offsets = [servo["homing_offset"] for servo in arm.servos]
    arm.supply = 0.3
    settled(arm, 0.01)
    assert all(servo.reboots == 1 and servo.silent_ns > 0 for servo in arm.servos)
    arm.supply = 1.0
    settled(arm, 2.0)
    assert all(servo.silent_ns == 0 and not servo["torque_enable"] for servo in arm.servos)
    assert [servo["homing_offset"] for servo in arm.servos] == offsets


def test_a_silent_bus_stops_a_dynamixel_with_a_watchdog():
    """After its time in steps of 20 ms, the motor pushes no more."""
    arm = SimulatedArm(load_arm("koch-leader"), np.random.default_rng(1), gravity=0.0)
    servo = arm.servos[PAN]
    set_effort(servo, 0.2)
    servo["bus_watchdog"] = 3
    settled(arm, 0.05)
    assert servo._current > 0.1
    settled(arm, 0.05)
    assert servo._current == pytest.approx(0.0, abs=0.01)
    # its register says so, and it takes no goal until that is cleared
    assert servo["bus_watchdog"] == 255
    assert servo.write(102, b"\x10\0") == 4
    assert servo.write(98, b"\0") == 0 and servo.write(102, b"\x10\0") == 0


def test_an_arm_lies_still_until_a_servo_is_switched_on():
    """On its support, at the angles at which it starts; then it sags or falls."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    home = arm.robot.home
    np.testing.assert_array_equal(settled(arm, 0.2), home)
    arm.servos[0]["torque_enable"] = 1
    assert np.abs(settled(arm, 0.2) - home).max() > 0.05


def test_heat_switches_a_servo_off():
    """At its limit of temperature, which its register tells."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    servo = arm.servos[1]
    servo["torque_enable"] = 1
    servo.temperature = 75.0
    settled(arm, 0.05)
    assert servo.error == 4 and servo["torque_enable"] == 0
    servo.read(0, 1)
    assert servo["present_temperature"] == 75
