"""``farhand info``: what is in a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from farhand.cli.options import JsonPath, RecordingPath
from farhand.report.output import Bar, check_files, note, say, show_table, stdout, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from farhand.recording.loader import Recording

MAX_EVENTS = 20
"""Events that are printed."""


def info(recording: RecordingPath, json: JsonPath = None) -> None:
    """Say what is in a recording: duration, rates and gaps, peak forces, energy, events, signals.

    Example: [bold]farhand info demo.mcap[/bold]
    """
    check_files(json, read=[recording])
    with Bar(f"reading {recording}"):
        from farhand.recording.loader import load
        from farhand.recording.overview import overview

        content = overview(load(recording))
    write_json(json, content)
    show(content)


def note_if_broken(recording: Recording) -> None:
    """Warn that a recording does not hold all of its run."""
    if not recording.complete:
        state = recording.metadata.get("ended", "not finished")
        note(f"{recording.path} is {state}; this is what it holds")


def show(content: dict[str, Any]) -> None:
    """Print an overview for a person."""
    from rich.text import Text

    console, run = stdout(), content["about"]
    names = [str(run[key]) for key in ("rig", "law", "scenario") if run[key] is not None]
    version = f"seed {run['seed']}, Farhand {run['version']}"
    say(Text(" · ".join(names) or "a recording", "bold").append(f" {version}", "not bold dim"))
    size, duration = content["bytes"] / 1e6, content["duration"]
    rate = f", {size / duration:.2f} MB/s" if duration else ""
    console.print(f"  {duration:.3f} s, {size:.2f} MB{rate}")
    if not content["complete"]:
        hint = f"farhand recover {content['file']} adds the index that other tools may need"
        state = content["ended"] or f"not finished: {hint}"
        say(Text(f"  it is {state}", "yellow"))
    show_table(_streams(content))
    for signal, peak in content["peaks"].items():
        force = f"{peak['force']:.3g} N at {peak['time']:.3f} s"
        torque = f"{peak['torque']:.3g} N·m at {peak['torque_time']:.3f} s"
        say(f"  peak of {signal}: {force}, {torque}")
    for name, energy in content["energy"].items():
        values = f"{energy['final']:.3g} J at the end, {energy['least']:.3g} J at least"
        say(f"  energy into {name}: {values}")
    show_table(_signals(content))
    events = content["events"]
    for event in events[:MAX_EVENTS]:
        say(Text(f"  {event['time']:9.3f} s  {event['text']}"))
    if len(events) > MAX_EVENTS:
        console.print(f"  and {len(events) - MAX_EVENTS} more events")


def _streams(content: dict[str, Any]) -> Table:
    table = _table("stream", "records", "rate", "gaps", "longest gap", "lost", "oldest sample")
    for name, row in content["streams"].items():
        rate = "–" if row["rate"] is None else f"{row['rate']:.6g} Hz"
        gap = f"{1e3 * row['longest_gap']:.3g} ms" if row["gaps"] else "–"
        oldest = f"{1e3 * row['oldest_sample']:.3g} ms"
        records, gaps, lost = (str(row[key]) for key in ("records", "gaps", "lost"))
        table.add_row(name, records, rate, gaps, gap, lost, oldest)
    return table


def _signals(content: dict[str, Any]) -> Table:
    table = _table("signal", "n", "unit", "least", "most", "NaN")
    for name, row in content["signals"].items():
        low, high = ("–" if row[key] is None else f"{row[key]:.4g}" for key in ("min", "max"))
        unit = "index" if row["unit"].startswith("index of") else row["unit"]
        table.add_row(name, str(row["size"]), unit, low, high, str(row["missing"] or "–"))
    return table


def _table(*headers: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in headers:
        named = header in ("stream", "signal", "unit")
        table.add_column(header, justify="left" if named else "right", no_wrap=True)
    return table
