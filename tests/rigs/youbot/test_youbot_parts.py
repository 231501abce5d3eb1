"""Parts of the youBot rig: a spring that neither swings nor creeps."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.coupling import PositionPosition
from farhand.rigs.youbot.parts import YouBot, make_law
from farhand.robots import load_robot


def test_the_spring_is_nearly_critically_damped_on_every_axis_at_home():
    """By the mass and inertia that the tool presents there; the mean over the axes is about 1.2."""
    robot = load_robot("youbot", "fixed")
    arm = Arm.of(robot)
    arm.update(robot.home, np.zeros(arm.nv))
    presented = 1.0 / np.diag(arm.J @ np.linalg.solve(arm.M, arm.J.T))
    spring = make_law(PositionPosition, YouBot()).spring
    stretch, moving = (
        spring.pull(np.ones(6), np.zeros(6)).copy(),
        spring.pull(np.zeros(6), np.ones(6)),
    )
    ratio = moving / (2.0 * np.sqrt(stretch * presented))
    assert 0.6 < ratio.min() and ratio.max() < 1.6
