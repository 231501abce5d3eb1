"""Start-up of the youBot rig: in order, refused without its ports, stopped from anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.parameters import assign
from farhand.rigs import Options, build_rig
from farhand.rigs.youbot.startup import PORTS, UNFOLDED, ControlMode, YoubotStartup
from farhand_lab.youbot.bench import started


@pytest.fixture
def operating():
    """A bench in full operation, by the short way."""
    bench = started((0.0, 0.0, 0.0))
    bench.arm.q = UNFOLDED + 0.2
    bench.run(0.1)
    bench.startup.machine.post("set_initial_position")
    assert bench.run(30.0, "operate")
    return bench


def test_nothing_connected_is_refused_with_every_port_and_the_robot_named():
    """One line says all that is missing."""
    with pytest.raises(BadValue) as refused:
        YoubotStartup(None).start(0)
    assert all(name in str(refused.value) for name in PORTS) and "robot is not there" in str(
        refused.value
    )


def test_the_arm_is_slack_and_stopped_until_the_device_displays_forces():
    """S0 waits for the operator's button."""
    bench = started()
    bench.displays = False
    bench.run(0.5)
    assert bench.state == "off" and bench.arm.modes == [ControlMode.MOTOR_STOP]
    assert bench.startup.stiffness.kt == 0.0 and not bench.startup.pen_force.any()


def test_the_pen_is_led_home_before_anything_else():
    """S1: a spring of 40 N/m towards the origin."""
    bench = started((0.04, 0.0, 0.0))
    bench.run(0.002)
    assert bench.state == "homing"
    assert bench.startup.pen_force[0] == pytest.approx(-1.6, rel=0.02)
    bench.run(2.0)
    assert np.linalg.norm(bench.pen) < 1e-3


def test_unfolding_that_takes_too_long_is_a_fault_with_the_joint_named():
    """A stuck joint is named with its error and the limit; the motors are stopped."""
    bench = started()
    assign({"startup": bench.startup}, "startup.unfold_timeout", 0.2)
    bench.arm.follow = lambda target, dt: None
    bench.run(0.01)
    bench.startup.machine.post("set_initial_position")
    assert bench.run(1.0, "fault")
    assert bench.startup.machine.trip.reason.startswith(
        "unfold took longer than 0.2 s, waiting: joint 1 is 159.0° off"
    )
    assert bench.arm.mode is ControlMode.MOTOR_STOP


def test_feedback_begins_without_a_jump(operating):
    """At the tick of engagement the pen's force changes by less than a hand notices."""
    forces = operating.column("pen_force")
    states = [row.state for row in operating.history]
    at = states.index("engage")
    assert np.linalg.norm(forces[at + 1] - forces[at - 1]) < 0.05


def test_the_displayed_force_never_exceeds_the_devices(operating):
    """A pen torn away by 30 cm of setpoint error is pulled with 12 N, not 21 N."""
    operating.tool = operating.tool - np.array([0.3, 0.0, 0.0])
    operating.run(0.005)
    assert np.linalg.norm(operating.startup.pen_force) == pytest.approx(12.0)


def test_a_stopped_rig_can_be_started_again(operating):
    """From off, through all states; the gate has closed again."""
    operating.startup.stop(operating.now_ns)
    operating.run(0.1)
    assert operating.state == "off" and not operating.startup.gate.open
    operating.startup.start(operating.now_ns)
    operating.run(0.1, "homing")
    operating.startup.machine.post("set_initial_position")
    assert operating.run(30.0, "operate")
    assert operating.startup.stiffness.kt == 700.0


def test_the_button_works_the_gripper_only_while_setpoints_are_streamed(operating):
    """One command per edge."""
    said = []
    for button in (True, True, False):
        operating.button = button
        operating.run(0.001)
        said.append(operating.startup.gripper_command)
    assert said == [0.010, None, 0.020]


def test_a_law_that_raises_while_setpoints_are_streamed_stops_the_arm(monkeypatch):
    """By its guard, with the reason; the sequence is stopped too."""
    rig = build_rig("youbot", Options(scenario="free", settings=[("rig.startup", True)]))
    bridge = rig.session.bridges[0]
    always = property(lambda self: True, lambda self, value: None)
    monkeypatch.setattr(type(bridge.startup), "streaming", always, raising=False)
    monkeypatch.setattr(bridge.law, "step", lambda a, b, dt: {}["gain"])
    rig.session.run(0.02)
    trip = bridge.b.station.guard.trip
    assert trip.kind == "invalid"
    assert trip.reason.startswith("law 'position-position' raised KeyError: 'gain' (test_youbot")
    assert not bridge.startup.machine.running
    rig.close()


def test_the_arm_is_pulled_with_the_stiffness_that_the_sequence_has_reached():
    """Nothing while slack, and softly on approach: not only shown, but exerted by the spring."""
    rig = build_rig("youbot", Options(scenario="free", settings=[("rig.startup", True)]))
    bridge = rig.session.bridges[0]
    rig.session.run(0.01)
    bridge.startup.streaming = True
    for stage, stiffness in (("slack", (0.0, 0.0)), ("soft", (100.0, 10.0))):
        bridge.startup.tunables.enter(stage)
        assert bridge._spring(1e-3)
        pull = bridge.law.spring.pull(np.ones(6), np.zeros(6))
        np.testing.assert_allclose(pull, np.repeat(stiffness, 3))
    rig.close()
