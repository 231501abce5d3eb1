"""Command-line options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

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
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of all random numbers.")]
Resume = Annotated[
    bool, Option("--resume", help="Continue the same work after Ctrl-C, with what it kept.")
]
