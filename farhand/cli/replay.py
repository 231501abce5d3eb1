"""``farhand replay``: play a recording on the console page, or run it again and prove the outcome equal to the bit."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farhand.cli.info import RecordingPath, note_if_broken
from farhand.cli.run import Host, Port
from farhand.report.output import JsonPath, check_files, stdout, write_json

if TYPE_CHECKING:
    from farhand.recording.loader import Recording

LOOK = 0.2  # [s], between two looks at whether the page is still there

Speed = Annotated[
    float, typer.Option("--speed", metavar="X", help="How many times faster than recorded.")
]
Again = Annotated[
    bool,
    typer.Option("--rerun", help="Run the rig again in virtual time and compare every number."),
]
Silent = Annotated[
    bool,
    typer.Option("--headless", help="Play without a page, for other readers of the telemetry."),
]


def replay(
    recording: RecordingPath,
    speed: Speed = 1.0,
    rerun: Again = False,
    headless: Silent = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    json: JsonPath = None,
) -> int:
    """Play a recording on the console page at any speed, or re-run it.

    A re-run builds the same rig, gives it the recorded seed, parameters and commands, and proves
    every number equal to the bit; it ends with code 1 if one is not.

    Example: [bold]farhand replay demo.mcap --rerun[/bold]
    """
    check_files(json, read=[recording])
    from farhand.recording.loader import load

    found = load(recording)
    note_if_broken(found)
    if rerun:
        return _again(found, json)
    return _play(found, speed, json) if headless else _show(found, speed, host, port, json)


def _again(recording: Recording, json: Path | None) -> int:
    from dataclasses import asdict

    from farhand.running.rerun import rerun

    result = rerun(recording)
    write_json(json, asdict(result) | {"exact": result.exact})
    what = f"{result.records} records, {result.values} numbers and {result.commands} commands"
    console = stdout()
    if result.missing:
        console.print(f"{result.missing} records are not in the recording and were not compared")
    if result.late:
        console.print(f"{result.late} commands came after the last record and were left out")
    if result.exact:
        console.print(f"equal to the bit: {what} over {result.seconds:.3f} s", soft_wrap=True)
        return 0
    if result.versions:
        console.print(f"other versions (then, now): {'; '.join(result.versions)}", soft_wrap=True)
    if not result.differences:
        print(f"farhand: {recording.path} has no records to compare", file=sys.stderr)
        return 2
    if result.robots:
        files = "; ".join(result.robots)
        print(
            f"farhand: the re-run is not equal: robot files have changed: {files}", file=sys.stderr
        )
        return 1
    for different in result.differences:
        console.print(f"{different.signal} differs from {different.time:.6g} s on", soft_wrap=True)
    first = min(result.differences, key=lambda found: found.time)
    print(
        f"farhand: the re-run is not equal: {first.signal} differs from {first.time:.6g} s on",
        file=sys.stderr,
    )
    return 1


def _play(recording: Recording, speed: float, json: Path | None) -> int:
    """Put the recording back into a ring, for any reader of the telemetry."""
    from farhand.recording.playback import Playback

    playback = Playback(recording, speed)
    try:
        where = playback.telemetry.path
        stdout().print(
            f"playing {recording.path} at {speed:g} × at [bold]{where}[/bold]", soft_wrap=True
        )
        with suppress(KeyboardInterrupt):
            playback.run()
        write_json(json, {"speed": speed, "played_ns": min(playback.now_ns, playback.end_ns)})
    finally:
        playback.close()
    return 0


def _show(recording: Recording, speed: float, host: str, port: int, json: Path | None) -> int:
    """Show the recording on the console page, with a slider over its time, until Ctrl-C."""
    from farhand.console.scene import scene_of
    from farhand.console.serve import serve_recording
    from farhand.recording.playback import FASTEST, SLOWEST
    from farhand.report.output import within
    from farhand.running.performing import TITLE
    from farhand.running.rerun import rig_of

    within("--speed", speed, SLOWEST, FASTEST)
    rig = rig_of(recording, drawn=True)
    try:
        scene = scene_of(rig)
        if recording.metadata.get("law", rig.law) != rig.law:
            # the skill is not in the file
            scene["law"], scene["scenario"] = (recording.metadata["law"], TITLE)
    finally:
        rig.close()
    with serve_recording(recording.path, scene, host, port, speed) as page:
        stdout().print(
            f"{recording.path} is shown at [bold]{page.address}[/bold] (Ctrl-C ends it)",
            soft_wrap=True,
        )
        with suppress(KeyboardInterrupt):
            while page.alive:
                time.sleep(LOOK)
    write_json(json, {"speed": speed, "seconds": recording.duration})
    return 0
