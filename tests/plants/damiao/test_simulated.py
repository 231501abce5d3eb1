"""Simulated Damiao motors: what they do with frames, and what the arm does then."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.frames import Mit, MotorRegister, MotorState, Order, Status
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import Drive, MotorFaults, SimulatedCanArm
from farhand.plants.damiao.wires import VirtualWire

ARM = load_arm("openarm")
MS = 1_000_000


def simulated(gravity: float = 0.0, **drive: float) -> SimulatedCanArm:
    return SimulatedCanArm(ARM, drive=Drive(rate=1000.0, **drive), gravity=gravity)


def ask(arm: SimulatedCanArm, id: int, data: bytes, fd: bool = True) -> CanFrame | None:
    wire = VirtualWire(arm)
    wire.send(CanFrame(id, data, fd))
    return wire.receive(0.005)


def order(arm: SimulatedCanArm, what: Order, *ids: int) -> None:
    for id in ids or range(1, 9):
        ask(arm, id, frames.encode_order(what))


def command(arm: SimulatedCanArm, id: int, mit: Mit) -> MotorState:
    answer = ask(arm, id, frames.encode_mit(mit, arm.motors[id - 1].ranges))
    assert answer is not None and answer.id == id + 0x10
    return frames.decode_state(answer.data, arm.motors[id - 1].ranges)


@pytest.mark.parametrize("fd", [False, True])
def test_a_motor_answers_in_the_format_it_was_asked_in_after_both_frames_and_its_latency(
    fd: bool,
) -> None:
    arm = simulated(latency_spread=0.0)
    answer = ask(arm, frames.COMMON, frames.encode_register(3, frames.REFRESH), fd)
    assert answer is not None and (answer.id, answer.fd) == (0x13, fd)
    asked = CanFrame(frames.COMMON, frames.encode_register(3, frames.REFRESH), fd)
    took_ns = arm.line.frame_ns(asked) + 50_000 + arm.line.frame_ns(answer)
    assert arm.now_ns == took_ns


def test_a_motor_makes_the_torque_of_its_command_only_while_it_is_on() -> None:
    """Without gravity: kp times the error, then the limit of the model."""
    arm = simulated()
    assert command(arm, 1, Mit(q=0.1, kp=100.0)).status is Status.DISABLED
    arm.advance(arm.now_ns + MS)
    assert arm.motors[0].torque == 0.0
    order(arm, Order.ENABLE)
    assert command(arm, 1, Mit(q=0.1, kp=100.0)).status is Status.ENABLED
    before = arm.motors[0].q
    arm.advance(arm.now_ns + MS)
    assert arm.motors[0].torque == pytest.approx(100.0 * (0.1 - before), abs=0.1)
    command(arm, 1, Mit(q=12.0, kp=500.0))
    arm.advance(arm.now_ns + MS)
    assert arm.motors[0].torque == 54.0


def test_the_motors_hold_the_arm_where_they_are_told_to() -> None:
    """Gravity is carried by the position error: kp times it is the weight's torque."""
    arm = simulated(gravity=9.81)
    goal = [motor.q for motor in arm.motors]
    order(arm, Order.ENABLE)
    gains = [(240.0, 3.0)] * 4 + [(24.0, 0.2)] * 4
    for _ in range(30):
        for id, (q, (kp, kd)) in enumerate(zip(goal, gains, strict=True), start=1):
            command(arm, id, Mit(q=q, kp=kp, kd=kd))
        arm.advance(arm.now_ns + 20 * MS)
    model = Arm.of(arm.robot)
    model.update(arm.q.copy(), np.zeros(8))
    # within the dry friction of the joints, 0.02 N·m, and the last of the motion
    np.testing.assert_allclose(arm.port.torque, model.gravity, atol=0.06)
    assert np.abs(model.gravity).max() > 1.0 and np.abs(arm.v).max() < 0.02
    # zero velocity arrives as half a step below it, and kd makes a torque of it
    for motor, q, (kp, kd) in zip(arm.motors, goal, gains, strict=True):
        expected = kp * (q - motor.q) - kd * (motor.ranges.steps[1] / 2 + motor.v)
        assert motor.torque == pytest.approx(expected, abs=0.15)


def test_the_power_of_the_motors_is_the_power_on_the_joints() -> None:
    """Also at the gripper, whose motor turns against it and whose joint slides."""
    arm = simulated()
    order(arm, Order.ENABLE)
    command(arm, 8, Mit(torque=-1.0))
    arm.advance(arm.now_ns + 3 * MS)
    motor = arm.motors[7]
    assert motor.torque * motor.v == pytest.approx(arm.port.torque[7] * arm.v[7], rel=1e-6)
    assert arm.port.torque[7] == pytest.approx(1.0 / 0.042017, rel=0.01)


def test_zero_moves_the_numbers_and_not_the_motor() -> None:
    arm = simulated()
    before = arm.q.copy()
    state = command(arm, 2, Mit())
    assert state.q == pytest.approx(0.3, abs=4e-4)
    ask(arm, 2, frames.encode_order(Order.ZERO))
    assert command(arm, 2, Mit()).q == pytest.approx(0.0, abs=4e-4)
    np.testing.assert_array_equal(arm.q, before)


def test_registers_are_read_written_and_saved() -> None:
    """The answer repeats the question; a switched-on motor does not save."""
    arm = simulated()
    read = ask(
        arm, frames.COMMON, frames.encode_register(4, frames.READ, MotorRegister.VELOCITY_RANGE)
    )
    assert read is not None and frames.decode_register(read.data).value == 10.0
    write = frames.encode_register(4, frames.WRITE, MotorRegister.TIMEOUT, 8000)
    echo = ask(arm, frames.COMMON, write)
    assert echo is not None and echo.data == write
    assert arm.motors[3].registers[MotorRegister.TIMEOUT] == 8000
    assert arm.motors[3].saved[MotorRegister.TIMEOUT] == 2000
    save = frames.encode_register(4, frames.SAVE, 1, raw=bytes(4))
    order(arm, Order.ENABLE, 4)
    ask(arm, frames.COMMON, save)
    assert arm.motors[3].saved[MotorRegister.TIMEOUT] == 2000
    order(arm, Order.DISABLE, 4)
    ask(arm, frames.COMMON, save)
    assert arm.motors[3].saved[MotorRegister.TIMEOUT] == 8000


def test_a_motor_decodes_with_the_range_in_its_own_registers() -> None:
    """A client that assumes 8 rad/s for a motor of 10 reads velocities that are 20 % too low."""
    arm = simulated()
    order(arm, Order.ENABLE)
    state = ask(arm, 4, frames.encode_mit(Mit(), arm.motors[3].ranges))
    assert state is not None
    arm.motors[3].shaft[1] = 5.0
    answer = arm.motors[3].hear(CanFrame(4, state.data), arm.now_ns)
    assert answer is not None
    assert frames.decode_state(answer, frames.model("DM4340")).v == pytest.approx(5.0, abs=0.005)
    wrong = frames.Ranges(12.5, 8.0, 28.0)
    assert frames.decode_state(answer, wrong).v == pytest.approx(4.0, abs=0.005)


@pytest.mark.parametrize("timeout", [0.02, 0.1])
def test_a_motor_without_frames_damps_after_its_time_out_until_it_is_cleared(
    timeout: float,
) -> None:
    """Reaction within one step of the motor's loop after the time in its register."""
    arm = simulated(gravity=9.81)
    units = round(timeout / frames.TIMEOUT_UNIT)
    for id in range(1, 9):
        write = frames.encode_register(id, frames.WRITE, MotorRegister.TIMEOUT, units)
        ask(arm, frames.COMMON, write)
    order(arm, Order.ENABLE)
    command(arm, 2, Mit(kp=100.0))
    last_ns = arm.now_ns
    while arm.motors[1].status is Status.ENABLED:
        arm.advance(arm.now_ns + MS)
    assert timeout <= (arm.now_ns - last_ns) * 1e-9 + 1e-3 and arm.now_ns - last_ns < (
        timeout * 1e9 + 3 * MS
    )
    arm.advance(arm.now_ns + 50 * MS)
    motor = arm.motors[1]
    assert motor.status is Status.LOST_COMMUNICATION
    assert motor.torque == pytest.approx(-motor.v, rel=0.2) and abs(motor.v) > 0.05
    # it answers, does not obey, and comes back only when it is cleared
    assert command(arm, 2, Mit(kp=100.0)).status is Status.LOST_COMMUNICATION
    order(arm, Order.ENABLE, 2)
    assert motor.status is Status.LOST_COMMUNICATION
    order(arm, Order.CLEAR, 2)
    order(arm, Order.ENABLE, 2)
    assert motor.status is Status.ENABLED


def test_a_motor_heats_with_the_square_of_its_torque_and_switches_off_too_hot() -> None:
    """Held at full torque it goes by heating/heating_time per second at first."""
    arm = simulated(heating=300.0, heating_time=1.0)
    ask(arm, frames.COMMON, frames.encode_register(1, frames.WRITE, MotorRegister.TIMEOUT, 0))
    order(arm, Order.ENABLE)
    command(arm, 1, Mit(torque=27.0))
    arm.advance(arm.now_ns + 20 * MS)
    assert arm.motors[0].temperature == pytest.approx(25.0 + 300.0 * 0.25 * 0.02, abs=0.3)
    arm.motors[0].temperature = 100.5
    arm.advance(arm.now_ns + 2 * MS)
    assert arm.motors[0].status is Status.MOTOR_TOO_HOT
    assert command(arm, 1, Mit()).motor_temperature == 100


def test_the_arm_rests_until_its_motors_are_on() -> None:
    arm = simulated(gravity=9.81)
    before = arm.q.copy()
    arm.advance(300 * MS)
    np.testing.assert_array_equal(arm.q, before)
    order(arm, Order.ENABLE)
    arm.advance(arm.now_ns + 80 * MS)
    assert np.abs(arm.q - before).max() > 0.03


def test_a_fault_of_a_motor_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadValue, match="motors 1 to 7"):
        SimulatedCanArm(ARM, faults=MotorFaults("wrong-id", 8))
