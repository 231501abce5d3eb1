"""The pages of ``farhand ft``: what the sensor said, what is left of it, and how well the poses cover the sphere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.experiments.page import Page
from farhand.sensing.profile import AXES, UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farhand.sensing.compensation import Compensated
    from farhand.sensing.identification import Identification
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import Tool

Array = np.ndarray

COLOURS = ("#c0392b", "#1e8449", "#1f6fb4")
MARKERS = ("o", "s", "^")
SOFT = "#9aa4b1"
MOST_POINTS = 3000
"""Points per line; more cannot be told apart on the page."""


def calibration_page(found: Identification, readings: Readings, name: str) -> Page:
    """The page of ``ft calibrate``."""
    from farhand.cli.ft import calibration_rows, opposite_sign

    tool = found.tool
    lead = f"{tool.tool_id or 'The tool'} on {tool.sensor_id or 'the sensor'}, from {len(readings)} readings of {name}."
    page = Page("Force-sensor calibration", lead)
    page.table(("what", "value ± half of the 95 % interval"), calibration_rows(found))
    lines = [opposite_sign(tool)] if tool.sign < 0.0 else []
    _advise(page, [*lines, *found.advice], "The poses are well spread and the intervals are narrow: nothing to add.")
    page.figure(_pose_figure(found), "Mean reading of every pose before, and what the model leaves of it")
    page.figure(_sphere(found.poses.up, f"condition number {found.condition:.2f}"), COVERAGE)
    return page


def compensation_page(readings: Readings, tool: Tool, clean: Compensated, result: dict[str, Any], name: str) -> Page:
    """The page of ``ft compensate --report`` and ``ft report``."""
    from farhand.cli.ft import compensation_rows, remarks

    page = Page("Force-sensor recording", f"{name} with the calibration of {tool.tool_id or 'an unnamed tool'}.")
    page.table(("what", "how much"), compensation_rows(result))
    _advise(page, remarks(readings, tool, clean), "")
    page.figure(_time_figure(readings, clean), "Readings before and after compensation; contact is shaded")
    page.figure(
        _drift_figure(readings, clean), "Drift that was followed; it learns only where nothing touches the tool"
    )
    page.figure(_sphere(readings.up, f"{len(readings)} readings"), COVERAGE)
    return page


COVERAGE = "Which way was up, in sensor axes: both halves of the sphere, x to the right; an even cover is best"


def _advise(page: Page, lines: list[str], otherwise: str) -> None:
    if lines or otherwise:
        page.section("What to know" if lines else "Verdict")
    for line in lines or ([otherwise] if otherwise else []):
        page.paragraph(line[0].upper() + line[1:] + ("" if line.endswith(".") else "."))


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(10.0, height), layout="constrained")


def _dress(ax: Axes, ylabel: str, title: str = "") -> None:
    ax.set_ylabel(ylabel)
    ax.set_title(title, loc="left", fontsize=10)
    ax.grid(True, color="#e3e6ea", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _legend(ax: Axes) -> None:
    """Above the axes, where no data is."""
    lines = ax.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3).get_lines()
    for line in lines:
        line.set_linewidth(2.0)


def _pose_figure(found: Identification) -> Figure:
    figure = _figure(6.0)
    axes = figure.subplots(2, 2, sharex=True)
    poses = np.arange(1, len(found.poses) + 1)
    for row, (part, unit) in enumerate(((slice(0, 3), "N"), (slice(3, 6), "N·m"))):
        for column, (values, title) in enumerate(((found.poses.wrench, "mean reading"), (found.left, "left over"))):
            ax = axes[row, column]
            for axis, colour, marker in zip(range(6)[part], COLOURS, MARKERS, strict=True):
                size = 4.0 if len(poses) < 60 else 1.5
                ax.plot(poses, values[:, axis], marker, color=colour, markersize=size, label=AXES[axis])
            ax.axhline(0.0, color=SOFT, linewidth=0.8)
            _dress(ax, f"{'force' if row == 0 else 'torque'} [{unit}]", title)
            if column == 0:
                _legend(ax)
    for ax in axes[1]:
        ax.set_xlabel("pose")
    return figure


def _time_figure(readings: Readings, clean: Compensated) -> Figure:
    figure = _figure(8.0)
    axes = figure.subplots(4, 1, sharex=True)
    thin = slice(None, None, max(1, len(readings) // MOST_POINTS))
    time = readings.time[thin]
    panels = (
        (readings.wrench, slice(0, 3), "force before"),
        (clean.wrench, slice(0, 3), "force after"),
        (readings.wrench, slice(3, 6), "torque before"),
        (clean.wrench, slice(3, 6), "torque after"),
    )
    for ax, (values, part, title) in zip(axes, panels, strict=True):
        for axis, colour in zip(range(6)[part], COLOURS, strict=True):
            ax.plot(time, values[thin, axis], color=colour, linewidth=0.7, label=AXES[axis])
        _shade(ax, readings.time, clean.contact)
        _dress(ax, f"[{UNITS[part.start]}]", title)
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


def _drift_figure(readings: Readings, clean: Compensated) -> Figure:
    figure = _figure(4.2)
    axes = figure.subplots(2, 1, sharex=True)
    thin = slice(None, None, max(1, len(readings) // MOST_POINTS))
    for ax, part, unit in zip(axes, (slice(0, 3), slice(3, 6)), ("N", "N·m"), strict=True):
        for axis, colour in zip(range(6)[part], COLOURS, strict=True):
            ax.plot(readings.time[thin], clean.drift[thin, axis], color=colour, linewidth=1.2, label=AXES[axis])
        _shade(ax, readings.time, clean.contact)
        _dress(ax, f"[{unit}]", "drift of the force" if unit == "N" else "drift of the torque")
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


def _shade(ax: Axes, time: Array, contact: Array) -> None:
    """Grey bands where readings count as contact."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], contact.astype(int), [0]])))
    for start, stop in edges.reshape(-1, 2):
        ax.axvspan(time[start], time[min(stop, len(time) - 1)], color="#eef1f4", zorder=0, linewidth=0.0)


def _sphere(up: Array, title: str) -> Figure:
    """Both halves of the sphere in Lambert's projection, which keeps areas."""
    figure = _figure(5.2)
    axes = figure.subplots(1, 2)
    up = up / np.linalg.norm(up, axis=1)[:, None]
    up = np.unique(np.round(up, 2), axis=0)
    for ax, side in zip(axes, (1.0, -1.0), strict=True):
        seen = up[side * up[:, 2] >= 0.0]
        reach = np.sqrt(1.0 / (1.0 + np.abs(seen[:, 2])))
        ax.plot(seen[:, 0] * reach, seen[:, 1] * reach, "o", color="#1f6fb4", markersize=5, alpha=0.8)
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        for tilt in (30.0, 60.0, 90.0):
            radius = np.sqrt(2.0) * np.sin(np.deg2rad(tilt) / 2.0)
            line = {"color": "#39424e", "linewidth": 1.0} if tilt == 90.0 else {"color": "#dfe3e8", "linewidth": 0.8}
            ax.plot(radius * np.cos(angle), radius * np.sin(angle), zorder=0, **line)
        for label, at in (("x", (1.08, 0.0)), ("−x", (-1.08, 0.0)), ("y", (0.0, 1.08)), ("−y", (0.0, -1.08))):
            ax.text(*at, label, ha="center", va="center", fontsize=9, color="#5b6472")
        ax.plot(0.0, 0.0, "+", color=SOFT, zorder=0)
        ax.set_title(f"{'+' if side > 0 else '−'}z up ({len(seen)} directions)", fontsize=10)
        ax.set_aspect("equal")
        ax.set_axis_off()
    figure.suptitle(title, fontsize=10, color="#5b6472")
    return figure
