"""The scoreboard: one picture per question, with intervals, and the command under each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.report.figures import LOOKS, dress, new_figure
from farhand.report.numbers import number
from farhand.report.output import say, show_table
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
"""As :func:`farhand.running.scoring.play` returns them."""

Z = 1.96
"""Of an interval that holds 95 % of the time, [-]."""


def share(rows: Sequence[Row], what: str = "success") -> tuple[float, float, float]:
    """Share of the rows in which something is so, with Wilson's interval of 95 %."""
    n = len(rows)
    if not n:
        return math.nan, math.nan, math.nan
    p = sum(bool(row[what]) for row in rows) / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    # rounding may put a bound past what it bounds, or below zero
    return p, max(0.0, min(p, middle - half)), max(p, middle + half)


def spread(rows: Sequence[Row], what: str) -> tuple[float, float, float]:
    """Median and quartiles of a number."""
    values = [float(row[what]) for row in rows]
    if not values:
        return math.nan, math.nan, math.nan
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float(middle), float(low), float(high)


def show_score(rows: Sequence[Row]) -> None:
    """Print the laws over all trials, and why some were refused."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    names = ("law", "trials", "done\n%", "95 %", "damaged\n%", "stopped\n%", "peak\nN", "time\ns")
    for header in names:
        justify: Any = "left" if header == "law" else "right"
        table.add_column(header, justify=justify, no_wrap=True)
    played = [row for row in rows if "refused" not in row]
    for law in dict.fromkeys(row["law"] for row in played):
        mine = [row for row in played if row["law"] == law]
        p, low, high = share(mine)
        finished = [row for row in mine if row["success"]]
        table.add_row(
            law,
            str(len(mine)),
            f"{100 * p:.0f}",
            f"{100 * low:.0f} to {100 * high:.0f}",
            f"{100 * share(mine, 'damaged')[0]:.0f}",
            f"{100 * share(mine, 'stopped')[0]:.0f}",
            number(spread(mine, "peak_force")[0]),
            number(spread(finished, "time")[0]) if finished else "–",
        )
    show_table(table)
    for law, reason in dict.fromkeys((r["law"], r["refused"]) for r in rows if "refused" in r):
        say(f"{law} was not played: {reason}", style="dim")


def write_score(
    rows: Sequence[Row], folder: Path, command: Callable[[Sequence[Row]], str], about: str
) -> Path:
    """Write the page.

    Args:
        rows: of all trials.
        folder: of the page.
        command: the command that plays some rows again.
        about: the arms and their coupling, in words.
    """
    played = [row for row in rows if "refused" not in row]
    best = max(dict.fromkeys(r["law"] for r in played), key=lambda law: _share_of(played, law))
    lead = (
        f"Trials: {len(played)}; tasks: {len({row['task'] for row in played})}; {about}. "
        f"Over all of them {best} finishes most often: {100 * _share_of(played, best):.0f} %. "
        "Bars are intervals of 95 % (Wilson) for shares, quartiles for forces and times."
    )
    page = ReportPage("Which law gets the task done?", lead)
    delays = sorted({row["delay"] for row in played})
    near = [r for r in played if r["delay"] == delays[0] and r["layer"] == played[0]["layer"]]
    bare = [row for row in played if row["layer"] == played[0]["layer"]]
    delay, layer = f"{delays[0]:g} ms", played[0]["layer"]
    _picture(
        page,
        "Which law finishes?",
        _bars(near, "law", "success", "tasks done [%]"),
        f"Share of trials done at {delay}, layer {layer}.",
        command(near),
    )
    _picture(
        page,
        "Which law hurts?",
        _bars(near, "law", "peak_force", "peak contact force [N]"),
        f"Largest contact force of a trial at {delay}, layer {layer}.",
        command(near),
    )
    if len(delays) > 1:
        _picture(
            page,
            "What does delay cost?",
            _curves(bare, "law", delays),
            f"Trials done, and time of those, over the delay; layer {layer}.",
            command(bare),
        )
    if len({row["layer"] for row in played}) > 1:
        _picture(
            page,
            "What does a layer cost?",
            _curves(played, "layer", delays),
            "The same by passivity layer, over all laws.",
            command(played),
        )
    if len({row["loss"] for row in played}) > 1:
        page.section("Delay and loss together")
        losses = sorted({row["loss"] for row in played})
        page.table(
            ["delay", *(f"{100 * loss:g} % lost" for loss in losses)],
            [[f"{d:g} ms", *(_cell(played, d, loss) for loss in losses)] for d in delays],
            "Share of trials done, with its interval.",
        )
        page.command(command(played))
    page.section("By task")
    tasks = list(dict.fromkeys(row["task"] for row in played))
    laws = list(dict.fromkeys(row["law"] for row in played))
    cells = [
        [law, *(_done([r for r in near if (r["law"], r["task"]) == (law, task)]) for task in tasks)]
        for law in laws
    ]
    page.table(["law", *tasks], cells, f"Trials done of those played at {delay}, layer {layer}.")
    people = list(dict.fromkeys(row["operator"] for row in played))
    page.table(
        ["operator", "done", "peak force [N]", "time [s]"],
        [
            [name, _done(mine), spread(mine, "peak_force")[0], _time(mine)]
            for name in people
            for mine in [[row for row in near if row["operator"] == name]]
        ],
        f"By operator, at {delay}, layer {layer}.",
    )
    refused = dict.fromkeys((row["law"], row["refused"]) for row in rows if "refused" in row)
    if refused:
        page.section("Not played")
        page.table(["law", "reason"], refused)
    return page.save(folder)


def _share_of(rows: Sequence[Row], law: str) -> float:
    return share([row for row in rows if row["law"] == law])[0]


def _done(rows: Sequence[Row]) -> str:
    return f"{sum(row['success'] for row in rows)} of {len(rows)}" if rows else "–"


def _time(rows: Sequence[Row]) -> float | None:
    finished = [row for row in rows if row["success"]]
    return spread(finished, "time")[0] if finished else None


def _cell(rows: Sequence[Row], delay: float, loss: float) -> str:
    p, low, high = share([r for r in rows if (r["delay"], r["loss"]) == (delay, loss)])
    return "–" if math.isnan(p) else f"{100 * p:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def _picture(page: ReportPage, title: str, figure: Figure, caption: str, command: str) -> None:
    page.section(title)
    page.figure(figure, caption)
    page.command(command)


def _bars(rows: Sequence[Row], by: str, what: str, label: str) -> Figure:
    """One bar per group, the best on top, with its interval."""
    groups = list(dict.fromkeys(row[by] for row in rows))
    percent = what == "success"
    measured = {}
    for group in groups:
        mine = [row for row in rows if row[by] == group]
        middle, low, high = share(mine) if percent else spread(mine, what)
        scale = 100.0 if percent else 1.0
        measured[group] = (scale * middle, scale * (middle - low), scale * (high - middle))
    groups.sort(key=lambda group: measured[group][0], reverse=not percent)
    figure = new_figure(8.0, 0.8 + 0.38 * len(groups))
    ax = figure.subplots()
    values = np.array([measured[group] for group in groups])
    ax.barh(groups, values[:, 0], color="#56b4e9", height=0.6)
    ax.errorbar(values[:, 0], groups, xerr=values[:, 1:].T, fmt="none", ecolor="#333333", capsize=3)
    dress(ax, label)
    ax.set_axisbelow(True)
    ax.set_xlim(left=0.0, right=100.0 if percent else None)
    return figure


def _curves(rows: Sequence[Row], by: str, delays: Sequence[float]) -> Figure:
    """Share done, and time of what was done, over the delay."""
    figure = new_figure(11.0, 4.2)
    axes = figure.subplots(1, 2)
    groups = list(dict.fromkeys(row[by] for row in rows))
    for number_, (group, look) in enumerate(zip(groups, LOOKS * len(groups), strict=False)):
        mine = [[r for r in rows if (r[by], r["delay"]) == (group, d)] for d in delays]
        shift = 0.006 * (delays[-1] - delays[0]) * (number_ - 0.5 * (len(groups) - 1))
        at = [delay + shift for delay in delays]
        for ax, found in (
            (axes[0], [tuple(100.0 * x for x in share(some)) for some in mine]),
            (axes[1], [spread([r for r in some if r["success"]], "time") for some in mine]),
        ):
            values = np.array(found)
            error = np.stack([values[:, 0] - values[:, 1], values[:, 2] - values[:, 0]])
            ax.errorbar(at, values[:, 0], yerr=error, capsize=2, label=group, **look)
    dress(axes[0], "round-trip delay [ms]", "tasks done [%]")
    dress(axes[1], "round-trip delay [ms]", "time of those [s]")
    axes[0].set_ylim(0.0, 102.0)
    axes[1].set_ylim(bottom=0.0)
    axes[1].legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
