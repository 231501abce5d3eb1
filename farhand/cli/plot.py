"""``farhand plot``: a recording as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farhand.cli.info import RecordingPath
from farhand.errors import BadValue
from farhand.report.output import check_files, stdout

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="F.png", help="PNG, SVG or PDF; by default F.png beside the recording."
    ),
]
Signals = Annotated[
    list[str] | None,
    typer.Option(
        "--signal", metavar="NAME", help="Such as leader/q; see farhand info. Repeatable."
    ),
]
From = Annotated[float, typer.Option("--from", metavar="S", help="Begin there.")]
To = Annotated[float | None, typer.Option("--to", metavar="S", help="End there.")]
KINDS = (".png", ".svg", ".pdf")


def plot(
    recording: RecordingPath,
    out: Out = None,
    signal: Signals = None,
    since: From = 0.0,
    until: To = None,
) -> None:
    """Draw the signals of a recording over time, with its events.

    Example: [bold]farhand plot demo.mcap --signal leader/wrench_measured_in_world --out
    force.png[/bold]
    """
    out = out or recording.with_suffix(".png")
    if out.suffix.lower() not in KINDS:
        raise BadValue(f"--out {out} ends in none of {', '.join(KINDS)}")
    check_files(out, read=[recording])
    from farhand.recording.loader import load
    from farhand.recording.plots import draw

    for silent in draw(load(recording), out, signal or [], since, until):
        stdout().print(f"not measured, so not drawn: {silent}", soft_wrap=True)
    stdout().print(f"plot: {out}", soft_wrap=True)
