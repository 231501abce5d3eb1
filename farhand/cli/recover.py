"""``farhand recover``: a whole recording from what a crash, a full disk or a broken copy left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farhand.cli.info import RecordingPath
from farhand.report.output import JsonPath, check_files, stdout, write_json

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="G.mcap", help="The new file; by default F.recovered.mcap beside it."
    ),
]


def recover(recording: RecordingPath, out: Out = None, json: JsonPath = None) -> None:
    """Save everything that can be read of a broken recording to a new, whole file with an index.

    Example: [bold]farhand recover crashed.mcap --out saved.mcap[/bold]
    """
    out = out or recording.with_name(
        f"{recording.name.removesuffix('.part').removesuffix('.mcap')}.recovered.mcap"
    )
    check_files(out, json, read=[recording])
    from farhand.recording.recorder import IN_ORDER
    from farhand.recording.recover import recover as save

    saved = save(recording, out)
    told = {"messages": saved.messages, "damaged": saved.damaged, "unread_bytes": saved.unread}
    write_json(json, told | {"out": str(out), "altered": saved.altered, "ended": saved.ended})
    console = stdout()
    if saved.damaged:
        console.print(f"{saved.damaged} damaged chunks were left out")
    if saved.unread:
        console.print(f"{saved.unread} bytes belong to no whole record")
    if saved.altered:
        console.print(
            "something beside the signals is not as it was written: look at parameters and command line"
        )
    if saved.ended != IN_ORDER:
        console.print(f"the new file says of itself: {saved.ended}", soft_wrap=True)
    console.print(f"{saved.messages} messages saved to {out}", soft_wrap=True)
