"""``farhand gallery``: the pictures and animations of README and docs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from farhand.cli.options import JsonPath
from farhand.report.output import Bar, check_file, check_folder, stdout, write_json

Rigs = Annotated[
    list[str] | None, typer.Argument(metavar="[RIG…]", help="Which rigs; default: all.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the pictures go.")]


def gallery(rigs: Rigs = None, out: Out = Path("docs/images"), json: JsonPath = None) -> int:
    """Take pictures of every rig: RIG.png, RIG-phone.png, RIG.gif; and of the console.

    Needs Chromium and playwright. The page shows recordings of runs in virtual time.

    Example: [bold]farhand gallery dual-arm --out docs/images[/bold]
    """
    check_file(json)
    check_folder(out)
    from farhand.errors import UnknownName
    from farhand.rigs.rig import rig_names
    from farhand.running.gallery import MORE, record_run, take, take_more
    from farhand.running.margin import margin

    chosen = rigs or rig_names()
    for rig in chosen:
        if rig not in rig_names():
            raise UnknownName("rig", rig, rig_names())
    out.mkdir(parents=True, exist_ok=True)
    taken: list[str] = []
    bar = Bar("taking pictures")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number, rig in enumerate(chosen):
                paths = take(rig, record_run(rig, Path(folder), margin=margin), out)
                if rig in MORE:
                    paths += take_more(rig, record_run(rig, Path(folder), MORE[rig]), out)
                taken += map(str, paths)
                bar.update((number + 1) / len(chosen))
    finally:
        bar.close()
    write_json(json, taken)
    for path in taken:
        stdout().print(path, soft_wrap=True)
    return 0
