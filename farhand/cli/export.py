"""``farhand export``: a recording in the formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from farhand.cli.info import note_if_broken
from farhand.errors import BadValue
from farhand.report.output import check_folder, say, within

Format = Annotated[
    Literal["lerobot", "parquet", "csv", "rerun"], Option("--format", help="What to write.")
]
Folder = Annotated[Path, Argument(metavar="DIR", help="A new or empty folder.")]
Fps = Annotated[int, Option("--fps", metavar="N", help="lerobot: frames per second.")]
Task = Annotated[str, Option("--task", metavar="WORDS", help="lerobot: what was done.")]
Episodes = Annotated[
    Literal["engaged", "marked", "whole"],
    Option("--episodes", help="lerobot: one per engagement, demonstration, or recording."),
]
Station = Annotated[str, Option("--station", metavar="NAME", help="lerobot: which follower.")]
Forces = Annotated[
    bool, Option("--forces/--no-forces", help="lerobot: torques and wrench in the state.")
]
Signals = Annotated[
    bool, Option("--signals/--no-signals", help="lerobot: all other signals as columns, too.")
]
Recordings = Annotated[
    list[Path], Argument(metavar="F.mcap…", help="lerobot takes several of the same arms.")
]


def export(
    recordings: Recordings,
    folder: Folder,
    format: Format,
    fps: Fps = 50,
    task: Task = "",
    episodes: Episodes = "engaged",
    station: Station = "follower",
    forces: Forces = True,
    signals: Signals = True,
) -> None:
    """Write recordings as a LeRobot dataset, Parquet or CSV tables, or for the Rerun viewer.

    Example: [bold]farhand export demo.mcap --format lerobot demo-dataset --fps 50[/bold]
    """
    within("--fps", fps, 1, 10_000, "Hz")
    check_folder(folder)
    from farhand.recording.export import export_csv, export_parquet
    from farhand.recording.lerobot import export_lerobot
    from farhand.recording.loader import load

    if format != "lerobot" and len(recordings) > 1:
        raise BadValue(f"--format {format} takes one recording; there are {len(recordings)}")
    every = [load(path) for path in recordings]
    for loaded in every:
        note_if_broken(loaded)
    if format == "lerobot":
        written = export_lerobot(every, folder, fps, task, episodes, station, forces, signals)
        say(f"{written.frames} frames at {fps} Hz in {folder}")
        for note in written.notes:
            say(f"note: {note}", style="yellow")
        return
    if format == "rerun":
        from farhand.recording.export import export_rerun

        say(f"{export_rerun(loaded, folder)}")
        return
    files = (export_csv if format == "csv" else export_parquet)(loaded, folder)
    say(f"{', '.join(file.name for file in files)} in {folder}")
