"""``farhand compare`` on paper: the table of laws, its page and its plots."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterator
from math import isfinite, nan, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from farhand.files import write_bytes
from farhand.report.figures import (
    COLUMN_IN,
    DARK,
    LOOKS,
    dress,
    label_ends,
    new_figure,
    plain_log_axis,
    spaced,
    styled,
)
from farhand.report.numbers import number
from farhand.report.output import say, show_table
from farhand.report.page import ReportPage, TableCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

Row = dict[str, Any]
"""As :func:`farhand.running.comparison.compare` returns them."""


class Column(NamedTuple):
    """What the table shows of a metric."""

    metric: str
    heading: str
    unit: str
    factor: float
    task: str  # whose trip leaves it unknown; empty for none
    resolution: float = 1e-3

    def of(self, row: Row) -> float | None:
        """The value in the unit of the column; None if it was not measured."""
        value = row["metrics"][self.metric]["value"]
        return None if value is None else self.factor * value

    def text(self, row: Row) -> str:
        """The value, or that and when a guard stopped the task."""
        stop = row["stops"].get(self.task)
        if stop is not None:
            return f"stopped at {stop['time']:.1f} s"
        return number(self.of(row), resolution=self.resolution)


FREE = Column("free_error_rms", "free", "mm", 1e3, "free")
INERTIA = Column("felt_inertia", "inertia", "kg", 1.0, "shaken")
CONTACT = Column("hard_contact_force", "contact", "N", 1.0, "hard")
JOINTS = Column("free_joint_error_rms", "joints", "mrad", 1e3, "free")
TORQUE = Column("hard_contact_torque", "torque", "N·m", 1.0, "hard")
COLUMNS = (
    FREE,
    INERTIA,
    Column("soft_felt_stiffness", "soft", "N/m", 1.0, "soft", 0.1),
    Column("hard_felt_stiffness", "hard", "N/m", 1.0, "hard", 0.1),
    CONTACT,
    Column("hard_settling", "settles", "s", 1.0, "hard"),
    Column("energy_created", "made", "J", 1.0, ""),
)

ON_SPRING = "shaken on a spring"
TASKS = {
    "free": "in free motion",
    "soft": "at the soft wall",
    "hard": "at the hard wall",
    "shaken": "while the handle was shaken",
    ON_SPRING: "while the handle was shaken against a spring",
}
"""Every task of a comparison, in words."""

LEGEND = (
    "free: rms tracking error in free motion; inertia: felt at 1 to 3 Hz, without the leader's "
    "own; soft, hard: stiffness felt on a wall of 500 N/m and on the rig's own; contact: force on "
    "that wall; settles: how soon; made: energy that the coupling gave out beyond what went in. "
    "–: never, or not defined"
)
LEGEND_OF_JOINTS = (
    f"{LEGEND}. The law couples the joints. joints: rms length of their error in free motion; "
    "torque: largest that the hard wall exerts on a joint; all else is measured at the tools"
)

STRIP, LANE = 0.95, 0.08
"""Where the crosses of the first law that was stopped stand, and how far below it those of the
next, as fractions of the axes' height."""


def columns_of(rows: list[Row]) -> tuple[Column, ...]:
    """What the table shows: more where joints are coupled."""
    return (JOINTS, TORQUE, *COLUMNS) if _of_joints(rows) else COLUMNS


def legend_of(rows: list[Row]) -> str:
    """What the columns are."""
    return LEGEND_OF_JOINTS if _of_joints(rows) else LEGEND


def _of_joints(rows: list[Row]) -> bool:
    return any(JOINTS.of(row) is not None for row in _measured(rows))


class CurveEnd(NamedTuple):
    """How a curve ends."""

    law: str
    colour: str
    value: float  # nan if the last run has none
    stopped: bool
    height: float = 1.0  # of its crosses; 1 without


def show_comparison(rows: list[Row]) -> None:
    """Print the table, what was refused, and what tripped."""
    show_table(_table(rows))
    say(legend_of(rows), style="dim")
    for law, reason in _refused(rows).items():
        say(f"{law}: {reason}", style="dim")
    for law, delay, task, when, where, reason in _stops(rows):
        line = f"{law} at {delay:g} ms, {task}: {where} stopped at {when}: {reason}"
        say(line, style="red")


def _table(rows: list[Row]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("law", no_wrap=True)
    columns = columns_of(rows)
    for heading, unit in (("delay", "ms"), *((column.heading, column.unit) for column in columns)):
        table.add_column(f"{heading}\n[dim]{unit}[/]", justify="right", no_wrap=True)
    for row in _measured(rows):
        cells = ("trip" if c.task in row["stops"] else c.text(row) for c in columns)
        table.add_row(row["law"], f"{row['delay']:g}", *cells)
    return table


def write_page(rig: str, rows: list[Row], folder: Path, style: str = "screen") -> Path:
    """Write the page with the table and the plots; its path."""
    lead = "The same hand, the same walls, the same delays; only the law differs."
    changed = ", ".join(f"{path} = {value}" for path, value in rows[0].get("settings", {}).items())
    page = ReportPage(
        f"Laws on {rig}, side by side", f"{lead} Set: {changed}." if changed else lead
    )
    columns, measured = columns_of(rows), _measured(rows)
    headings = ("law", "delay [ms]", *(f"{c.heading} [{c.unit}]" for c in columns))
    table = [(row["law"], row["delay"], *(_cell(c, row) for c in columns)) for row in measured]
    page.table(headings, table, legend_of(rows))
    stops = list(_stops(rows))
    if stops:
        stopped = ("law", "delay [ms]", "task", "time", "where", "reason")
        page.table(stopped, stops, "Trips: what a guard stopped, and why")
    with styled(style):
        for draw, caption in FIGURES.values() if measured else ():
            page.figure(draw(measured, style), caption)
    refused = _refused(rows)
    if refused:
        page.section("Laws this rig cannot run")
        page.table(("law", "reason"), list(refused.items()))
    return page.save(folder)


def write_pictures(rows: list[Row], folder: Path, style: str = "screen") -> None:
    """Write both plots as SVG files, for a paper also as PDF; the same bytes every time."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = _measured(rows)
    kinds = {"svg": "Date", "pdf": "CreationDate"} if style == "paper" else {"svg": "Date"}
    with styled(style):
        for name, (draw, _) in FIGURES.items() if measured else ():
            for kind, date in kinds.items():
                content = io.BytesIO()
                draw(measured, style).savefig(content, format=kind, metadata={date: None})
                write_bytes(folder / f"{name}.{kind}", content.getvalue())


def impedance_figure(rows: list[Row], style: str) -> Figure:
    """What the handle feels like, free and against a spring, at the smallest delay."""
    figure, axes = _two_panels(style)
    smallest = min(row["delay"] for row in rows)
    rows = [row for row in rows if row["delay"] == smallest]
    frequencies = rows[0]["impedance"]["frequency"]
    masses = [1.0 / (2.0 * pi * f) ** 2 for f in frequencies]  # [kg per N/m]
    for ax, kind, task, label, factors, title in (
        (axes[0], "free", "shaken", "|F/x|/ω² of the free handle [kg]", masses, _lightest(rows)),
        (axes[1], "soft", ON_SPRING, "|F/x| against a spring [N/m]", [1.0] * 99, _softest(rows)),
    ):
        ends: list[CurveEnd] = []
        for row, look in zip(rows, LOOKS * len(rows), strict=False):
            sizes = [nan if size is None else size for size in row["impedance"][kind]]
            sizes = [size * factor for size, factor in zip(sizes, factors, strict=False)]
            ax.plot(frequencies, sizes, **look)
            ends.append(CurveEnd(row["law"], look["color"], sizes[-1], task in row["stops"]))
        if kind == "soft":
            ax.axhline(500.0, color=DARK, lw=0.8, zorder=0)
            ax.annotate("500 N/m", (frequencies[0], 500.0), (0, 3), textcoords="offset points")
            plain_log_axis(ax)
        else:
            ax.set_ylim(bottom=0.0)
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.set_xticks(frequencies, [f"{f:g}" for f in frequencies])
        dress(ax, "frequency [Hz]", label)
        _finish(ax, title, ends, style)
    return figure


def delay_figure(rows: list[Row], style: str) -> Figure:
    """Free-motion error and hard contact force over delay, one line per law."""
    figure, axes = _two_panels(style)
    delays = sorted({row["delay"] for row in rows})
    error, press = (JOINTS, TORQUE) if _of_joints(rows) else (FREE, CONTACT)
    of, kind = (" of the joints", "torque") if error is JOINTS else ("", "force")
    for ax, column, label, title in (
        (axes[0], error, f"free-motion error{of}, rms [{error.unit}]", _closest(rows, error)),
        (axes[1], press, f"hard contact {kind} [{press.unit}]", _hardest(rows, press)),
    ):
        ends: list[CurveEnd] = []
        laws = dict.fromkeys(row["law"] for row in rows)
        for law, look in zip(laws, LOOKS * len(laws), strict=False):
            mine = sorted((row for row in rows if row["law"] == law), key=lambda r: r["delay"])
            values = [nan if (value := column.of(row)) is None else value for row in mine]
            ax.plot([row["delay"] for row in mine], values, **look)
            # A line must not end in nothing: every run that was stopped has its cross
            height = STRIP - LANE * len({end.height for end in ends if end.height < 1.0})
            stops = {row["delay"]: row["stops"].get(column.task) for row in mine}
            for delay, stop in stops.items():
                if stop is not None:
                    side = "right" if 2.0 * delay > delays[0] + delays[-1] else "left"
                    _cross(ax, (delay, height), look["color"], f"{stop['time']:.1f} s", side)
            end = CurveEnd(law, look["color"], values[-1], stops[mine[-1]["delay"]] is not None)
            ends.append(end._replace(height=height if any(stops.values()) else 1.0))
        if column is error:
            plain_log_axis(ax)
        else:
            ax.set_ylim(bottom=0.0)
        dress(ax, "round-trip delay [ms]", label)
        ax.set_xticks(spaced(delays, 0.08 * (delays[-1] - delays[0])))
        _finish(ax, title, ends, style)
    return figure


Draw = Callable[[list[Row], str], "Figure"]
FIGURES: dict[str, tuple[Draw, str]] = {
    "laws-impedance": (impedance_figure, "What the hand feels against frequency, by law"),
    "laws-delay": (
        delay_figure,
        "Free motion and hard contact, by law and delay; a cross is a run that a guard stopped",
    ),
}


def _two_panels(style: str) -> tuple[Figure, Any]:
    """Side by side on a page, one above the other in a column; room for names at the right."""
    if style == "paper":
        figure, rows = new_figure(COLUMN_IN, 1.6 * COLUMN_IN), 2
        room = {"left": 0.2, "right": 0.6, "top": 0.91, "bottom": 0.08, "hspace": 0.55}
    else:
        figure, rows = new_figure(11.5, 4.4), 1
        room = {"left": 0.06, "right": 0.845, "top": 0.87, "bottom": 0.12, "wspace": 0.85}
    figure.set_layout_engine("none")
    return figure, figure.subplots(rows, 3 - rows, gridspec_kw=room)


def _finish(ax: Axes, title: str, ends: list[CurveEnd], style: str) -> None:
    """Room for the crosses, the finding above, and at the right every law or that it stopped."""
    low, high = ax.get_ylim()
    lowest = min(end.height for end in ends)
    if lowest < 1.0:
        forward, back = ax.transScale.transform, ax.transScale.inverted().transform
        bottom, top = forward((1.0, low))[1], forward((1.0, high))[1]
        high = back((0.0, bottom + (top - bottom) / (lowest - LANE)))[1]
    ax.set_ylim(low, high)
    width, start = (46, -0.45) if style == "paper" else (56, 0.0)
    # A number stays with its unit
    title = re.sub(r"(?<=\d) (?=(ms|mm|mrad|kg|N|N/m|N·m|Hz)\b)", "\N{NO-BREAK SPACE}", title)
    text = "\n".join(textwrap.wrap(title, width, break_on_hyphens=False))
    ax.set_title(text, loc="left", x=start, fontsize="medium", fontweight="bold")
    labels = []
    for end in ends:
        if isfinite(end.value):
            point = ax.transData.transform((1.0, end.value))
            height = float(ax.transAxes.inverted().transform(point)[1])
            labels.append((height, end.law, end.colour))
        else:
            why = "✕ stopped" if end.stopped else "not defined"
            labels.append((min(end.height, STRIP), f"{end.law} {why}", end.colour))
    label_ends(ax, labels)


def _cross(ax: Axes, at: tuple[float, float], colour: str, text: str, ha: str) -> None:
    """Above the curves: a run that was stopped, and when."""
    look: dict[str, Any] = {
        "textcoords": "offset points",
        "color": colour,
        "fontsize": "small",
        "va": "center",
    }
    place = ax.get_xaxis_transform()
    ax.plot(*at, "x", color=colour, ms=7, mew=2, transform=place, clip_on=False)
    ax.annotate(text, at, (-7 if ha == "right" else 7, 0), xycoords=place, ha=ha, **look)


def _closest(rows: list[Row], column: Column) -> str:
    """Which law tracks best, at the smallest delay and at the largest."""
    said = []
    for delay in dict.fromkeys((min(row["delay"] for row in rows), max(r["delay"] for r in rows))):
        values = {
            row["law"]: value
            for row in rows
            if row["delay"] == delay and (value := column.of(row)) is not None
        }
        if values:
            best = min(values, key=lambda law: values[law])
            off = f"{number(values[best], resolution=1e-3)} {column.unit}"
            said.append(f"{best} at {delay:g} ms ({off})")
    return f"Closest in free motion: {', '.join(said)}" if said else "No free motion"


def _hardest(rows: list[Row], column: Column) -> str:
    """Which laws a guard stops in hard contact, or that it stops none."""
    stopped: dict[str, list[str]] = {}
    for row in rows:
        if CONTACT.task in row["stops"]:
            stopped.setdefault(row["law"], []).append(f"{row['delay']:g}")
    if stopped:
        cases = (f"{law} at {' and '.join(delays)} ms" for law, delays in stopped.items())
        return f"At the hard wall a guard stops {', '.join(cases)}"
    forces = [force for row in rows if (force := column.of(row)) is not None]
    if not forces:
        return "No hard contact"
    low, high = number(min(forces)), number(max(forces))
    return f"No law is stopped at the hard wall: the contact holds at {low} to {high} {column.unit}"


def _lightest(rows: list[Row]) -> str:
    """Between which masses the laws add to the handle."""
    felt = {row["law"]: abs(mass) for row in rows if (mass := INERTIA.of(row)) is not None}
    if not felt:
        return "Free motion"
    low, high = (choose(felt, key=lambda law: felt[law]) for choose in (min, max))
    least, most = (number(felt[law], resolution=1e-3) for law in (low, high))
    return f"Added to the free handle at 1 to 3 Hz: {least} kg ({low}) to {most} kg ({high})"


def _softest(rows: list[Row]) -> str:
    """Between which stiffnesses a spring feels at the lowest frequency."""
    felt = {row["law"]: size for row in rows if (size := row["impedance"]["soft"][0]) is not None}
    if not felt:
        return "Against a spring of 500 N/m"
    low, high = (choose(felt, key=lambda law: felt[law]) for choose in (min, max))
    slow = f"{rows[0]['impedance']['frequency'][0]:g}"
    ends = f"{number(felt[low])} ({low}) to {number(felt[high])} N/m ({high})"
    return f"A spring of 500 N/m feels like {ends} at {slow} Hz"


def _stops(rows: list[Row]) -> Iterator[tuple[str, float, str, str, str, str]]:
    """Law, delay, task, time, place and reason of every stop."""
    for row in _measured(rows):
        for task, stop in row["stops"].items():
            when = f"{stop['time']:.1f} s"
            yield row["law"], row["delay"], TASKS[task], when, stop["where"], stop["reason"]


def _cell(column: Column, row: Row) -> TableCell:
    look = "stopped" if column.task in row["stops"] else "number"
    return TableCell(column.text(row), look)


def _measured(rows: list[Row]) -> list[Row]:
    return [row for row in rows if "metrics" in row]


def _refused(rows: list[Row]) -> dict[str, str]:
    return {row["law"]: row["refused"] for row in rows if "refused" in row}
