"""Finding, calibrating and checking an arm: the tools on a simulated bus, in virtual time."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.errors import FileError, Mismatch
from farhand.plants.servo_arm import tools
from farhand.plants.servo_arm.calibration import Calibration
from farhand.plants.servo_arm.description import STEP, load_arm
from farhand.plants.servo_arm.simulated_arm import ServoTerminal, SimulatedArm, SimulatedServoBus
from farhand.plants.servo_arm.virtual import VirtualServoBus
from farhand.report.figures import save_figure
from farhand.report.servo_arm import draw_check


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

    def moving(shares):
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


STORED = ("homing_offset", "min_position_limit", "max_position_limit")


def stored(arm):
    """What the servos have after their next start."""
    for servo in arm.servos:
        servo.restart()
    return [[servo[name] for name in STORED] for servo in arm.servos]


def test_joints_that_were_not_moved_store_nothing():
    """And are named; the servos keep the calibration that they had."""
    bus, arm = bus_with("so101")
    before = stored(arm)
    with pytest.raises(FileError, match="shoulder_pan, .*did not move; nothing is stored"):
        tools.calibrate(bus, arm.arm, lambda _: None, lambda _: False)

    assert stored(arm) == before


@pytest.mark.parametrize("name", ["so101", "koch"])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_calibration_that_is_interrupted_leaves_the_one_before(name, step):
    """Ctrl-C in the middle, at the ends, or while the joints move."""
    bus, arm = bus_with(name)
    before, steps = stored(arm), iter(range(3))

    def interrupt(_):
        if next(steps) == step:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        tools.calibrate(bus, arm.arm, interrupt, interrupt)
    assert stored(arm) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows.pop("elbow_flex"), r"no servo 3 \(elbow_flex\)"),
        (
            lambda rows: rows.update(elbow_flex=rows["gripper"], gripper=rows["elbow_flex"]),
            "elbow_flex is servo 6 in the calibration, 3 in so101",
        ),
        (
            lambda rows: rows.update(gripper=replace(rows["gripper"], homing_offset=2048)),
            r"homing_offset = 2048 does not fit into its register of servo 6 \(gripper\)",
        ),
    ],
)
def test_a_calibration_of_another_arm_changes_no_servo(change, says):
    """Not even those before the one that it does not fit."""
    bus, arm = bus_with("so101")
    before = stored(arm)
    rows = {key: replace(row, homing_offset=7) for key, row in arm.calibration.joints.items()}
    change(rows)
    with pytest.raises(Mismatch, match=says):
        tools.store(bus, arm.arm, Calibration(rows))
    assert stored(arm) == before


def test_the_wrong_arm_is_refused_before_a_servo_is_written(monkeypatch):
    """The servos of another arm, or another id: nobody answers, and the message says so."""
    bus, arm = bus_with("so101")
    monkeypatch.setattr(bus, "write", None)
    arm.servos[2]["id"] = 9
    for work in (
        lambda: tools.store(bus, arm.arm, arm.calibration),
        lambda: tools.calibrate(bus, arm.arm, lambda _: None, lambda _: False),
        lambda: tools.check(bus, arm.arm),
    ):
        with pytest.raises(FileError, match=r"no answer from servo 3 \(elbow_flex\) at .*says who"):
            work()


def test_a_servo_that_falls_silent_leaves_no_half_calibration(monkeypatch):
    """Those before it get back what they had; if they cannot, the message says what to do."""
    bus, arm = bus_with("so101")
    before = stored(arm)
    rows = {key: replace(row, homing_offset=7) for key, row in arm.calibration.joints.items()}
    write = bus.write

    def fail(id_, name, value, *args, **more):
        if id_ == 4 and value == 7:
            raise FileError("servo 4 does not answer")
        write(id_, name, value, *args, **more)

    monkeypatch.setattr(bus, "write", fail)
    with pytest.raises(FileError, match="^servo 4 does not answer$"):
        tools.store(bus, arm.arm, Calibration(rows))
    assert stored(arm) == before

    def fail_for_good(id_, name, value, *args, **more):
        if id_ == 4:
            raise FileError("servo 4 does not answer")
        write(id_, name, value, *args, **more)

    monkeypatch.setattr(bus, "write", fail_for_good)
    with pytest.raises(FileError, match="half a calibration, so calibrate again"):
        tools.store(bus, arm.arm, Calibration(rows))


@pytest.mark.parametrize("name", ["so101", "koch", "vx300s"])
def test_a_check_moves_every_joint_and_measures_its_friction(name, tmp_path):
    """Dry friction and the drag at this speed, to the resolution of the load; nothing is wrong, and
    the picture says so.
    """
    bus, arm = bus_with(name)

    def pause(seconds):
        bus.now_ns += round(1e9 * seconds)
        arm.advance(bus.now_ns)

    found = tools.check(bus, arm.arm, pause)
    assert [row.problem for row in found] == [""] * arm.port.nv
    assert not any(servo["torque_enable"] for servo in arm.servos)
    limits = ("torque_limit", "max_torque_limit") if name == "so101" else ("goal_pwm", "pwm_limit")
    assert all(servo[limits[0]] == servo[limits[1]] for servo in arm.servos)
    model = arm.world.model
    for row, joint in zip(found, np.unique(arm.joint), strict=True):
        speed = tools.NUDGE * 2 * np.pi / 4096 / tools.MOVE_TIME_S / row.servo.ratio
        drag = model.dof_frictionloss[joint] + model.dof_damping[joint] * speed
        shared = np.bincount(arm.joint)[joint]
        full = arm.robot.limits.torque[joint] / shared / row.servo.ratio
        assert row.friction < 2.0 * drag / shared / row.servo.ratio + 0.03 * full
        # to its goal and back: behind it, or bent by gravity, by less than a degree
        goal, here, _ = row.path.T
        assert np.abs(goal).max() == pytest.approx(tools.NUDGE * STEP, rel=1e-6)
        assert np.abs(here - goal).max() < np.radians(1.5)
        assert row.span[0] < 0.0 < row.span[1]
    save_figure(draw_check(found), tmp_path / "arm.svg")
    drawn = (tmp_path / "arm.svg").read_text()
    assert drawn.count("<!-- as it should be -->") == arm.port.nv


@pytest.mark.parametrize("name", ["so101", "so101-leader", "koch"])
def test_a_check_finds_nothing_wrong_with_an_arm_under_its_weight(name):
    """Its joints move less then, and each is shown before it moves."""
    bus, arm = bus_with(name, gravity=9.81)
    shown = []

    def pause(seconds):
        bus.now_ns += round(1e9 * seconds)
        arm.advance(bus.now_ns)

    found = tools.check(bus, arm.arm, pause, lambda *one: shown.append(one))
    assert [row.problem for row in found] == [""] * 6
    assert shown == [(k, 6, servo.joint) for k, servo in enumerate(arm.arm.servos)]


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


def test_ports_where_no_arm_is_found_say_why(tmp_path, capsys):
    """One that is none, one where nobody answers, and no port at all."""
    file = tmp_path / "file"
    file.touch()
    _, slave = os.openpty()
    silent = os.ttyname(slave)
    assert main(["arm", "find", str(file), "/dev/nothing", silent]) == 2
    said = capsys.readouterr().err
    assert f"{file}: it is no serial port; " in said and "/dev/nothing: No such file" in said
    assert f"no servo answers at {silent}: is the arm switched on?" in said
