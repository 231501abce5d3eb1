"""``farhand recover``: a whole recording from what a crash, a full disk or a broken copy left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farhand.cli.info import RecordingPath
from farhand.cli.output import JsonPath, check_file, stdout, write_json

Out = Annotated[
    Path | None, typer.Option("--out", metavar="G.mcap", help="The new file; by default F.recovered.mcap beside it.")
]


def recover(recording: RecordingPath, out: Out = None, json: JsonPath = None) -> None:
    """Save everything that can be read of a broken recording to a new, whole file with an index.

    Example: [bold]farhand recover crashed.mcap --out saved.mcap[/bold]
    """
    out = out or recording.with_name(f"{recording.name.removesuffix('.part').removesuffix('.mcap')}.recovered.mcap")
    check_file(out)
    check_file(json)
    from farhand.recording.recover import recover as save

    saved = save(recording, out)
    write_json(
        json, {"out": str(out), "messages": saved.messages, "damaged": saved.damaged, "unread_bytes": saved.unread}
    )
    console = stdout()
    if saved.damaged:
        console.print(f"{saved.damaged} damaged chunks were left out")
    if saved.unread:
        console.print(f"{saved.unread} bytes at the end belong to no whole record")
    console.print(f"{saved.messages} messages saved to {out}", soft_wrap=True)
