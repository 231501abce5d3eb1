"""``farhand perform``: a learnt skill moves the robot it was learnt on, where things may have moved."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farhand.cli.run import Headless, Host, Port, RecordPath, Settings
from farhand.errors import BadValue
from farhand.report.output import JsonPath, Seed, stdout, within, write_json
from farhand.running.run import LONGEST, SHORTEST, check_run_files, setting_of

if TYPE_CHECKING:
    from farhand.learning.skill import Skill
    from farhand.rigs import Rig
    from farhand.running.performing import PerformanceOutcome
    from farhand.running.run import RunOutcome

SkillPath = Annotated[
    Path,
    typer.Argument(metavar="SKILL.npz", help="A skill, or way-points (.txt), from farhand learn."),
]
Shift = Annotated[
    float, typer.Option("--shift", metavar="M", help="The wall stands so much further away, in m.")
]
Tilt = Annotated[
    float,
    typer.Option("--tilt", metavar="DEG", help="It is turned so much about the vertical, in °."),
]
Goal = Annotated[
    str | None, typer.Option("--goal", metavar="X,Y,Z", help="Another goal of the tool, in m.")
]
Via = Annotated[
    list[str] | None,
    typer.Option("--via", metavar="PHASE,X,Y,Z", help="Pass here at this phase, 0 to 1."),
]
PositionOnly = Annotated[
    bool, typer.Option("--position-only", help="Leave the learnt force aside.")
]
Compare = Annotated[
    bool, typer.Option("--compare", help="Perform twice, with the force and without it.")
]
Seconds = Annotated[
    float | None, typer.Option(metavar="S", help="How long; by default what the skill takes.")
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
    within("--seconds", SHORTEST if seconds is None else seconds, SHORTEST, LONGEST, "s")
    check_run_files(json, None, record, read=[skill])
    from farhand.learning import load_skill

    if skill.suffix == ".txt":
        _check_points(
            skill,
            shift=shift,
            tilt=tilt,
            goal=goal,
            via=via,
            position_only=position_only,
            compare=compare,
        )
        return _replay(skill, settings or [], seed, headless, (host, port), record, json)
    learnt = bent(load_skill(skill), goal, via or [])
    chosen = [setting_of(text) for text in settings or ()]
    outcomes: dict[str, PerformanceOutcome] = {}
    faults: list[str] = []
    for number, aware in enumerate(_ways(learnt, skill, compare, position_only)):
        rig = _rig(
            learnt, [*chosen, ("law.force_aware", aware)], seed, headless, shift, math.radians(tilt)
        )
        _check_places(rig, goal, via or [])
        outcome, found = _run(
            rig, seconds, record if number == 0 else None, None if headless else (host, port)
        )
        outcomes["force-aware" if aware else "position-only"] = outcome
        faults += found
    write_json(json, _result(learnt, shift, tilt, outcomes))
    _show(outcomes)
    return _conclude(faults)


def _ways(skill: Skill, path: Path, compare: bool, position_only: bool) -> list[bool]:
    """Whether the force counts, for each performance."""
    feels = skill.facts.force_kind == "measured"
    if compare and not feels:
        raise BadValue(
            f"--compare needs a measured force; that of {path} is {skill.facts.force_kind}"
        )
    return [True, False] if compare else [feels and not position_only]


def _check_places(rig: Rig, goal: str | None, vias: list[str]) -> None:
    """Refuse a goal or a via-point that is out of reach for sure."""
    import numpy as np

    from farhand.running.performing import check_reach

    given = [] if goal is None else [(f"--goal {goal}", _numbers("--goal", goal, 3))]
    given += [(f"--via {text}", _numbers("--via", text, 4)[1:]) for text in vias]
    try:
        for what, place in given:
            check_reach(rig, np.array(place), what)
    except BadValue:
        rig.close()
        raise


def _faults(rig: Rig, driven: RunOutcome) -> list[str]:
    """What makes a run worth nothing, as for ``farhand run``: a stop for something that is no number, or no recording.

    Any other stop is an outcome like reaching the goal; it is shown, and the code stays 0.
    """
    invalid = next((found for found in rig.session.trips if found.trip.kind == "invalid"), None)
    found = []
    if invalid is not None:
        found.append(
            f"{invalid.where} stopped at {1e-9 * invalid.trip.time_ns:g} s: {invalid.trip.reason}"
        )
    if driven.unrecorded is not None:
        found.append(f"the recording stopped before the run: {driven.unrecorded}")
    return found


def _conclude(faults: list[str]) -> int:
    for line in faults:
        print(f"farhand: {line}", file=sys.stderr)
    return 2 if faults else 0


def _check_points(path: Path, **given: object) -> None:
    """Refuse what bends or judges a skill: way-points are gone to as they are."""
    for name in (name.replace("_", "-") for name, value in given.items() if value):
        raise BadValue(
            f"--{name} needs a skill; {path} holds way-points, which are gone to as they are"
        )


def _replay(
    path: Path,
    settings: list[str],
    seed: int,
    headless: bool,
    at: tuple[str, int],
    record: Path | None,
    json: Path | None,
) -> int:
    """Go to the way-points of a file."""
    from farhand.learning.waypoints import read_points
    from farhand.loop.clock import VirtualClock, WallClock
    from farhand.rigs import Options
    from farhand.running.performing import replay_rig, stopped

    points = read_points(path)
    clock = VirtualClock() if headless else WallClock()
    rig = replay_rig(
        points, Options(seed=seed, settings=[setting_of(text) for text in settings], clock=clock)
    )
    try:
        driven = _drive(rig, rig.scenario.seconds, record, None if headless else at, "replaying")
        faults, stop = _faults(rig, driven), stopped(rig)
        reached = int(rig.metrics.history.signal("coupling", "waypoints_reached")[-1, 0])
    finally:
        rig.close()
    write_json(json, {"waypoints": len(points), "reached": reached, "stopped": stop})
    stdout().print(f"{reached} of {len(points)} way-points reached")
    if stop is not None:
        stdout().print(stop, style="bold red", soft_wrap=True)
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


def _rig(
    skill: Skill, settings: list[Any], seed: int, headless: bool, shift: float, tilt: float
) -> Rig:
    from farhand.loop.clock import VirtualClock, WallClock
    from farhand.rigs import Options
    from farhand.running.performing import perform_rig

    options = Options(
        seed=seed, settings=settings, clock=VirtualClock() if headless else WallClock()
    )
    return perform_rig(skill, options, shift, tilt)


def _run(
    rig: Rig, seconds: float | None, record: Path | None, page_at: tuple[str, int] | None
) -> tuple[PerformanceOutcome, list[str]]:
    """How it went, and what makes it worth nothing."""
    from farhand.running.performing import outcome_of

    try:
        driven = _drive(rig, seconds or rig.scenario.seconds, record, page_at, "performing")
        return outcome_of(rig), _faults(rig, driven)
    finally:
        rig.close()


def _drive(
    rig: Rig, seconds: float, record: Path | None, page_at: tuple[str, int] | None, doing: str
) -> RunOutcome:
    """Run to the end, headless or on a page that can stop and record it, but not put another session in its place."""
    if page_at is None:
        from farhand.running.run import drive

        return drive(rig, seconds, record)
    from farhand.running.page import page_for, steer

    with page_for(rig, *page_at, fixed=True) as page:
        stdout().print(f"{doing} at [bold]{page.address}[/bold] (Ctrl-C ends it)", soft_wrap=True)
        return steer(rig, seconds, record, page, fixed=True)[1]


def _result(
    skill: Skill, shift: float, tilt: float, outcomes: dict[str, PerformanceOutcome]
) -> dict[str, Any]:
    from farhand.cli.learn import summary

    said = {name: vars(outcome) for name, outcome in outcomes.items()}
    return {"skill": summary(skill), "shift": shift, "tilt": tilt, "performances": said}


def _show(outcomes: dict[str, PerformanceOutcome]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("", "done", "contact", "force", "of shown", "rms error", "goal off"):
        table.add_column(header, no_wrap=True)
    for name, found in outcomes.items():
        force = ["-"] * 4
        if found.contact_kept is not None and found.force_ratio is not None:
            force = [
                f"{found.contact_kept:.1%}",
                f"{found.force_mean:.1f} N",
                f"{found.force_ratio:.2f}",
            ]
            force.append(f"{found.force_rms_error:.1f} N")
        table.add_row(name, f"{found.phase:.0%}", *force, f"{1e3 * found.goal_error:.1f} mm")
    stdout().print(table)
    for name, found in outcomes.items():
        if found.stopped is not None:
            stdout().print(f"{name}: {found.stopped}", style="bold red", soft_wrap=True)
