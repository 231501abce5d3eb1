"""A trial of a rig: the hand presses the follower against a wall, to see if it shakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig
from farhand.world import ImpedanceHand

WALL_DISTANCE_M, HAND_TRAVEL_M = 0.003, 0.03

TRIAL_S = 9.0
"""Length of a trial; beyond 200 ms of round trip an oscillation grows slowly and needs more."""

MIN_AMPLITUDE_M = 5e-5
"""A larger steady motion counts as shaking, if there are no encoder steps."""


@dataclass(frozen=True)
class Trial:
    """One run."""

    rig: str  # by name
    law: str | None  # by name; the rig's own by default
    delay: float  # round trip, [ms]
    stiffness: float  # of the wall, [N/m]
    damping: float  # of the wall, [N·s/m]
    hand: tuple[float, float]  # stiffness and damping, [N/m] and [N·s/m]
    settings: tuple[tuple[str, object], ...] = ()  # further parameters
    quantum: float = 0.0  # encoder step at the tool, [m]; five of them are the smallest limit cycle
    seconds: float = TRIAL_S  # how long it takes, [s]

    @property
    def name(self) -> str:
        """All of it in one word."""
        wall = (self.delay, self.stiffness, self.damping)
        parts = (self.rig, self.law, *wall, *self.hand, *self.settings)
        return "/".join(f"{part:.6g}" if isinstance(part, float) else str(part) for part in parts)


def attempt(trial: Trial) -> dict[str, Any]:
    """Run a trial: delay [ms], stiffness [N/m], whether it shakes, and its amplitude [m]."""
    values: dict[str, object] = {
        f"{side}.plant.{kind}_noise": 0.0
        for side in ("leader", "follower")
        for kind in ("force", "torque")
    }
    values |= {"hand.stiffness": trial.hand[0], "hand.damping": trial.hand[1]}
    values |= {"wall.stiffness": trial.stiffness, "wall.damping": trial.damping}
    settings = [*values.items(), ("wall.present", True), *trial.settings]
    rig = build_rig(trial.rig, Options(law=trial.law, delay=trial.delay, settings=settings))
    try:
        hand, plane = rig.parts.hand, rig.parts.wall
        if not isinstance(hand, ImpedanceHand) or plane is None:
            raise Mismatch(f"rig {trial.rig!r} has no hand and wall to try with")
        axis = -plane.normal / np.linalg.norm(plane.normal)
        mapping = rig.session.bridges[0].laws[0].mapping
        back = mapping.matrix[:3, :3].T @ axis
        along = back / (back @ back)
        plane.point = rig.world.ports["follower"].tool.position + WALL_DISTANCE_M * axis
        plane.refresh()
        press = tuple((HAND_TRAVEL_M * along).tolist())
        hand.path = HandPath((Move(0.5, 1.0, press, (0.0, 0.0, 0.0)),))
        rig.session.run(trial.seconds, rig.metrics.pull)
        swings = _swings(rig, axis, back, trial.seconds)
        grows = swings[-1] > max(1.05 * swings[-2], 1e-6 + 2.0 * trial.quantum)
        stays = swings[-1] > max(0.98 * swings[-2], MIN_AMPLITUDE_M, 5.0 * trial.quantum)
        shakes = bool(rig.session.trips) or grows or stays
        result = {"delay": trial.delay, "stiffness": trial.stiffness}
        return {**result, "shakes": shakes, "amplitude": swings[-1]}
    finally:
        rig.close()


def _swings(rig: Any, axis: np.ndarray, back: np.ndarray, seconds: float) -> list[float]:
    """Amplitude of the tool that moves more, in each of the last two windows, [m]."""
    swings = []
    for since in (seconds - 3.0, seconds - 1.5):
        sizes = []
        for name, along in (("leader", back / np.linalg.norm(back)), ("follower", axis)):
            times = rig.metrics.history.times(name)
            inside = (times >= since) & (times < since + 1.5)
            moved = rig.metrics.history.signal(name, "position_tool_in_world")[inside] @ along
            sizes.append(0.5 * float(np.ptp(moved)) if len(moved) else 0.0)
        swings.append(max(sizes))
    return swings
