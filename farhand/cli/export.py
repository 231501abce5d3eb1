"""``farhand export``: a recording in the formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from farhand.cli.info import note_if_broken
from farhand.cli.options import RecordingPath
from farhand.report.output import check_folder, say, within

Format = Annotated[
    Literal["lerobot", "parquet", "csv", "rerun"], Option("--format", help="What to write.")
]
Folder = Annotated[Path, Argument(metavar="DIR", help="A new or empty folder.")]
Fps = Annotated[int, Option("--fps", metavar="N", help="lerobot: frames per second.")]
Task = Annotated[str, Option("--task", metavar="WORDS", help="lerobot: what was done.")]
Episodes = Annotated[
    Literal["engaged", "whole"],
    Option("--episodes", help="lerobot: one per engagement, or the whole."),
]


def export(
    recording: RecordingPath,
    folder: Folder,
    format: Format,
    fps: Fps = 50,
    task: Task = "",
    episodes: Episodes = "engaged",
) -> None:
    """Write a recording as a LeRobot dataset, Parquet or CSV tables, or for the Rerun viewer.

    Example: [bold]farhand export demo.mcap --format lerobot demo-dataset --fps 50[/bold]
    """
    within("--fps", fps, 1, 10_000, "Hz")
    check_folder(folder)
    from farhand.recording.export import export_csv, export_parquet
    from farhand.recording.lerobot import export_lerobot
    from farhand.recording.loader import load

    loaded = load(recording)
    note_if_broken(loaded)
    if format == "lerobot":
        written = export_lerobot(loaded, folder, fps, task, episodes)
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
