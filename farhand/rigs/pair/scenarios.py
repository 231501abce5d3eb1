"""What may happen in the pair rig: moves of the hand in shares of the leader's reach.

The first axis of a move points to the wall, the second to its side and the third up, so that the
same moves suit arms of any size and build.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario, by_name
from farhand.spatial import Array

WALL_AHEAD = 0.1
"""From the follower's tool to the wall, as a share of the follower's reach."""

PRESS = 0.22
"""How far the hand goes towards the wall, as a share of the leader's reach."""

PRESS_TIME = 2.0
"""How long it takes to come back, [s]."""


def scaled(moves: tuple[Move, ...], way: Array, reach: float) -> tuple[Move, ...]:
    """Moves in metres: ``way`` is the direction of the wall, they are shares of ``reach`` [m]."""
    up = np.array([0.0, 0.0, 1.0])
    side = np.cross(up, way) if abs(way[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = side / np.linalg.norm(side)
    axes = np.stack([way, side, np.cross(way, side)], axis=1)
    return tuple(
        replace(move, translation=tuple((reach * axes @ np.array(move.translation)).tolist()))
        for move in moves
    )


FREE = (
    Move(0.5, 1.5, (0.0, 0.08, 0.0), label="sideways"),
    Move(2.5, 1.5, (0.0, -0.08, 0.0), label="back"),
    Move(4.5, 1.5, (0.0, 0.0, 0.08), label="across"),
    Move(6.5, 1.5, (0.0, 0.0, -0.08), label="back"),
)


def pressing(start: float, back: float) -> tuple[Move, ...]:
    """To the wall, gently into it, and out of it at ``back`` [s]."""
    near = 0.9 * WALL_AHEAD
    return (
        Move(start, 1.5, (near, 0.0, 0.0), label="to the wall"),
        Move(start + 1.5, PRESS_TIME, (PRESS - near, 0.0, 0.0), label="into the wall"),
        Move(back, PRESS_TIME, (-PRESS, 0.0, 0.0), label="out of the wall"),
    )


SCENARIOS = by_name(
    Scenario(
        "demo",
        "two moves in free space, then into the wall and out of it",
        16.0,
        (*FREE, *pressing(8.5, 13.5)),
    ),
    Scenario("free", "two moves in free space and back", 9.0, FREE),
    Scenario(
        "wall",
        "the hand pushes the follower into the wall, waits and comes back",
        8.0,
        pressing(0.5, 5.5),
    ),
    Scenario(
        "squeeze",
        "the fingers close the leader's gripper, the follower's meets an object",
        6.0,
        commands=("0:engage", "0.5:set fingers.squeeze=1"),
    ),
    Scenario("rest", "nobody touches anything", 5.0, settings={"hand.open": True}),
)
"""Every scenario by name."""
