"""Command-line options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farhand.report.output import claim_stdout

RigName = Annotated[
    str, typer.Argument(metavar="RIG", help="Which system, such as dual-arm; see farhand list.")
]
RecordingPath = Annotated[
    Path, typer.Argument(metavar="F.mcap", help="A recording, from farhand run --record.")
]

Law = Annotated[str | None, typer.Option(metavar="L", help="Coupling law; default: the rig's own.")]
Layer = Annotated[str, typer.Option(metavar="NAME", help="Passivity layer around the law.")]
ScenarioName = Annotated[
    str | None, typer.Option("--scenario", metavar="NAME", help="What the hand does.")
]
Seconds = Annotated[
    float | None,
    typer.Option(metavar="S", help="How long; default: headless the scenario, else until Ctrl-C."),
]
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Address of the page; beyond localhost with a token.")
]
Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65535, help="Port of the page; 0 takes a free one.")
]
RecordPath = Annotated[
    Path | None,
    typer.Option("--record", metavar="F.mcap", help="Record every signal at its own rate."),
]
Delay = Annotated[float, typer.Option(metavar="MS", help="Round-trip delay of the link, in ms.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a parameter; see run --parameters."),
]
TimedCommands = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="SECONDS:COMMAND", help="Give a command then, such as 7:stop."),
]

JsonPath = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="PATH",
        callback=claim_stdout,
        help="Write the results to this file; - or nothing for stdout.",
    ),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="Write a page with plots, DIR/index.html."),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of all random numbers.")
]
