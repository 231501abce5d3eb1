"""Plots, tables and the pages of ``farhand ft``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.report.figures import BAND, DARK, GREY, dress, new_figure, thinned
from farhand.report.numbers import number
from farhand.report.page import ReportPage
from farhand.sensing.profile import AXES, UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farhand.sensing.compensation import Compensated
    from farhand.sensing.identification import Identification
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import ToolCalibration

Array = np.ndarray

COLOURS = ("#c0392b", "#1e8449", "#1f6fb4")
MARKERS = ("o", "s", "^")
FORCE, TORQUE = slice(0, 3), slice(3, 6)

MAX_INTERVAL_S = 1.0
"""Readings further apart than this cannot show drift and contact separately, [s]."""

COVERAGE = (
    "Which way was up, in sensor axes: both halves of the sphere, x to the right; "
    "an even cover is best"
)


def calibration_page(fit: Identification, readings: Readings, name: str) -> ReportPage:
    """The page of ``ft calibrate``."""
    tool = fit.tool
    parts = f"{tool.tool_id or 'The tool'} on {tool.sensor_id or 'the sensor'}"
    page = ReportPage(
        "Force-sensor calibration", f"{parts}, from {len(readings)} readings of {name}."
    )
    page.table(("what", "value ± half of the 95 % interval"), calibration_rows(fit))
    advice = [*([opposite_sign(tool)] if tool.sign < 0.0 else []), *fit.advice]
    well = "The poses are well spread and the intervals are narrow: nothing to add."
    _advise(page, advice, well)
    caption = "Mean reading of every pose before, and what the model leaves of it"
    page.figure(_pose_figure(fit), caption)
    page.figure(_sphere(fit.poses.up, f"condition number {fit.condition:.2f}"), COVERAGE)
    return page


def compensation_page(
    readings: Readings, tool: ToolCalibration, clean: Compensated, result: dict[str, Any], name: str
) -> ReportPage:
    """The page of ``ft compensate --report`` and ``ft report``."""
    lead = f"{name} with the calibration of {tool.tool_id or 'an unnamed tool'}."
    page = ReportPage("Force-sensor recording", lead)
    page.table(("what", "how much"), compensation_rows(result))
    _advise(page, remarks(readings, tool, clean), "")
    caption = "Readings before and after compensation; contact is shaded"
    page.figure(_time_figure(readings, clean), caption)
    caption = "The drift that was removed; it is estimated only while nothing touches the tool"
    page.figure(_drift_figure(readings, clean), caption)
    page.figure(_sphere(readings.up, f"{len(readings)} readings"), COVERAGE)
    return page


def _advise(page: ReportPage, lines: list[str], otherwise: str) -> None:
    if lines or otherwise:
        page.section("What to know" if lines else "Verdict")
    for line in lines or ([otherwise] if otherwise else []):
        page.paragraph(line[0].upper() + line[1:] + ("" if line.endswith(".") else "."))


def _legend(ax: Axes) -> None:
    """Above the axes, where no data is."""
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98)}
    for line in ax.legend(frameon=False, fontsize=9, ncols=3, **place).get_lines():
        line.set_linewidth(2.0)


def _pose_figure(fit: Identification) -> Figure:
    figure = new_figure(10.0, 6.0)
    axes = figure.subplots(2, 2, sharex=True)
    poses = np.arange(1, len(fit.poses) + 1)
    size = 4.0 if len(poses) < 60 else 1.5
    columns = ((fit.poses.wrench, "mean reading"), (fit.left, "left over"))
    for row, (part, label) in enumerate(((FORCE, "force [N]"), (TORQUE, "torque [N·m]"))):
        for column, (values, title) in enumerate(columns):
            ax = axes[row, column]
            for axis, colour, marker in zip(range(6)[part], COLOURS, MARKERS, strict=True):
                look = {"color": colour, "markersize": size, "label": AXES[axis]}
                ax.plot(poses, values[:, axis], marker, **look)
            ax.axhline(0.0, color=GREY, linewidth=0.8)
            dress(ax, "pose" if row else "", label, title)
            if column == 0:
                _legend(ax)
    return figure


def _time_figure(readings: Readings, clean: Compensated) -> Figure:
    panels = (
        (readings.wrench, FORCE, "force before"),
        (clean.wrench, FORCE, "force after"),
        (readings.wrench, TORQUE, "torque before"),
        (clean.wrench, TORQUE, "torque after"),
    )
    return _panels(8.0, readings.time, clean.contact, panels, 0.7)


def _drift_figure(readings: Readings, clean: Compensated) -> Figure:
    panels = (
        (clean.drift, FORCE, "drift of the force"),
        (clean.drift, TORQUE, "drift of the torque"),
    )
    return _panels(4.2, readings.time, clean.contact, panels, 1.2)


def _panels(
    height: float,
    time: Array,
    contact: Array,
    panels: tuple[tuple[Array, slice, str], ...],
    width: float,
) -> Figure:
    """Three axes of a wrench over time in each panel, with grey bands where there is contact."""
    figure, keep = new_figure(10.0, height), thinned(len(time))
    axes = figure.subplots(len(panels), 1, sharex=True)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], contact.astype(int), [0]])))
    for ax, (values, part, title) in zip(axes, panels, strict=True):
        for axis, colour in zip(range(6)[part], COLOURS, strict=True):
            look = {"color": colour, "linewidth": width, "label": AXES[axis]}
            ax.plot(time[keep], values[keep, axis], **look)
        for start, stop in edges.reshape(-1, 2):
            end = time[min(stop, len(time) - 1)]
            ax.axvspan(time[start], end, color=BAND, zorder=0, linewidth=0.0)
        dress(ax, y=f"[{UNITS[part.start]}]", title=title)
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


def _sphere(up: Array, title: str) -> Figure:
    """Both halves of the sphere in Lambert's projection, which keeps areas."""
    figure = new_figure(10.0, 5.2)
    axes = figure.subplots(1, 2)
    up = up / np.linalg.norm(up, axis=1)[:, None]
    up = np.unique(np.round(up, 2), axis=0)
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    labels = {"x": (1.08, 0.0), "−x": (-1.08, 0.0), "y": (0.0, 1.08), "−y": (0.0, -1.08)}
    for ax, side in zip(axes, (1.0, -1.0), strict=True):
        shown = up[side * up[:, 2] >= 0.0]
        flat = shown[:, :2] * np.sqrt(1.0 / (1.0 + np.abs(shown[:, 2])))[:, None]
        ax.plot(flat[:, 0], flat[:, 1], "o", color="#1f6fb4", markersize=5, alpha=0.8)
        for tilt in (30.0, 60.0, 90.0):
            radius = np.sqrt(2.0) * np.sin(np.deg2rad(tilt) / 2.0)
            colour, width = (DARK, 1.0) if tilt == 90.0 else ("#dfe3e8", 0.8)
            circle = radius * np.cos(angle), radius * np.sin(angle)
            ax.plot(*circle, zorder=0, color=colour, linewidth=width)
        for label, at in labels.items():
            ax.text(*at, label, ha="center", va="center", fontsize=9, color="#5b6472")
        ax.plot(0.0, 0.0, "+", color=GREY, zorder=0)
        ax.set_title(f"{'+' if side > 0 else '−'}z up ({len(shown)} directions)", fontsize=10)
        ax.set_aspect("equal")
        ax.set_axis_off()
    figure.suptitle(title, fontsize=10, color="#5b6472")
    return figure


def remarks(readings: Readings, tool: ToolCalibration, clean: Compensated) -> list[str]:
    """What a user should know about a compensated recording, one line each."""
    from farhand.sensing.misread import dead_axes
    from farhand.sensing.poses import poses_of

    lines = dead_axes(readings, poses_of(readings))
    several = len(readings) > 1
    if clean.tracked and several and not np.ptp(readings.time):
        still = f"t is {readings.time[0]:g} s all the time"
        lines.append(f"{still}: drift and contact cannot be separated; is t in s?")
    interval = float(np.median(np.diff(readings.time))) if several else 0.0
    if interval >= MAX_INTERVAL_S and clean.drift.any():
        far = f"the readings are {number(interval)} s apart, too far to separate drift from contact"
        lines.append(f"{far}: is t in s? Otherwise use --drift none")
    else:
        lines += clean.advice
    if tool.sign < 0.0:
        lines.append(opposite_sign(tool))
    if tool.thermal is not None and readings.temperature is None:
        lines.append("the calibration has a thermal slope, but the recording has no column temp")
    if len(clean.contact) > 1 and clean.contact.all():
        lines.append(
            "every reading counts as contact, so no drift was removed; if nothing touched the "
            "tool, the zero has moved since the calibration: calibrate again"
        )
    return lines


def opposite_sign(tool: ToolCalibration) -> str:
    """The warning that a negative mass was fitted."""
    return (
        f"opposite sign: the fitted mass is negative ({number(tool.mass, 4)} kg), so the sensor "
        "reports what it exerts on the tool, or the base's z axis points down; compensation keeps "
        "that sign"
    )


def calibration_json(fit: Identification, readings: Readings) -> dict[str, Any]:
    """What ``calibrate --json`` writes."""
    before, after = fit.before, fit.after
    return {
        "tool": fit.tool.to_json(),
        "readings": len(readings),
        "left_out": fit.left_out,
        "poses": len(fit.poses),
        "directions": len(fit.poses.distinct),
        "condition": fit.condition,
        "residual": {"force": fit.residual[0], "torque": fit.residual[1]},
        "before": {"force": before[0], "torque": before[1]},
        "after": {"force": after[0], "torque": after[1]},
        "removed": {"force": removed(before[0], after[0]), "torque": removed(before[1], after[1])},
        "advice": list(fit.advice),
    }


def compensation_json(
    readings: Readings, tool: ToolCalibration, clean: Compensated
) -> dict[str, Any]:
    """What ``compensate --json`` and ``report --json`` write."""

    def rms(wrench: Any) -> dict[str, float]:
        free = wrench if clean.contact.all() else wrench[~clean.contact]
        force, torque = (np.sqrt((free[:, p] ** 2).sum(axis=1).mean()) for p in (FORCE, TORQUE))
        return {"force": float(force), "torque": float(torque)}

    before, after = rms(readings.wrench), rms(clean.wrench)
    return {
        "tool_id": tool.tool_id,
        "sensor_id": tool.sensor_id,
        "readings": len(readings),
        "seconds": float(readings.time[-1] - readings.time[0]),
        "before": before,
        "after": after,
        "removed": {key: removed(before[key], after[key]) for key in before},
        "contact_share": float(clean.contact.mean()) if clean.tracked else None,
        "largest_force": float(np.linalg.norm(clean.wrench[:, :3], axis=1).max()),
        "drift": {
            "end": clean.drift[-1].tolist(),
            "range": np.ptp(clean.drift, axis=0).tolist(),
            "largest": np.abs(clean.drift).max(axis=0).tolist(),
        },
    }


def removed(before: float, after: float) -> float:
    """Share of the root mean square that was removed, [-]."""
    return 1.0 - after / before if before > 0.0 else 0.0


def calibration_rows(fit: Identification) -> list[tuple[str, str]]:
    """The calibration as a table, each number with half its 95 % interval."""
    tool = fit.tool
    half = 0.5 * (tool.intervals[:, 1] - tool.intervals[:, 0])
    rows = [
        ("mass", f"{tool.mass:.4f} kg ± {number(half[0], 2)}"),
        ("centre of mass", f"{_triple(1e3 * tool.com, 1e3 * half[1:4])} mm"),
        ("bias force", f"{_triple(tool.bias_force, half[4:7])} N"),
        ("bias torque", f"{_triple(tool.bias_torque, half[7:])} N·m"),
    ]
    if tool.yaw_deviation:
        rows.append(
            ("yaw of the sensor", f"{tool.yaw:.4f} rad ± {number(2.0 * tool.yaw_deviation, 2)}")
        )
    if tool.thermal is not None:
        slope = _triple(tool.thermal.slope[:3], 2 * tool.thermal.deviation[:3])
        rows.append(("thermal slope, force", f"{slope} N/°C"))
    moving = f"; {fit.left_out} readings in motion left out" if fit.left_out else ""
    rows += [
        ("poses", f"{len(fit.poses)}, condition number {fit.condition:.2f}{moving}"),
        ("left over per pose", f"{number(fit.residual[0])} N, {number(fit.residual[1])} N·m"),
        (
            "noise of a reading",
            f"{number(tool.noise[:3].mean())} N, {number(tool.noise[3:].mean())} N·m",
        ),
        ("force", _change(fit.before[0], fit.after[0], "N")),
        ("torque", _change(fit.before[1], fit.after[1], "N·m")),
    ]
    return rows


def compensation_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The compensation as a table."""
    before, after, share = result["before"], result["after"], result["contact_share"]
    which = {None: "", 1.0: " with contact"}.get(share, " without contact")
    return [
        (f"force{which}", _change(before["force"], after["force"], "N")),
        (f"torque{which}", _change(before["torque"], after["torque"], "N·m")),
        ("drift removed", _drift(result)),
        ("contact", _contact(share, result["largest_force"])),
    ]


def _drift(result: dict[str, Any]) -> str:
    if result["contact_share"] is None:
        return "none, as --drift none says"
    if result["contact_share"] == 1.0:
        return "none: no reading is free of contact"
    drift = result["drift"]["largest"]
    force, torque, seconds = max(drift[:3]), max(drift[3:]), result["seconds"]
    return f"up to {number(force)} N, {number(torque)} N·m over {number(seconds, 4)} s"


def _contact(share: float | None, largest: float) -> str:
    if share is None:
        return f"not searched for; the largest force is {number(largest, 4)} N"
    readings = "every reading" if share == 1.0 else f"{number(100.0 * share)} % of the readings"
    return f"{readings}, up to {number(largest, 4)} N"


def _change(before: float, after: float, unit: str) -> str:
    share = 100.0 * removed(before, after)
    change = f"{share:.1f} % removed" if share >= 0.0 else f"{-share:.1f} % more"
    left = f"{number(before, 4)} {unit} before, {number(after)} {unit} after"
    return f"{left} (root mean square; {change})"


def _triple(values: Any, half: Any) -> str:
    return ", ".join(
        f"{number(value, 4)} ± {number(h, 2)}" for value, h in zip(values, half, strict=True)
    )
