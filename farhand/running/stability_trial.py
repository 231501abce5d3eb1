"""A trial of a rig: the hand presses the follower against a wall, to see if it shakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.analysis.stability.operating_point import force_back
from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig
from farhand.world import ImpedanceHand

WALL_DISTANCE_M, HAND_TRAVEL_M = 0.003, 0.03

TRIAL_S = 9.0
"""Length of a trial; beyond 200 ms of round trip an oscillation grows slowly and needs more."""

JOINT_WALL_M, JOINT_TRAVEL_M = 0.001, 0.01
"""The same for coupled joints: a light press, so that the arms stay where they were analysed."""

KICK_AT_S, KICK_SPEED = 1.2, 1e-3
"""When coupled joints are kicked, and how fast they are then, to and fro in turn, [rad/s]."""

TOOLS_KEEP = 0.98
"""Share of its amplitude that a steady motion of a tool keeps from one window to the next, [-]."""

SLOW_DECAY = 0.05
"""Rate of decay below which a motion of coupled joints counts as steady, [1/s]."""

CREEP_DEGREE, CREEP_CYCLES = 4, 4
"""Degree of the polynomial over a window, and number of its cycles, that count as creeping, not as
shaking. A press drives the free elbow of a redundant arm away exponentially."""

TAPER = (0.35875, -0.48829, 0.14128, -0.01168)
"""Cosines of Blackman and Harris: no more than 3e-5 of what creeps shows beyond those cycles."""

MIN_AMPLITUDE_M, MIN_SPEED = 5e-5, 1e-5
"""A larger steady motion counts as shaking, if there are no encoder steps; of joints in [rad/s]."""


@dataclass(frozen=True)
class StabilityTrial:
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
    slow: float = SLOW_DECAY  # rate of decay below which coupled joints shake, [1/s]

    @property
    def name(self) -> str:
        """All of it in one word."""
        wall = (self.delay, self.stiffness, self.damping)
        parts = (self.rig, self.law, *wall, *self.hand, *self.settings)
        return "/".join(f"{part:.6g}" if isinstance(part, float) else str(part) for part in parts)


def attempt(trial: StabilityTrial) -> dict[str, Any]:
    """Run a trial: delay [ms], stiffness [N/m], whether it shakes, and its amplitude [m].

    The amplitude of coupled joints is their speed, [rad/s].
    """
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
        joints = rig.session.bridges[0].laws[0].port.space == "joints"
        ahead, travel = WALL_DISTANCE_M, HAND_TRAVEL_M
        if joints:
            ahead, travel = JOINT_WALL_M, JOINT_TRAVEL_M
        plane.point = rig.world.ports["follower"].tool.position + ahead * axis
        plane.refresh()
        start, slowly = (0.1, 0.6) if joints else (0.5, 1.0)
        hand.path = HandPath((Move(start, slowly, tuple((travel * along).tolist())),))

        def keep() -> None:
            rig.metrics.history.pull()

        if joints:
            # A smooth press leaves some motions at rest, which grow from nothing.
            rig.session.run(KICK_AT_S, keep)
            rig.world.data.qvel[:] += KICK_SPEED * (-1.0) ** np.arange(rig.world.model.nv)
        rig.session.run(trial.seconds - rig.session.now_ns * 1e-9, keep)
        if joints:
            # A fifth of the time is left for what settles fast; the windows share the rest.
            window = 0.4 * (trial.seconds - KICK_AT_S)
            swings = _joint_speeds(rig, trial.seconds, window)
            shakes = swings[-1] > max(np.exp(-trial.slow * window) * swings[0], MIN_SPEED)
        else:
            swings = _swings(rig, axis, back, trial.seconds)
            grows = swings[-1] > max(1.05 * swings[-2], 1e-6 + 2.0 * trial.quantum)
            stays = swings[-1] > max(TOOLS_KEEP * swings[0], MIN_AMPLITUDE_M, 5.0 * trial.quantum)
            shakes = grows or stays
        shakes = bool(rig.session.trips or shakes)
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


def _joint_speeds(rig: Any, seconds: float, window: float) -> list[float]:
    """Root mean square speed of the joint that swings most, in the last two windows, [rad/s].

    What only creeps is left out.
    """
    speeds, history = [], rig.metrics.history
    for since in (seconds - 2.0 * window, seconds - window):
        sizes = [0.0]
        for name in rig.world.placed:
            times = history.times(name)
            inside = (times >= since) & (times < since + window)
            sizes.append(float(swinging(history.signal(name, "v")[inside]).max()))
        speeds.append(max(sizes))
    return speeds


def swinging(v: np.ndarray) -> np.ndarray:
    """Root mean square of every column, without what creeps: evenly sampled over one window."""
    share = np.arange(len(v)) / len(v)
    t = np.vander(share, CREEP_DEGREE + 1)
    v = v - t @ np.linalg.lstsq(t, v, rcond=None)[0]
    taper = sum(c * np.cos(2.0 * np.pi * k * share) for k, c in enumerate(TAPER))
    spectrum = np.abs(np.fft.rfft(v * np.asarray(taper)[:, None], axis=0))[CREEP_CYCLES:]
    power: np.ndarray = 2.0 * np.square(spectrum).sum(axis=0)
    return np.sqrt(power / (len(v) * np.square(taper).sum()))
