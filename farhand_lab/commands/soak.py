"""``farhand soak``: hours of virtual time with random operators and faults."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

from farhand.cli.options import Seed
from farhand.errors import UnknownName
from farhand.report.output import check_folder, note, within
from farhand.running import fill_cache

Rigs = Annotated[
    list[str] | None, Option("--rig", metavar="NAME", help="Which rig, or friction; default: all.")
]
Seconds = Annotated[float, Option(metavar="S", help="Virtual time per rig.")]
Jobs = Annotated[
    int | None, Option(metavar="N", min=1, help="Rigs at a time; default: one per core.")
]
Out = Annotated[Path, Option("--out", metavar="DIR", help="Folder for the results.")]
GoOn = Annotated[bool, Option("--go-on", help="Skip what was finished before with this very code.")]


def soak(
    rigs: Rigs = None,
    seconds: Seconds = 3600.0,
    seed: Seed = 1,
    jobs: Jobs = None,
    out: Out = Path("docs/results"),
    go_on: GoOn = False,
) -> int:
    """Run every rig for an hour of virtual time with a random operator and random faults.

    The exit code is 1 if a rig fails: a trip without a cause, NaN, or memory that grows. An
    interrupted soak continues with --go-on.

    Example: [bold]farhand soak --rig dual-arm --seconds 300 --out out/soak[/bold]
    """
    check_folder(out)
    fill_cache.at_once()
    from farhand_lab.soak import command

    within("--seconds", seconds, command.SHORTEST_S, command.LONGEST_S, "s")
    for name in rigs or ():
        if name not in command.NAMES:
            raise UnknownName("rig", name, command.NAMES)
    try:
        return command.run(rigs, seconds, seed, jobs or os.cpu_count() or 1, out, go_on)
    except KeyboardInterrupt:
        note("farhand soak --go-on continues where this stopped")
        raise
