"""What may happen in the youBot rig: moves of the hand in the pen's axes, x towards the operator."""

from __future__ import annotations

from farhand.control.trajectory.paths import Move
from farhand.rigs.rig import Scenario

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "wall",
            "the pen leads the tool into a wall that feels rigid to a finger, waits, and comes back",
            9.0,
            (
                Move(0.5, 2.0, (-0.038, 0.0, 0.0), label="away, into the wall"),
                Move(5.5, 2.0, (0.038, 0.0, 0.0), label="back"),
            ),
        ),
        Scenario(
            "wall-steps",
            "as wall, in steps with rests between them, so that only the springs count",
            9.5,
            (
                Move(0.5, 1.0, (-0.018, 0.0, 0.0), label="up to the wall"),
                *(
                    Move(2.5 + 1.5 * k, 0.5, (-0.005, 0.0, 0.0), label=f"step {k + 1}")
                    for k in range(4)
                ),
            ),
        ),
        Scenario(
            "free",
            "free motion: sideways, down, away and back, turning the pen a little",
            10.0,
            (
                Move(0.5, 1.5, (0.0, 0.06, 0.0), label="right"),
                Move(2.5, 1.5, (0.0, -0.06, -0.04), label="left and down"),
                Move(4.5, 1.5, (-0.03, 0.0, 0.04), label="away and up"),
                Move(6.5, 1.5, (0.03, 0.0, 0.0), (0.0, 0.15, 0.0), label="back, tilting"),
            ),
            {"wall.present": False},
        ),
        Scenario("rest", "nobody moves", 10.0, (), {"wall.present": False}),
        Scenario(
            "drive",
            "the pen is pushed out of its middle, and the base drives on until it comes back",
            12.0,
            (
                Move(1.0, 1.0, (-0.055, 0.0, 0.0), label="out"),
                Move(7.0, 1.0, (0.055, 0.0, 0.0), label="back in"),
            ),
            {"wall.present": False, "rig.base": True},
        ),
        Scenario(
            "startup",
            "from a folded arm to full force feedback, step by step, then into the wall",
            33.0,
            (Move(28.0, 2.0, (-0.038, 0.0, 0.0), label="away, into the wall"),),
            {
                "rig.startup": True,
                "rig.posture": "folded",
                "wall.point": (0.37, 0.0, 0.0),
                # At the published 0.25 m/s the arm is there before it has turned
                "law.mapping.limiter.speed": 0.03,
            },
            ("0:engage", "27:set law.mapping.limiter.speed=0.25"),
        ),
        Scenario(
            "link-loss",
            "the link goes dead while both move",
            10.0,
            (Move(0.5, 1.5, (0.0, 0.06, 0.0), label="right"),),
            {
                "wall.present": False,
                "link.delay": 20.0,
                "link.outage_start": 1.2,
                "link.outage_length": 30.0,
            },
        ),
    )
}
"""Every scenario by name."""
