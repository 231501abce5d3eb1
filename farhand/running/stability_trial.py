"""A trial of a rig: the hand presses the follower against a wall, to see if it shakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.analysis.stability.operating_point import force_back
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling.constraint_terms import LEVER
from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig
from farhand.world import ImpedanceHand
from farhand.world.joints import Fingers

WALL_DISTANCE_M, HAND_TRAVEL_M = 0.003, 0.03

TRIAL_S = 9.0
"""Length of a trial; beyond 200 ms of round trip an oscillation grows slowly and needs more."""

ASIDE, ASIDE_RAD = 0.2, 0.05
"""Where joints are coupled: share of the travel that goes aside, and the turn about each axis."""

KICK_AT_S, KICK_SPEED = 3.0, 0.02
"""When coupled joints are kicked, and how fast they are then, to and fro in turn, [rad/s]."""

TOOLS_KEEP, JOINTS_KEEP = 0.98, 0.9
"""Share of its amplitude that a steady motion keeps from the first window to the last, [-]."""

JOINT_WINDOW_S = 1.3
"""Length of a window in which swings of joints are compared, [s]."""

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
    dry_friction: bool = True  # whether the joints have theirs

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
        back = force_back(rig.session, rig.world, axis)
        along = back / (back @ back)
        if not trial.dry_friction:
            for port in rig.world.ports.values():
                port.remove_dry_friction()
        plane.point = rig.world.ports["follower"].tool.position + WALL_DISTANCE_M * axis
        plane.refresh()
        press = HAND_TRAVEL_M * along
        turn = (0.0, 0.0, 0.0)
        joints = rig.session.bridges[0].laws[0].port.space == "joints"
        if joints:
            # Every joint must be moved: in a plane posture a press excites only half of them.
            press = press + ASIDE * np.linalg.norm(press) * _aside(along)
            turn = (ASIDE_RAD, ASIDE_RAD, ASIDE_RAD)
            if isinstance(fingers := rig.session.parameters.get("fingers"), Fingers):
                fingers.squeeze = ASIDE
        hand.path = HandPath((Move(0.5, 1.0, tuple(press.tolist()), turn),))

        def keep() -> None:
            rig.metrics.history.pull()

        if joints:
            # A smooth press leaves some motions at rest, which grow from nothing.
            rig.session.run(KICK_AT_S, keep)
            rig.world.data.qvel[:] += KICK_SPEED * (-1.0) ** np.arange(rig.world.model.nv)
        rig.session.run(trial.seconds - rig.session.now_ns * 1e-9, keep)
        if joints:
            swings, left = _joint_swings(rig, trial.seconds), JOINTS_KEEP
        else:
            swings, left = _swings(rig, axis, back, trial.seconds), TOOLS_KEEP
        grows = swings[-1] > max(1.05 * swings[-2], 1e-6 + 2.0 * trial.quantum)
        stays = swings[-1] > max(left * swings[0], MIN_AMPLITUDE_M, 5.0 * trial.quantum)
        shakes = bool(rig.session.trips) or grows or stays
        shakes = shakes or (joints and _chatters(rig, trial.seconds))
        result = {"delay": trial.delay, "stiffness": trial.stiffness}
        return {**result, "shakes": shakes, "amplitude": swings[-1]}
    finally:
        rig.close()


def _aside(along: np.ndarray) -> np.ndarray:
    """A unit vector across a direction, along as many axes as possible."""
    across = np.cross(along, (1.0, 1.0, 1.0) if np.ptp(along) > 1e-9 else (1.0, 0.0, 0.0))
    aside: np.ndarray = across / np.linalg.norm(across)
    return aside


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


def _joint_swings(rig: Any, seconds: float) -> list[float]:
    """Amplitude of the joint that swings most, in each of the last three windows, [m].

    What only creeps is left out: a redundant arm settles slowly.
    """
    swings, history = [], rig.metrics.history
    for since in seconds - JOINT_WINDOW_S * np.array([3.0, 2.0, 1.0]):
        sizes = [0.0]
        for name in rig.world.placed:
            times = history.times(name)
            inside = (times >= since) & (times < since + JOINT_WINDOW_S)
            if not inside.any():
                continue
            t, q = times[inside] - since, history.signal(name, "q")[inside]
            creep = np.vander(t, 3) @ np.linalg.lstsq(np.vander(t, 3), q, rcond=None)[0]
            sizes.append(0.5 * LEVER * float(np.ptp(q - creep, axis=0).max()))
        swings.append(max(sizes))
    return swings


def _chatters(rig: Any, seconds: float) -> bool:
    """Whether a motor of coupled joints swings through its torque range at the end.

    Chatter from tick to tick hardly moves the joint.
    """
    for name, placed in rig.world.placed.items():
        late = rig.metrics.history.times(name) >= seconds - 1.5
        swing = np.ptp(rig.metrics.history.signal(name, "torque_commanded")[late], axis=0)
        limit = placed.robot.limits.torque
        if ((swing > limit) & (limit > 0.0)).any():
            return True
    return False
