"""The page of ``farhand run --report``: one sentence, one table and a few plots."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.history import History
from farhand.analysis.metrics import Metrics
from farhand.analysis.pairs import PairsMetrics
from farhand.analysis.team import TeamMetrics
from farhand.report.figures import BAND, DARK, FOLLOWER, LEADER, dress, new_figure, thinned
from farhand.report.numbers import number
from farhand.report.page import Animation, ReportPage
from farhand.report.summary import Numbers, Result, arms_of, headline, is_team, lines, team_headline
from farhand.rigs import Rig

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRIP = "#b3261e"
ABOVE = ("data", "axes fraction")

PLOT_WIDTH = 130
"""Characters of a label that fit side by side across a plot."""

PLOT_HEIGHT = 48
"""Characters of a label that fit up a plot."""


@dataclass(frozen=True)
class ReportPlot:
    """One plot of the page."""

    title: str  # what it shows, as a finding
    draw: Callable[[list[Axes]], None]  # draws it into the axes of a figure
    rows: int = 1  # how many axes, one above the other


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
    if result["hints"]:
        page.table(("what the numbers do not say",), [(hint,) for hint in result["hints"]])
    _add_film(page, rig)
    for plot in plots_of(rig, result):
        page.figure(figure_of(plot, rig, result), plot.title)
    page.section("All numbers")
    metrics = [(name, m["value"], m["unit"]) for name, m in result["metrics"].items()]
    page.table(("metric", "value", "unit"), metrics)
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


def _add_film(page: ReportPage, rig: Rig) -> None:
    """The run as a film, if enough was recorded."""
    from farhand.report import arm_film, team_film

    metrics = rig.metrics
    if not isinstance(metrics, TeamMetrics):
        page.markup(arm_film.film_of(rig))
    elif len(metrics.history.times("team")):
        values = (value for path, value, *_ in rig.parameters() if path == "rig.size")
        size = np.asarray(next(values, np.zeros(3)))
        caption = "The run, twice as fast as it was"
        page.figure(Animation(team_film.film_of(metrics, size)), caption)


def figure_of(plot: ReportPlot, rig: Rig, result: Result) -> Figure:
    """Draw one plot, with the scenario's moves shaded and trips and commands as vertical lines."""
    figure = new_figure(10.0, 1.6 + 1.9 * plot.rows)
    axes: list[Axes] = list(figure.subplots(plot.rows, 1, sharex=True, squeeze=False)[:, 0])
    plot.draw(axes)
    figure.suptitle(plot.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    end = result["seconds"]
    for ax in axes:
        _shade(ax, rig, end, labelled=ax is axes[0])
        _mark(ax, result, labelled=ax is axes[0])
        ax.set_xlim(0.0, end)
        dress(ax, y=ax.get_ylabel())
    legend = axes[0].get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower left", ncols=4, frameon=False, fontsize=9)
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels(axes)
    return figure


def _shade(ax: Axes, rig: Rig, end: float, labelled: bool) -> None:
    """The scenario's moves as grey bands, with their labels above the uppermost axes."""
    style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 8, "color": "#5b6472"}
    for move in rig.scenario.moves:
        if move.start >= end:
            continue
        stop = min(move.end, end)
        ax.axvspan(move.start, stop, color=BAND, zorder=0)
        if labelled:
            width = max(6, round(PLOT_WIDTH * move.duration / end))
            text = textwrap.fill(move.label, width, break_long_words=False)
            ax.annotate(text, (0.5 * (move.start + stop), 1.02), xycoords=ABOVE, **style)


def _mark(ax: Axes, result: Result, labelled: bool) -> None:
    """Commands and trips as vertical lines; those that come together share one."""
    marks: dict[float, list[str]] = {}
    for command in result["commands"]:
        if command["time"] > 0.0:
            marks.setdefault(round(command["time"], 2), []).append(command["command"])
    tripped = {round(trip["time"], 2) for trip in result["trips"]}
    for trip in result["trips"]:
        marks.setdefault(round(trip["time"], 2), []).append(f"{trip['where']} trips")
    style: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "top", "fontsize": 7.5}
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    for time, names in marks.items():
        colour = TRIP if time in tripped else DARK
        ax.axvline(time, color=colour, linestyle="--" if time in tripped else ":", linewidth=1.2)
        if labelled:
            label = ax.annotate(_short(names), (time, 0.98), xycoords=ABOVE, color=colour, **style)
            label.set_in_layout(False)


def _short(names: list[str]) -> str:
    """What happened at one time, in as many characters as fit up a plot."""
    text = ", ".join(names)
    if len(text) <= PLOT_HEIGHT:
        return text
    return f"{names[0][:PLOT_HEIGHT]} and {len(names) - 1} more"


def plots_of(rig: Rig, result: Result) -> Iterator[ReportPlot]:
    """The plots that suit a run."""
    history, m = rig.metrics.history, Numbers(result)
    if is_team(result):
        yield from _team_plots(history, result)
        return
    if isinstance(rig.metrics, PairsMetrics):
        yield from _pair_plots(rig.metrics, m)
        return
    most, rms = m.text("tracking_error_max", 1e3), m.text("tracking_error_rms", 1e3)
    coupled = f"while coupled, the follower is at most {most} mm off"
    title = "they were never coupled" if result["never_coupled"] else coupled
    yield ReportPlot(f"Where the tools go: {title}", lambda ax: _positions(ax, history), 3)
    joints = rig.metrics.joints if isinstance(rig.metrics, Metrics) else ()
    if joints:
        yield from _joint_plots(history, joints, m)
    elif not result["never_coupled"]:
        title = f"Tracking error while coupled: {most} mm at most, {rms} mm rms"
        yield ReportPlot(title, lambda ax: _error(ax[0], history))
    if m["hand_force_max"] is not None or m["contact_force_max"] is not None:
        yield ReportPlot(_force_title(m), lambda ax: _forces(ax[0], history))
    yield ReportPlot(_energy_title(history), lambda ax: _energy(ax[0], history))
    if m["link_age_mean"] is not None:
        age, oldest = m.text("link_age_mean", 1e3), m.text("link_age_max", 1e3)
        title = f"What arrives over the link is {age} ms old on average, {oldest} ms at most"
        yield ReportPlot(title, lambda ax: _age(ax[0], history))


def _joint_plots(history: History, joints: Sequence[str], m: Numbers) -> Iterator[ReportPlot]:
    """Errors and efforts of coupled joints; the gripper's apart."""
    arm = [number for number, name in enumerate(joints) if name != "gripper"]
    errors = np.abs(history.signal("coupling", "error")[:, arm])
    if len(errors):
        worst = joints[arm[int(errors.max(axis=0).argmax())]]
        title = f"Joints of the follower are at most {m.degrees('joint_error_max')}° off ({worst})"
        yield ReportPlot(title, lambda ax: _joint_errors(ax[0], history, joints, arm))
    title = "What the hand does to the leader's joints, and what touches the follower's"
    yield ReportPlot(title, lambda ax: _joint_efforts(ax, history, joints, arm), 2)
    if len(arm) < len(joints):
        share = m["grip_reflection"]
        felt = f"the fingers feel {number(100 * share)} % of the grip" if share else "holds nothing"
        yield ReportPlot(f"Gripper: {felt}", lambda ax: _grip(ax, history), 2)


def _joint_errors(ax: Axes, history: History, joints: Sequence[str], arm: list[int]) -> None:
    engaged = history.signal("coupling", "engagement")[:, 0] > 0.0
    errors = np.degrees(history.signal("coupling", "error"))
    for index in arm:
        shown = np.where(engaged, errors[:, index], np.nan)
        _plot(ax, history.times("coupling"), shown, label=joints[index])
    ax.set_ylabel("error of a joint [°]")


def _joint_efforts(
    axes: list[Axes], history: History, joints: Sequence[str], arm: list[int]
) -> None:
    for ax, name in zip(axes, ("leader", "follower"), strict=True):
        torque = history.signal(name, "torque_external")
        for index in arm:
            if index < torque.shape[1]:
                _plot(ax, history.times(name), torque[:, index], label=joints[index])
        ax.set_ylabel(f"on the {name} [N·m]")


def _grip(axes: list[Axes], history: History) -> None:
    for name, colour, style in (("leader", LEADER, "-"), ("follower", FOLLOWER, "--")):
        times = history.times(name)
        for ax, channel in zip(axes, ("q", "torque_external"), strict=True):
            values = history.signal(name, channel)[:, -1]
            _plot(ax, times, values, style, color=colour, label=name)
    axes[0].set_ylabel("opening [rad or m]")
    axes[1].set_ylabel("effort [N·m or N]")


def _pair_plots(metrics: PairsMetrics, m: Numbers) -> Iterator[ReportPlot]:
    """For each pair how far its follower is off, and the forces at both ends."""
    for name, ends in metrics.couplings.items():
        most = m.text(f"tracking_error_max_{name}", 1e3)
        title = f"{name}: the follower is at most {most} mm off while coupled"
        yield ReportPlot(title, _pair_plot(metrics.history, *ends), 2)


def _pair_plot(
    history: History, coupling: str, leader: str, follower: str
) -> Callable[[list[Axes]], None]:
    def draw(axes: list[Axes]) -> None:
        error = np.abs(history.signal(coupling, "error"))
        engaged = history.signal(coupling, "engagement")[:, 0] > 0.0
        shown = np.where(engaged, error.max(axis=1, initial=0.0), np.nan)
        _plot(axes[0], history.times(coupling), shown, color=DARK, label="largest error")
        axes[0].set_ylabel("error [m or rad]")
        for station, colour in ((leader, LEADER), (follower, FOLLOWER)):
            wrench = history.signal(station, "wrench_measured_in_world")[:, :3]
            force = np.linalg.norm(wrench, axis=1)
            _plot(axes[1], history.times(station), force, color=colour, label=station)
        axes[1].set_ylabel("force [N]")

    return draw


def _team_plots(history: History, result: Result) -> Iterator[ReportPlot]:
    arms = arms_of(result)
    yield ReportPlot(team_headline(result), lambda ax: _loads(ax[0], history, arms))
    yield ReportPlot("What the grips do to each other", lambda ax: _squeeze(ax[0], history))
    yield ReportPlot("How high every tool is", lambda ax: _heights(ax[0], history, arms))


def _force_title(m: Numbers) -> str:
    contact, felt = m["contact_force_max"], m["reflection_in_contact"]
    hand = f"{number(m['hand_force_max'])} N"
    if felt is not None:
        share = f"{number(100 * felt)} % of what the follower touches"
        return f"Pressing steadily, the hand feels {share}"
    moves = f"the hand moves the leader with {hand} at most"
    if contact is None:
        return f"T{moves[1:]}; no sensor tells what the follower touches"
    if contact < 1.0 and not m["energy_wall_on_follower"]:
        gripped = m["grip_reflection"] is not None
        return f"{'The wall is not' if gripped else 'Nothing is'} touched; {moves}"
    return f"Force: {hand} at the hand and {number(contact)} N at the contact at most"


def _energy_title(history: History) -> str:
    total = history.signal("coupling", "port_energy").sum(axis=1)
    if not total.any():
        return "No energy goes through the coupling"
    lowest, final = float(total.min()), float(total[-1])
    if lowest < -0.01:
        at = history.times("coupling")[int(np.argmin(total))]
        more = f"{number(-lowest)} J more than it got by {at:.1f} s"
        return f"The coupling gives out {more}: it is not passive"
    return f"The coupling takes up {number(final)} J and never gives out more than it got"


def _plot(ax: Axes, times: np.ndarray, values: np.ndarray, *style: str, **look: Any) -> None:
    keep = thinned(len(times))
    ax.plot(times[keep], values[keep], *style, **({"linewidth": 1.2} | look))


def _positions(axes: list[Axes], history: History) -> None:
    for name, colour, style in (("leader", LEADER, "-"), ("follower", FOLLOWER, "--")):
        times, position = history.times(name), history.signal(name, "position_tool_in_world")
        start = ", ".join(f"{x:.2f}" for x in position[0])
        for index, ax in enumerate(axes):
            moved = position[:, index] - position[0, index]
            label = f"{name} from {start} m" if index == 0 else ""
            _plot(ax, times, moved, style, color=colour, label=label, linewidth=1.4)
            ax.set_ylabel(f"{'xyz'[index]} from start [m]")


def _error(ax: Axes, history: History) -> None:
    error = 1e3 * np.linalg.norm(history.signal("coupling", "error")[:, :3], axis=1)  # [mm]
    engaged = history.signal("coupling", "engagement")[:, 0] > 0.0
    shown = np.where(engaged, error, np.nan)
    _plot(ax, history.times("coupling"), shown, color=DARK, label="while coupled")
    ax.set_ylabel("distance of the tools [mm]")
    ax.set_ylim(bottom=0.0)


def _forces(ax: Axes, history: History) -> None:
    for name, label, colour, style in (
        ("leader", "hand on the leader", LEADER, "-"),
        ("follower", "contact on the follower", FOLLOWER, "--"),
    ):
        force = np.linalg.norm(history.signal(name, "wrench_measured_in_world")[:, :3], axis=1)
        _plot(ax, history.times(name), force, style, color=colour, label=label)
    ax.set_ylabel("force [N]")
    ax.set_ylim(bottom=0.0)


def _energy(ax: Axes, history: History) -> None:
    times, energy = history.times("coupling"), history.signal("coupling", "port_energy")
    _plot(ax, times, energy[:, 0], color=LEADER, label="from the leader")
    _plot(ax, times, energy[:, 1], "--", color=FOLLOWER, label="from the follower")
    _plot(ax, times, energy.sum(axis=1), color=DARK, linewidth=1.6, label="both together")
    ax.axhline(0.0, color=DARK, linewidth=0.8)
    ax.set_ylabel("energy into the coupling [J]")


def _age(ax: Axes, history: History) -> None:
    times, age = history.times("coupling"), 1e3 * history.signal("coupling", "age")  # [ms]
    for index, (name, colour) in enumerate((("leader", LEADER), ("follower", FOLLOWER))):
        look = {"color": colour, "linewidth": 0.9, "alpha": 0.8}
        _plot(ax, times, age[:, index], label=f"at the {name}", **look)
    ax.set_ylabel("age of the other side [ms]")
    ax.set_ylim(bottom=0.0)


def _loads(ax: Axes, history: History, arms: list[str]) -> None:
    """What every arm lifts with."""
    wrenches = history.signal("team", "wrench_of_arms_on_object_in_world")
    lifted = wrenches.reshape(len(wrenches), -1, 6)[:, :, 2]
    for index, arm in enumerate(arms):
        ax.plot(history.times("team"), lifted[:, index], linewidth=1.2, label=arm)
    ax.set_ylabel("lift of each arm [N]")


def _squeeze(ax: Axes, history: History) -> None:
    """The largest internal force."""
    times = history.times("team")
    inner = history.signal("team", "internal_wrench_in_world").reshape(len(times), -1, 6)
    largest = np.linalg.norm(inner[:, :, :3], axis=2).max(axis=1)
    ax.plot(times, largest, linewidth=1.2, label="largest at a grip")
    ax.set_ylabel("internal force [N]")
    ax.set_ylim(bottom=0.0)


def _heights(ax: Axes, history: History, arms: list[str]) -> None:
    for arm in arms:
        height = history.signal(arm, "position_tool_in_world")[:, 2]
        ax.plot(history.times(arm), height, linewidth=1.2, label=arm)
    ax.set_ylabel("height of the tool [m]")
