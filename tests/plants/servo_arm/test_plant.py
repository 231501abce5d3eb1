"""The arm as a plant: its thread on a terminal, in wall time, without judging how fast."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, defaultdict
from contextlib import contextmanager

import numpy as np
import pytest

from farhand.errors import BadValue, FileError, Mismatch
from farhand.plants import Brake, JointTorque
from farhand.plants.servo_arm.bus import ServoBus
from farhand.plants.servo_arm.calibration import Calibration
from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.packets import WRITE
from farhand.plants.servo_arm.plant import DynamixelPlant, FeetechPlant
from farhand.plants.servo_arm.simulated_arm import (
    ArmBusFaults,
    ServoTerminal,
    SimulatedArm,
    SimulatedServoBus,
)
from farhand.plants.servo_arm.virtual import VirtualServoPlant
from farhand.robots import Placement, load_robot

KINDS = {
    "so101": FeetechPlant,
    "koch": DynamixelPlant,
    "vx300s": DynamixelPlant,
    "gello": DynamixelPlant,
}


@contextmanager
def on_a_bus(name, calibrated=True, gravity=9.81, address="", **faults):
    """An arm on its terminal, the plant that drives it, and the bus."""
    arm = SimulatedArm(load_arm(name), np.random.default_rng(1), calibrated, gravity)
    bus = SimulatedServoBus(arm, ArmBusFaults(**faults), np.random.default_rng(2))
    with ServoTerminal(bus) as terminal:
        robot = load_robot(arm.arm.robot)
        plant = KINDS[name].open(
            f"{terminal.path}{address}",
            name="follower",
            robot=robot,
            placement=Placement(),
            gravity=gravity,
        )
        # a busy machine may leave this process without a core for a while
        plant.settings.patience = 1.0
        try:
            yield arm, plant, terminal, bus
        finally:
            plant.close()


def wait_for(something, seconds=20.0):
    """Until it is true."""
    until = time.monotonic() + seconds
    while not something():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.005)


def drive(plant, torque, until, seconds=20.0, kind=JointTorque):
    """Command torques, or brakes, until something is true."""
    command = kind(len(torque))
    command.value[:] = torque

    def step():
        plant.write(command, 0)
        plant.read(0)
        return until()

    wait_for(step, seconds)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_where_the_arm_is(name):
    """To half a step of its encoders and the rounding of its offsets."""
    with on_a_bus(name) as (arm, plant, _, _):
        wait_for(lambda: plant.worker.calls > 3)
        step = 2.0 * np.pi / 4096 / arm.ratio[np.unique(arm.joint, return_index=True)[1]]
        np.testing.assert_array_less(np.abs(plant.read(0).q - arm.port.q), 1.6 * step + 1e-9)
        assert plant.fault is None


@pytest.mark.parametrize("drive_name", ["offset", "effort"])
@pytest.mark.parametrize("name", ["so101", "koch"])
def test_a_torque_arrives_at_the_joint(name, drive_name):
    """The simulated motor pushes with what was commanded, before the joint is at its stop."""
    with on_a_bus(name, gravity=0.0) as (arm, plant, _, _):
        plant.settings.drive = drive_name
        wanted = 0.2 * arm.robot.limits.torque[0]
        torque, seen = np.zeros(6), []
        torque[0] = wanted

        def pushed():
            seen.append(arm.port.torque[0])
            return arm.port.torque[0] == pytest.approx(wanted, rel=0.03)

        drive(plant, torque, pushed)
        assert arm.port.q[0] < arm.robot.limits.upper[0] - 0.1
        assert max(seen) < 1.03 * wanted
        assert plant.fault is None


def test_the_cap_is_the_largest_torque():
    """Whatever is commanded, a share of the stall torque is not exceeded."""
    with on_a_bus("so101", gravity=0.0) as (arm, plant, _, _):
        plant.settings.torque = 0.2
        most = []
        torque = np.array([5.0, 0, 0, 0, 0, 0])

        def moved():
            most.append(arm.port.torque[0])
            return arm.port.q[0] > 0.3

        drive(plant, torque, moved)
        assert max(most) <= 0.2 * 2.94 * 1.001


@pytest.mark.parametrize("name", ["so101", "koch"])
def test_bad_packets_are_counted_and_end_nothing(name):
    """Lost, corrupt and late ones; what is read stays right."""
    with on_a_bus(name, gravity=0.0, drop=0.02, corrupt=0.02, late=0.01) as (arm, plant, _, bus):
        drive(plant, np.zeros(6), lambda: bus.lost > 20 and plant.worker.calls > 200)
        assert plant.fault is None and plant.missed > 0
        drive(plant, np.zeros(6), lambda: np.abs(plant.read(0).q - arm.port.q).max() < 5e-3)


def test_an_adaptor_that_hears_itself_changes_nothing():
    """What it hears of itself is skipped."""
    with on_a_bus("so101", gravity=0.0, echo=True) as (arm, plant, _, _):
        drive(plant, np.zeros(6), lambda: plant.worker.calls > 20)
        assert plant.fault is None
        np.testing.assert_allclose(plant.read(0).q, arm.port.q, atol=5e-3)


def test_a_line_that_never_falls_silent_ends_no_exchange_late():
    """Noise without end from a bus at another speed: no answer, after the usual patience."""
    _, slave = os.openpty()
    with ServoBus(os.ttyname(slave), load_arm("so101").family) as bus:
        until = time.monotonic() + 5.0

        def noise(_):
            assert time.monotonic() < until, "it listens to noise for ever"
            return b"\x81\xff\x05"

        bus._receive = noise
        assert not bus.ping(1) and bus.missed == 1


def test_a_pause_does_not_make_the_bus_wait_long_for_what_is_lost():
    """An answer is read 0.3 s late; two lost ones after it must not be a sample that is too old."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    with ServoTerminal(SimulatedServoBus(arm)) as terminal:
        with ServoBus(terminal.path, arm.arm.family) as bus:
            bus.begin(bus.protocol.ping(1))
            time.sleep(0.3)
            assert set(bus.finish([1])) == {1}
            assert 2.0 * bus.patience < 0.05


def test_unplugged_it_says_so():
    """The samples get old, and the fault names the port."""
    with on_a_bus("so101") as (_, plant, terminal, _):
        drive(plant, np.zeros(6), lambda: plant.worker.calls > 5)
        terminal.unplug()
        wait_for(lambda: plant.fault is not None)
        assert plant.fault.startswith(f"the servo bus at {terminal.path} is gone")


def test_a_servo_that_restarts_is_a_fault_and_a_reset_brings_it_back():
    """Silent at first, then switched off; the others hold. After a reset it holds again."""
    with on_a_bus("so101", gravity=0.0) as (arm, plant, _, bus):
        drive(plant, np.zeros(6), lambda: plant.worker.calls > 5)
        bus.reboot(3)
        drive(plant, np.zeros(6), lambda: plant.fault is not None)
        assert "servo 3 (elbow_flex)" in plant.fault
        drive(plant, np.zeros(6), lambda: arm.servos[0]["operating_mode"] == 0)
        wait_for(lambda: arm.servos[2].silent_ns == 0)
        plant.restart()
        drive(plant, np.zeros(6), lambda: arm.servos[2]["torque_enable"] == 1)
        assert plant.fault is None


@pytest.mark.parametrize(
    ("name", "bit", "says"),
    [("so101", 32, "overload"), ("so101", 8, "current"), ("koch", 8, "angle sensor")],
)
def test_an_alarm_is_reported_by_name(name, bit, says):
    """With the servo, and what it says: the families do not mean the same by every bit."""
    with on_a_bus(name, gravity=0.0) as (arm, plant, _, _):
        drive(plant, np.zeros(6), lambda: plant.worker.calls > 5)
        servo = arm.servos[1]
        # not what its own supervision finds
        servo.supervise = lambda *_: None
        servo["hardware_error"] = bit
        drive(plant, np.zeros(6), lambda: plant.fault is not None)
        assert plant.fault.startswith("servo 2 (shoulder_lift)") and says in plant.fault


def test_without_commands_the_arm_holds_where_it_is():
    """A rig that hangs does not let it push on."""
    with on_a_bus("koch", gravity=0.0) as (arm, plant, _, _):
        drive(plant, np.zeros(6), lambda: arm.servos[0]["operating_mode"] == 16)
        wait_for(lambda: arm.servos[0]["operating_mode"] == 4)
        wait_for(lambda: arm.servos[5]["torque_enable"] == 1)


def test_a_brake_holds_by_position():
    """As for an arm whose state is not known."""
    with on_a_bus("so101") as (arm, plant, _, _):
        drive(plant, np.zeros(6), lambda: arm.servos[5]["torque_enable"] == 1, kind=Brake)
        before = arm.port.q.copy()
        drive(plant, np.zeros(6), lambda: arm.world.now_ns > 2_000_000_000, kind=Brake)
        assert np.abs(arm.port.q - before).max() < 0.1


@pytest.mark.parametrize("lost", [0, 2])
def test_samples_stay_fresh_while_the_servos_are_configured(lost, monkeypatch):
    """A change of state takes many exchanges; the arm is read between one servo and the next, and
    after every answer that was lost, here those to the first ``lost`` registers of every servo.
    """
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    plant = VirtualServoPlant("follower", SimulatedServoBus(arm))
    command, ages, tries = JointTorque(6), [], Counter()
    plant.write(command, 0)
    take, begin = plant._ask, plant.bus.begin
    plant._ask = lambda *sent: (ages.append(plant._clock() - plant._read_ns.min()), take(*sent))[1]

    def lose(*sent):
        begin(*sent)
        tries[sent] += 1
        if sent[-1][4] == WRITE and tries[sent] == 1 and len(losses[sent[-1][2]]) < lost:
            losses[sent[-1][2]].append(sent)
            plant.bus._heard = b""

    losses = defaultdict(list)
    monkeypatch.setattr(plant.bus, "begin", lose)
    plant.read(1)
    assert plant._driving == "offset" and plant.fault is None
    # six servos, and the cycle's own reading
    assert len(ages) == 7 + 6 * lost and max(ages) < 30_000_000


def test_a_torque_that_is_not_a_number_is_not_sent():
    """The arm holds and says why, until it is reset."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    plant = VirtualServoPlant("follower", SimulatedServoBus(arm))
    command = JointTorque(6)
    for number, fault in ((0.0, None), (np.nan, "a commanded torque is not a number")):
        command.value[3] = number
        plant.write(command, 0)
        plant.read(plant._line.now_ns - plant._ahead_ns + 50_000_000)
        assert plant.fault == fault
    held = [servo["goal_position"] - servo.position for servo in arm.servos]
    assert np.abs(held).max() < 20 and {servo["torque_enable"] for servo in arm.servos} == {1}


def test_a_missing_servo_and_an_uncalibrated_arm_are_refused():
    """In one line each."""
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
    arm.servos[2]["id"] = 9
    with ServoTerminal(SimulatedServoBus(arm)) as terminal, pytest.raises(FileError) as caught:
        FeetechPlant("a", terminal.path, load_arm("so101"), arm.robot)
    assert "no answer from servo 3 (elbow_flex)" in str(caught.value)
    assert f"farhand arm find {terminal.path} says who answers" in str(caught.value)
    with pytest.raises(Mismatch, match="not calibrated: run farhand arm calibrate"):
        with on_a_bus("so101", calibrated=False):
            pass


def test_a_calibration_file_must_be_what_the_servos_have_stored(tmp_path):
    """LeRobot's file of this arm is accepted, that of another is not."""
    path = tmp_path / "arm.json"
    stored = SimulatedArm(load_arm("so101"), np.random.default_rng(1)).calibration
    stored.write(path)
    assert Calibration.read(path) == stored
    with on_a_bus("so101", address=f"@{path}") as (_, plant, _, _):
        assert plant.fault is None
    rows = json.loads(path.read_text())
    assert list(rows["gripper"]) == ["id", "drive_mode", "homing_offset", "range_min", "range_max"]
    rows["gripper"]["homing_offset"] += 1
    path.write_text(json.dumps(rows))
    with pytest.raises(Mismatch, match="servo 6 .gripper. .* another calibration"):
        with on_a_bus("so101", address=f"@{path}"):
            pass


@pytest.mark.parametrize(
    ("content", "words"),
    [("[1]", "each joint must have id"), ("{", "no calibration file"), ('{"a": {"id": 1}}', "id")],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path, content, words):
    """In one line."""
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(BadValue, match=words):
        Calibration.read(path)


def test_the_wrong_driver_is_refused_with_the_right_robots():
    """A Dynamixel driver does not drive an SO-101."""
    with pytest.raises(Mismatch, match="no dynamixel arm is described for robot so101"):
        robot = load_robot("so101")
        DynamixelPlant.open("/dev/null", name="a", robot=robot, placement=Placement(), gravity=9.8)


def test_a_supply_of_the_other_arm_is_a_note():
    """Leader and follower of an SO-101 have the same servos: swapped, they differ by that only."""
    robot = load_robot("so101")
    for volts, says in (
        (12.0, ""),
        (7.4, "so101-leader for such a supply: .* swapped?"),
        (20.0, "stronger"),
    ):
        arm = SimulatedArm(load_arm("so101"), np.random.default_rng(1))
        arm.supply = volts / 12.0
        arm.advance(10_000_000)
        with ServoTerminal(SimulatedServoBus(arm)) as terminal:
            plant = FeetechPlant("follower", terminal.path, load_arm("so101"), robot)
            plant.close()
        assert len(plant.notes) == bool(says)
        assert all(re.search(says, note) for note in plant.notes)


@pytest.mark.parametrize("name", ["so101", "koch"])
def test_an_arm_that_is_let_go_is_as_after_power_on_for_the_next_program(name):
    """Its torque limits are whole again, and no watchdog keeps the next program from moving it."""
    with on_a_bus(name, gravity=0.0) as (arm, plant, _, _):
        plant.settings.release = True
        drive(plant, np.zeros(6), lambda: plant.worker.calls > 20)
        plant.close()
        for servo in arm.servos:
            assert servo["torque_enable"] == 0
            if name == "so101":
                assert servo["torque_limit"] == servo["max_torque_limit"]
            else:
                assert servo["goal_pwm"] == servo["pwm_limit"] and servo["bus_watchdog"] == 0
                assert (
                    not servo.servo.model.current_loop
                    or servo["goal_current"] == servo["current_limit"]
                )


def test_an_adaptor_that_takes_nothing_for_a_while_is_not_an_unplugged_one():
    """What cannot be sent is lost; the servos are silent then, and a reset brings the arm back."""
    master, slave = os.openpty()
    with ServoBus(os.ttyname(slave), load_arm("so101").family) as bus:
        for _ in range(200):
            bus.begin(bytes(100))
        assert bus.finish([1]) == {} and bus.missed == 1
        os.read(master, 1 << 16)
        bus.begin(b"again")
        os.close(master)
        with pytest.raises(FileError, match="is gone"):
            bus.finish([1])


def test_the_first_read_waits_for_a_new_state():
    """Whoever builds the rig may keep the thread from running for longer than a guard allows."""
    with on_a_bus("so101") as (_, plant, _, _):
        ask, before = plant._ask, plant._state.get().number
        plant._ask = lambda *sent: (time.sleep(0.2), ask(*sent))[1]
        wait_for(lambda: plant._state.get().number > before + 1)
        time.sleep(0.15)
        assert plant.read(0).time_ns > -100_000_000
        plant._ask = ask
