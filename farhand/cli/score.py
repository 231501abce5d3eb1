"""``farhand score``: tasks under laws, delays, layers and operators, on one page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

from typer import Option

from farhand.cli.compare import Delays, Laws
from farhand.cli.options import (
    FollowerRobot,
    JsonPath,
    LeaderRobot,
    ReportFolder,
    Resume,
    Settings,
    Space,
    pair_settings,
)
from farhand.cli.stability import Done, Ray, Workers
from farhand.errors import BadValue, UnknownName
from farhand.report.output import check_files, counting, say, within, write_json
from farhand.running import fill_cache
from farhand.running.arguments import parse_delays, parse_laws, parse_settings

Tasks = Annotated[str, Option(metavar="all|A,B,…", help="Which tasks; see farhand list tasks.")]
Losses = Annotated[str, Option("--loss", metavar="P,…", help="Shares of packets lost, 0 to 1.")]
Layers = Annotated[str, Option(metavar="A,B,…", help="Passivity layers, such as none,tdpa,tank.")]
Operators = Annotated[str, Option(metavar="all|A,B,…", help="Who: expert, novice, tired.")]
Seeds = Annotated[int, Option(metavar="N", min=1, max=1000, help="Repetitions of each trial.")]


def score(
    tasks: Tasks = "all",
    laws: Laws = "all",
    delay: Delays = "0,100,400",
    loss: Losses = "0",
    layers: Layers = "none",
    operators: Operators = "expert",
    seeds: Seeds = 5,
    leader: LeaderRobot = None,
    follower: FollowerRobot = None,
    space: Space = None,
    settings: Settings = None,
    done: Done = None,
    workers: Workers = None,
    ray: Ray = None,
    report: ReportFolder = None,
    json: JsonPath = None,
    resume: Resume = False,
) -> None:
    """Let operators do tasks under several laws, and see which law gets them done.

    The arms are two vx300s coupled tool to tool, unless --leader, --follower or --space name
    others. Ctrl-C keeps the finished trials, and --resume continues with the same options and
    code; --done keeps them all the time. The page has one picture per question and the command
    under each.

    Example: [bold]farhand score --tasks peg,door --laws all --delay 0,100 --report out[/bold]
    """
    check_files(json, done, report=report)
    if resume and done is not None:
        raise BadValue("--resume and --done both continue; use one of them")
    fill_cache.at_once()
    from farhand.link.layers import make_layer
    from farhand.report.score import show_score, write_score
    from farhand.running.resume import FinishedPieces, resumable
    from farhand.running.scoring import RIG, check_cases, every_case
    from farhand.running.scoring import score as play_all
    from farhand.tasks import ARMS, TASKS, named

    own = pair_settings(RIG, leader, follower, space)
    arms = (*(own or ARMS), *parse_settings(settings))
    chosen: dict[str, list[Any]] = {
        "tasks": _names("task", tasks, TASKS),
        "laws": parse_laws(laws),
        "delay": parse_delays(delay),
        "loss": _losses(loss),
        "layers": [name.strip() for name in layers.split(",")],
        "operators": _names("operator", operators, named()),
    }
    for name in chosen["layers"]:
        make_layer(name)
    # a trial that is named twice is one
    chosen = {what: list(dict.fromkeys(values)) for what, values in chosen.items()}
    cases = every_case(chosen, seeds, settings=arms)
    check_cases(cases)
    work = {**chosen, "seeds": seeds, "set": arms}
    keeping: AbstractContextManager[FinishedPieces] = nullcontext(FinishedPieces())
    if done is None:
        keeping = resumable("score", work, resume, json, report)
    with keeping as kept:
        with counting("trials") as bar:
            rows = play_all(cases, done, workers, ray, bar, kept.rows)
        write_json(json, rows)
        show_score(rows)
        if report is not None:
            flags = {"--leader": leader, "--follower": follower, "--space": space}
            fixed = [part for flag, value in flags.items() if value for part in (flag, value)]
            fixed += [part for one in settings or [] for part in ("--set", one)]

            def command(some: Sequence[dict[str, Any]]) -> str:
                return _command(some, seeds, fixed)

            people = ", ".join(chosen["operators"])
            about = f"leader: {own[0][1] if own else 'vx300s'}; operators: {people}"
            say(f"report: {write_score(rows, report, command, about)}")


def _command(rows: Sequence[dict[str, Any]], seeds: int, fixed: list[str]) -> str:
    """What plays these rows again."""
    parts = ["farhand", "score"]
    keys = {"tasks": "task", "laws": "law", "delay": "delay", "loss": "loss"}
    keys |= {"layers": "layer", "operators": "operator"}
    for flag, key in keys.items():
        values = dict.fromkeys(row[key] for row in rows)
        texts = [f"{value:g}" if isinstance(value, float) else value for value in values]
        parts += [f"--{flag}", ",".join(texts)]
    return shlex.join([*parts, "--seeds", str(seeds), *fixed, "--report", "out"])


def _names(kind: str, text: str, known: Any) -> list[str]:
    names = list(known) if text == "all" else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return names


def _losses(text: str) -> list[float]:
    try:
        losses = [float(part) for part in text.split(",")]
    except ValueError:
        raise BadValue(f"--loss {text!r} is not a list of shares such as 0,0.1,0.5") from None
    return [within("--loss", value, 0.0, 1.0) for value in losses]
