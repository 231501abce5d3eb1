"""``farhand replay``: play a recording on the console page, or run it again and compare."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from farhand.cli.info import note_if_broken
from farhand.cli.options import Host, JsonPath, Port, RecordingPath
from farhand.report.output import Bar, check_files, say, say_error, stdout, write_json

if TYPE_CHECKING:
    from farhand.recording.loader import Recording

PAGE_CHECK_PERIOD_S = 0.2

Speed = Annotated[
    float, Option("--speed", metavar="X", help="How many times faster than recorded.")
]
At = Annotated[
    float | None, Option("--at", metavar="SECONDS", help="Open the page at this time, paused.")
]
Again = Annotated[
    bool, Option("--rerun", help="Run the rig again in virtual time and compare every number.")
]
Silent = Annotated[
    bool, Option("--headless", help="Play without a page, for other readers of the telemetry.")
]
Allowed = Annotated[
    list[str] | None,
    Option(
        "--allow",
        metavar="NAME",
        help="A module:Class or file that the recording names and that may be loaded; repeatable.",
    ),
]


def replay(
    recording: RecordingPath,
    speed: Speed = 1.0,
    at: At = None,
    rerun: Again = False,
    allow: Allowed = None,
    headless: Silent = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    json: JsonPath = None,
) -> int:
    """Play a recording on the console page at any speed, or re-run it.

    A re-run builds the same rig with the recorded seed, parameters and commands, and compares every
    number to the bit; the exit code is 1 if one differs.

    Example: [bold]farhand replay demo.mcap --rerun[/bold]
    """
    check_files(json, read=[recording])
    with Bar(f"reading {recording}"):
        from farhand.recording.loader import load

        loaded = load(recording)
    note_if_broken(loaded)
    if rerun:
        return _rerun(loaded, allow or [], json)
    if headless:
        return _play(loaded, speed, json)
    return _show(loaded, speed, at, allow or [], host, port, json)


def _rerun(recording: Recording, allowed: list[str], json: Path | None) -> int:
    from dataclasses import asdict

    with Bar("running it again"):
        from farhand.running.rerun import rerun

        result = rerun(recording, allowed)
    write_json(json, asdict(result) | {"exact": result.exact})
    counts = f"{result.records} records, {result.values} numbers and {result.commands} commands"
    console = stdout()
    if result.missing:
        console.print(f"{result.missing} records are not in the recording and were not compared")
    if result.late:
        console.print(f"{result.late} commands came after the last record and were left out")
    if result.exact:
        say(f"equal to the bit: {counts} over {result.seconds:.3f} s")
        return 0
    if result.versions:
        say(f"other versions (then, now): {'; '.join(result.versions)}")
    if not result.differences:
        say_error(f"{recording.path} has no records to compare")
        return 2
    if result.robots:
        reason = f"robot files have changed: {'; '.join(result.robots)}"
    else:
        lines = [f"{d.signal} differs from {d.time:.6g} s on" for d in result.differences]
        for line in lines:
            say(line)
        times = [difference.time for difference in result.differences]
        reason = lines[times.index(min(times))]
    say_error(f"the re-run is not equal: {reason}")
    return 1


def _play(recording: Recording, speed: float, json: Path | None) -> int:
    """Put the recording back into a ring, for any reader of the telemetry."""
    from farhand.recording.playback import Playback

    playback = Playback(recording, speed)
    try:
        say(f"playing {recording.path} at {speed:g} × at {playback.telemetry.path}")
        with suppress(KeyboardInterrupt):
            playback.run()
        write_json(json, {"speed": speed, "played_ns": min(playback.now_ns, playback.end_ns)})
    finally:
        playback.close()
    return 0


def _show(
    recording: Recording,
    speed: float,
    at: float | None,
    allowed: list[str],
    host: str,
    port: int,
    json: Path | None,
) -> int:
    """Show the recording on the console page, with a slider over its time, until Ctrl-C."""
    from farhand.console.scene import scene_of
    from farhand.console.serve import serve_recording
    from farhand.console.source import RecordedSource
    from farhand.recording.playback import FASTEST, SLOWEST
    from farhand.report.output import within
    from farhand.running.performing import TITLE
    from farhand.running.rerun import rig_of

    within("--speed", speed, SLOWEST, FASTEST)
    if at is not None:
        source = RecordedSource(recording)
        within("--at", at, 1e-9 * source.start_ns, 1e-9 * source.end_ns, "s")
    rig = rig_of(recording, drawn=True, allowed=allowed)
    try:
        scene = scene_of(rig)
        if recording.metadata.get("law", rig.law) != rig.law:
            # A performance: the skill itself is not in the file
            scene["law"], scene["scenario"] = recording.metadata["law"], TITLE
    finally:
        rig.close()
    with serve_recording(recording.path, scene, host, port, speed, at) as page:
        say(f"{recording.path} is shown at {page.address} (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            while page.alive:
                time.sleep(PAGE_CHECK_PERIOD_S)
    write_json(json, {"speed": speed, "seconds": recording.duration})
    return 0
