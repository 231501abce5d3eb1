"""``farhand run``: run a rig, on the console page or headless, and report how well it did."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from farhand import plugins
from farhand.cli.options import (
    Delay,
    Host,
    JsonPath,
    Law,
    Layer,
    ModelFiles,
    Port,
    Publish,
    PublishDrive,
    PublishRate,
    RecordPath,
    ReportFolder,
    RigName,
    ScenarioName,
    Seconds,
    Seed,
    Settings,
    Space,
    TimedCommands,
)
from farhand.errors import BadValue, UnknownName
from farhand.report.output import (
    Bar,
    check_core,
    note,
    plain_value,
    say,
    say_error,
    stdout,
    within,
    write_json,
)
from farhand.running import fill_cache
from farhand.running.arguments import (
    check_run_files,
    check_seconds,
    parse_settings,
    post_commands,
    read_gains,
)

if TYPE_CHECKING:
    from farhand.rigs import Options, Rig
    from farhand.running.run import RunOutcome

MIN_TABLE_WIDTH = 110
"""Characters that a table of parameters needs; a narrower terminal gets two lines for each."""

Headless = Annotated[bool, Option("--headless", help="No page, as fast as the computer can.")]
ClockName = Annotated[
    Literal["virtual", "wall"] | None,
    Option("--clock", help="Default: virtual when headless and simulated, else wall."),
]
Core = Annotated[
    int | None,
    Option("--core", metavar="N", min=0, help="Keep a loop on the wall clock on this core."),
]
Jitter = Annotated[float, Option(metavar="MS", help="Deviation of one packet's delay, in ms.")]
Loss = Annotated[float, Option(metavar="P", help="Share of packets lost, 0 to 1.")]
LeaderPlant = Annotated[
    str | None,
    Option(
        "--leader",
        metavar="PLANT",
        help="What leads: ur:HOST, spacemouse, gamepad; for pair also a robot's name or file.",
    ),
]
FollowerPlants = Annotated[
    list[str] | None,
    Option(
        "--follower",
        metavar="PLANT",
        help="What follows: ur:HOST, serial:PATH; for pair also robots' names or files.",
    ),
]
PairCount = Annotated[
    int, Option("--pairs", metavar="N", min=1, max=8, help="How many such pairs, of rig pair.")
]
NoWait = Annotated[
    bool, Option("--no-wait", help="Begin at once, not when the first visitor opens the page.")
]
OpenPage = Annotated[bool, Option("--open", help="Open the page in your browser.")]
SessionName = Annotated[
    str | None,
    Option("--name", metavar="NAME", help="Let other programs attach; see farhand serve."),
]
GainsFile = Annotated[
    Path | None, Option("--gains", metavar="F.toml", help="Law and gains, from farhand tune.")
]
TaskName = Annotated[
    str | None,
    Option("--task", metavar="NAME", help="Something to do with real contact; see farhand list."),
]
OperatorName = Annotated[
    str, Option("--operator", metavar="NAME", help="Who: expert, novice, tired, or none to drag.")
]
ListParameters = Annotated[
    bool, Option("--parameters", help="List every parameter with its value and exit.")
]


def run(
    rig: RigName,
    law: Law = None,
    layer: Layer = "none",
    scenario: ScenarioName = None,
    seconds: Seconds = None,
    headless: Headless = False,
    no_wait: NoWait = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    open: OpenPage = False,
    name: SessionName = None,
    clock: ClockName = None,
    core: Core = None,
    record: RecordPath = None,
    delay: Delay = 0.0,
    jitter: Jitter = 0.0,
    loss: Loss = 0.0,
    leader: LeaderPlant = None,
    follower: FollowerPlants = None,
    space: Space = None,
    pairs: PairCount = 1,
    model: ModelFiles = None,
    settings: Settings = None,
    at: TimedCommands = None,
    gains: GainsFile = None,
    task: TaskName = None,
    operator: OperatorName = "expert",
    seed: Seed = 0,
    json: JsonPath = None,
    report: ReportFolder = None,
    parameters: ListParameters = False,
    publish: Publish = None,
    publish_drive: PublishDrive = False,
    publish_rate: PublishRate = 100.0,
) -> int:
    """Run a rig and print how well it did.

    Without --headless it runs in real time, serves a page to watch and steer it on, begins when
    the first visitor opens it, and goes on until Ctrl-C.

    Example: [bold]farhand run dual-arm --law position-force --delay 40 --headless --report
    report[/bold]
    """
    if clock == "virtual" and not headless:
        raise BadValue("--clock virtual needs --headless: the page shows a run in real time")
    if open and headless:
        raise BadValue("--open needs a page, and --headless serves none; leave out one of them")
    check_seconds(seconds)
    within("--delay", delay, 0.0, 10_000.0, "ms")
    within("--jitter", jitter, 0.0, 5_000.0, "ms")
    within("--loss", loss, 0.0, 1.0)
    within("--publish-rate", publish_rate, 1.0, 10_000.0, "Hz")
    if operator != "expert" and task is None:
        raise BadValue(f"--operator {operator} does a task: add --task, see farhand list tasks")
    if publish_drive and not publish:
        raise BadValue("--publish-drive lets others drive where --publish says; add --publish")
    check_core(core)
    check_run_files(json, report, record)
    named = {plant.partition(":")[0] for plant in (leader, *(follower or [])) if plant}
    machines = named & plugins.found("farhand.plants").keys()
    # neither machines nor people who watch know virtual time
    real = bool(machines or publish) and clock is None
    virtual = headless and clock != "wall" and not real
    if publish and virtual:
        raise BadValue("--publish needs --clock wall: viewers show a session in real time")
    if core is not None and virtual:
        raise BadValue("--core needs --clock wall: in virtual time no loop stays on a core")
    if name is not None and virtual:
        raise BadValue("--name needs --clock wall: other programs need a session in real time")
    fill_cache.in_background()
    # What takes seconds: the imports too, where the disk is slow
    with Bar(f"preparing {rig}"):
        from farhand.loop.clock import VirtualClock, WallClock
        from farhand.publishing import parse_destinations
        from farhand.rigs import Options
        from farhand.rigs.rig import SEVERAL
        from farhand.running.serving import NamedSession

        # Refused before anything is built
        called = f"published-{os.getpid()}" if publish and name is None else name
        served = None if called is None else NamedSession(called)
        destinations = parse_destinations(publish or [])
        found_law, found = read_gains(gains) if gains is not None else (None, [])
        law = law or found_law
        options = Options(
            law,
            layer,
            scenario,
            seed,
            delay,
            jitter,
            loss,
            settings=[*found, *parse_settings(settings)],
        )
        options.settings += [("model", file) for file in model or []]
        options.task, options.operator = task, operator
        # A visitor of the page may want to disturb a perfect link
        options.linked = not headless
        options.clock = VirtualClock() if virtual else WallClock()
        layout = _layout(rig, pairs, leader, follower or [], space)
        if layout is not None:
            rig, chosen = SEVERAL, dict[str, str | None]()
            options.settings.append(("rig.layout", layout))
        else:
            chosen = {"leader": leader, "follower": follower[0] if follower else None}
            if space is not None:
                options.settings.append(("rig.space", space))
        built = _build(rig, options, chosen)
    stack = ExitStack()
    try:
        _check_coupling(built)
        if parameters:
            list_parameters(built, json)
            return 0
        ends = headless and name is None
        length = seconds if seconds is not None else built.scenario.seconds if ends else None
        post_commands(built, at or [], length)
        with Bar("predicting whether it shakes"):
            from farhand.realtime.privileges import off_core
            from farhand.running.page import publishing, run_rig

            margin = _margin(built)
        # page, recorder and publishers inherit this
        stack.enter_context(off_core(core))
        if margin is not None:
            say(margin, style="dim")
        until = "" if length is None else f"after {length:g} s or "
        wait = not (no_wait or built.world.externally_driven)
        begins = "begins with its first visitor and " if wait else ""
        title = f"{rig} runs at {{address}} (it {begins}ends {until}with Ctrl-C)"
        page_at = None if headless else (host, port)
        if served is not None:
            served.open(built)
        if name is not None:
            say(f"{rig} is served as {name}: farhand.client.attach({name!r}) (ends with Ctrl-C)")
        if served is not None and destinations:
            where = (destinations, publish_drive, publish_rate)
            stack.enter_context(publishing(built, served.name, *where))
        built, outcome = run_rig(
            built,
            length,
            record,
            page_at,
            title,
            core=core,
            fixed=served is not None,
            wait=wait,
            planned=at or [],
            opened=open,
        )
        return _conclude(built, outcome, json, report, record)
    finally:
        stack.close()
        if served is not None:
            served.close()
        built.close()


def _layout(
    rig: str, count: int, leader: str | None, followers: list[str], space: str | None
) -> str | None:
    """Several pairs as a setting; None for a rig of its own with one follower at most."""
    from farhand.rigs.pairs.layout import like_pairs, read, to_text

    if rig.endswith(".toml"):
        given = {"--leader": leader, "--follower": followers, "--space": space}
        given["--pairs"] = "" if count == 1 else str(count)
        for flag in (flag for flag, value in given.items() if value):
            raise BadValue(f"{flag} has no effect beside {rig}: the file says it")
        return to_text(read(Path(rig)))
    if count == 1 and len(followers) < 2:
        return None
    if rig != "pair":
        flag = "--pairs" if count > 1 else "a second --follower"
        raise BadValue(f"{flag} is for the rig pair; {rig} has its own arms")
    return to_text(like_pairs(count, leader, followers, space))


def _build(name: str, options: Options, plants: dict[str, str | None]) -> Rig:
    """The rig, with the named plants in place of its simulated ones."""
    from farhand.rigs import build_rig

    named = {f"rig.{side}_plant": side for side, plant in plants.items() if plant is not None}
    options.settings += [(path, plants[side]) for path, side in named.items()]
    try:
        built = build_rig(name, options)
    except UnknownName as error:
        if "parameter 'rig.space'" in str(error):
            raise BadValue(f"--space is for the rig pair; what {name} couples is fixed") from None
        for path, side in named.items():
            if f"parameter {path!r}" in str(error):
                reason = f"the {side} of {name} is always simulated"
                raise BadValue(f"--{side} {plants[side]}: {reason}") from None
        raise
    for line in built.notes:
        note(line)
    return built


def _check_coupling(rig: Rig) -> None:
    """Refuse options of the coupling if the rig has none."""
    if rig.session.bridges:
        return
    options = rig.options
    used = {
        "--law": options.law not in (None, rig.law),
        "--layer": options.layer != "none",
        "--delay": options.delay,
        "--jitter": options.jitter,
        "--loss": options.loss,
    }
    for flag in (flag for flag, value in used.items() if value):
        raise BadValue(f"{flag} has no effect on {rig.name}: nothing couples its arms")


def _margin(rig: Rig) -> str | None:
    """How far the rig is from shaking, where that can be predicted."""
    from farhand.rigs.margin import margin

    # Nothing is known about arms and devices outside the simulation
    return None if rig.world.externally_driven else margin(rig)


def list_parameters(rig: Rig, json: Path | None, word: str | None = None) -> None:
    """Print every parameter of a rig, or those with a word in their path or meaning."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from farhand.parameters import value_text

    rows = [
        (path, plain_value(value), unit, meaning)
        for path, value, unit, meaning in rig.parameters()
        if word is None or word.lower() in f"{path} {meaning}".lower()
    ]
    keys = ("path", "value", "unit", "meaning")
    write_json(json, [dict(zip(keys, row, strict=True)) for row in rows])
    console = stdout()
    if console.width < MIN_TABLE_WIDTH:
        for path, value, unit, meaning in rows:
            line = f" = {value_text(value)} {unit.strip('-')}".rstrip()
            name = Text(path, "cyan").append(line, "default")
            console.print(name, Text(f"    {meaning}"), sep="\n")
        return
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("parameter", "value", "unit", "meaning"):
        table.add_column(header, no_wrap=header == "parameter", overflow="fold")
    for path, value, unit, meaning in rows:
        table.add_row(Text(path, "cyan"), Text(value_text(value)), unit, meaning)
    console.print(table)


def _conclude(
    rig: Rig, outcome: RunOutcome, json: Path | None, report: Path | None, record: Path | None
) -> int:
    """Write the files, print the summary, and give the exit code."""
    from farhand.report.summary import result_of, show
    from farhand.running.margin import shaking
    from farhand.running.run import faults_of

    result = result_of(rig, outcome)
    write_json(json, result)
    show(rig, result, outcome)
    for line in shaking(rig):
        say(line, style="yellow")
    if record is not None and outcome.unrecorded is None:
        say(f"recording: {record}")
    if report is not None:
        from farhand.report.run import write_report

        with Bar("writing the report"):
            path = write_report(rig, result, report)
        say(f"report: {path}")
    faults = faults_of(rig, outcome)
    for line in faults:
        say_error(line)
    return 2 if faults else 0
