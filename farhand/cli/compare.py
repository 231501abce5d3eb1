"""``farhand compare``: the same tasks under several laws and delays, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from farhand.cli.options import (
    FollowerRobot,
    JsonPath,
    Layer,
    LeaderRobot,
    ModelFiles,
    ReportFolder,
    Resume,
    RigName,
    Seed,
    Settings,
    Space,
    pair_settings,
)
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.report.figures import STYLES
from farhand.report.output import Bar, check_files, check_folder, counting, say, write_json
from farhand.running import fill_cache
from farhand.running.arguments import parse_delays, parse_laws, parse_settings

Laws = Annotated[
    str, Option(metavar="all|A,B,…", help="Which laws; default: all that the rig can run.")
]
Delays = Annotated[
    str, Option("--delay", metavar="MS,…", help="Round-trip delays in milliseconds.")
]
Pictures = Annotated[
    Path | None,
    Option("--pictures", metavar="DIR", help="Write laws-impedance.svg and laws-delay.svg."),
]
Style = Annotated[
    str,
    Option(metavar="screen|paper", help="Look of the plots; paper: 85 mm wide, 8 pt, also PDF."),
]


def compare(
    rig: RigName,
    laws: Laws = "all",
    delay: Delays = "0",
    layer: Layer = "none",
    leader: LeaderRobot = None,
    follower: FollowerRobot = None,
    space: Space = None,
    model: ModelFiles = None,
    settings: Settings = None,
    report: ReportFolder = None,
    pictures: Pictures = None,
    style: Style = "screen",
    json: JsonPath = None,
    seed: Seed = 0,
    resume: Resume = False,
) -> int:
    """Compare laws and delays in free motion, soft and hard contact, in one table.

    Felt inertia is the handle's inertia at 1 to 3 Hz minus the leader's own. A law that a rig
    cannot run is listed with the reason, as is one that lacks a parameter of --set. The hard wall
    is the rig's own or that of --set wall.stiffness; the soft one is always 500 N/m. Ctrl-C shows
    and keeps the finished rows, and --resume continues with the same rig, layer, seed and code.

    Example: [bold]farhand compare dual-arm --laws all --delay 0,20,100 --report report[/bold]
    """
    check_files(json, report=report)
    check_folder(pictures)
    fill_cache.at_once()
    if style not in STYLES:
        raise UnknownName("style", style, STYLES)
    if style != "screen" and report is None and pictures is None:
        raise BadValue(f"--style {style} draws nothing without --pictures or --report")
    chosen, delays = parse_laws(laws), parse_delays(delay)
    believed = [("model", file) for file in model or []]
    changed = (*pair_settings(rig, leader, follower, space), *believed, *parse_settings(settings))
    with Bar(f"preparing {rig}"):
        from farhand.link.layers import make_layer
        from farhand.loop.interrupts import ending_workers
        from farhand.report.comparison import show_comparison, write_page, write_pictures
        from farhand.rigs.rig import rig_names, scenarios_of
        from farhand.running import comparison
        from farhand.running.resume import resumable

    # Both refuse an unknown name
    make_layer(layer)
    if "wall" not in scenarios_of(rig):
        able = ", ".join(name for name in rig_names() if "wall" in scenarios_of(name))
        raise Mismatch(f"{rig} has no wall to press on, which compare needs; rigs with one: {able}")
    cases = [comparison.Case(rig, law, ms, layer, seed, changed) for law in chosen for ms in delays]
    work = {"rig": rig, "layer": layer, "seed": seed, "set": changed}
    with resumable("compare", work, resume, json, report) as finished:
        try:
            with ending_workers(), counting("comparing") as progress:
                if changed:
                    comparison.check([case for case in cases if case.delay == delays[0]])
                rows = comparison.compare(cases, progress, finished=finished)
        except KeyboardInterrupt:
            if finished.rows:
                show_comparison(list(finished.rows.values()))
            raise
    write_json(json, rows)
    show_comparison(rows)
    if report is not None:
        say(f"report: {write_page(rig, rows, report, style)}")
    if pictures is not None:
        write_pictures(rows, pictures, style)
    return 0
