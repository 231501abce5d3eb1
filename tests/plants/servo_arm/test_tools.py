"""Finding, calibrating and checking an arm: the tools on a simulated bus, in virtual time."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.errors import FileError
from farhand.plants.servo_arm import tools
from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.simulated_arm import ServoTerminal, SimulatedArm, SimulatedServoBus
from farhand.plants.servo_arm.virtual import VirtualServoBus


def bus_with(name, calibrated=True, gravity=0.0):
    """A virtual bus and its arm."""
    arm = SimulatedArm(load_arm(name), np.random.default_rng(4), calibrated, gravity)
    return VirtualServoBus(SimulatedServoBus(arm)), arm


@pytest.mark.parametrize(
    "name", ["so101", "so101-leader", "koch", "koch-leader", "vx300s", "gello"]
)
def test_an_arm_is_known_by_its_servos_and_its_supply(name):
    """Leader and follower of an SO-101 have the same servos, but not the same voltage."""
    bus, arm = bus_with(name)
    found = tools._at(bus, "port")
    assert found.arm == name and list(found.servos) == arm.arm.ids
    assert found.volts == pytest.approx(arm.servos[0].servo.volts, abs=0.1)


@pytest.mark.parametrize("name", ["so101", "koch"])
def test_a_calibration_by_hand_finds_middle_and_ends(name):
    """The simulated user puts every joint in the middle and then to both ends; the servos then
    store what they would have had.
    """
    bus, arm = bus_with(name, calibrated=False)
    limits = arm.robot.limits
    middle = (limits.lower + limits.upper) / 2.0
    places = [middle, *np.linspace(limits.lower, limits.upper, 20), middle]

    def put(q):
        arm.port.q[:], arm.port.v[:] = q, 0.0
        arm.advance(arm.world.now_ns + 1_000_000)

    def moving():
        put(places.pop(0))
        return bool(places)

    found = tools.calibrate(bus, arm.arm, lambda _: put(middle), moving)
    expected = SimulatedArm(load_arm(name), np.random.default_rng(4)).calibration
    for joint, row in expected.joints.items():
        mine = found.joints[joint]
        assert mine.homing_offset == pytest.approx(row.homing_offset, abs=2)
        if mine.range_max - mine.range_min < 4095:
            assert mine.range_min == pytest.approx(row.range_min, abs=6)
            assert mine.range_max == pytest.approx(row.range_max, abs=6)
    for servo in arm.servos:
        servo.restart()
        assert servo["homing_offset"] == found.joints[servo.servo.joint].homing_offset


def test_joints_that_were_not_moved_store_nothing():
    """And are named."""
    bus, arm = bus_with("so101", calibrated=False)
    with pytest.raises(FileError, match="shoulder_pan, .*did not move; nothing is stored"):
        tools.calibrate(bus, arm.arm, lambda _: None, lambda: False)


@pytest.mark.parametrize("name", ["so101", "koch", "vx300s"])
def test_a_check_moves_every_joint_and_measures_its_friction(name):
    """Dry friction and the drag at this speed, to the resolution of the load; nothing is wrong."""
    bus, arm = bus_with(name)

    def pause(seconds):
        bus.now_ns += round(1e9 * seconds)
        arm.advance(bus.now_ns)

    found = tools.check(bus, arm.arm, pause)
    assert [row.problem for row in found] == [""] * arm.port.nv
    assert not any(servo["torque_enable"] for servo in arm.servos)
    model = arm.world.model
    for row, joint in zip(found, np.unique(arm.joint), strict=True):
        speed = tools.NUDGE * 2 * np.pi / 4096 / tools.MOVE_TIME_S / row.servo.ratio
        drag = model.dof_frictionloss[joint] + model.dof_damping[joint] * speed
        shared = np.bincount(arm.joint)[joint]
        full = arm.robot.limits.torque[joint] / shared / row.servo.ratio
        assert row.friction < 2.0 * drag / shared / row.servo.ratio + 0.03 * full


def test_a_check_names_the_joint_that_cannot_move():
    """Because something is in its way."""
    bus, arm = bus_with("so101")
    arm.robot.limits.names.index("elbow_flex")
    arm.world.model.dof_frictionloss[2] = 10.0
    arm.port._friction_free[2] = 10.0

    def pause(seconds):
        bus.now_ns += round(1e9 * seconds)
        arm.advance(bus.now_ns)

    found = tools.check(bus, arm.arm, pause)
    problems = {row.servo.joint: row.problem for row in found if row.problem}
    assert list(problems) == ["elbow_flex"] and "blocked" in problems["elbow_flex"]


def test_the_commands_on_a_terminal(tmp_path, capsys):
    """``arm find`` names the arm, ``arm calibrate --from`` stores a file, ``arm check`` refuses a
    port where nobody answers.
    """
    arm = SimulatedArm(load_arm("so101"), np.random.default_rng(4))
    path, again = tmp_path / "arm.json", tmp_path / "again.json"
    arm.calibration.write(path)
    with ServoTerminal(SimulatedServoBus(arm)) as terminal:
        assert main(["arm", "find", terminal.path]) == 0
        said = capsys.readouterr().out
        assert f"{terminal.path}: so101 (feetech, 12.0 V): 1 sts3215" in said
        arm.servos[0]["homing_offset"] = 0
        words = ["arm", "calibrate", terminal.path, "--arm", "so101", "--from", str(path)]
        assert main([*words, "--out", str(again)]) == 0
        assert (
            arm.servos[0]["homing_offset"] == arm.calibration.joints["shoulder_pan"].homing_offset
        )
        assert path.read_text() == again.read_text()
    assert main(["arm", "check", "/dev/nothing"]) == 2
    assert "cannot open the servo bus at /dev/nothing: No such file" in capsys.readouterr().err
