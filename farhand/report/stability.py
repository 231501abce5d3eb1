"""The pages that ``farhand stability --report`` writes: a map of stiffness and delay, or every cell of the grid."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.stability.answers import BUMP, CYCLE, SOFTEST, STIFFEST
from farhand.analysis.stability.cells import TOLERANCE
from farhand.analysis.stability.operating_point import Point
from farhand.analysis.stability.spectrum import largest_stable_delay
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CALM, SHAKES, LINE = "#1f6fb4", "#b3261e", "#39424e"
LONGEST = 0.2
"""Delay one way up to which the map is drawn, [s]."""

STEPS = 24
"""Stiffnesses for which the map asks for the delay."""


def write_map(result: dict[str, Any], point: Point, folder: Path) -> Path:
    """Write the page of one rig and return its path.

    Args:
        result: of the command.
        point: it was asked at.
        folder: where ``index.html`` goes, and the map by itself as ``map.svg``.
    """
    law = result["law"] or "the rig's law"
    page = ReportPage(
        f"How far {result['rig']} stays calm", f"{law}; the hand is assumed to be {result['hand']}."
    )
    page.table(("what", "answer"), lines(result))
    figure = draw_map(result, point)
    page.figure(
        figure, "Below the line the loop is predicted to be calm; dots are runs of the rig itself"
    )
    if result["trials"]:
        columns = ("stiffness", "delay", "shakes", "amplitude")
        rows = [tuple(trial[name] for name in columns) for trial in result["trials"]]
        page.table(
            ("wall [N/m]", "round trip [ms]", "shakes", "amplitude at the end [m]"),
            rows,
            "Every trial",
        )
    path = page.save(folder)
    figure.savefig(folder / "map.svg", bbox_inches="tight", metadata={"Date": None})
    return path


def boundary(point: Point, stiffnesses: np.ndarray) -> np.ndarray:
    """Longest round trip for each stiffness of the wall, [ms]; nan beyond what is looked at, 0 where none is calm."""
    found = []
    for stiffness in stiffnesses.tolist():
        loop = point.at_wall(stiffness)
        quanta = CYCLE if point.quantum > 0.0 else 0.0
        ticks = largest_stable_delay(loop, round(LONGEST / loop.period), BUMP, quanta)
        found.append(2e3 * max(ticks, 0.0) * loop.period if math.isfinite(ticks) else math.nan)
    return np.array(found)


def draw_map(result: dict[str, Any], point: Point) -> Figure:
    """Delay over stiffness: the predicted limit as a line, trials as dots, and where the rig stands."""
    from matplotlib.figure import Figure

    trials = result["trials"]
    tried = [trial["stiffness"] for trial in trials]
    middle = result["stable_to_wall"] or max(result["wall"]["stiffness"], 1000.0)
    low, high = (min(tried) / 1.5, max(tried) * 1.5) if tried else (middle / 10.0, middle * 10.0)
    stiffnesses = np.geomspace(max(low, SOFTEST), min(high, STIFFEST), STEPS)
    limit = boundary(point, stiffnesses)
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    ax = figure.subplots()
    ax.plot(stiffnesses, limit, color=LINE, linewidth=2.0, label="predicted limit")
    top = max([*(trial["delay"] for trial in trials), 2.0 * result["delay"], 50.0])
    for shakes, colour, marker, label in (
        (False, CALM, "o", "the rig is calm"),
        (True, SHAKES, "X", "the rig shakes"),
    ):
        at = [(trial["stiffness"], trial["delay"]) for trial in trials if trial["shakes"] is shakes]
        if at:
            x, y = zip(*at, strict=True)
            ax.scatter(x, y, color=colour, marker=marker, s=60, zorder=3, label=label)
    if result["wall"]["stiffness"] > 0.0:
        ax.plot(
            result["wall"]["stiffness"],
            result["delay"],
            "*",
            color="#d9730d",
            markersize=14,
            label="asked for",
        )
    known = np.isfinite(limit)
    ax.fill_between(stiffnesses, 0.0, np.where(known, limit, 2e3 * LONGEST), color=CALM, alpha=0.08)
    ax.set_xscale("log")
    ax.set_xlim(stiffnesses[0], stiffnesses[-1])
    ax.set_ylim(-0.02 * top, 1.1 * top)
    ax.set_xlabel("stiffness of the wall [N/m]")
    ax.set_ylabel("round trip [ms]")
    ax.set_title(f"{result['rig']}, hand: {result['hand']}", loc="left", fontsize=10)
    ax.grid(True, color="#e3e6ea", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
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
    missed = [row for row in rows if not row["within"]]
    page.table(
        (*names, "why"),
        [(*(row[name] for name in names), explain(row)) for row in missed],
        "Cells that miss",
    )
    page.table(
        (*names, "within"),
        [(*(row[name] for name in names), row["within"]) for row in rows],
        "Every cell",
    )
    path = page.save(folder)
    figure.savefig(folder / "grid.svg", bbox_inches="tight", metadata={"Date": None})
    return path


def explain(row: dict[str, Any]) -> str:
    """Why a cell misses."""
    predicted, simulated = row["predicted"], row["simulated"]
    if row["question"] == "delay" and predicted is not None and simulated is not None:
        ticks = abs(predicted - simulated) * row["rate"]
        if ticks < 1.5:
            return "one tick apart: delays come in whole ticks"
    if predicted is None:
        return "a limit cycle that the linear loop does not have"
    if simulated is None or predicted < simulated:
        return "barely damped over a wide range: encoder steps could keep it going this early, here they do later"
    return "shakes earlier than its describing functions say"


def draw_grid(rows: list[dict[str, Any]]) -> Figure:
    """Ratio of predicted to simulated for every cell that shakes, by law."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    ax = figure.subplots()
    kinds = dict.fromkeys((row["law"], row["question"]) for row in rows)
    start = 0
    for number, (law, question) in enumerate(kinds):
        ratios = [
            r["ratio"]
            for r in rows
            if (r["law"], r["question"]) == (law, question) and r["ratio"] is not None
        ]
        at = start + np.arange(len(ratios))
        ax.plot(at, ratios, ".", label=f"{law}, {question}", color=f"C{number}")
        start += len(ratios) + 5
    ax.axhspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color=CALM, alpha=0.1)
    ax.axhline(1.0, color=LINE, linewidth=0.8)
    ax.set_ylabel("predicted over simulated [-]")
    ax.set_xlabel("cell")
    ax.set_ylim(0.5, 1.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, ncols=3, fontsize=8, loc="upper left")
    return figure


def lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The answer for a person, as (topic, words)."""
    wall, delay = result["stable_to_wall"], result["stable_to_delay"]
    stiffness = result["wall"]["stiffness"]
    margin = (
        ""
        if not wall or not stiffness
        else f"; {wall / stiffness:.2g} × the wall of {stiffness:g} N/m"
    )
    calm = "calm" if result["stable"] else "shakes"
    rows = [
        ("hand", result["hand"]),
        (
            "as it stands",
            f"{calm}, at {result['rate']:g} Hz, {result['delay']:g} ms and a wall of {stiffness:g} N/m",
        ),
        (
            "passive to",
            _limit(result["passive_to"], "N/m", 1e99) + ", the leader by itself, whatever holds it",
        ),
        ("stable to", _limit(wall, "N/m", 1e6) + f" of wall at {result['delay']:g} ms{margin}"),
        ("stable to", _limit(delay, "ms", 500.0) + f" of round trip at {stiffness:g} N/m"),
    ]
    if result["frequency"] > 0.0 and (
        wall is not None or delay is not None or not result["stable"]
    ):
        rows.append(("would shake", f"at {result['frequency']:.2g} Hz"))
    return rows


def _limit(value: float | None, unit: str, most: float) -> str:
    if value is None:
        return f"more than {most:g} {unit}" if most < 1e9 else "any stiffness"
    return f"nothing: it shakes at 0 {unit}" if value < 0.0 else f"{value:.4g} {unit}"
