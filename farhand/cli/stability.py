"""``farhand stability``: before a run, how stiff a wall and how long a delay the loop bears, and in which hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farhand.errors import BadValue
from farhand.report.output import (
    JsonPath,
    ReportFolder,
    check_files,
    check_folder,
    counting,
    stdout,
    within,
    write_json,
)
from farhand.report.stability import lines

if TYPE_CHECKING:
    from farhand.analysis.stability.answers import Answers
    from farhand.analysis.stability.operating_point import Point
    from farhand.running.stability_trial import Trial

RigName = Annotated[
    str | None,
    typer.Argument(metavar="[RIG]", help="Which system, such as dual-arm; left out with --grid."),
]
Law = Annotated[
    str | None, typer.Option(metavar="L", help="Coupling law; the rig's own by default.")
]
Rate = Annotated[
    float | None, typer.Option(metavar="HZ", help="Rate of the ticks; the rig's own by default.")
]
Delay = Annotated[float, typer.Option(metavar="MS", help="Round-trip delay of the link, in ms.")]
Hand = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="none, soft, relaxed, firm, K,B,M in N/m, N·s/m, kg, or the rig's own."
    ),
]
WallOption = Annotated[
    str | None,
    typer.Option("--wall", metavar="K,B", help="Wall in N/m and N·s/m; the rig's by default."),
]
Quantum = Annotated[
    float | None,
    typer.Option(metavar="RAD", help="Encoder step of every joint, in rad (m if it slides)."),
]
Friction = Annotated[
    float | None, typer.Option(metavar="N", help="Dry friction at both tools, in N.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a parameter of the rig."),
]
Simulate = Annotated[
    bool, typer.Option("--simulate", help="Try the rig on a map of stiffness and delay.")
]
Grid = Annotated[
    bool, typer.Option("--grid", help="Hold the prediction against simulation on the whole grid.")
]
Done = Annotated[
    Path | None,
    typer.Option(
        "--done", metavar="F.jsonl", help="Keep finished cells here, and go on from them."
    ),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes; one per core by default.")
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Simulate on a Ray cluster: auto, local or ray://…."),
]


def stability(
    rig: RigName = None,
    law: Law = None,
    rate: Rate = None,
    delay: Delay = 0.0,
    hand: Hand = "rig",
    wall: WallOption = None,
    quantum: Quantum = None,
    friction: Friction = None,
    settings: Settings = None,
    simulate: Simulate = False,
    grid: Grid = False,
    done: Done = None,
    workers: Workers = None,
    ray: Ray = None,
    report: ReportFolder = None,
    json: JsonPath = None,
) -> None:
    """Predict up to which wall and which delay a rig stays calm, for a named hand.

    The law's own code is probed where the rig stands, and the eigenvalues of the sampled loop with
    all joints, hand, wall and link tell the limit. With --simulate the rig itself is tried on a map
    of stiffness and delay.

    Example: [bold]farhand stability dual-arm --law position-force --delay 100 --hand soft --report
    out[/bold]
    """
    check_files(json, done, read=[])
    check_folder(report)
    if grid:
        return _grid(report, json, done, workers, ray)
    if rig is None:
        raise BadValue("name a rig, such as dual-arm, or ask for --grid")
    asked = _Asked(delay, hand, _wall(wall), quantum, friction)
    chosen = [*(settings or []), *([] if rate is None else [f"rig.rate={rate}"]), *asked.encoders]
    point = _point(rig, law, chosen, asked)
    from farhand.analysis.stability.answers import answers

    found = answers(point)
    trials = _try(rig, law, chosen, point, found, (done, workers, ray)) if simulate else []
    result = _result(rig, law, point, found, trials)
    write_json(json, result)
    _show(result)
    if report is not None:
        from farhand.report.stability import write_map

        stdout().print(f"report: {write_map(result, point, report)}", soft_wrap=True)
    return None


class _Asked:
    """What was asked about the loop, checked."""

    def __init__(
        self,
        delay: float,
        hand: str,
        wall: tuple[float, float] | None,
        quantum: float | None,
        friction: float | None,
    ) -> None:
        self.delay = within("--delay", delay, 0.0, 1000.0, "ms")
        self.hand, self.wall = hand, wall
        step = None if quantum is None else within("--quantum", quantum, 0.0, 0.1, "rad")
        self.encoders = (
            []
            if step is None
            else [f"{side}.plant.encoder_step={step}" for side in ("leader", "follower")]
        )
        self.friction = None if friction is None else within("--friction", friction, 0.0, 1e3, "N")


def _wall(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        stiffness, damping = (float(part) for part in text.split(","))
    except ValueError:
        raise BadValue(
            f"--wall {text!r} is not of the form K,B in N/m and N·s/m, such as 3000,20"
        ) from None
    return within("--wall stiffness", stiffness, 0.0, 1e6, "N/m"), within(
        "--wall damping", damping, 0.0, 1e4, "N·s/m"
    )


def _point(rig: str, law: str | None, settings: list[str], asked: _Asked) -> Point:
    from farhand.analysis.stability.loop import Contact
    from farhand.analysis.stability.operating_point import operating_point
    from farhand.rigs import Options, build_rig
    from farhand.running.run import setting_of

    built = build_rig(
        rig, Options(law, settings=[setting_of(text) for text in settings], delay=asked.delay)
    )
    try:
        wall = None if asked.wall is None else Contact(*asked.wall)
        return operating_point(
            built.session, built.world, asked.hand, wall, friction=asked.friction
        )
    finally:
        built.close()


def _try(
    rig: str,
    law: str | None,
    settings: list[str],
    point: Point,
    found: Answers,
    how: tuple[Any, ...],
) -> list[dict[str, Any]]:
    """The rig itself on a map of stiffness and delay around the predicted limits."""
    from farhand.analysis.stability.sweep import sweep
    from farhand.running.run import setting_of
    from farhand.running.stability_trial import attempt

    done, workers, ray = how
    trials = _trials(rig, law, tuple(setting_of(text) for text in settings), point, found)
    with counting(f"trying {rig}") as progress:
        told = lambda count, total, _: progress(count, total, "")  # noqa: E731
        return sweep(attempt, trials, lambda trial: trial.name, done, workers, ray, told)


def _trials(
    rig: str,
    law: str | None,
    settings: tuple[tuple[str, object], ...],
    point: Point,
    found: Answers,
) -> list[Trial]:
    import numpy as np

    from farhand.running.stability_trial import Trial

    whole, hand = point.whole, point.loop.hand
    middle = found.wall if 0.0 < found.wall < math.inf else max(whole.wall.stiffness, 1000.0)
    most = 2e3 * whole.delay * whole.period
    farthest = 2.0 * (1e3 * found.delay if 0.0 < found.delay < 1.0 else max(most, 50.0))
    delays = sorted({0.0, round(most, 3), *np.round(np.linspace(0.0, farthest, 5), 0).tolist()})
    return [
        Trial(
            rig,
            law,
            delay,
            stiffness,
            whole.wall.damping,
            (hand.stiffness, hand.damping),
            settings,
            point.quantum,
        )
        for stiffness in np.geomspace(middle / 4.0, middle * 4.0, 5).round(1).tolist()
        for delay in delays
    ]


def _result(
    rig: str, law: str | None, point: Point, found: Answers, trials: list[dict[str, Any]]
) -> dict[str, Any]:
    whole, loop = point.whole, point.loop

    def plain(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "rig": rig,
        "law": law,
        "rate": 1.0 / whole.period,
        "hand": point.hand,
        "hand_mass": loop.hand.mass,
        "wall": {"stiffness": whole.wall.stiffness, "damping": whole.wall.damping},
        "delay": 2e3 * whole.delay * whole.period,
        "quantum": point.quantum,
        "leader": {
            "mass": loop.leader.mass,
            "damping": loop.leader.damping,
            "friction": loop.leader.friction,
        },
        "follower": {
            "mass": loop.follower.mass,
            "damping": loop.follower.damping,
            "friction": loop.follower.friction,
        },
        "stable": found.stable,
        "passive_to": plain(found.passive),
        "stable_to_wall": plain(found.wall),
        "stable_to_delay": plain(1e3 * found.delay),
        "frequency": found.frequency,
        "trials": trials,
    }


def _show(result: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    console, table = stdout(), Table.grid(padding=(0, 2))
    console.print(Text(f"{result['rig']} · {result['law'] or 'the law of the rig'}", "bold"))
    for topic, words in lines(result):
        table.add_row(Text(f"  {topic}", "cyan"), Text(words))
    console.print(table)
    shaken = [trial for trial in result["trials"] if trial["shakes"]]
    if result["trials"]:
        light = "; their hand has no mass, unlike the prediction's" if result["hand_mass"] else ""
        console.print(
            f"  tried: {len(result['trials'])} runs of the rig, {len(shaken)} shake{light}",
            soft_wrap=True,
        )


def _grid(
    report: Path | None, json: Path | None, done: Path | None, workers: int | None, ray: str | None
) -> None:
    """Predict and simulate every cell of the grid."""
    from farhand.analysis.stability.cells import grid, judge
    from farhand.analysis.stability.sweep import sweep

    cells = grid()
    with counting("cells") as progress:
        rows = sweep(judge, cells, lambda cell: cell.name, done, workers, ray, progress)
    write_json(json, rows)
    hits, shaken = (
        sum(row["within"] for row in rows),
        [row for row in rows if row["simulated"] is not None],
    )
    console = stdout()
    console.print(f"{hits} of {len(rows)} cells within 15 % ({100.0 * hits / len(rows):.1f} %)")
    close = sum(row["within"] for row in shaken)
    console.print(
        f"{close} of the {len(shaken)} that shake at all ({100.0 * close / len(shaken):.1f} %)"
    )
    if report is not None:
        from farhand.report.stability import write_grid

        console.print(f"report: {write_grid(rows, report)}", soft_wrap=True)
