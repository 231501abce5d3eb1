"""``farhand recover``: save what a crash, a full disk or a broken copy left of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from farhand.cli.options import JsonPath, RecordingPath
from farhand.report.output import check_files, say, stdout, write_json

Out = Annotated[
    Path | None, Option("--out", metavar="G.mcap", help="The new file; default: F.recovered.mcap.")
]


def recover(recording: RecordingPath, out: Out = None, json: JsonPath = None) -> None:
    """Save everything that can be read of a broken recording to a new, whole file with an index.

    Example: [bold]farhand recover crashed.mcap --out saved.mcap[/bold]
    """
    stem = recording.name.removesuffix(".part").removesuffix(".mcap")
    out = out or recording.with_name(f"{stem}.recovered.mcap")
    check_files(out, json, read=[recording])
    from farhand.recording.recorder import IN_ORDER
    from farhand.recording.recover import recover as save

    saved = save(recording, out)
    counts = {"messages": saved.messages, "damaged": saved.damaged, "unread_bytes": saved.unread}
    write_json(json, counts | {"out": str(out), "altered": saved.altered, "ended": saved.ended})
    console = stdout()
    if saved.damaged:
        console.print(f"{saved.damaged} damaged chunks were left out")
    if saved.unread:
        console.print(f"{saved.unread} bytes belong to no whole record")
    if saved.altered:
        console.print("its description was altered: check the parameters and the command line")
    if saved.ended != IN_ORDER:
        say(f"the run was {saved.ended}")
    say(f"{saved.messages} messages saved to {out}")
