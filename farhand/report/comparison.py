"""``farhand compare`` on paper: the table of laws, its page and its plots."""

from __future__ import annotations

import io
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.files import write_bytes
from farhand.report.output import say, show_table
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Row = dict[str, Any]
"""As :func:`farhand.running.comparison.compare` returns them."""

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
    "free: rms tracking error in free motion; inertia: felt at 1 to 3 Hz, without the leader's "
    "own; soft, hard: stiffness felt on a wall of 500 N/m and on the rig's own; contact: force on "
    "that wall; settles: how soon; made: energy that the coupling gave out beyond what went in. "
    "–: never, or not defined"
)


def show_comparison(rows: list[Row]) -> None:
    """Print the table, what was refused, and what tripped."""
    show_table(_table(rows))
    say(LEGEND, style="dim")
    for law, reason in _refused(rows).items():
        say(f"{law}: {reason}", style="dim")
    for row in _measured(rows):
        if row["metrics"]["trips"]["value"]:
            say(f"{row['law']} at {row['delay']:g} ms stopped by a trip", style="red")


def _table(rows: list[Row]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("law", no_wrap=True)
    for heading, unit in (("delay", "ms"), *((heading, unit) for _, heading, unit, _ in COLUMNS)):
        table.add_column(f"{heading}\n[dim]{unit}[/]", justify="right", no_wrap=True)
    for row in _measured(rows):
        cells = ("–" if value is None else number(value) for value in _values(row))
        table.add_row(row["law"], f"{row['delay']:g}", *cells)
    return table


def number(value: float) -> str:
    """Three digits where they matter, in no more than six characters."""
    if abs(value) < 5e-4:
        return "0"
    if abs(value) >= 100.0:
        return f"{value:.0f}"
    return f"{value:.3f}"[:5] if value > 0.0 else f"{value:.3f}"[:6]


def write_page(rig: str, rows: list[Row], folder: Path) -> Path:
    """Write the page with the table and the plots; its path."""
    lead = "The same hand, the same walls, the same delays; only the law differs."
    changed = ", ".join(f"{path} = {value}" for path, value in rows[0].get("settings", {}).items())
    page = ReportPage(
        f"Laws on {rig}, side by side", f"{lead} Set: {changed}." if changed else lead
    )
    headings = ("law", "delay [ms]", *(f"{heading} [{unit}]" for _, heading, unit, _ in COLUMNS))
    measured = _measured(rows)
    page.table(headings, [(r["law"], r["delay"], *_values(r)) for r in measured], LEGEND)
    if measured:
        page.figure(impedance_figure(measured), "What the hand feels against frequency, by law")
        page.figure(delay_figure(measured), "Free motion and hard contact, by law and delay")
    refused = _refused(rows)
    if refused:
        page.section("Laws this rig cannot run")
        page.table(("law", "reason"), list(refused.items()))
    return page.save(folder)


def write_pictures(rows: list[Row], folder: Path) -> None:
    """Write both plots as SVG files, the same bytes every time."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    measured = _measured(rows)
    pictures: dict[str, Callable[[list[Row]], Figure]] = {
        "laws-impedance": impedance_figure,
        "laws-delay": delay_figure,
    }
    with matplotlib.rc_context({"svg.hashsalt": "farhand"}):
        for name, draw in pictures.items() if measured else ():
            text = io.BytesIO()
            draw(measured).savefig(text, format="svg", metadata={"Date": None})
            write_bytes(folder / f"{name}.svg", text.getvalue())


def impedance_figure(rows: list[Row]) -> Figure:
    """Impedance at the handle, free and against a spring, at the smallest delay."""
    figure, axes = _two_panels(sharey=True)
    smallest = min(row["delay"] for row in rows)
    for axis, kind, title in zip(
        axes, ("free", "soft"), ("free motion", "against 500 N/m"), strict=True
    ):
        for row in (row for row in rows if row["delay"] == smallest):
            measured = row["impedance"]
            axis.loglog(measured["frequency"], measured[kind], marker="o", ms=3, label=row["law"])
        axis.set(xlabel="frequency [Hz]", title=f"{title}, {smallest:g} ms")
        axis.grid(True, which="both", alpha=0.3)
    axes[1].axhline(500.0, color="0.4", lw=1, ls="--")
    axes[0].set_ylabel("|F/x| at the hand [N/m]")
    axes[0].legend(fontsize=8)
    return figure


def delay_figure(rows: list[Row]) -> Figure:
    """Free-motion error and hard contact force over delay, one line per law."""
    figure, axes = _two_panels()
    panels = (
        ("free_error_rms", 1e3, "free-motion error [mm]"),
        ("hard_contact_force", 1.0, "hard contact force [N]"),
    )
    for axis, (name, factor, label) in zip(axes, panels, strict=True):
        for law in dict.fromkeys(row["law"] for row in rows):
            mine = [row for row in rows if row["law"] == law]
            values = [_value(row, name, factor) for row in mine]
            values = [nan if value is None else value for value in values]
            axis.plot([row["delay"] for row in mine], values, "o-", label=law)
        axis.set(xlabel="round-trip delay [ms]", ylabel=label)
        axis.grid(True, alpha=0.3)
    axes[0].set_yscale("log")
    axes[0].legend(fontsize=8)
    return figure


def _two_panels(sharey: bool = False) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    return figure, figure.subplots(1, 2, sharey=sharey)


def _measured(rows: list[Row]) -> list[Row]:
    return [row for row in rows if "metrics" in row]


def _refused(rows: list[Row]) -> dict[str, str]:
    return {row["law"]: row["refused"] for row in rows if "refused" in row}


def _values(row: Row) -> list[float | None]:
    return [_value(row, name, factor) for name, *_, factor in COLUMNS]


def _value(row: Row, name: str, factor: float) -> float | None:
    value = row["metrics"][name]["value"]
    return None if value is None else factor * value
