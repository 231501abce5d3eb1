"""What may happen in the dual-arm rig: published procedures as moves of a hand, and short ones.

The published text gives directions and order, not distances or times: those are assumptions, chosen
so that every move is quick and has half a second of rest after it. Rotations go 90° about the axis
that the named joint has in the start posture q_A, through the tool point, and back, so that every
move starts from the same pose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import pi

import numpy as np

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario, by_name
from farhand.world import ForcePulse

COULOMB = (7.1, 7.1, 7.1, 1.32, 1.32, 1.32)
"""Dry friction of the leader's joints, [N·m]: the same share (4.7 %) of every joint's torque limit,
such that a slow +x move from q_A takes the published 26 N: Σ τ_i |dq_i/dx| = 26.0 N
(sources/dual-arm §2.3 [S~]; the split is assumed)."""

AXES = {"joint 5": (0.0, 1.0, 0.0), "joint 4": (1.0, 0.0, 0.0), "joint 6": (0.0, 0.0, -1.0)}
"""Axes of three joints in posture q_A, in world."""

QUIET = {
    f"{side}.plant.{kind}_noise": 0.0
    for side in ("leader", "follower")
    for kind in ("force", "torque")
}
REST = 0.5
"""Rest after a move, [s]."""

Step = tuple[str, float, tuple[float, float, float], tuple[float, float, float]]


def rotation(joint: str) -> list[Step]:
    """90° about a joint's axis in 2 s, and back."""
    x, y, z = (pi / 2 * component for component in AXES[joint])
    there: Step = (joint, 2.0, (0.0, 0.0, 0.0), (x, y, z))
    return [there, (f"{joint}, back", 2.0, (0.0, 0.0, 0.0), (-x, -y, -z))]


def translation(label: str, distance: float, duration: float = 1.5) -> Step:
    """A move along an axis named like ``"-y"``, by ``distance`` [m] in ``duration`` [s]."""
    sign = 1.0 if label[0] == "+" else -1.0
    x, y, z = (sign * distance if axis == label[1] else 0.0 for axis in "xyz")
    return label, duration, (x, y, z), (0.0, 0.0, 0.0)


def sequence(steps: Iterable[Step], start: float = 0.5, rest: float = REST) -> Iterator[Move]:
    """The steps one after the other, each followed by a rest [s]."""
    for label, duration, shift, turn in steps:
        yield Move(start, duration, shift, turn, label)
        start += duration + rest


def pushes(moves: Iterable[Move], force: float) -> Iterator[ForcePulse]:
    """For every move a push of ``force`` [N]: forward in its first half, back in its second."""
    for move in moves:
        length = sum(component**2 for component in move.translation) ** 0.5
        x, y, z = (force * component / length for component in move.translation)
        half = 0.5 * move.duration
        yield ForcePulse(move.start, half, (x, y, z, 0.0, 0.0, 0.0))
        yield ForcePulse(move.start + half, half, (-x, -y, -z, 0.0, 0.0, 0.0))


NINE_STEPS = (
    *(step for joint in ("joint 5", "joint 4", "joint 6") for step in rotation(joint)),
    *(translation(label, 0.15) for label in ("-y", "+y")),
    *(translation(label, 0.40, 2.5) for label in ("+z", "-z")),
    *(translation(label, 0.20) for label in ("-x", "+x")),
)
NINE_MOVES = tuple(sequence(NINE_STEPS))
AFTER_NINE = NINE_MOVES[-1].end + REST  # [s]
DISTANCES = {"x": 0.2, "y": 0.1, "z": 0.2}  # [m]
VIRTUAL_FORCES, FT_INFLUENCE = (
    tuple(sequence(translation(label, DISTANCES[label[1]]) for label in order.split()))
    for order in ("-x +x +z -z +y -y", "+z -z -x +x +y -y")
)
INTO_THE_WALL = (0.42, 0.0, 0.0)  # [m], as far as the reference prototype went
TO_THE_WALL = 0.319  # [m], from the start posture until the follower touches


def wiping(rng: np.random.Generator) -> tuple[Move, ...]:
    """Press on the wall, wipe it in four strokes downward, come back half way; varies by seed."""
    dy, dz = rng.normal(0.0, 0.006, 2).tolist()
    press = rng.normal(0.026, 0.0025)
    stroke = rng.normal(0.15, 0.006)

    def step(label: str, seconds: float, shift: tuple[float, float, float]) -> Step:
        return label, seconds * rng.uniform(0.85, 1.15), shift, (0.0, 0.0, 0.0)

    # The order of the random numbers matters: every seed keeps its moves.
    steps = [step("reach", 2.0, (TO_THE_WALL + press, dy, dz))]
    for number in range(4):
        along = (stroke if number % 2 else -stroke) + rng.normal(0.0, 0.003)
        deeper = rng.normal(0.0, 0.001)
        sag = rng.normal(0.0, 0.002)
        steps.append(step("wipe", 1.4, (deeper, along, sag)))
        if number < 3:
            steps.append(step("lower", 0.5, (0.0, 0.0, -rng.normal(0.04, 0.002))))
    steps.append(step("leave", 1.5, (-0.15 - press, -dy, 0.0)))
    return tuple(sequence(steps, rest=0.0))


SCENARIOS = by_name(
    Scenario(
        "demo",
        "the nine published moves, then into the wall, which throws the arms back once released",
        AFTER_NINE + 8.0,
        (*NINE_MOVES, Move(AFTER_NINE, 2.0, INTO_THE_WALL, label="+x, into the wall")),
        commands=(
            "0:engage",
            f"{AFTER_NINE + 4.0}:set hand.open=true",
            f"{AFTER_NINE + 6.5}:set hand.open=false",
        ),
    ),
    Scenario(
        "nine-moves",
        "free space: 90° about three joints' axes and back, −y, +y, +z until stretched, −z, −x, +x",
        AFTER_NINE + 0.5,
        NINE_MOVES,
    ),
    Scenario(
        "virtual-forces",
        "free space: −x, +x, +z, −z, +y, −y, to watch the force between the arms",
        VIRTUAL_FORCES[-1].end + 1.0,
        VIRTUAL_FORCES,
    ),
    Scenario(
        "wall",
        "the hand lifts the leader, pushes until the follower meets the wall, waits and comes back",
        20.0,
        (
            Move(0.5, 1.5, (0.0, 0.0, 0.1), label="+z"),
            Move(2.5, 2.0, (0.0, -0.1, 0.0), label="-y"),
            Move(5.0, 2.5, INTO_THE_WALL, label="+x, into the wall"),
            Move(11.0, 2.5, (-0.42, 0.0, 0.0), label="-x, out of the wall"),
            Move(14.0, 1.5, (0.0, 0.1, 0.0), (0.0, 0.0, 0.6), label="+y with a turn"),
            Move(16.0, 1.5, (0.0, 0.0, -0.1), (0.0, 0.0, -0.6), label="-z and turn back"),
        ),
    ),
    Scenario(
        "reach-limit",
        "the follower starts nearly stretched; the hand pulls 0.2 m further in +y and comes back",
        8.0,
        (Move(0.5, 2.0, (0.0, 0.2, 0.0), label="+y"), Move(4.0, 2.0, (0.0, -0.2, 0.0), label="-y")),
        {"rig.follower_posture": "q_B"},
    ),
    Scenario(
        "ft-influence",
        "free space: +z, −z, −x, +x, +y, −y; with rig.hand=force, the same pushes in any case",
        FT_INFLUENCE[-1].end + 1.0,
        FT_INFLUENCE,
        pulses=tuple(pushes(FT_INFLUENCE, 8.0)),
    ),
    Scenario(
        "friction",
        "a leader with dry friction is pulled slowly by 0.1 m in +x",
        7.0,
        (Move(0.5, 5.0, (0.1, 0.0, 0.0), label="+x, slowly"),),
        {"rig.coulomb": COULOMB},
    ),
    Scenario(
        "press",
        "the hand pushes straight into the wall and stays there",
        8.0,
        (Move(0.5, 2.5, INTO_THE_WALL, label="+x"),),
    ),
    Scenario(
        "press-and-leave",
        "the hand lifts the leader, presses on the wall for four seconds, leaves it, and waits",
        15.5,
        (
            Move(1.5, 1.5, (0.0, 0.0, 0.1), label="+z"),
            Move(3.5, 2.5, INTO_THE_WALL, label="+x, into the wall"),
            Move(10.0, 2.0, (-0.42, 0.0, 0.0), label="-x, out of the wall"),
        ),
    ),
    Scenario(
        "wipe",
        "a demonstration, different by seed: the hand presses, wipes in four strokes and leaves",
        13.0,
        commands=(
            "0:engage",
            "0:set demonstration.active=true",
            "12.8:set demonstration.active=false",
        ),
        varied=wiping,
    ),
    Scenario(
        "free",
        "the hand lifts the leader by 0.2 m in free space",
        5.0,
        (Move(0.5, 1.5, (0.0, 0.0, 0.2), label="+z"),),
        pulses=(ForcePulse(0.5, 0.75, (0.0, 0.0, 10.0, 0.0, 0.0, 0.0)),),
    ),
    Scenario(
        "rest",
        "nobody touches anything, and the sensors are silent",
        10.0,
        settings={"hand.open": True, **QUIET},
    ),
)
"""Every scenario by name."""
