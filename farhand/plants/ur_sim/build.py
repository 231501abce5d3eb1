"""Builds a simulated controller: an arm, perhaps a hand at its tool, and its controller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import Mismatch
from farhand.plants.ur_sim.arm import ServoedArm
from farhand.plants.ur_sim.controller import Runtime, UrController
from farhand.robots import load_robot
from farhand.world import ImpedanceHand
from farhand.world.touches import Tool

MANUFACTURER = {"ur5e": "ur"}
"""Parameter set of the real arm, where a robot has several."""

STROKE_S = 2.0
"""Time of one stroke of a hand that moves the tool up and down, [s]."""

STROKES = 3600
GRASP_DELAY_S = 2.0
"""From the start of a program to the grasp, so that clients can zero the force sensor, [s]."""


class PatientHand:
    """A hand that grasps the tool some time after a program starts, and releases it at its end."""

    def __init__(self, hand: ImpedanceHand, controller: UrController) -> None:
        self._hand, self._controller, self._since = hand, controller, 0.0

    @property
    def stored(self) -> float:
        """Energy in the springs of the hand, [J]."""
        return self._hand.stored

    def push(self, tool: Tool, t: float, wrench: np.ndarray) -> None:
        """Push at time ``t`` [s]; the path of the hand starts when it grasps."""
        if self._controller.runtime is not Runtime.PLAYING:
            self._since = t
        self._hand.open = t - self._since < GRASP_DELAY_S
        self._hand.push(tool, t - self._since - GRASP_DELAY_S, wrench)


def simulated_controller(
    robot: str = "ur5e",
    variant: str | None = None,
    payload: float = 0.0,
    hand: float = 0.0,
    seed: int = 0,
    log: Callable[[str], None] = lambda line: None,
) -> UrController:
    """A controller with its arm at home, powered and ready.

    Args:
        robot: which arm.
        variant: its parameter set.
        payload: what it carries, [kg].
        hand: how far a hand moves the tool up and down, for two hours; 0 for no hand, [m].
        seed: of sensor noise.
        log: called with every event of the controller.
    """
    loaded = load_robot(robot, variant if variant is not None else MANUFACTURER.get(robot))
    if len(loaded.actuated) != 6 or not loaded.actuated.all():
        raise Mismatch(f"a UR controller drives six joints; {robot} has {len(loaded.actuated)}")
    arm = ServoedArm(loaded, np.random.default_rng(seed), payload=payload)
    controller = UrController(arm, log)
    if hand:
        ways = ((0.0, 0.0, -hand if i % 2 else hand) for i in range(STROKES))
        moves = (Move(STROKE_S * (1 + i), STROKE_S, way) for i, way in enumerate(ways))
        # Softer than a stiff grip; assumed.
        soft = ImpedanceHand(stiffness=300.0, damping=30.0, path=HandPath(moves))
        arm.touch("hand", PatientHand(soft, controller))
    return controller
