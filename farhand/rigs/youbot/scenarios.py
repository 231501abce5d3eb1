"""What may happen in the youBot rig: moves in the pen's axes, x towards the operator."""

from __future__ import annotations

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario, by_name

NO_WALL: dict[str, object] = {"wall.present": False}
OUTAGE = {"link.delay": 20.0, "link.outage_start": 1.2, "link.outage_length": 30.0}
STARTING = {
    "rig.startup": True,
    "rig.posture": "folded",
    "wall.point": (0.37, 0.0, 0.0),
    # At the published 0.25 m/s the arm arrives before it has turned.
    "law.mapping.limiter.speed": 0.03,
}
INTO = (-0.038, 0.0, 0.0)  # [m]
STEP = (-0.005, 0.0, 0.0)  # [m]
RIGHT = Move(0.5, 1.5, (0.0, 0.06, 0.0), label="right")

SCENARIOS = by_name(
    Scenario(
        "wall",
        "the pen leads the tool into a wall that feels rigid to a finger, waits and comes back",
        9.0,
        (
            Move(0.5, 2.0, INTO, label="away, into the wall"),
            Move(5.5, 2.0, (0.038, 0.0, 0.0), label="back"),
        ),
    ),
    Scenario(
        "wall-steps",
        "as wall, in steps with rests between them, so that only the springs count",
        9.5,
        (
            Move(0.5, 1.0, (-0.018, 0.0, 0.0), label="up to the wall"),
            *(Move(2.5 + 1.5 * k, 0.5, STEP, label=f"step {k + 1}") for k in range(4)),
        ),
    ),
    Scenario(
        "free",
        "free motion: sideways, down, away and back, turning the pen a little",
        10.0,
        (
            RIGHT,
            Move(2.5, 1.5, (0.0, -0.06, -0.04), label="left and down"),
            Move(4.5, 1.5, (-0.03, 0.0, 0.04), label="away and up"),
            Move(6.5, 1.5, (0.03, 0.0, 0.0), (0.0, 0.15, 0.0), label="back, tilting"),
        ),
        NO_WALL,
    ),
    Scenario("rest", "nobody moves", 10.0, (), NO_WALL),
    Scenario(
        "drive",
        "the pen is pushed out of its middle, and the base drives on until it comes back",
        12.0,
        (
            Move(1.0, 1.0, (-0.055, 0.0, 0.0), label="out"),
            Move(7.0, 1.0, (0.055, 0.0, 0.0), label="back in"),
        ),
        {**NO_WALL, "rig.base": True},
    ),
    Scenario(
        "startup",
        "from a folded arm to full force feedback, step by step, then into the wall",
        33.0,
        (Move(28.0, 2.0, INTO, label="away, into the wall"),),
        STARTING,
        ("0:engage", "27:set law.mapping.limiter.speed=0.25"),
    ),
    Scenario(
        "link-loss", "the link goes dead while both move", 10.0, (RIGHT,), {**NO_WALL, **OUTAGE}
    ),
)
"""Every scenario by name."""
