"""The driver of Damiao motors on a simulated bus: what it does, and when something is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import FileError, LinkError, Mismatch
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.frames import MotorRegister, Status
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import Drive, MotorFaults, SimulatedCanArm
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
        self.arm = SimulatedCanArm(
            ARM, drive=Drive(rate=1000.0), faults=MotorFaults(kind, motor, 1e6)
        )
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


class Pausing(VirtualWire):
    """An interface whose machine pauses just when the driver looks for answers that come late."""

    def receive(self, timeout: float) -> CanFrame | None:
        """Nothing within 2 ms, though it will come."""
        return None if timeout == 0.002 else super().receive(timeout)


def test_late_answers_to_switching_on_are_not_of_a_second_motor() -> None:
    """They are counted as answers to what was asked."""
    bench = Bench()
    bench.driver.wire = Pausing(bench.arm)
    bench.driver.enable()
    bench.run(0.02)
    assert bench.driver.fault is None


def test_after_bus_off_the_motors_damp_at_their_own_time_out() -> None:
    """100 ms after the last frame; from then on the arm sinks slowly."""
    bench = Bench("bus-off")
    bench.run(START + 0.15)
    assert bench.arm.host.off
    assert {motor.status for motor in bench.arm.motors} == {Status.LOST_COMMUNICATION}
    assert {motor.registers[MotorRegister.TIMEOUT] for motor in bench.arm.motors} == {2000}


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


def test_a_joint_that_is_pushed_beyond_its_limits_is_found_in_the_cycle_that_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenth of its range beyond; from then on its motor holds by itself."""
    home, motors = ROBOT.home[2], list(ARM.motors)
    motors[2] = replace(motors[2], limits=(home - 0.2, home + 0.2))
    monkeypatch.setattr(f"{__name__}.ARM", replace(ARM, motors=tuple(motors)))
    bench = Bench()
    bench.arm.push[2] = 3.0
    while bench.driver.fault is None and bench.arm.q[2] < home + 0.4:
        bench.run(1e-9 * PERIOD_NS)
    assert bench.driver.fault is not None and "joint3 is at 0.2" in bench.driver.fault
    assert 0.24 <= bench.arm.q[2] - home < 0.24 + 2.0 * PERIOD_NS * 1e-9 * bench.arm.v[2] + 1e-3
    bench.run(2e-9 * PERIOD_NS)
    assert bench.arm.motors[2].command.kp == pytest.approx(ARM.motors[2].hold_kp, abs=0.2)


def test_an_arm_that_does_not_fit_its_file_is_refused() -> None:
    """A motor that is missing, of another model, or whose joint cannot be where it is."""
    arm = SimulatedCanArm(ARM, drive=Drive(rate=1000.0), faults=MotorFaults("silent", 5))
    arm.advance(2_000_000)
    with pytest.raises(FileError, match=r"no answer from motor 0x5 \(joint5\)"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedCanArm(ARM, drive=Drive(rate=1000.0), faults=MotorFaults("wrong-id", 3))
    arm.advance(2_000_000)
    with pytest.raises(FileError, match="motor 0x3 answers with 0x14: correct its register 7"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedCanArm(ARM, drive=Drive(rate=1000.0))
    arm.motors[3].registers[MotorRegister.VELOCITY_RANGE] = 8.0
    with pytest.raises(Mismatch, match=r"joint4\) maps its velocity to ±8, a DM4340 to ±10"):
        DamiaoDriver(ARM, ROBOT, VirtualWire(arm)).connect()

    arm = SimulatedCanArm(ARM, drive=Drive(rate=1000.0))
    motors = list(ARM.motors)
    motors[3] = replace(motors[3], ratio=-1.0)
    turned = replace(ARM, motors=tuple(motors))
    with pytest.raises(Mismatch, match=r"joint4 is at -1\.6.., outside .*correct its zero"):
        DamiaoDriver(turned, ROBOT, VirtualWire(arm)).connect()


class Deaf(VirtualWire):
    """An interface on which one register of motor 5 cannot be read or written."""

    register = MotorRegister.TORQUE_RANGE

    def send(self, *sent: CanFrame) -> None:
        """All frames but those about the register."""
        super().send(*(one for one in sent if one.data[:1] + one.data[3:4] != self.about))

    @property
    def about(self) -> bytes:
        """How its frames begin and go on after the action."""
        return bytes((5, self.register))


@pytest.mark.parametrize(
    ("register", "says"),
    [
        (MotorRegister.TORQUE_RANGE, r"motor 0x5 \(joint5\) does not tell its torque range"),
        (MotorRegister.TIMEOUT, r"motor 0x5 \(joint5\) does not take 2000 as its timeout"),
    ],
)
def test_a_motor_whose_range_or_time_out_is_not_sure_is_refused(
    register: MotorRegister, says: str
) -> None:
    """Without its time-out it would push on after the last command."""
    wire = Deaf(SimulatedCanArm(ARM, drive=Drive(rate=1000.0)))
    wire.register = register
    with pytest.raises(FileError, match=says):
        DamiaoDriver(ARM, ROBOT, wire).connect()


class Unplugged(VirtualWire):
    """An interface that is not there any more."""

    def receive(self, timeout: float) -> CanFrame | None:
        """Never anything."""
        raise LinkError("the CAN interface receives nothing: unplugged")


def test_an_interface_that_is_unplugged_between_two_cycles_is_a_fault() -> None:
    """And not an error that ends the thread of the driver, so that a reset can say why it fails."""
    bench = Bench()
    bench.driver.wire = Unplugged(bench.arm)
    bench.driver.cycle(None, 0.004)
    assert bench.driver.fault == "the CAN interface receives nothing: unplugged"
