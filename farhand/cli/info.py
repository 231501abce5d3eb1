"""``farhand info``: what is in a recording, one line each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farhand.report.output import JsonPath, check_files, note, stdout, write_json

if TYPE_CHECKING:
    from farhand.recording.loader import Recording

RecordingPath = Annotated[
    Path, typer.Argument(metavar="F.mcap", help="A recording, from farhand run --record.")
]
MOST_EVENTS = 20


def info(recording: RecordingPath, json: JsonPath = None) -> None:
    """Say what is in a recording: duration, rates and gaps, peak forces, energy, events, signals.

    Example: [bold]farhand info demo.mcap[/bold]
    """
    check_files(json, read=[recording])
    from farhand.recording.loader import load
    from farhand.recording.overview import overview

    found = overview(load(recording))
    write_json(json, found)
    show(found)


def note_if_broken(recording: Recording) -> None:
    """Say that a recording is not all of its run, to whoever works with it."""
    if not recording.complete:
        note(
            f"{recording.path} is {recording.metadata.get('ended', 'not finished')}; this is all there is"
        )


def show(found: dict[str, Any]) -> None:
    """Print an overview for a person."""
    from rich.text import Text

    console, said = stdout(), found["about"]
    title = (
        " · ".join(str(said[key]) for key in ("rig", "law", "scenario") if said[key] is not None)
        or "a recording"
    )
    console.print(
        Text(title, "bold"), Text(f"seed {said['seed']}, Farhand {said['version']}", "dim")
    )
    size, duration = found["bytes"] / 1e6, found["duration"]
    rate = f", {size / duration:.2f} MB/s" if duration else ""
    console.print(f"  {duration:.3f} s, {size:.2f} MB{rate}")
    if not found["complete"]:
        hint = f"not finished: farhand recover {found['file']} adds the index that other tools may ask for"
        console.print(Text(f"  it is {found['ended'] or hint}", "yellow"), soft_wrap=True)
    console.print(_streams(found))
    for signal, peak in found["peaks"].items():
        force = f"{peak['force']:.3g} N at {peak['time']:.3f} s"
        console.print(
            f"  peak of {signal}: {force}, {peak['torque']:.3g} N·m at {peak['torque_time']:.3f} s"
        )
    for name, energy in found["energy"].items():
        console.print(
            f"  energy into {name}: {energy['final']:.3g} J at the end, {energy['least']:.3g} J at the least"
        )
    console.print(_signals(found))
    events = found["events"]
    for event in events[:MOST_EVENTS]:
        console.print(Text(f"  {event['time']:9.3f} s  {event['text']}"), soft_wrap=True)
    if len(events) > MOST_EVENTS:
        console.print(f"  and {len(events) - MOST_EVENTS} more events")


def _streams(found: dict[str, Any]) -> object:
    table = _table("stream", "records", "rate", "gaps", "longest gap", "lost", "oldest sample")
    for name, row in found["streams"].items():
        rate = "–" if row["rate"] is None else f"{row['rate']:.6g} Hz"
        gap = f"{1e3 * row['longest_gap']:.3g} ms" if row["gaps"] else "–"
        oldest = f"{1e3 * row['oldest_sample']:.3g} ms"
        table.add_row(
            name, str(row["records"]), rate, str(row["gaps"]), gap, str(row["lost"]), oldest
        )
    return table


def _signals(found: dict[str, Any]) -> object:
    table = _table("signal", "n", "unit", "least", "most", "NaN")
    for name, row in found["signals"].items():
        low, high = ("–" if row[key] is None else f"{row[key]:.4g}" for key in ("min", "max"))
        unit = "index" if row["unit"].startswith("index of") else row["unit"]
        table.add_row(name, str(row["size"]), unit, low, high, str(row["missing"] or "–"))
    return table


def _table(*headers: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in headers:
        named = header in ("stream", "signal", "unit")
        table.add_column(header, justify="left" if named else "right", no_wrap=True)
    return table
