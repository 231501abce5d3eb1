"""Two arms in unlike postures, as the sides of a law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.coupling import Side
from farhand.robots import Placement, load_robot

POSTURE = np.array([1.3, -1.4, -1.5, -1.2, 1.4, 0.3])


@pytest.fixture(scope="session")
def models() -> tuple[Arm, Arm]:
    """Two UR5e side by side; the sides of every test use their models in turn."""
    robot = load_robot("ur5e")
    return Arm.of(robot), Arm.of(robot, Placement((0.0, 0.75, 0.0)))


@pytest.fixture
def pair(models) -> Callable[..., tuple[Side, Side]]:
    """Leader and follower of a given seed: unlike postures, moving, both in contact; or at rest and
    untouched.
    """

    def make(seed: int = 0, moving: bool = True) -> tuple[Side, Side]:
        rng, sides = np.random.default_rng(seed), []
        for role, arm in zip(("leader", "follower"), models, strict=True):
            arm.update(POSTURE + rng.uniform(-0.4, 0.4, 6), rng.uniform(-1, 1, 6) * moving)
            side = Side(role, arm)
            side.wrench = rng.uniform(-20, 20, 6) * moving
            sides.append(side)
        return sides[0], sides[1]

    return make


def acceleration(side: Side, asked: np.ndarray) -> np.ndarray:
    """How the tool accelerates when the motors carry its weight and exert ``asked``, and the
    measured wrench acts.
    """
    arm = side.arm
    push = arm.J.T @ (asked + side.wrench) - arm.coriolis - arm.viscous * arm.v
    return arm.J @ np.linalg.solve(arm.M, push) + arm.drift
