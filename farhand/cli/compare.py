"""``farhand compare``: the same tasks under several laws and delays, side by side."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farhand.cli.run import Settings
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.loop.interrupts import ending_workers
from farhand.report.output import (
    JsonPath,
    ReportFolder,
    Seed,
    check_file,
    check_folder,
    counting,
    stdout,
    write_json,
)
from farhand.running.run import setting_of

if TYPE_CHECKING:
    import matplotlib.figure

RigName = Annotated[
    str, typer.Argument(metavar="RIG", help="Which system, such as dual-arm; see farhand list.")
]
Laws = Annotated[
    str, typer.Option(metavar="all|A,B,…", help="Which laws; all that the rig can run by default.")
]
Delays = Annotated[
    str, typer.Option("--delay", metavar="MS,…", help="Round-trip delays in milliseconds.")
]
Pictures = Annotated[
    Path | None,
    typer.Option(
        "--pictures",
        metavar="DIR",
        help="Write the plots as laws-impedance.svg and laws-delay.svg.",
    ),
]
Layer = Annotated[str, typer.Option(metavar="NAME", help="Passivity layer around the laws.")]

COLUMNS = (
    ("free_error_rms", "free", "mm", 1e3),
    ("felt_inertia", "inertia", "kg", 1.0),
    ("soft_felt_stiffness", "soft", "N/m", 1.0),
    ("hard_felt_stiffness", "hard", "N/m", 1.0),
    ("hard_contact_force", "contact", "N", 1.0),
    ("hard_settling", "settles", "s", 1.0),
    ("energy_created", "made", "J", 1.0),
)
"""What the table shows: metric, heading, unit, factor."""

LEGEND = (
    "free: tracking error rms in free motion; inertia: felt at 1 to 3 Hz beyond the leader's own; soft, hard: what a "
    "wall of 500 N/m and the rig's own wall feel like; contact: force on that wall; settles: how soon; made: energy "
    "that the coupling gave out beyond what was put in. –: never, or not defined"
)


def compare(
    rig: RigName,
    laws: Laws = "all",
    delay: Delays = "0",
    layer: Layer = "none",
    settings: Settings = None,
    report: ReportFolder = None,
    pictures: Pictures = None,
    json: JsonPath = None,
    seed: Seed = 0,
) -> int:
    """Run free motion, soft and hard contact under several laws and delays, shake the leader, and show one table.

    Felt inertia is the handle's inertia at 1 to 3 Hz minus the leader's own. A law that a rig
    cannot run is listed with the reason, as is one that has no parameter that --set sets. The hard
    wall is the rig's own or that of --set wall.stiffness; the soft one is always 500 N/m.

    Example: [bold]farhand compare dual-arm --laws all --delay 0,20,100 --report report[/bold]
    """
    check_file(json)
    check_folder(report)
    check_folder(pictures)
    chosen, delays, changed = (
        _laws(laws),
        _delays(delay),
        tuple(setting_of(text) for text in settings or ()),
    )
    from farhand.link.layers import make_layer
    from farhand.rigs.rig import rig_names, scenarios_of
    from farhand.running import comparison

    make_layer(layer)
    if "wall" not in scenarios_of(rig):  # an unknown rig is refused here
        fit = ", ".join(name for name in rig_names() if "wall" in scenarios_of(name))
        raise Mismatch(
            f"{rig} has no wall, and laws are compared by pressing on one; those that have: {fit}"
        )
    cases = [comparison.Case(rig, law, ms, layer, seed, changed) for law in chosen for ms in delays]
    if changed:
        comparison.check([case for case in cases if case.delay == delays[0]])
    with ending_workers(), counting("comparing") as progress:
        rows = comparison.compare(cases, progress)
    write_json(json, rows)
    _show(rows)
    if report is not None:
        stdout().print(f"report: {_report(rig, rows, report)}", soft_wrap=True)
    if pictures is not None:
        _save(rows, pictures)
    return 0


def _save(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write both plots as files of their own, the same every time."""
    import io

    import matplotlib

    from farhand.files import write_bytes

    folder.mkdir(parents=True, exist_ok=True)
    done = [row for row in rows if "metrics" in row]
    with matplotlib.rc_context({"svg.hashsalt": "farhand"}):
        for name, draw in (("laws-impedance", _impedances), ("laws-delay", _bars)) if done else ():
            text = io.BytesIO()
            draw(done).savefig(text, format="svg", metadata={"Date": None})
            write_bytes(folder / f"{name}.svg", text.getvalue())


def _laws(text: str) -> list[str]:
    from farhand.coupling import LAWS

    if text == "all":
        return [name for name in LAWS if name != "none"]
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in LAWS and ":" not in name:
            raise UnknownName("law", name, LAWS)
    if not wanted:
        raise BadValue(f"--laws {text!r} names none; give all or names with commas between them")
    return wanted


def _delays(text: str) -> list[float]:
    try:
        delays = [float(part) for part in text.split(",")]
    except ValueError:
        raise BadValue(f"--delay {text!r} is not a list of milliseconds such as 0,20,100") from None
    for value in delays:
        if not 0.0 <= value <= 2000.0:
            raise BadValue(f"--delay {value:g} ms is not within 0 to 2000 ms")
    return delays


def _show(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("law", no_wrap=True)
    table.add_column("delay\n[dim]ms[/]", justify="right", no_wrap=True)
    for _, heading, unit, _ in COLUMNS:
        table.add_column(f"{heading}\n[dim]{unit}[/]", justify="right", no_wrap=True)
    for row in rows:
        if "metrics" in row:
            table.add_row(
                row["law"],
                f"{row['delay']:g}",
                *(_cell(row, name, factor) for name, *_, factor in COLUMNS),
            )
    console = stdout()
    console.print(table)
    console.print(LEGEND, style="dim")
    refused = {row["law"]: row["refused"] for row in rows if "refused" in row}
    for law, reason in refused.items():
        console.print(f"{law}: {reason}", style="dim", soft_wrap=True)
    for row in rows:
        if "metrics" in row and row["metrics"]["trips"]["value"]:
            console.print(
                f"{row['law']} at {row['delay']:g} ms stopped by a trip",
                style="red",
                soft_wrap=True,
            )


def _cell(row: dict[str, Any], name: str, factor: float) -> str:
    value = row["metrics"][name]["value"]
    return "–" if value is None else number(factor * value)


def number(value: float) -> str:
    """Three digits where they matter, in no more than six characters."""
    if abs(value) < 5e-4:
        return "0"
    return (
        f"{value:.0f}"
        if abs(value) >= 100.0
        else f"{value:.3f}"[:5]
        if value > 0.0
        else f"{value:.3f}"[:6]
    )


def _report(rig: str, rows: list[dict[str, Any]], folder: Path) -> Path:
    from farhand.report.page import ReportPage

    done = [row for row in rows if "metrics" in row]
    words = "The same hand, the same walls, the same delays; only the law differs."
    changed = ", ".join(f"{path} = {value}" for path, value in rows[0].get("settings", {}).items())
    page = ReportPage(
        f"Laws on {rig}, side by side", f"{words} Set: {changed}." if changed else words
    )
    headings = ("law", "delay [ms]", *(f"{heading} [{unit}]" for _, heading, unit, _ in COLUMNS))
    cells = [
        (r["law"], r["delay"], *(_value(r, name, factor) for name, *_, factor in COLUMNS))
        for r in done
    ]
    page.table(headings, cells, LEGEND)
    if done:
        page.figure(_impedances(done), "What the hand feels against frequency, by law")
        page.figure(_bars(done), "Free motion and hard contact, by law and delay")
    refused = {row["law"]: row["refused"] for row in rows if "refused" in row}
    if refused:
        page.section("Laws this rig cannot run")
        page.table(("law", "reason"), list(refused.items()))
    return page.save(folder)


def _value(row: dict[str, Any], name: str, factor: float) -> float | None:
    value = row["metrics"][name]["value"]
    return None if value is None else factor * value


def _impedances(rows: list[dict[str, Any]]) -> matplotlib.figure.Figure:
    """Impedance at the handle, free and against a spring, at the smallest delay there is."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    smallest = min(row["delay"] for row in rows)
    for axis, kind, title in (
        (axes[0], "free", "free motion"),
        (axes[1], "soft", "against 500 N/m"),
    ):
        for row in (row for row in rows if row["delay"] == smallest):
            axis.loglog(
                row["impedance"]["frequency"],
                row["impedance"][kind],
                marker="o",
                ms=3,
                label=row["law"],
            )
        axis.set(xlabel="frequency [Hz]", title=f"{title}, {smallest:g} ms")
        axis.grid(True, which="both", alpha=0.3)
    axes[1].axhline(500.0, color="0.4", lw=1, ls="--")
    axes[0].set_ylabel("|F/x| at the hand [N/m]")
    axes[0].legend(fontsize=8)
    return figure


def _bars(rows: list[dict[str, Any]]) -> matplotlib.figure.Figure:
    """Free-motion error and hard contact force over delay, one line per law."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    names = (
        ("free_error_rms", 1e3, "free-motion error [mm]"),
        ("hard_contact_force", 1.0, "hard contact force [N]"),
    )
    for axis, (name, factor, label) in zip(axes, names, strict=True):
        for law in dict.fromkeys(row["law"] for row in rows):
            mine = [row for row in rows if row["law"] == law]
            values = [
                nan if (value := _value(row, name, factor)) is None else value for row in mine
            ]
            axis.plot([row["delay"] for row in mine], values, "o-", label=law)
        axis.set(xlabel="round-trip delay [ms]", ylabel=label)
        axis.grid(True, alpha=0.3)
    axes[0].set_yscale("log")
    axes[0].legend(fontsize=8)
    return figure
