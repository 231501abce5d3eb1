"""Puts a simulated controller together: an arm, perhaps somebody's hand at its tool, and what controls it."""

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

WAVE = 2.0
"""Time of one way of a hand that moves the tool up and down, [s]."""

WAVES = 1800
POLITE = 2.0
"""How long a program has run before the hand takes hold, so that clients can zero the force sensor
first, [s]."""


class PatientHand:
    """A hand that takes hold of the tool some time after a program began, and lets go when there is none.

    Args:
        hand: the hand.
        controller: whose program it waits for.
    """

    def __init__(self, hand: ImpedanceHand, controller: UrController) -> None:
        self._hand, self._controller, self._since = hand, controller, 0.0

    @property
    def stored(self) -> float:
        """Energy held in the hand's springs, [J]."""
        return self._hand.stored

    def push(self, tool: Tool, t: float, wrench: np.ndarray) -> None:
        """What the hand does at time ``t`` [s], counted from when it took hold."""
        if self._controller.runtime is not Runtime.PLAYING:
            self._since = t
        self._hand.open = t - self._since < POLITE
        self._hand.push(tool, t - self._since - POLITE, wrench)


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
        hand: how far a hand moves the tool up and down, for two hours; 0 for none, [m].
        seed: of sensor noise.
        log: where the controller says what it does.
    """
    loaded = load_robot(robot, variant if variant is not None else MANUFACTURER.get(robot))
    if len(loaded.actuated) != 6 or not loaded.actuated.all():
        raise Mismatch(f"a UR controller drives six joints; {robot} has {len(loaded.actuated)}")
    arm = ServoedArm(loaded, np.random.default_rng(seed), payload=payload)
    controller = UrController(arm, log)
    if hand:
        ways = (
            Move(WAVE * (1 + i), WAVE, (0.0, 0.0, -hand if i % 2 else hand))
            for i in range(2 * WAVES)
        )
        # softer than a stiff grip; assumed
        soft = ImpedanceHand(stiffness=300.0, damping=30.0, path=HandPath(ways))
        arm.touch("hand", PatientHand(soft, controller))
    return controller
