"""``farhand perform``: a learnt skill moves the robot it was learnt on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from farhand.cli.options import Host, JsonPath, Port, RecordPath, Seed, Settings
from farhand.cli.run import Headless
from farhand.errors import BadValue
from farhand.report.output import say, say_error, show_table, stdout, within, write_json
from farhand.running.arguments import check_run_files, check_seconds, parse_settings

if TYPE_CHECKING:
    from farhand.learning.skill import Skill
    from farhand.rigs import Options, Rig
    from farhand.running.performing import PerformanceOutcome
    from farhand.running.run import RunOutcome

SkillPath = Annotated[
    Path, Argument(metavar="SKILL.npz", help="A skill, or way-points (.txt), from farhand learn.")
]
Shift = Annotated[
    float, Option("--shift", metavar="M", help="Move the wall this much further away, in m.")
]
Tilt = Annotated[
    float, Option("--tilt", metavar="DEG", help="Turn the wall about the vertical, in °.")
]
Goal = Annotated[
    str | None, Option("--goal", metavar="X,Y,Z", help="Another goal of the tool, in m.")
]
Via = Annotated[
    list[str] | None,
    Option("--via", metavar="PHASE,X,Y,Z", help="Pass here at this phase, 0 to 1."),
]
PositionOnly = Annotated[bool, Option("--position-only", help="Ignore the learnt force.")]
Compare = Annotated[bool, Option("--compare", help="Perform twice, with the force and without it.")]
Seconds = Annotated[
    float | None, Option(metavar="S", help="How long; default: what the skill takes.")
]


def perform(
    skill: SkillPath,
    shift: Shift = 0.0,
    tilt: Tilt = 0.0,
    goal: Goal = None,
    via: Via = None,
    position_only: PositionOnly = False,
    compare: Compare = False,
    seconds: Seconds = None,
    headless: Headless = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    record: RecordPath = None,
    settings: Settings = None,
    seed: Seed = 0,
    json: JsonPath = None,
) -> int:
    """Perform a skill on its rig, and say how well contact and force were kept.

    Example: [bold]farhand perform wipe.npz --headless --shift 0.02 --tilt 5 --compare[/bold]
    """
    if compare and not headless:
        raise BadValue("--compare needs --headless: the page shows one performance")
    within("--shift", shift, -0.5, 0.5, "m")
    within("--tilt", tilt, -45.0, 45.0, "°")
    check_seconds(seconds)
    check_run_files(json, None, record, read=[skill])
    from farhand.learning import load_skill
    from farhand.running.performing import outcome_of, perform_rig

    page_at = None if headless else (host, port)
    if skill.suffix == ".txt":
        bends: dict[str, object] = {"shift": shift, "tilt": tilt, "goal": goal, "via": via}
        _check_points(skill, bends | {"position-only": position_only, "compare": compare})
        return _replay(skill, _options(settings, seed, headless), page_at, record, json)
    learnt = bent(load_skill(skill), goal, via or [])
    outcomes: dict[str, PerformanceOutcome] = {}
    faults: list[str] = []
    for number, aware in enumerate(_ways(learnt, skill, compare, position_only)):
        options = _options(settings, seed, headless)
        options.settings.append(("law.force_aware", aware))
        rig = perform_rig(learnt, options, shift, math.radians(tilt))
        try:
            _check_places(rig, goal, via or [])
            length = seconds or rig.scenario.seconds
            outcome = _run(rig, length, None if number else record, page_at, "performing")
            outcomes["force-aware" if aware else "position-only"] = outcome_of(rig)
            faults += _faults(rig, outcome)
        finally:
            rig.close()
    write_json(json, _result(learnt, shift, tilt, outcomes))
    _show(outcomes)
    return _conclude(faults)


def _options(settings: list[str] | None, seed: int, headless: bool) -> Options:
    from farhand.loop.clock import VirtualClock, WallClock
    from farhand.rigs import Options

    clock = VirtualClock() if headless else WallClock()
    return Options(seed=seed, settings=parse_settings(settings), clock=clock)


def _ways(skill: Skill, path: Path, compare: bool, position_only: bool) -> list[bool]:
    """Whether the force counts, for each performance."""
    kind = skill.facts.force_kind
    if compare and kind != "measured":
        raise BadValue(f"--compare needs a measured force; that of {path} is {kind}")
    return [True, False] if compare else [kind == "measured" and not position_only]


def _check_places(rig: Rig, goal: str | None, vias: list[str]) -> None:
    """Refuse a goal or a via-point that is out of reach for sure."""
    import numpy as np

    from farhand.running.performing import check_reach

    places = [] if goal is None else [(f"--goal {goal}", _numbers("--goal", goal, 3))]
    places += [(f"--via {text}", _numbers("--via", text, 4)[1:]) for text in vias]
    for name, place in places:
        check_reach(rig, np.array(place), name)


def _faults(rig: Rig, outcome: RunOutcome) -> list[str]:
    from farhand.running.run import faults_of

    return faults_of(rig, outcome)


def _conclude(faults: list[str]) -> int:
    for line in faults:
        say_error(line)
    return 2 if faults else 0


def _check_points(path: Path, options: Mapping[str, object]) -> None:
    """Refuse options that change or judge a skill: way-points are used as they are."""
    for name in (name for name, value in options.items() if value):
        raise BadValue(f"--{name} needs a skill; {path} holds way-points, which cannot be changed")


def _replay(
    path: Path,
    options: Options,
    page_at: tuple[str, int] | None,
    record: Path | None,
    json: Path | None,
) -> int:
    """Go to the way-points of a file."""
    from farhand.learning.waypoints import read_points
    from farhand.running.performing import replay_rig, stopped

    points = read_points(path)
    rig = replay_rig(points, options)
    try:
        outcome = _run(rig, rig.scenario.seconds, record, page_at, "replaying")
        faults, stop = _faults(rig, outcome), stopped(rig)
        reached = int(rig.metrics.history.signal("coupling", "waypoints_reached")[-1, 0])
    finally:
        rig.close()
    write_json(json, {"waypoints": len(points), "reached": reached, "stopped": stop})
    stdout().print(f"{reached} of {len(points)} way-points reached")
    if stop is not None:
        say(stop, style="bold red")
    return _conclude(faults)


def bent(skill: Skill, goal: str | None, vias: list[str]) -> Skill:
    """The skill with another goal and via-points as they stand on the command line."""
    import numpy as np

    if goal is not None:
        skill = skill.towards(np.array(_numbers("--goal", goal, 3)))
    for text in vias:
        at, *position = _numbers("--via", text, 4)
        skill = skill.through(at, np.array(position))
    return skill


def _numbers(flag: str, text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(abs(number) < 10.0 for number in numbers):
        raise BadValue(f"{flag} {text!r} is not {count} numbers below 10, with commas between them")
    return numbers


def _run(
    rig: Rig, seconds: float, record: Path | None, page_at: tuple[str, int] | None, doing: str
) -> RunOutcome:
    from farhand.running.page import run_rig

    title = f"{doing} at {{address}} (Ctrl-C ends it)"
    return run_rig(rig, seconds, record, page_at, title, fixed=True)[1]


def _result(
    skill: Skill, shift: float, tilt: float, outcomes: dict[str, PerformanceOutcome]
) -> dict[str, Any]:
    from farhand.cli.learn import summary

    performances = {name: vars(outcome) for name, outcome in outcomes.items()}
    return {"skill": summary(skill), "shift": shift, "tilt": tilt, "performances": performances}


def _show(outcomes: dict[str, PerformanceOutcome]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("", "done", "contact", "force", "of shown", "rms error", "goal off"):
        table.add_column(header, no_wrap=True)
    for name, outcome in outcomes.items():
        force = ["-"] * 4
        if outcome.contact_kept is not None and outcome.force_ratio is not None:
            force = [
                f"{outcome.contact_kept:.1%}",
                f"{outcome.force_mean:.1f} N",
                f"{outcome.force_ratio:.2f}",
                f"{outcome.force_rms_error:.1f} N",
            ]
        table.add_row(name, f"{outcome.phase:.0%}", *force, f"{1e3 * outcome.goal_error:.1f} mm")
    show_table(table)
    for name, outcome in outcomes.items():
        if outcome.stopped is not None:
            say(f"{name}: {outcome.stopped}", style="bold red")
