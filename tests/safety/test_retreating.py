"""Retreating controller: a stuck tool goes out along the force, is held, and follows again."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import Controller, ControlRequest
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import TrackingController
from farhand.mapping.ik import Solver
from farhand.plants.plant import JointVelocity
from farhand.robots import Placement, load_robot
from farhand.safety import Guard
from farhand.safety.retreating import CollisionRetreat, RetreatingController, RetreatPhase

LWA4P = load_robot("lwa4p")
STEP_NS = round(1e9 / 120.0)


@cache
def solver() -> Solver:
    """One for all tests, made when the first needs it: it is compiled."""
    return Solver(LWA4P, 1e-5, 1e-4, step_max=0.5)


class Wall:
    """Ideal joints in front of a wall of 5 kN/m that also stops the tool, 20 mm ahead in x."""

    def __init__(self) -> None:
        self.arm, inside = self.machine()
        self.start = self.arm.position.copy()
        self.guard, self.asked, self.now_ns = Guard(force=100.0), ControlRequest(), 0
        self.asked.valid = True
        self.controller = RetreatingController(
            inside, self.arm, self.guard, CollisionRetreat(), self.touch
        )
        self.stiffness, self.missing = 5000.0, False

    def machine(self) -> tuple[Any, Controller]:
        """An arm and what tracks targets with it."""
        arm = Arm.of(LWA4P)
        arm.update(LWA4P.home, np.zeros(6))
        return arm, TrackingController(
            arm, solver(), Placement(), LWA4P.limits.velocity, LimitedPD()
        )

    def touch(self) -> np.ndarray | None:
        """What the wall does to the tool."""
        if self.missing:
            return None
        deep = self.arm.position[0] - self.start[0] - 0.02
        return np.array([-self.stiffness * max(deep, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0])

    def aim(self, ahead: float) -> Wall:
        """Ask for a position ahead of the start."""
        target = self.start + [ahead, 0.0, 0.0]
        self.asked.target = SimpleNamespace(
            position=target, rotation=self.arm.rotation.copy(), twist=np.zeros(6)
        )
        return self

    def run(self, seconds: float) -> Wall:
        """Let it run; joints stop where the force is above 80 N."""
        for _ in range(round(120 * seconds)):
            self.asked.tripped = self.guard.trip is not None
            command = self.controller.step(self.asked, self.now_ns).value.copy()
            forward = (self.arm.J @ command)[0] > 0.0
            wrench = self.touch()
            held = forward and wrench is not None and wrench[0] < -80.0 and self.stiffness < 1e4
            v = np.zeros(len(command)) if held else command
            self.arm.update(self.arm.q + v / 120.0, v)
            self.now_ns += STEP_NS
        return self

    @property
    def ahead(self) -> float:
        """How far the tool is from its start, [m]."""
        return float(self.arm.position[0] - self.start[0])


class SlideArm:
    """Three slides along the axes."""

    def __init__(self) -> None:
        self.rotation, self.twist = np.eye(3), np.zeros(6)
        self.J = np.eye(6, 3)
        self.update(np.array([0.3, 0.0, 0.2]), np.zeros(3))

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        """Move it."""
        self.q = self.position = q
        self.v = self.twist[:3] = v


class Towards(Controller):
    """Straight to the target at up to 0.1 m/s; notes what it is asked for and when it forgets."""

    commands = JointVelocity

    def __init__(self, arm: SlideArm) -> None:
        self._arm, self.command = arm, JointVelocity(3)
        self.asked, self.forgotten = [], 0

    def step(self, request: ControlRequest, now_ns: int) -> JointVelocity:
        """Velocities of the slides."""
        away = np.zeros(3) if request.tripped else request.target.position - self._arm.position
        self.command.value[:] = np.clip(20.0 * away, -0.1, 0.1)
        self.asked.append((request.tripped, request.target))
        return self.command

    def forget(self) -> None:
        """Count."""
        self.forgotten += 1


class SlideWall(Wall):
    """The same wall before three slides."""

    def machine(self) -> tuple[Any, Controller]:
        """Slides and what moves them."""
        arm = SlideArm()
        return arm, Towards(arm)


walls = pytest.mark.parametrize("Wall", [Wall, SlideWall])


@walls
def test_in_free_space_it_is_the_controller_inside(Wall):
    """Nothing is felt, nothing is tripped, and the tool gets there."""
    wall = Wall().aim(0.015).run(2.0)
    assert wall.guard.trip is None and wall.controller.collision.phase is RetreatPhase.CLEAR
    assert wall.ahead == pytest.approx(0.015, abs=1e-4)


@walls
def test_a_stuck_tool_trips_retreats_and_is_held_until_reset(Wall):
    """10 mm clear of the wall; then it follows again."""
    wall = Wall().aim(0.08).run(4.0)
    assert wall.guard.trip is not None and wall.guard.trip.kind == "collision"
    assert "stuck at" in wall.guard.trip.reason
    assert wall.controller.collision.phase is RetreatPhase.HOLDING
    assert wall.ahead < 0.02 - 0.008
    assert np.abs(wall.arm.v).max() < 1e-3
    wall.guard.reset()
    wall.aim(0.0).run(2.0)
    assert wall.controller.collision.phase is RetreatPhase.CLEAR
    assert wall.ahead == pytest.approx(0.0, abs=1e-4)


@walls
def test_a_stuck_tool_is_given_its_time_and_retreats_at_its_speed(Wall):
    """50 ms from the first doubt to the trip, then 20 mm/s."""
    wall = Wall().aim(0.08)
    collision = wall.controller.collision
    places, doubted = [], 0
    while collision.phase is not RetreatPhase.HOLDING:
        wall.run(1.0 / 120.0)
        doubted += collision.phase is RetreatPhase.CLEAR and bool(collision.target.any())
        if collision.phase is RetreatPhase.RETREATING:
            places.append(collision.target.copy())
    assert doubted == pytest.approx(0.050 * 120.0, abs=1.0)
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1) * 120.0
    assert len(speed) > 50
    np.testing.assert_allclose(speed, 0.020, rtol=1e-6)


@walls
def test_a_force_beyond_the_guards_limit_starts_a_retreat_at_once(Wall):
    """A wall so stiff that nothing stops the tool before 100 N."""
    wall = Wall()
    wall.stiffness = 2e4
    wall.aim(0.08).run(4.0)
    assert wall.guard.trip is not None and wall.guard.trip.kind == "force"
    assert wall.ahead < 0.02 - 0.008
    assert np.abs(wall.arm.v).max() < 1e-3


@walls
@pytest.mark.parametrize("kind", ["stop", "plant", "overheat"])
def test_any_other_trip_just_stops_the_arm(kind, Wall):
    """Pressing lightly: it stays where it is."""
    wall = Wall().aim(0.024).run(2.0)
    wall.guard.stop(wall.now_ns, kind, "for a test")
    before = wall.ahead
    wall.run(1.0)
    assert wall.controller.collision.phase is RetreatPhase.CLEAR
    assert wall.ahead == pytest.approx(before, abs=1e-3)
    assert wall.asked.tripped


@walls
def test_without_a_measurement_a_force_trip_holds(Wall):
    """There is no direction to retreat in."""
    wall = Wall().aim(0.024).run(2.0)
    wall.missing = True
    wall.guard.stop(wall.now_ns, "force", "for a test")
    before = wall.ahead
    wall.run(1.0)
    assert wall.controller.collision.phase is RetreatPhase.HOLDING
    assert wall.ahead == pytest.approx(before, abs=1e-3)


@walls
def test_a_tool_that_is_hardly_asked_to_move_is_not_stuck(Wall):
    """80 N, and asked for less than 10 mm/s; asked for more, it is."""
    wall = Wall().aim(0.0364).run(2.0)
    assert wall.touch()[0] < -70.0 and wall.guard.trip is None
    wall.aim(0.08).run(0.5)
    assert wall.guard.trip is not None and wall.guard.trip.kind == "collision"


def test_only_motion_into_the_wall_counts():
    """A tool that slides along it, or creeps into it, and is asked to go on into it is stuck; one
    that is asked to go along it is not.
    """
    for asked, speed, stuck in (
        ((0.05, 0.0, 0.0), (0.0, 0.3, 0.0), True),
        ((0.05, 0.0, 0.0), (0.001, 0.0, 0.0), True),
        ((0.05, 0.0, 0.0), (0.003, 0.0, 0.0), False),
        ((0.05, 0.0, 0.0), (-0.003, 0.0, 0.0), False),
        ((0.005, 0.3, 0.0), (0.0, 0.0, 0.0), False),
        ((-0.05, 0.0, 0.0), (0.0, 0.0, 0.0), False),
    ):
        wall = SlideWall().aim(0.08)
        collision = wall.controller.collision
        wall.arm.update(wall.start + [0.02 + 70.0 / 5000.0, 0.0, 0.0], np.array(speed))
        wall.controller.command.value[:] = asked
        wall.controller.step(wall.asked, wall.now_ns + STEP_NS)
        assert bool(collision.target.any()) is stuck


def test_the_retreat_is_asked_for_in_place_of_the_operators_target_and_without_the_trip():
    """The request stays tripped for everybody else; what was searched before is forgotten."""
    wall = SlideWall().aim(0.08).run(2.0)
    assert wall.guard.trip is not None
    wall.run(0.1)
    tripped, target = wall.controller.inside.asked[-1]
    assert not tripped
    assert wall.asked.tripped
    np.testing.assert_array_equal(target.position, wall.controller.collision.target)
    np.testing.assert_array_equal(target.rotation, wall.arm.rotation)
    assert wall.controller.inside.forgotten == 1


def test_a_force_just_below_the_guards_limit_does_not_trip_it_and_just_above_does():
    """Though the guard itself may see a smoothed one."""
    for force, trips in ((99.0, False), (101.0, True)):
        wall = SlideWall().aim(0.0)
        wall.arm.update(wall.start + [0.02 + force / 5000.0, 0.0, 0.0], np.zeros(3))
        wall.controller.step(wall.asked, STEP_NS)
        assert (wall.guard.trip is not None) is trips
        assert (wall.controller.collision.phase is RetreatPhase.RETREATING) is trips
