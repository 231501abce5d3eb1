"""What may happen in the humanoid rig: moves of the hand in world axes, x towards the operator."""

from __future__ import annotations

import numpy as np

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario, by_name

DEFAULT_SCENARIO = "limit"

OUT = (0.020, 0.015, -0.010)
"""Radially outward for the arm from where it begins, [m] of the hand."""
BACK = (-0.020, -0.015, 0.010)
GO_OUT = Move(0.5, 1.5, OUT, label="out")
OUTAGE: dict[str, object] = {
    "link.delay": 20.0,
    "link.outage_start": 1.2,
    "link.outage_length": 30.0,
}


def drawing(rng: np.random.Generator) -> tuple[Move, ...]:
    """A triangle in the air with the pen: three strokes, a little different every time."""
    corners = np.array([[-0.012, 0.010, 0.0], [0.002, -0.002, 0.012], [0.008, -0.006, -0.008]])
    corners = corners * rng.normal(1.0, 0.10, (3, 1)) + rng.normal(0.0, 8e-4, (3, 3))
    start = 0.5
    moves = []
    for (x, y, z), label in zip(corners.tolist(), ("side", "up", "back"), strict=True):
        moves.append(Move(start, 1.2 * rng.uniform(0.9, 1.1), (x, y, z), label=label))
        start = moves[-1].end
    return tuple(moves)


SCENARIOS = by_name(
    Scenario(
        "limit",
        "the pen leads the wrist outward until the edge of the arm's reach pushes back, and back",
        8.0,
        (Move(0.5, 1.5, OUT, label="out, to the limit"), Move(4.0, 1.5, BACK, label="back")),
    ),
    Scenario(
        "free",
        "free motion: forward and back, to the side, up and down",
        10.0,
        (
            Move(0.5, 1.5, (-0.015, 0.0, 0.0), label="back"),
            Move(2.5, 1.5, (0.0, 0.012, 0.0), label="left"),
            Move(4.5, 1.5, (0.0, -0.012, 0.012), label="right and up"),
            Move(6.5, 1.5, (0.015, 0.0, -0.012), label="to the start"),
        ),
    ),
    Scenario("rest", "nobody moves", 10.0),
    Scenario(
        "draw",
        "a demonstration between two presses of the button: a triangle, different by seed",
        6.0,
        commands=(
            "0:engage",
            "0.4:set demonstration.active=true",
            "5.8:set demonstration.active=false",
        ),
        varied=drawing,
    ),
    Scenario(
        "board",
        "the pen touches three corners of a board, leaves, and is pushed back on its return",
        8.0,
        (
            Move(0.5, 1.0, (-0.012, 0.006, 0.0), label="first corner"),
            Move(1.9, 0.8, (0.0, -0.010, 0.004), label="second corner"),
            Move(3.1, 0.8, (0.0, 0.004, -0.008), label="third corner"),
            Move(4.3, 0.8, (0.012, 0.0, 0.0), label="off the board"),
            Move(5.8, 1.0, (-0.016, 0.0, 0.0), label="on it again"),
        ),
        commands=(
            "0:engage",
            "1.7:set leader.force.board.touches=1",
            "2.9:set leader.force.board.touches=2",
            "4.1:set leader.force.board.touches=3",
        ),
    ),
    Scenario(
        "balance",
        "the pen leans a standing leg outward until the edge of its sole pushes back",
        10.0,
        (
            Move(0.5, 4.0, (0.0, 0.028, -0.008), label="outward"),
            Move(6.0, 3.0, (0.0, -0.028, 0.008), label="back"),
        ),
        {"rig.limb": "left-leg", "law.mapping.motion_scale": 3.0},
    ),
    Scenario(
        "dropped-replies",
        "as limit, while three answers in ten are lost on the bus",
        8.0,
        (GO_OUT, Move(4.0, 1.5, BACK, label="back")),
        {"follower.bus.faults.drop": 0.3},
    ),
    Scenario(
        "dead-servo",
        "the elbow's servo dies on the way, and commands stop",
        6.0,
        (GO_OUT,),
        {"follower.bus.faults.dead": 41, "follower.bus.faults.dead_from": 250},
    ),
    Scenario(
        "low-battery",
        "the battery is nearly empty and runs out on the way",
        8.0,
        (GO_OUT, Move(5.0, 1.5, BACK, label="back")),
        {"follower.bus.battery.charge": 0.032, "follower.bus.battery.capacity": 0.2},
    ),
    Scenario("link-loss", "the link goes dead while both move", 6.0, (GO_OUT,), OUTAGE),
)
"""Every scenario by name."""
