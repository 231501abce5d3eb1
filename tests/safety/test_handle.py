"""Handle controller: what the hand feels, what holds a released leader, and joint walls."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.robots import load_robot
from farhand.safety.handle import HandleController, HandleParts

IIWA = load_robot("iiwa14")
MS = 1_000_000
PULL = np.array([5.0, 0.0, -3.0, 0.0, 0.2, 0.0])


class Bench:
    """A controller on an arm that is put where a test wants it."""

    def __init__(self, **parts: object) -> None:
        self.arm = Arm.of(IIWA)
        self.parts = HandleParts(**parts)
        self.parts.wall.watch(IIWA.limits.lower, IIWA.limits.upper)
        self.controller = HandleController(self.arm, MS, self.parts)
        self.asked, self.now_ns = ControlRequest(), 0
        self.asked.valid = True

    def torque(
        self, q: np.ndarray = IIWA.home, v: np.ndarray | None = None, wrench: np.ndarray = PULL
    ) -> np.ndarray:
        """What is commanded beyond the weight."""
        self.arm.update(q, np.zeros(7) if v is None else v)
        self.asked.effort[:] = wrench
        self.now_ns += MS
        return self.controller.step(self.asked, self.now_ns).value - self.arm.gravity


@pytest.mark.parametrize("mode", ["direct", "springs"])
def test_gripped_and_away_from_the_limits_it_is_what_the_coupling_asks_for(mode):
    """Either way of making a force."""
    bench = Bench()
    bench.parts.rendering.mode = mode
    np.testing.assert_allclose(bench.torque(), bench.arm.J.T @ PULL, atol=1e-9)


def test_let_go_the_leader_is_pulled_back_to_where_it_was():
    """A push of 5 mm is answered by 25 N; a new grip fades that out."""
    bench = Bench()
    bench.torque()
    bench.parts.handle.grip = 0.0
    for _ in range(200):
        bench.torque(wrench=np.zeros(6))
    there = bench.arm.position.copy()
    moved = IIWA.home + 0.01 * np.eye(7)[0]
    torque = bench.torque(moved, wrench=np.zeros(6))
    away = bench.arm.position - there
    assert torque @ np.eye(7)[0] < -5000.0 * np.linalg.norm(away) * 0.3
    assert not bench.parts.deadman.enabled
    bench.parts.handle.grip = 10.0
    for _ in range(60):
        torque = bench.torque(moved, wrench=np.zeros(6))
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)
    assert bench.parts.deadman.enabled


@pytest.mark.parametrize("joint", range(7))
def test_near_a_joint_limit_the_wall_pushes_back(joint):
    """5° inside the zone of 10°, on that joint alone."""
    bench, q = Bench(), IIWA.home.copy()
    q[joint] = IIWA.limits.upper[joint] - np.radians(5.0)
    expected = np.zeros(7)
    expected[joint] = -200.0 * np.radians(5.0)
    np.testing.assert_allclose(bench.torque(q, wrench=np.zeros(6)), expected, atol=1e-9)


def test_a_locked_joint_is_kept():
    """Joint 3, as the joint-to-joint mapping needs it."""
    bench, q = Bench(), IIWA.home.copy()
    bench.parts.lock.angles = {2: 0.0}
    q[2] = 0.01
    assert bench.torque(q, wrench=np.zeros(6))[2] == pytest.approx(-30.0)


def test_an_arm_whose_state_is_not_known_gets_no_wall_and_no_spring():
    """What they would say is worth nothing: the brakes are asked for."""
    bench = Bench()
    bench.torque()
    bench.asked.valid, bench.asked.tripped = False, True
    bench.asked.effort[:] = 0.0
    assert bench.controller.step(bench.asked, 5 * MS).name == "brake"
