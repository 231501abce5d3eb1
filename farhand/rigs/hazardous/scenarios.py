"""What can happen on the hazardous-environment rig."""

from __future__ import annotations

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario, by_name

DEFAULT_SCENARIO = "wall"
INTO = (0.12, 0.0, 0.0)  # [m] of the leader, 89 mm of the follower, 39 mm of them beyond the wall
OUT = Move(5.5, 2.0, (-0.12, 0.0, 0.0), label="-x")
NO_WALL: dict[str, object] = {"wall.present": False}
OUTAGE = {"link.delay": 20.0, "link.outage_start": 1.5, "link.outage_length": 30.0}
FRAGILE = {"follower.grip.force_limit": 2.0, "follower.gripper.object_width": 0.12}

SCENARIOS = by_name(
    Scenario(
        "wall",
        "the hand leads the follower into a stiff wall, waits, and comes back",
        9.0,
        (Move(0.5, 2.0, INTO, label="+x, into the wall"), OUT),
    ),
    Scenario(
        "free",
        "free motion: up with a turn, sideways, and back",
        9.0,
        (
            Move(0.5, 1.5, (0.0, 0.0, 0.15), (0.0, 0.0, 0.4), label="+z with a turn"),
            Move(2.5, 1.5, (0.0, 0.2, 0.0), label="+y"),
            Move(4.5, 1.5, (0.0, -0.2, 0.0), (0.0, 0.3, 0.0), label="-y, tilting"),
            Move(6.5, 1.5, (0.0, 0.0, -0.15), (0.0, -0.3, 0.0), label="-z, tilting back"),
        ),
        NO_WALL,
    ),
    Scenario(
        "sponge",
        "as wall, into a soft sponge",
        9.0,
        (Move(0.5, 2.0, INTO, label="+x, into the sponge"), OUT),
        # assumed
        {"wall.stiffness": 300.0, "wall.damping": 10.0},
    ),
    Scenario(
        "link-loss",
        "the link goes dead while both arms move; the follower stays where it was last sent",
        14.0,
        (Move(0.5, 1.88, (0.0, 0.3, 0.0), label="+y"),),
        {**NO_WALL, **OUTAGE},
    ),
    Scenario(
        "collision",
        "the hand rams the follower into the wall: it retreats and holds; then reset and engaged",
        9.0,
        (
            Move(0.5, 1.5, (0.2, 0.0, 0.0), label="+x, ramming"),
            Move(4.5, 2.0, (-0.2, 0.0, 0.0), label="-x"),
        ),
        # Assumed: a strong hand.
        {"hand.stiffness": 600.0, "hand.damping": 60.0},
        commands=("0:engage", "7:reset", "7.1:engage"),
    ),
    Scenario(
        "let-go",
        "the handle is let go in motion and gripped again",
        6.0,
        (Move(0.5, 3.0, (0.0, 0.3, 0.0), label="+y"),),
        NO_WALL,
        # A grip of 10 N is assumed.
        commands=(
            "0:engage",
            "1.5:set leader.handle.grip=0",
            "1.5:set hand.open=true",
            "3.5:set leader.handle.grip=10",
            "3.5:set hand.open=false",
        ),
    ),
    Scenario(
        "grasp",
        "the ring closes the gripper on a fragile object, waits, and opens it",
        8.0,
        (),
        {**NO_WALL, **FRAGILE},
        commands=("0:engage", "0.5:set leader.handle.ring=1", "6:set leader.handle.ring=-1"),
    ),
    Scenario(
        "drive",
        "the hand leaves the dead band, which drives the follower's base, and comes back",
        9.0,
        (
            Move(0.5, 1.5, (0.2, 0.0, 0.0), label="+x, beyond the dead band"),
            Move(5.0, 1.5, (-0.2, 0.0, 0.0), label="-x"),
        ),
        {**NO_WALL, "rig.base": "mobile"},
    ),
)
"""Every scenario by name."""
