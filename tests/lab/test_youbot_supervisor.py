"""The start-up sequence on the youBot rig: it moves the arm, stiffens it and stops it."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.rigs import Options, youbot
from farhand.rigs.youbot.startup import UNFOLDED
from farhand_lab.youbot.supervisor import Supervisor


@pytest.fixture
def supervised():
    """A rig and its supervisor, one second after the start."""
    rig = youbot.build(Options(scenario="rest"))
    supervisor = Supervisor(rig)
    rig.session.run(1.0)
    yield rig, supervisor.startup
    rig.close()


def follower(rig):
    """The robot's station."""
    return next(station for station in rig.session.stations if station.name == "follower")


def test_nothing_moves_before_the_operator_asks(supervised):
    """The scenario's own engagement is taken back; the arm is held at home."""
    rig, startup = supervised
    before = follower(rig).arm.q.copy()
    rig.session.run(0.5)
    assert startup.machine.state == "homing" and startup.stiffness.kt == 0.0
    np.testing.assert_allclose(follower(rig).arm.q, before, atol=1e-3)


def test_the_arm_unfolds_and_approaches_with_a_soft_spring_and_no_feedback(supervised):
    """Within 10° of the candle when it leaves; then 100 N/m, and the hand feels none of it."""
    rig, startup = supervised
    startup.machine.post("set_initial_position")
    while startup.machine.state in ("homing", "unfold") and rig.session.now_ns < 8e9:
        rig.session.run(0.05)
        q = follower(rig).arm.q.copy()
    assert startup.machine.state == "approach"
    assert np.degrees(np.abs(q - UNFOLDED)).max() < 15.0  # it has moved on since
    rig.session.run(0.5)
    law = rig.session.bridges[0].laws[0]
    assert law.spring.stiffness == 100.0 and law.mapping.force_scale == 0.0 and not startup.feedback


def test_a_stop_during_the_approach_holds_the_arm(supervised):
    """Released, slack, and at rest half a second later."""
    rig, startup = supervised
    startup.machine.post("set_initial_position")
    rig.session.run(3.0)
    assert startup.machine.state == "approach"
    startup.stop(rig.session.now_ns)
    rig.session.run(1.0)
    arm = follower(rig).arm
    assert np.abs(arm.v).max() < 0.01 and startup.stiffness.kt == 0.0
    assert rig.session.bridges[0].engagement.gain == 0.0
