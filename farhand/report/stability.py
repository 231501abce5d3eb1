"""The pages of ``farhand stability``: a map of stiffness and delay, or every cell of the grid."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.stability.cells import TOLERANCE
from farhand.analysis.stability.drive_cells import MOTORS
from farhand.analysis.stability.limits import BUMP, CYCLE_STEPS, MAX_STIFFNESS, MIN_STIFFNESS
from farhand.analysis.stability.operating_point import Point
from farhand.analysis.stability.sampled_law import FAR_M, FAR_N
from farhand.analysis.stability.spectrum import largest_stable_delay
from farhand.report.figures import DARK, dress, new_figure
from farhand.report.numbers import number
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CALM, SHAKES, HERE = "#1f6fb4", "#b3261e", "#d9730d"

MIN_FREQUENCY = 0.01
"""Frequency below which a motion counts as a drift, [Hz]."""

MAX_DELAY_S = 0.2
"""Delay one way up to which the map is drawn, [s]."""

MAP_STEPS = 24
"""Stiffnesses for which the map computes the longest delay."""


def write_map(result: dict[str, Any], point: Point, folder: Path) -> Path:
    """Write the page of one rig and return its path.

    Args:
        result: of the command.
        point: where the loop was linearised.
        folder: where ``index.html`` goes, and the map by itself as ``map.svg``.
    """
    law = result["law"] or "the rig's law"
    lead = f"{law}; the hand is assumed to be {result['hand']}."
    page = ReportPage(f"How far {result['rig']} stays calm", lead)
    page.table(("what", "answer"), lines(result))
    figure = draw_map(result, point)
    caption = "Below the line the loop is predicted to be calm; dots are runs of the rig itself"
    page.figure(figure, caption)
    if result["trials"]:
        columns = {
            "stiffness": "wall [N/m]",
            "delay": "round trip [ms]",
            "shakes": "shakes",
            "amplitude": "amplitude at the end [m]",
        }
        rows = [tuple(trial[name] for name in columns) for trial in result["trials"]]
        page.table(tuple(columns.values()), rows, "Every trial")
    path = page.save(folder)
    figure.savefig(folder / "map.svg", bbox_inches="tight", metadata={"Date": None})
    return path


def boundary(point: Point, stiffnesses: np.ndarray) -> np.ndarray:
    """Longest round trip for each stiffness of the wall, [ms]; nan for any, 0 for none."""
    limits = []
    quanta = CYCLE_STEPS if point.quantum > 0.0 else 0.0
    for stiffness in stiffnesses.tolist():
        loop = point.at_wall(stiffness)
        ticks = largest_stable_delay(loop, round(MAX_DELAY_S / loop.period), BUMP, quanta)
        limits.append(2e3 * max(ticks, 0.0) * loop.period if math.isfinite(ticks) else math.nan)
    return np.array(limits)


def draw_map(result: dict[str, Any], point: Point) -> Figure:
    """Delay over stiffness: the predicted limit, the trials, and where the rig stands."""
    trials, wall = result["trials"], result["wall"]["stiffness"]
    tried = [trial["stiffness"] for trial in trials]
    middle = result["stable_to_wall"] or max(wall, 1000.0)
    low, high = (min(tried) / 1.5, max(tried) * 1.5) if tried else (middle / 10.0, middle * 10.0)
    stiffnesses = np.geomspace(max(low, MIN_STIFFNESS), min(high, MAX_STIFFNESS), MAP_STEPS)
    limit = boundary(point, stiffnesses)
    figure = new_figure(8.0, 5.0)
    ax = figure.subplots()
    ax.plot(stiffnesses, limit, color=DARK, linewidth=2.0, label="predicted limit")
    top = max([*(trial["delay"] for trial in trials), 2.0 * result["delay"], 50.0])
    for shakes, colour, marker, label in (
        (False, CALM, "o", "the rig is calm"),
        (True, SHAKES, "X", "the rig shakes"),
    ):
        at = [(trial["stiffness"], trial["delay"]) for trial in trials if trial["shakes"] is shakes]
        if at:
            x, y = zip(*at, strict=True)
            ax.scatter(x, y, color=colour, marker=marker, s=60, zorder=3, label=label)
    if wall > 0.0:
        ax.plot(wall, result["delay"], "*", color=HERE, markersize=14, label="as it stands")
    calm = np.where(np.isfinite(limit), limit, 2e3 * MAX_DELAY_S)
    ax.fill_between(stiffnesses, 0.0, calm, color=CALM, alpha=0.08)
    ax.set_xscale("log")
    ax.set_xlim(stiffnesses[0], stiffnesses[-1])
    ax.set_ylim(-0.02 * top, 1.1 * top)
    title = f"{result['rig']}, hand: {result['hand']}"
    dress(ax, "stiffness of the wall [N/m]", "round trip [ms]", title)
    figure.legend(frameon=False, loc="outside lower center", ncols=4)
    return figure


def write_grid(rows: list[dict[str, Any]], folder: Path) -> Path:
    """Write the page of the grid: predicted against simulated, every cell, and why some miss."""
    hits = sum(row["within"] for row in rows)
    lead = f"{hits} of {len(rows)} cells are within {100 * TOLERANCE:g} % of the simulated onset."
    page = ReportPage("Predicted and simulated onset of shaking", lead)
    figure = draw_grid(rows)
    page.figure(figure, "Predicted over simulated; the band is ±15 %")
    names = [name for name in rows[0] if name != "within"]
    cells = [(row, [row[name] for name in names]) for row in rows]
    missed = [(*values, explain(row)) for row, values in cells if not row["within"]]
    page.table((*names, "why"), missed, "Cells that miss")
    every = [(*values, row["within"]) for row, values in cells]
    page.table((*names, "within"), every, "Every cell")
    path = page.save(folder)
    figure.savefig(folder / "grid.svg", bbox_inches="tight", metadata={"Date": None})
    return path


def explain(row: dict[str, Any]) -> str:
    """Why a cell misses."""
    predicted, simulated = row["predicted"], row["simulated"]
    if row["law"] == MOTORS:
        return "steps of velocity in the frames, times the damping: between bound and linear limit"
    if row["question"] == "delay" and predicted is not None and simulated is not None:
        ticks = abs(predicted - simulated) * row["rate"]
        if ticks < 1.5:
            return "one tick apart: delays come in whole ticks"
    if predicted is None:
        return "a limit cycle that the linear loop does not have"
    if simulated is None or predicted < simulated:
        return "barely damped over a wide range: encoder steps can start the oscillation early"
    return "shakes earlier than its describing functions predict"


def draw_grid(rows: list[dict[str, Any]]) -> Figure:
    """Ratio of predicted to simulated for every cell that shakes, by law."""
    figure = new_figure(9.0, 3.6)
    ax = figure.subplots()
    kinds = dict.fromkeys((row["law"], row["question"]) for row in rows)
    start = 0
    for index, (law, question) in enumerate(kinds):
        mine = [row for row in rows if (row["law"], row["question"]) == (law, question)]
        ratios = [row["ratio"] for row in mine if row["ratio"] is not None]
        at = start + np.arange(len(ratios))
        ax.plot(at, ratios, ".", label=f"{law}, {question}", color=f"C{index}")
        start += len(ratios) + 5
    ax.axhspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color=CALM, alpha=0.1)
    ax.axhline(1.0, color=DARK, linewidth=0.8)
    ax.set_ylim(0.5, 1.5)
    dress(ax, "cell", "predicted over simulated [-]")
    ax.legend(frameon=False, ncols=3, fontsize=8, loc="upper left")
    return figure


def lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The answer for a person, as (topic, text)."""
    wall, delay = result["stable_to_wall"], result["stable_to_delay"]
    stiffness, trip = result["wall"]["stiffness"], f"{result['delay']:g} ms"
    margin = ""
    if wall and stiffness:
        margin = f"; {number(wall / stiffness, 2)} × the wall of {stiffness:g} N/m"
        # Beyond an island of instability, or where a law leaves a tool free
        if result["stable"] and wall < stiffness:
            margin = f"; then it shakes, and is calm again at {stiffness:g} N/m"
    calm = "calm" if result["stable"] else "shakes"
    point = f"at {result['rate']:g} Hz, {trip} and a wall of {stiffness:g} N/m"
    passive = _limit(result["passive_to"], "N/m", 1e99)
    rows = [
        ("hand", result["hand"]),
        ("as it stands", f"{calm}, {point}"),
        ("passive to", f"{passive}, the leader by itself, in any hand"),
        ("stable to", f"{_limit(wall, 'N/m', 1e6)} of wall at {trip}{margin}"),
        ("stable to", f"{_limit(delay, 'ms', 500.0)} of round trip at {stiffness:g} N/m"),
    ]
    limited = wall is not None or delay is not None or not result["stable"]
    if result["frequency"] > MIN_FREQUENCY and limited:
        rows.append(("would shake", f"at {number(result['frequency'], 2)} Hz"))
    elif limited:
        rows.append(("would drift", "slowly away, without shaking"))
    if not result["linear"]:
        cause = f"the law's gains change within {1e3 * FAR_M:g} mm or {FAR_N:g} N"
        rows.append(("not linear", f"{cause}: all this holds for smaller motions; try --simulate"))
    return rows


def _limit(value: float | None, unit: str, most: float) -> str:
    if value is None:
        return f"more than {most:g} {unit}" if most < 1e9 else "any stiffness"
    return f"nothing: it shakes at 0 {unit}" if value < 0.0 else f"{number(value, 4)} {unit}"
