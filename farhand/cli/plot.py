"""``farhand plot``: a recording as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from farhand.cli.options import RecordingPath
from farhand.report.output import check_files, check_picture, say

Out = Annotated[
    Path | None,
    Option(metavar="F.png", help="PNG, SVG or PDF; default: F.png beside the recording."),
]
Signals = Annotated[
    list[str] | None,
    Option("--signal", metavar="NAME", help="Such as leader/q, repeatable; see info."),
]
From = Annotated[float, Option("--from", metavar="S", help="Start at this time.")]
To = Annotated[float | None, Option("--to", metavar="S", help="End at this time.")]


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
    check_picture("--out", out)
    check_files(out, read=[recording])
    from farhand.recording.loader import load
    from farhand.recording.plots import draw

    for missing in draw(load(recording), out, signal or [], since, until):
        say(f"not measured, so not drawn: {missing}")
    say(f"plot: {out}")
