"""Tracking controller: targets become limited joint velocities; no target means rest."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import TrackingController
from farhand.errors import BadValue
from farhand.mapping.ik import Solver
from farhand.robots import Placement, load_robot
from farhand.spatial import rotation_from_vector

LWA4P = load_robot("lwa4p")
SOLVER = Solver(LWA4P, 1e-5, 1e-4, step_max=0.5)
SPEED = LWA4P.limits.velocity
STEP_NS = round(1e9 / 120.0)
AWAY = Placement((0.3, -0.2, 0.1), (0.0, 0.0, np.sin(0.4), np.cos(0.4)))


class Loop:
    """A controller on joints that do exactly as they are told."""

    def __init__(self, placement: Placement = AWAY) -> None:
        self.arm = Arm.of(LWA4P, placement)
        self.arm.update(LWA4P.home, np.zeros(6))
        self.controller = TrackingController(self.arm, SOLVER, placement, SPEED, LimitedPD())
        self.asked, self.now_ns = ControlRequest(), 0
        self.asked.valid, self.asked.gain = True, 1.0
        self.commands: list[np.ndarray] = []

    def aim(self, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)) -> Loop:
        """Ask for a pose away from the present one."""
        rotation = rotation_from_vector(np.array(turn)) @ self.arm.rotation
        self.asked.target = SimpleNamespace(
            position=self.arm.position + shift, rotation=rotation, twist=np.ones(6)
        )
        return self

    def run(self, steps: int) -> Loop:
        """Let the loop run, and the joints follow."""
        for _ in range(steps):
            command = self.controller.step(self.asked, self.now_ns).value.copy()
            self.commands.append(command)
            self.arm.update(self.arm.q + command / 120.0, command)
            self.now_ns += STEP_NS
        return self


@pytest.mark.parametrize("placement", [Placement(), AWAY], ids=["at the origin", "elsewhere"])
def test_the_tool_gets_to_the_target_wherever_the_base_stands(placement):
    """4 cm and 0.2 rad away, in two seconds, to 0.1 mm and 1 mrad."""
    loop = Loop(placement).aim((0.02, 0.03, -0.02), (0.1, -0.1, 0.15)).run(240)
    target = loop.asked.target
    np.testing.assert_allclose(loop.arm.position, target.position, atol=1e-4)
    np.testing.assert_allclose(loop.arm.rotation, target.rotation, atol=1e-3)
    assert loop.controller.status == "solved"


def test_velocities_and_their_steps_keep_to_the_limits_whatever_is_asked():
    """A target 10 cm away saturates the loop, and breaks neither limit, going and stopping."""
    loop = Loop().aim((-0.02, 0.1, 0.0)).run(14)
    loop.asked.target = None
    loop.run(40)
    sent = np.array(loop.commands) / SPEED
    pd = loop.controller.pd
    assert (np.abs(sent) <= pd.velocity_limit + 1e-12).all()
    assert (np.abs(np.diff(sent, axis=0)) <= pd.step_limit + 1e-12).all()
    assert np.abs(sent).max() > 0.4


@pytest.mark.parametrize("why", ["no target", "tripped", "blind"])
def test_an_arm_that_must_not_go_on_stops_within_its_limits_and_stays(why):
    """Every moving joint slows by its step limit per step, none turns round, all end at zero."""
    loop = Loop().aim((0.0, 0.1, 0.0)).run(12)
    before = loop.commands[-1].copy()
    if why == "no target":
        loop.asked.target = None
    loop.asked.tripped, loop.asked.valid = why == "tripped", why != "blind"
    loop.run(15)
    after = np.array(loop.commands[-15:])
    expected = np.abs(before) - loop.controller.pd.step_limit * SPEED
    np.testing.assert_allclose(np.abs(after[0]), np.maximum(expected, 0.0), atol=1e-12)
    assert (after * np.sign(before) >= 0.0).all()
    assert np.abs(before).max() > 0.3
    assert (after[-1] == 0.0).all() and loop.controller.holding


def test_the_targets_velocity_is_not_followed():
    """At the target with a stale leader twist nothing moves: a dead link is not extrapolated."""
    loop = Loop().aim().run(120)
    assert np.abs(np.array(loop.commands)).max() < 1e-3


def test_between_its_own_steps_the_last_command_stands():
    """Ticked at 1 kHz, the loop still steps 120 times a second."""
    loop = Loop().aim((0.0, 0.1, 0.0))
    seen = [tuple(loop.controller.step(loop.asked, now * 1_000_000).value) for now in range(100)]
    assert len(set(seen)) == 12


def test_a_target_out_of_reach_is_approached_as_far_as_the_arm_goes():
    """2 m away: the status says so, the joints stay inside their limits and nothing blows up."""
    loop = Loop().aim((0.3, 0.0, 0.0))
    for _ in range(20):
        loop.asked.target.position = loop.asked.target.position + np.array([0.03, 0.0, 0.0])
        loop.run(20)
    assert loop.controller.status in ("unreachable", "limited", "jump")
    assert np.isfinite(loop.arm.q).all()
    assert (np.abs(loop.arm.q) <= LWA4P.limits.upper + 1e-6).all()


def test_a_target_that_needs_a_jump_of_the_joints_is_not_gone_for():
    """40 cm in one step: the arm stays, says why, and follows again when the target comes back."""
    loop = Loop().aim((0.0, 0.4, 0.0)).run(60)
    assert loop.controller.status == "jump"
    assert np.abs(np.array(loop.commands)).max() < 1e-12
    loop.aim((0.0, 0.02, 0.0)).run(240)
    np.testing.assert_allclose(loop.arm.position, loop.asked.target.position, atol=1e-4)


def test_a_target_that_is_not_a_number_holds_the_last_reference():
    """The arm goes where it was last sent."""
    loop = Loop().aim((0.0, 0.05, 0.0)).run(10)
    reference = loop.controller.reference.copy()
    loop.asked.target.position = np.full(3, np.nan)
    loop.run(240)
    np.testing.assert_allclose(loop.arm.q, reference, atol=1e-3)


def test_a_loop_with_the_wrong_number_of_joints_is_refused():
    """The message says both numbers."""
    arm = Arm.of(load_robot("iiwa14"))
    with pytest.raises(BadValue, match="limits for 6 joints, the arm has 7"):
        TrackingController(arm, SOLVER, Placement(), np.ones(7), LimitedPD())


def test_after_a_stop_it_starts_like_an_arm_that_has_always_stood_there():
    """The error of before the stop makes no rate: a step of a millimetre is no kick."""
    loop = Loop().aim((0.0, 0.1, 0.0)).run(12)
    loop.asked.target = None
    loop.run(15)
    fresh = Loop()
    fresh.arm.update(loop.arm.q.copy(), np.zeros(6))
    for each in (loop, fresh):
        each.aim((0.0, -0.001, 0.0)).run(3)
    np.testing.assert_allclose(loop.commands[-3:], fresh.commands, atol=1e-12)
