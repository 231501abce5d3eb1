"""The driver of Damiao motors on a simulated bus: what it does, and when something is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import FileError, Mismatch
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.frames import Register, Status
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import Drive, MotorFaults, SimulatedArm
from farhand.plants.damiao.wires import VirtualWire
from farhand.robots import load_robot
from farhand.spatial import Array

ARM = load_arm("openarm")
ROBOT = load_robot("openarm")
PERIOD_NS = round(1e9 / ARM.rate)
START = 0.1
"""When faults begin, [s]."""


class Bench:
    """A driver and a simulated arm in virtual time, the arm floating under its own weight."""

    def __init__(self, kind: str = "none", motor: int = 3, fd: bool = True) -> None:
        self.arm = SimulatedArm(ARM, drive=Drive(rate=1000.0), faults=MotorFaults(kind, motor, 1e6))
        self.model = Arm.of(ROBOT)
        self.driver = DamiaoDriver(ARM, ROBOT, VirtualWire(self.arm, fd), self.weight)
        self.driver.connect()
        self.driver.enable()
        self.arm.faults.start = self.arm.now_ns * 1e-9 + START
        self.due_ns = self.arm.now_ns
        self.fault_ns: int | None = None

    def weight(self, q: Array) -> Array:
        self.model.update(q, np.zeros(8))
        return self.model.gravity.copy()

    def run(self, seconds: float, drive: bool = True) -> None:
        """Cycles at the rate of the arm; ``drive`` is by torque, without it the motors hold."""
        end_ns = self.arm.now_ns + seconds * 1e9
        while self.arm.now_ns < end_ns:
            torque = self.weight(self.driver.q) - 0.5 * self.driver.v if drive else None
            self.driver.cycle(torque, 2e-9 * PERIOD_NS)
            if self.driver.fault is not None and self.fault_ns is None:
                self.fault_ns = self.arm.now_ns
            self.due_ns = max(self.due_ns + PERIOD_NS, self.arm.now_ns)
            self.arm.advance(self.due_ns)

    @property
    def reaction(self) -> float:
        """Time from the fault to its discovery, [s]."""
        assert self.fault_ns is not None
        return self.fault_ns * 1e-9 - self.arm.faults.start


@pytest.mark.parametrize("fd", [False, True])
def test_the_driver_reads_what_the_joints_do(fd: bool) -> None:
    """To one step of each motor; classic frames take longer and give the same."""
    bench = Bench(fd=fd)
    driver, arm = bench.driver, bench.arm
    before = driver.answers
    bench.run(0.05)
    assert driver.fault is None and driver.missed == 0
    assert driver.answers - before == 8 * driver.cycles
    step = np.array([motor.ranges.steps[0] * abs(motor.ratio) for motor in ARM.motors])
    moved = np.abs(arm.v) * 2e-3
    assert (np.abs(driver.q - arm.q) <= step + moved).all()
    for index, motor in enumerate(arm.motors):
        unit = motor.ranges.steps[2] / abs(motor.joint.ratio)
        assert driver.torque[index] == pytest.approx(arm.port.torque[index], abs=2 * unit)


def test_eight_motors_need_half_the_time_on_fd_frames() -> None:
    """Bus time of a cycle: 0.8 ms with FD frames, 1.9 ms without."""
    times = []
    for fd in (True, False):
        bench = Bench(fd=fd)
        before, cycles = bench.arm.line.busy_ns, bench.driver.cycles
        bench.run(0.04)
        busy = (bench.arm.line.busy_ns - before) / (bench.driver.cycles - cycles)
        times.append(busy * 1e-6)
    assert times == pytest.approx([0.81, 1.86], rel=0.05)


def test_the_arm_does_not_drop_when_its_motors_are_switched_on() -> None:
    """Each holds from its first command on, before the first cycle."""
    bench = Bench()
    assert {motor.command.kp > 9.0 for motor in bench.arm.motors} == {True}
    bench.arm.advance(bench.arm.now_ns + 50_000_000)
    np.testing.assert_allclose(bench.arm.q, ROBOT.home, atol=0.005)


def test_the_motors_hold_the_arm_without_commands() -> None:
    """Where it was: their own loops and the weight of the arm, also for a second."""
    bench = Bench()
    before = bench.arm.q.copy()
    bench.run(0.3, drive=False)
    np.testing.assert_allclose(bench.arm.q, before, atol=0.01)
    assert np.abs(bench.arm.v).max() < 0.1 and bench.driver.fault is None


@pytest.mark.parametrize(
    ("kind", "reason", "most"),
    [
        ("silent", "motor 0x3 (joint3) gave no answer 5 times in a row", 0.030),
        ("wrong-id", "motors 0x3 (joint3), 0x4 (joint4) gave no answer 5 times", 0.030),
        ("hot", "motor 0x3 (joint3) is off: motor too hot, 120 °C", 0.005),
        ("bus-off", "the CAN interface is bus-off", 0.010),
    ],
)
def test_a_fault_is_found_and_the_other_motors_hold(kind: str, reason: str, most: float) -> None:
    """Reaction in virtual time.

    Two motors that answer with one identifier destroy each other's frames until both are bus-off.
    """
    bench = Bench(kind)
    bench.run(START + 0.1)
    assert bench.driver.fault is not None and reason in bench.driver.fault
    assert 0.0 < bench.reaction < most
    if kind != "bus-off":
        others = [0, 1, 4, 5, 6, 7]
        held = [bench.arm.motors[index].command.kp for index in others]
        assert held == pytest.approx([ARM.motors[index].hold_kp for index in others], abs=0.2)
        assert np.abs(bench.arm.v[:2]).max() < 0.3


def test_two_motors_with_both_identifiers_alike_silence_each_other() -> None:
    bench = Bench("same-id")
    bench.run(START + 0.1)
    assert bench.driver.fault is not None and "0x3 (joint3), 0x4 (joint4)" in bench.driver.fault
    assert bench.reaction < 0.030


class Doubling(VirtualWire):
    """A bus on which two motors answer as motor 4, one after the other."""

    again: CanFrame | None = None

    def receive(self, timeout: float) -> CanFrame | None:
        """Every answer of motor 4 twice."""
        if self.again is not None:
            frame, self.again = self.again, None
            return frame
        found = super().receive(timeout)
        self.again = found if found is not None and found.id == 0x14 else None
        return found


def test_a_motor_that_may_be_two_is_only_damped() -> None:
    """Both obey what is meant for one, so neither may be asked for a position."""
    bench = Bench()
    bench.driver.wire = Doubling(bench.arm)
    bench.run(0.02)
    assert bench.driver.fault == "two motors answer as 0x14 (joint4)"
    command = bench.arm.motors[3].command
    assert command.kp == 0.0 and command.kd == pytest.approx(1.2, abs=2e-3)
    assert bench.arm.motors[2].command.kp == pytest.approx(50.0, abs=0.2)


def test_after_bus_off_the_motors_damp_at_their_own_time_out() -> None:
    """100 ms after the last frame; from then on the arm sinks slowly."""
    bench = Bench("bus-off")
    bench.run(START + 0.15)
    assert bench.arm.host.off
    assert {motor.status for motor in bench.arm.motors} == {Status.LOST_COMMUNICATION}
    assert {motor.registers[Register.TIMEOUT] for motor in bench.arm.motors} == {2000}


def test_noise_on_the_bus_is_no_fault() -> None:
    """Frames are repeated by the controllers."""
    bench = Bench("noise")
    bench.run(START + 0.2)
    assert bench.arm.line.damaged > 20 and bench.driver.fault is None


class Losing(VirtualWire):
    """An interface that loses every third frame, or every n-th."""

    every, count = 3, 0

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame that is not lost."""
        found = super().receive(timeout)
        self.count += found is not None
        return self.receive(timeout) if found and self.count % self.every == 0 else found


@pytest.mark.parametrize(("every", "stops"), [(19, False), (3, True)])
def test_an_arm_whose_answers_do_not_come_in_time_is_left_to_its_motors(
    every: int, stops: bool
) -> None:
    """Torques over such a loop would shake it; single losses do not matter."""
    bench = Bench()
    bench.driver.wire = Losing(bench.arm)
    bench.driver.wire.every = every
    began_ns = bench.arm.now_ns
    bench.run(0.6)
    assert (bench.driver.fault is not None) is stops
    if stops:
        assert bench.driver.fault is not None and "do not come in time" in bench.driver.fault
        assert bench.arm.motors[1].command.kp > 49.0
        assert bench.fault_ns is not None and bench.fault_ns - began_ns < 500_000_000


def test_a_restart_clears_the_motors() -> None:
    bench = Bench("hot")
    bench.run(START + 0.02)
    assert bench.driver.fault is not None
    bench.arm.motors[2].temperature = 30.0
    bench.driver.connect()
    bench.driver.enable()
    bench.run(0.02)
    assert bench.driver.fault is None
    assert {motor.status for motor in bench.arm.motors} == {Status.ENABLED}


def test_a_torque_that_is_not_a_number_is_not_sent() -> None:
    bench = Bench()
    bench.driver.cycle(np.full(8, np.nan), 0.004)
    assert bench.driver.fault == "a commanded torque is not a number"
    assert {motor.command.kp > 0.0 for motor in bench.arm.motors} == {True}


def test_an_arm_that_does_not_fit_its_file_is_refused() -> None:
    """A motor that is missing, of another model, or whose joint cannot be where it is."""
    arm = SimulatedArm(ARM, drive=Drive(rate=1000.0), faults=MotorFaults("silent", 5))
    arm.advance(2_000_000)
    with pytest.raises(FileError, match=r"no answer from motor 0x5 \(joint5\)"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedArm(ARM, drive=Drive(rate=1000.0), faults=MotorFaults("wrong-id", 3))
    arm.advance(2_000_000)
    with pytest.raises(FileError, match="motor 0x3 answers with 0x14: correct its register 7"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedArm(ARM, drive=Drive(rate=1000.0))
    arm.motors[3].registers[Register.VELOCITY_RANGE] = 8.0
    with pytest.raises(Mismatch, match=r"joint4\) maps its velocity to ±8, a DM4340 to ±10"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedArm(ARM, drive=Drive(rate=1000.0))
    motors = list(ARM.motors)
    motors[3] = replace(motors[3], ratio=-1.0)
    turned = replace(ARM, motors=tuple(motors))
    with pytest.raises(Mismatch, match=r"joint4 is at -1\.6.., outside .*correct its zero"):
        DamiaoDriver(turned, ROBOT, VirtualWire(arm)).connect()
