"""``farhand link``: when the frames of a dataset were, from the recording of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from farhand.cli.options import RecordingPath
from farhand.report.output import say

Dataset = Annotated[Path, Argument(metavar="DATASET", help="A folder that lerobot-record wrote.")]
Station = Annotated[str, Option("--station", metavar="NAME", help="Which follower.")]


def link(dataset: Dataset, recording: RecordingPath, station: Station = "follower") -> None:
    """Tie a LeRobot dataset to the full-rate recording of its session, by episode and time.

    Writes meta/farhand.json and meta/farhand_times.parquet into the dataset, and says how far its
    numbers are from the recording's.

    Example: [bold]farhand link my-dataset session.mcap[/bold]
    """
    from farhand.recording.lerobot_link import link_dataset
    from farhand.recording.loader import load

    found = link_dataset(dataset, load(recording), station)
    for number, (start, end) in enumerate(found.episodes):
        say(f"episode {number}: {start:.3f} s to {end:.3f} s of {recording.name}")
    worst = max(found.state_error, found.action_error)
    say(f"{len(found.times)} frames found; numbers differ by {worst:.1e} of their range at most")
