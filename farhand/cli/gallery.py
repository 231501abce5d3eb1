"""``farhand gallery``: the pictures and animations of README and docs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.report.output import check_file, check_folder, counting, say, write_json
from farhand.running import fill_cache

Rigs = Annotated[list[str] | None, Argument(metavar="[RIG…]", help="Which rigs; default: all.")]
Out = Annotated[Path, Option("--out", metavar="DIR", help="Where the pictures go.")]


def gallery(rigs: Rigs = None, out: Out = Path("docs/images"), json: JsonPath = None) -> int:
    """Take pictures of every rig: RIG.png, RIG-phone.png, RIG.gif; and of the console.

    Needs Chromium and playwright. The page shows recordings of runs in virtual time.

    Example: [bold]farhand gallery dual-arm --out docs/images[/bold]
    """
    check_file(json)
    check_folder(out)
    fill_cache.at_once()
    from farhand.errors import UnknownName
    from farhand.rigs.rig import rig_names
    from farhand.running.gallery import take

    chosen = rigs or rig_names()
    for rig in chosen:
        if rig not in rig_names():
            raise UnknownName("rig", rig, rig_names())
    out.mkdir(parents=True, exist_ok=True)
    taken: list[str] = []
    with counting("taking pictures of") as progress:
        for number, rig in enumerate(chosen):
            progress(number, len(chosen), rig)
            taken += map(str, take(rig, out))
    write_json(json, taken)
    for path in taken:
        say(path)
    return 0
