"""``farhand tune``: gains that stay calm with a margin and feel as true as that allows."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from farhand.cli.options import (
    Delay,
    FollowerRobot,
    JsonPath,
    Law,
    LeaderRobot,
    ReportFolder,
    RigName,
    Seed,
    Settings,
    Space,
    pair_settings,
)
from farhand.errors import BadValue, UnknownName
from farhand.report.output import check_files, counting, say, show_values, within, write_json
from farhand.running import fill_cache
from farhand.running.arguments import parse_settings

if TYPE_CHECKING:
    from farhand.analysis.stability.loop import Contact

Hands = Annotated[
    str, Option(metavar="A,B", help="From which hand to which: none, soft, relaxed, firm.")
]
Walls = Annotated[
    str, Option(metavar="LOW,HIGH", help="Softest and stiffest wall, in N/m; free motion too.")
]
Margin = Annotated[
    float, Option(metavar="X", help="How many times stronger the force at the hand could be.")
]
Out = Annotated[Path | None, Option("--out", metavar="F.toml", help="Write the gains here.")]
Evaluations = Annotated[
    int, Option(metavar="N", min=10, max=100_000, help="Gains to try by prediction, about.")
]
Checks = Annotated[
    int, Option(metavar="N", min=0, max=10_000, help="Runs of the rig with the best gains.")
]


def tune(
    rig: RigName,
    law: Law = "position-force",
    delay: Delay = 0.0,
    hands: Hands = "soft,firm",
    walls: Walls = "500,6000",
    margin: Margin = 1.4,
    leader: LeaderRobot = None,
    follower: FollowerRobot = None,
    space: Space = None,
    settings: Settings = None,
    evaluations: Evaluations = 150,
    checks: Checks = 6,
    seed: Seed = 0,
    out: Out = None,
    report: ReportFolder = None,
    json: JsonPath = None,
) -> int:
    """Find the gains of a law for this rig, delay, and range of hands and walls.

    The gains stay calm with the margin over the whole range, in the prediction and in runs of the
    rig with sampled hands and walls. Among those, they feel most like the wall in contact and least
    in free motion. [bold]farhand run … --gains F.toml[/bold] uses them.

    Example: [bold]farhand tune pair --leader vx300s --follower vx300s --space tool --delay 20 --out
    gains.toml --report out[/bold]
    """
    check_files(json, out, report=report)
    within("--delay", delay, 0.0, 1000.0, "ms")
    within("--margin", margin, 1.0, 6.0)
    fill_cache.at_once()
    from farhand.report.tuning import as_json, gains_text, lines, write_gains, write_tuning
    from farhand.running.tuning import Range, Wish
    from farhand.running.tuning import tune as find

    changed = (*pair_settings(rig, leader, follower, space), *parse_settings(settings))
    wish = Wish(
        rig,
        law or "position-force",
        delay,
        Range(*_hands(hands)),
        Range(*_walls(walls)),
        margin,
        changed,
    )
    with counting("tuning") as progress:
        result = find(wish, evaluations, checks, seed, progress)
    command = shlex.join(["farhand", *sys.argv[1:]])
    write_json(json, as_json(result))
    shaking = [run for run in result.runs if run["shakes"]]
    show_values(f"{rig} · {wish.law} at {delay:g} ms", lines(result))
    if out is not None:
        write_gains(out, gains_text(result, command))
        say(f"gains: {out}; farhand run {rig} … --gains {out} uses them")
    if report is not None:
        say(f"report: {write_tuning(result, report, command)}")
    if shaking:
        say("it still shakes in a run: ask for more --margin or a softer wall", style="yellow")
    return 2 if shaking else 0


def _hands(text: str) -> tuple[Contact, Contact]:
    from farhand.analysis.stability.loop import HANDS

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in HANDS:
            raise UnknownName("hand", name, HANDS)
    if len(names) != 2:
        raise BadValue(f"--hands {text!r} is not two names such as soft,firm")
    return HANDS[names[0]], HANDS[names[1]]


def _walls(text: str) -> tuple[Contact, Contact]:
    from farhand.analysis.stability.loop import Contact

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise BadValue(f"--walls {text!r} is not LOW,HIGH in N/m, such as 500,6000") from None
    within("--walls", low, 1.0, 1e6, "N/m")
    within("--walls", high, low, 1e6, "N/m")
    return Contact(low), Contact(high)
