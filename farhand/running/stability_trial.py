"""A trial of a rig: the hand presses the follower against a wall, and what is left of the motion tells if it shakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig
from farhand.world import ImpedanceHand, Wall

AHEAD, PRESS = 0.003, 0.03  # [m]: the wall is so far from the tool, the hand goes so far
SECONDS = 9.0
"""Length of a trial by default, [s]; beyond 200 ms of round trip an oscillation grows slowly and
needs more."""

SMALLEST = 5e-5
"""Amplitude above which a steady motion counts as shaking, where there are no encoder steps to
count in, [m]."""


@dataclass(frozen=True)
class Trial:
    """One run.

    Attributes:
        rig: by name.
        law: by name; the rig's own by default.
        delay: round trip, [ms].
        stiffness: of the wall, [N/m].
        damping: of the wall, [N·s/m].
        hand: stiffness and damping, [N/m] and [N·s/m].
        settings: further parameters.
        quantum: encoder step as the tool sees it; five of them are the smallest limit cycle that
            counts, [m].
        seconds: how long it takes, [s].
    """

    rig: str
    law: str | None
    delay: float
    stiffness: float
    damping: float
    hand: tuple[float, float]
    settings: tuple[tuple[str, object], ...] = ()
    quantum: float = 0.0
    seconds: float = SECONDS

    @property
    def name(self) -> str:
        """All of it in one word."""
        words = [
            self.rig,
            self.law,
            self.delay,
            self.stiffness,
            self.damping,
            *self.hand,
            *self.settings,
        ]
        return "/".join(f"{word:.6g}" if isinstance(word, float) else str(word) for word in words)


def attempt(trial: Trial) -> dict[str, Any]:
    """Run a trial: its delay [ms] and stiffness [N/m], whether it shakes, and by how much at the end [m]."""
    noises = ("leader.plant.force_noise", "leader.plant.torque_noise", "follower.plant.force_noise")
    quiet = [(noise, 0.0) for noise in (*noises, "follower.plant.torque_noise")]
    held = [("hand.stiffness", trial.hand[0]), ("hand.damping", trial.hand[1])]
    wall = [
        ("wall.stiffness", trial.stiffness),
        ("wall.damping", trial.damping),
        ("wall.present", True),
    ]
    options = Options(
        law=trial.law, delay=trial.delay, settings=[*quiet, *held, *wall, *trial.settings]
    )
    rig = build_rig(trial.rig, options)
    try:
        hand, plane = (rig.session.parameters.get(name) for name in ("hand", "wall"))
        if not isinstance(hand, ImpedanceHand) or not isinstance(plane, Wall):
            raise Mismatch(f"rig {trial.rig!r} has no hand and wall to try with")
        axis = -plane.normal / np.linalg.norm(plane.normal)
        mapping = rig.session.bridges[0].laws[0].mapping
        back = mapping.matrix[:3, :3].T @ axis
        along = back / (back @ back)
        plane.point = rig.world.ports["follower"].tool.position + AHEAD * axis
        plane.refresh()
        hand.path = HandPath((Move(0.5, 1.0, tuple((PRESS * along).tolist()), (0.0, 0.0, 0.0)),))
        rig.session.run(trial.seconds, rig.metrics.pull)
        swings = _swings(rig, axis, back, trial.seconds)
        grows = swings[-1] > max(1.05 * swings[-2], 1e-6 + 2.0 * trial.quantum)
        stays = swings[-1] > max(0.98 * swings[-2], SMALLEST, 5.0 * trial.quantum)
        shakes = bool(rig.session.trips) or grows or stays
        return {
            "delay": trial.delay,
            "stiffness": trial.stiffness,
            "shakes": shakes,
            "amplitude": swings[-1],
        }
    finally:
        rig.close()


def _swings(rig: Any, axis: np.ndarray, back: np.ndarray, seconds: float) -> list[float]:
    """Half the way between the extremes of the livelier tool in each of the last two windows, [m]."""
    found = []
    for since in (seconds - 3.0, seconds - 1.5):
        sizes = []
        for name, along in (("leader", back / np.linalg.norm(back)), ("follower", axis)):
            times = rig.metrics.history.times(name)
            inside = (times >= since) & (times < since + 1.5)
            way = rig.metrics.history.signal(name, "position_tool_in_world")[inside] @ along
            sizes.append(0.5 * float(np.ptp(way)) if len(way) else 0.0)
        found.append(max(sizes))
    return found
