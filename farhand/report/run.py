"""The page that ``farhand run --report`` writes: what happened, in one sentence, one table and a few plots."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.history import History
from farhand.report.page import ReportPage

# fmt: skip
from farhand.report.summary import (
    Numbers,
    Result,
    arms_of,
    draw_heights,
    draw_loads,
    draw_squeeze,
    headline,
    is_team,
    lines,
    moving_picture,
    number,
    team_headline,
)
from farhand.rigs import Rig

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEADER, FOLLOWER, NEUTRAL, TRIP = "#1f6fb4", "#d9730d", "#39424e", "#b3261e"
ABOVE = ("data", "axes fraction")
CHARACTERS = 130
"""Characters of a label that fit side by side across a plot."""

UPWARD = 48
"""Characters of a label that fit up a plot."""

MOST_POINTS = 4000
"""Points per line; more cannot be told apart on the page."""


@dataclass(frozen=True)
class ReportPlot:
    """One plot of the page.

    Attributes:
        title: what it shows, as a finding.
        draw: draws it into the axes of a figure.
        rows: how many axes, one above the other.
    """

    title: str
    draw: Callable[[list[Axes]], None]
    rows: int = 1


def write_report(rig: Rig, result: Result, folder: Path) -> Path:
    """Write ``index.html`` into a folder, which is made if needed, and return its path.

    Args:
        rig: after its run.
        result: of :func:`farhand.report.summary.result_of`.
        folder: where it goes.
    """
    page = ReportPage(headline(result), _setting(rig, result))
    page.table(("what", "how much"), list(lines(result)))
    if result["trips"]:
        rows = [(f"{t['time']:.3f} s", t["where"], t["kind"], t["reason"]) for t in result["trips"]]
        page.table(("time", "where", "kind", "reason"), rows, "Trips: what stopped the arms")
    if is_team(result) and (moving := moving_picture(rig)) is not None:
        page.figure(moving, "The run, twice as fast as it was")
    for drawing in _drawings(rig, result):
        page.figure(figure_of(drawing, rig, result), drawing.title)
    page.section("All numbers")
    metrics = result["metrics"].items()
    page.table(("metric", "value", "unit"), [(name, m["value"], m["unit"]) for name, m in metrics])
    commands = [
        (f"{c['time']:.3f} s", c["tick"], c["command"], c["outcome"]) for c in result["commands"]
    ]
    page.table(("time", "tick", "command", "outcome"), commands, "Commands")
    return page.save(folder)


def _setting(rig: Rig, result: Result) -> str:
    scenario, options = rig.scenario, rig.options
    link = f" over a link with {options.delay:g} ms of round trip" if options.delay else ""
    if options.loss:
        link += f" and {100 * options.loss:g} % of packets lost"
    changed = ", ".join(f"{path} = {value}" for path, value in options.settings)
    return (
        f"{rig.name} with the law {rig.law}{link}: {scenario.title}. "
        f"{result['seconds']:g} s, seed {result['seed']}{', ' if changed else ''}{changed}."
    )


def figure_of(drawing: ReportPlot, rig: Rig, result: Result) -> Figure:
    """Draw one plot, with the scenario's moves shaded and trips and commands as vertical lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.6 + 1.9 * drawing.rows), layout="constrained")
    axes: list[Axes] = [
        ax for row in figure.subplots(drawing.rows, 1, sharex=True, squeeze=False) for ax in row
    ]
    drawing.draw(axes)
    figure.suptitle(drawing.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    end = result["seconds"]
    for ax in axes:
        _shade(ax, rig, end, labelled=ax is axes[0])
        _mark(ax, result, labelled=ax is axes[0])
        ax.set_xlim(0.0, end)
        ax.grid(True, color="#e3e6ea", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower left",
        ncols=4,
        frameon=False,
        fontsize=9,
    )
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels(axes)
    return figure


def _shade(ax: Axes, rig: Rig, end: float, labelled: bool) -> None:
    """The scenario's moves as grey bands, with their labels above the uppermost axes."""
    for move in rig.scenario.moves:
        if move.start >= end:
            continue
        ax.axvspan(move.start, min(move.end, end), color="#eef1f4", zorder=0)
        if labelled:
            width = max(6, round(CHARACTERS * move.duration / end))
            at = 0.5 * (move.start + min(move.end, end)), 1.02
            words = textwrap.fill(move.label, width, break_long_words=False)
            ax.annotate(
                words, at, xycoords=ABOVE, ha="center", va="bottom", fontsize=8, color="#5b6472"
            )


def _mark(ax: Axes, result: Result, labelled: bool) -> None:
    """Commands and trips as vertical lines; those that come together share one."""
    marks: dict[float, list[str]] = {}
    for command in result["commands"]:
        if command["time"] > 0.0:
            marks.setdefault(round(command["time"], 2), []).append(command["command"])
    tripped = {round(trip["time"], 2) for trip in result["trips"]}
    for trip in result["trips"]:
        marks.setdefault(round(trip["time"], 2), []).append(f"{trip['where']} trips")
    for time, words in marks.items():
        colour = TRIP if time in tripped else NEUTRAL
        ax.axvline(time, color=colour, linestyle="--" if time in tripped else ":", linewidth=1.2)
        if labelled:
            text: dict[str, Any] = {
                "rotation": 90,
                "ha": "right",
                "va": "top",
                "fontsize": 7.5,
                "color": colour,
            }
            text["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
            ax.annotate(_short(words), (time, 0.98), xycoords=ABOVE, **text).set_in_layout(False)


def _short(words: list[str]) -> str:
    """What happened at one time, in as many characters as fit up a plot."""
    text = ", ".join(words)
    return text if len(text) <= UPWARD else f"{words[0][:UPWARD]} and {len(words) - 1} more"


def _drawings(rig: Rig, result: Result) -> Iterator[ReportPlot]:
    history, m = rig.metrics.history, Numbers(result)
    if is_team(result):
        yield from _team_drawings(history, result)
        return
    behind, rms = (number(1e3 * (m[f"tracking_error_{kind}"] or 0.0)) for kind in ("max", "rms"))
    if result["never_coupled"]:
        yield ReportPlot(
            "Where the tools go: they were never coupled", lambda ax: _positions(ax, history), 3
        )
    else:
        title = f"Where the tools go: while coupled, the follower is at most {behind} mm off"
        yield ReportPlot(title, lambda ax: _positions(ax, history), 3)
        title = f"Tracking error while coupled: {behind} mm at most, {rms} mm rms"
        yield ReportPlot(title, lambda ax: _error(ax[0], history))
    if m["hand_force_max"] is not None or m["contact_force_max"] is not None:
        yield ReportPlot(_force_title(m), lambda ax: _forces(ax[0], history))
    yield ReportPlot(_energy_title(history), lambda ax: _energy(ax[0], history))
    if m["link_age_mean"] is not None:
        age, oldest = number(1e3 * m["link_age_mean"]), number(1e3 * (m["link_age_max"] or 0.0))
        title = f"What arrives over the link is {age} ms old on average, {oldest} ms at most"
        yield ReportPlot(title, lambda ax: _age(ax[0], history))


def _team_drawings(history: History, result: Result) -> Iterator[ReportPlot]:
    arms = arms_of(result)
    yield ReportPlot(team_headline(result), lambda ax: draw_loads(ax[0], history, arms))
    yield ReportPlot("What the grips do to each other", lambda ax: draw_squeeze(ax[0], history))
    yield ReportPlot("How high every tool is", lambda ax: draw_heights(ax[0], history, arms))


def _force_title(m: Numbers) -> str:
    hand, contact, felt = m["hand_force_max"], m["contact_force_max"], m["reflection_in_contact"]
    if felt is not None:
        return (
            f"Pressing steadily, the hand feels {number(100 * felt)} % of what the follower touches"
        )
    if contact is None:
        return f"The hand moves the leader with {number(hand)} N at most; no sensor tells what the follower touches"
    if contact < 1.0:
        return f"Nothing is touched; the hand moves the leader with {number(hand)} N at most"
    return f"Force: {number(hand)} N at the hand and {number(contact)} N at the contact at most"


def _energy_title(history: History) -> str:
    total = history.signal("coupling", "port_energy").sum(axis=1)
    if not total.any():
        return "No energy goes through the coupling"
    lowest = float(total.min())
    if lowest < -0.01:
        at = history.times("coupling")[int(np.argmin(total))]
        return f"The coupling gives out {number(-lowest)} J more than it got by {at:.1f} s: it is not passive"
    return (
        f"The coupling takes up {number(float(total[-1]))} J and never gives out more than it got"
    )


def _positions(axes: list[Axes], history: History) -> None:
    for name, colour, style in (("leader", LEADER, "-"), ("follower", FOLLOWER, "--")):
        times, position = _thin(history.times(name), history.signal(name, "position_tool_in_world"))
        for index, ax in enumerate(axes):
            label = (
                f"{name} from {', '.join(f'{x:.2f}' for x in position[0])} m" if index == 0 else ""
            )
            ax.plot(
                times,
                position[:, index] - position[0, index],
                style,
                color=colour,
                label=label,
                linewidth=1.4,
            )
            ax.set_ylabel(f"{'xyz'[index]} from start [m]")


def _error(ax: Axes, history: History) -> None:
    times = history.times("coupling")
    error = 1e3 * np.linalg.norm(history.signal("coupling", "error")[:, :3], axis=1)  # [mm]
    engaged = history.signal("coupling", "engagement")[:, 0] > 0.0
    ax.plot(
        *_thin(times, np.where(engaged, error, np.nan)),
        color=NEUTRAL,
        linewidth=1.2,
        label="while coupled",
    )
    ax.set_ylabel("distance of the tools [mm]")
    ax.set_ylim(bottom=0.0)


def _forces(ax: Axes, history: History) -> None:
    for name, label, colour, style in (
        ("leader", "hand on the leader", LEADER, "-"),
        ("follower", "contact on the follower", FOLLOWER, "--"),
    ):
        # [N]
        force = np.linalg.norm(history.signal(name, "wrench_measured_in_world")[:, :3], axis=1)
        ax.plot(*_thin(history.times(name), force), style, color=colour, linewidth=1.2, label=label)
    ax.set_ylabel("force [N]")
    ax.set_ylim(bottom=0.0)


def _energy(ax: Axes, history: History) -> None:
    times, energy = _thin(history.times("coupling"), history.signal("coupling", "port_energy"))
    ax.plot(times, energy[:, 0], color=LEADER, linewidth=1.2, label="from the leader")
    ax.plot(times, energy[:, 1], "--", color=FOLLOWER, linewidth=1.2, label="from the follower")
    ax.plot(times, energy.sum(axis=1), color=NEUTRAL, linewidth=1.6, label="both together")
    ax.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    ax.set_ylabel("energy into the coupling [J]")


def _age(ax: Axes, history: History) -> None:
    times, age = _thin(history.times("coupling"), 1e3 * history.signal("coupling", "age"))  # [ms]
    for index, (name, colour) in enumerate((("leader", LEADER), ("follower", FOLLOWER))):
        ax.plot(
            times, age[:, index], color=colour, linewidth=0.9, alpha=0.8, label=f"at the {name}"
        )
    ax.set_ylabel("age of the other side [ms]")
    ax.set_ylim(bottom=0.0)


def _thin(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every so-many-th record, so that the plot stays small."""
    stride = -(-len(times) // MOST_POINTS)
    return times[::stride], values[::stride]
