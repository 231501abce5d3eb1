"""Command-line options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from farhand.errors import BadValue
from farhand.report.output import claim_stdout

RigName = Annotated[
    str, Argument(metavar="RIG", help="Which system, such as dual-arm; see farhand list.")
]
RecordingPath = Annotated[
    Path, Argument(metavar="F.mcap", help="A recording, from farhand run --record.")
]

Law = Annotated[str | None, Option(metavar="L", help="Coupling law; default: the rig's own.")]
Layer = Annotated[str, Option(metavar="NAME", help="Passivity layer around the law.")]
ScenarioName = Annotated[
    str | None, Option("--scenario", metavar="NAME", help="What the hand does.")
]
Seconds = Annotated[
    float | None,
    Option(metavar="S", help="How long; default: headless the scenario, else until Ctrl-C."),
]
Host = Annotated[
    str, Option(metavar="ADDRESS", help="Address of the page; beyond localhost with a token.")
]
Port = Annotated[
    int, Option(metavar="N", min=0, max=65535, help="Port of the page; 0 takes a free one.")
]
RecordPath = Annotated[
    Path | None, Option("--record", metavar="F.mcap", help="Record every signal at its own rate.")
]
Delay = Annotated[float, Option(metavar="MS", help="Round-trip delay of the link, in ms.")]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="PATH=VALUE", help="Set a parameter; see run --parameters."),
]
TimedCommands = Annotated[
    list[str] | None,
    Option("--at", metavar="SECONDS:COMMAND", help="Give a command then, such as 7:stop."),
]

ModelFiles = Annotated[
    list[str] | None,
    Option("--model", metavar="FILE", help="What arms believe, from farhand torque fit."),
]

JsonPath = Annotated[
    Path | None,
    Option(
        "--json",
        metavar="PATH",
        callback=claim_stdout,
        help="Write the results to this file; - or nothing for stdout.",
    ),
]
ReportFolder = Annotated[
    Path | None, Option("--report", metavar="DIR", help="Write a page with plots, DIR/index.html.")
]
Space = Annotated[
    Literal["tool", "joints"] | None,
    Option("--space", help="What the law couples, of rig pair; joints by default."),
]
LeaderRobot = Annotated[
    str | None, Option("--leader", metavar="ROBOT", help="Which robot leads, of rig pair.")
]
FollowerRobot = Annotated[
    str | None, Option("--follower", metavar="ROBOT", help="Which robot follows, of rig pair.")
]
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of all random numbers.")]
Resume = Annotated[
    bool, Option("--resume", help="Continue the same work after Ctrl-C, with what it kept.")
]
Publish = Annotated[
    list[str] | None,
    Option(
        "--publish",
        metavar="WHERE",
        help="Show it live: ros2[://ROUTER], foxglove[:PORT] or rerun[:PORT]; repeatable.",
    ),
]
PublishDrive = Annotated[
    bool,
    Option("--publish-drive", help="Let everybody whom --publish reaches drive, not only stop."),
]
PublishRate = Annotated[
    float, Option("--publish-rate", metavar="HZ", help="Rate of every published topic at most.")
]


def pair_settings(
    rig: str, leader: str | None, follower: str | None, space: str | None
) -> list[tuple[str, object]]:
    """Settings for the options of the rig pair.

    Raises:
        BadValue: they were given for another rig.
    """
    given = {"leader_plant": leader, "follower_plant": follower, "space": space}
    chosen: list[tuple[str, object]] = [
        (f"rig.{name}", value) for name, value in given.items() if value is not None
    ]
    if not chosen:
        return chosen
    from farhand.rigs.rig import PRESETS

    if rig not in ("pair", *PRESETS):
        raise BadValue(
            f"--leader, --follower and --space are for the rig pair; {rig} has its own arms"
        )
    return chosen
