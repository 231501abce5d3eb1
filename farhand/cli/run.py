"""``farhand run``: the main job. A rig runs, on the console page or headless, and leaves its numbers behind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from farhand.errors import BadValue, UnknownName
from farhand.report.output import (
    JsonPath,
    ReportFolder,
    Seed,
    check_core,
    note,
    stdout,
    within,
    write_json,
)
from farhand.running.run import LONGEST, SHORTEST, check_run_files, post_commands, setting_of

if TYPE_CHECKING:
    from farhand.rigs import Options, Rig
    from farhand.running.run import RunOutcome

BROAD = 110  # characters that a table of parameters takes to be read with ease

RigName = Annotated[
    str, typer.Argument(metavar="RIG", help="Which system, such as dual-arm; see farhand list.")
]
Law = Annotated[
    str | None, typer.Option(metavar="L", help="Coupling law; the rig's own by default.")
]
Layer = Annotated[str, typer.Option(metavar="NAME", help="Passivity layer around the law.")]
ScenarioName = Annotated[
    str | None, typer.Option("--scenario", metavar="NAME", help="What the hand does.")
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S", help="How long; by default the scenario headless, else until Ctrl-C."
    ),
]
Headless = Annotated[bool, typer.Option("--headless", help="No page, as fast as the computer can.")]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Where the page listens; elsewhere than here with a token."
    ),
]
Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65535, help="Port of the page; 0 takes a free one.")
]
ClockName = Annotated[
    Literal["virtual", "wall"] | None,
    typer.Option("--clock", help="virtual when headless, else wall."),
]
Core = Annotated[
    int | None,
    typer.Option("--core", metavar="N", min=0, help="Keep a loop on the wall clock on this core."),
]
RecordPath = Annotated[
    Path | None,
    typer.Option("--record", metavar="F.mcap", help="Record every signal at its own rate."),
]
Delay = Annotated[float, typer.Option(metavar="MS", help="Round-trip delay of the link, in ms.")]
Jitter = Annotated[
    float, typer.Option(metavar="MS", help="Deviation of one packet's delay, in ms.")
]
Loss = Annotated[float, typer.Option(metavar="P", help="Share of packets lost, 0 to 1.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a parameter; see --parameters."),
]
Posts = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="SECONDS:COMMAND", help="Give a command then, such as 7:stop."),
]
LeaderPlant = Annotated[
    str | None,
    typer.Option("--leader", metavar="PLANT", help="What leads: ur:HOST, spacemouse or gamepad."),
]
FollowerPlant = Annotated[
    str | None,
    typer.Option(
        "--follower", metavar="PLANT", help="What follows: ur:HOST, or serial:PATH (humanoid)."
    ),
]
ListParameters = Annotated[
    bool, typer.Option("--parameters", help="List every parameter with its value and exit.")
]


def run(
    rig: RigName,
    law: Law = None,
    layer: Layer = "none",
    scenario: ScenarioName = None,
    seconds: Seconds = None,
    headless: Headless = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    clock: ClockName = None,
    core: Core = None,
    record: RecordPath = None,
    delay: Delay = 0.0,
    jitter: Jitter = 0.0,
    loss: Loss = 0.0,
    leader: LeaderPlant = None,
    follower: FollowerPlant = None,
    settings: Settings = None,
    at: Posts = None,
    seed: Seed = 0,
    json: JsonPath = None,
    report: ReportFolder = None,
    parameters: ListParameters = False,
) -> int:
    """Run a rig and print how well it did.

    Without --headless it runs in real time, serves a page to watch and steer it on, and goes on
    until Ctrl-C.

    Example: [bold]farhand run dual-arm --law position-force --delay 40 --headless --report
    report[/bold]
    """
    if clock == "virtual" and not headless:
        raise BadValue("--clock virtual needs --headless: the page shows a run in real time")
    within("--seconds", SHORTEST if seconds is None else seconds, SHORTEST, LONGEST, "s")
    within("--delay", delay, 0.0, 10_000.0, "ms")
    within("--jitter", jitter, 0.0, 5_000.0, "ms")
    within("--loss", loss, 0.0, 1.0)
    check_core(core)
    check_run_files(json, report, record)
    from farhand.loop.clock import VirtualClock, WallClock
    from farhand.rigs import Options

    virtual = headless and clock != "wall"
    if core is not None and virtual:
        raise BadValue("--core needs --clock wall: virtual time has no loop to keep anywhere")
    options = Options(
        law,
        layer,
        scenario,
        seed,
        delay,
        jitter,
        loss,
        [setting_of(text) for text in settings or ()],
    )
    options.clock = VirtualClock() if virtual else WallClock()
    built = _build(rig, options, {"leader": leader, "follower": follower})
    try:
        _check_coupling(built)
        if parameters:
            return _list_parameters(built, json)
        length = seconds if seconds is not None else built.scenario.seconds if headless else None
        post_commands(built, at or [], length)
        _print_margin(built)
        built, outcome = _run(built, length, record, None if headless else (host, port), core)
        return _conclude(built, outcome, json, report, record)
    finally:
        built.close()


def _build(name: str, options: Options, plants: dict[str, str | None]) -> Rig:
    """The rig, with what was named in place of its simulated plants."""
    from farhand.rigs import build_rig

    named = {f"rig.{side}_plant": side for side, plant in plants.items() if plant is not None}
    options.settings += [(path, plants[side]) for path, side in named.items()]
    try:
        built = build_rig(name, options)
        for line in built.notes:
            note(line)
        return built
    except UnknownName as error:
        for path, side in named.items():
            if f"parameter {path!r}" in str(error):
                raise BadValue(
                    f"--{side} {plants[side]}: the {side} of {name} is always simulated"
                ) from None
        raise


def _check_coupling(rig: Rig) -> None:
    """Refuse what only a coupling has, where there is none."""
    asked = rig.options
    flags = {
        "--law": asked.law not in (None, rig.law),
        "--layer": asked.layer != "none",
        "--delay": asked.delay,
    }
    flags |= {"--jitter": asked.jitter, "--loss": asked.loss}
    for flag in (flag for flag, given in flags.items() if given and not rig.session.bridges):
        raise BadValue(
            f"{flag} has no meaning for {rig.name}: nothing couples its arms, they tell each other nothing"
        )


def _print_margin(rig: Rig) -> None:
    """Say how far the rig is from shaking, where that can be predicted; of what is outside nothing is known."""
    from farhand.running.margin import margin

    if rig.world.open_books:
        return
    words = margin(rig)
    if words is not None:
        stdout().print(words, style="dim", soft_wrap=True)


def _list_parameters(rig: Rig, json: Path | None) -> int:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = rig.parameters()
    write_json(
        json,
        [
            {"path": path, "value": _plain(value), "unit": unit, "meaning": doc}
            for path, value, unit, doc in rows
        ],
    )
    console = stdout()
    if console.width < BROAD:
        for path, value, unit, doc in rows:
            line = f" = {_text(value)} {unit.strip('-')}".rstrip()
            console.print(Text(path, "cyan").append(line, "default"), Text(f"    {doc}"), sep="\n")
        return 0
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("parameter", "value", "unit", "meaning"):
        table.add_column(header, no_wrap=header == "parameter", overflow="fold")
    for path, value, unit, doc in rows:
        table.add_row(Text(path, "cyan"), Text(_text(value)), unit, doc)
    console.print(table)
    return 0


def _plain(value: object) -> object:
    return value.tolist() if hasattr(value, "tolist") else value


def _text(value: object) -> str:
    """The value as ``--set`` takes it."""
    plain = _plain(value)
    if isinstance(plain, list):
        return ",".join(f"{number:g}" for number in plain)
    return (
        f"{plain:g}"
        if isinstance(plain, float)
        else str(plain).lower()
        if isinstance(plain, bool)
        else str(plain)
    )


def _run(
    rig: Rig,
    length: float | None,
    record: Path | None,
    page_at: tuple[str, int] | None,
    core: int | None,
) -> tuple[Rig, RunOutcome]:
    """Run a rig, headless or on its page, where a visitor may put another session of it in its place."""
    from farhand.running.run import drive

    if page_at is None:
        return rig, drive(rig, length, record, core=core)
    from farhand.running.page import page_for, steer

    page = page_for(rig, *page_at)
    try:
        until = "Ctrl-C ends it" if length is None else f"it ends after {length:g} s or with Ctrl-C"
        stdout().print(f"{rig.name} runs at [bold]{page.address}[/bold] ({until})", soft_wrap=True)
        return steer(rig, length, record, page, core)
    finally:
        page.close()


def _conclude(
    rig: Rig, outcome: RunOutcome, json: Path | None, report: Path | None, record: Path | None
) -> int:
    """Write the files, print the summary, and give the exit code."""
    from farhand.report.summary import result_of, show
    from farhand.running.margin import shaking

    result = result_of(rig, outcome)
    write_json(json, result)
    show(rig, result, outcome)
    console = stdout()
    for line in shaking(rig):
        console.print(line, style="yellow", soft_wrap=True)
    if record is not None and outcome.unrecorded is None:
        console.print(f"recording: {record}", soft_wrap=True)
    if report is not None:
        from farhand.report.run import write_report

        console.print(f"report: {write_report(rig, result, report)}", soft_wrap=True)
    invalid = next((trip for trip in result["trips"] if trip["kind"] == "invalid"), None)
    if invalid is not None:
        line = f"{invalid['where']} stopped at {invalid['time']:g} s: {invalid['reason']}"
        print(f"farhand: {line}", file=sys.stderr)
    if outcome.unrecorded is not None:
        print(
            f"farhand: the recording stopped before the run: {outcome.unrecorded}", file=sys.stderr
        )
    return 2 if invalid is not None or outcome.unrecorded is not None else 0
