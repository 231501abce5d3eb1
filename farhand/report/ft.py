"""The pages of ``farhand ft``: what the sensor said, what is left of it, and how well the poses cover the sphere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.report.page import ReportPage
from farhand.sensing.profile import AXES, UNITS

if TYPE_CHECKING:
    from farhand.sensing.compensation import Compensated
    from farhand.sensing.identification import Identification
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import ToolCalibration

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
SOFT = "#9aa4b1"
MOST_POINTS = 3000
"""Points per line; more cannot be told apart on the page."""


def calibration_page(found: Identification, readings: Readings, name: str) -> ReportPage:
    """The page of ``ft calibrate``."""
    pass

    tool = found.tool
    lead = f"{tool.tool_id or 'The tool'} on {tool.sensor_id or 'the sensor'}, from {len(readings)} readings of {name}."
    page = ReportPage("Force-sensor calibration", lead)
    page.table(("what", "value ± half of the 95 % interval"), calibration_rows(found))
    lines = [opposite_sign(tool)] if tool.sign < 0.0 else []
    _advise(
        page,
        [*lines, *found.advice],
        "The poses are well spread and the intervals are narrow: nothing to add.",
    )
    page.figure(
        _pose_figure(found), "Mean reading of every pose before, and what the model leaves of it"
    )
    page.figure(_sphere(found.poses.up, f"condition number {found.condition:.2f}"), COVERAGE)
    return page


def compensation_page(
    readings: Readings, tool: ToolCalibration, clean: Compensated, result: dict[str, Any], name: str
) -> ReportPage:
    """The page of ``ft compensate --report`` and ``ft report``."""
    pass

    page = ReportPage(
        "Force-sensor recording",
        f"{name} with the calibration of {tool.tool_id or 'an unnamed tool'}.",
    )
    page.table(("what", "how much"), compensation_rows(result))
    _advise(page, remarks(readings, tool, clean), "")
    page.figure(
        _time_figure(readings, clean), "Readings before and after compensation; contact is shaded"
    )
    page.figure(
        _drift_figure(readings, clean),
        "Drift that was followed; it learns only where nothing touches the tool",
    )
    page.figure(_sphere(readings.up, f"{len(readings)} readings"), COVERAGE)
    return page


COVERAGE = "Which way was up, in sensor axes: both halves of the sphere, x to the right; an even cover is best"


def _advise(page: ReportPage, lines: list[str], otherwise: str) -> None:
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
    lines = ax.legend(
        frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3
    ).get_lines()
    for line in lines:
        line.set_linewidth(2.0)


def _pose_figure(found: Identification) -> Figure:
    figure = _figure(6.0)
    axes = figure.subplots(2, 2, sharex=True)
    poses = np.arange(1, len(found.poses) + 1)
    for row, (part, unit) in enumerate(((slice(0, 3), "N"), (slice(3, 6), "N·m"))):
        for column, (values, title) in enumerate(
            ((found.poses.wrench, "mean reading"), (found.left, "left over"))
        ):
            ax = axes[row, column]
            for axis, colour, marker in zip(range(6)[part], COLOURS, MARKERS, strict=True):
                size = 4.0 if len(poses) < 60 else 1.5
                ax.plot(
                    poses, values[:, axis], marker, color=colour, markersize=size, label=AXES[axis]
                )
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
            ax.plot(
                readings.time[thin],
                clean.drift[thin, axis],
                color=colour,
                linewidth=1.2,
                label=AXES[axis],
            )
        _shade(ax, readings.time, clean.contact)
        _dress(ax, f"[{unit}]", "drift of the force" if unit == "N" else "drift of the torque")
        _legend(ax)
    axes[-1].set_xlabel("time [s]")
    return figure


def _shade(ax: Axes, time: Array, contact: Array) -> None:
    """Grey bands where readings count as contact."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], contact.astype(int), [0]])))
    for start, stop in edges.reshape(-1, 2):
        ax.axvspan(
            time[start], time[min(stop, len(time) - 1)], color="#eef1f4", zorder=0, linewidth=0.0
        )


def _sphere(up: Array, title: str) -> Figure:
    """Both halves of the sphere in Lambert's projection, which keeps areas."""
    figure = _figure(5.2)
    axes = figure.subplots(1, 2)
    up = up / np.linalg.norm(up, axis=1)[:, None]
    up = np.unique(np.round(up, 2), axis=0)
    for ax, side in zip(axes, (1.0, -1.0), strict=True):
        seen = up[side * up[:, 2] >= 0.0]
        reach = np.sqrt(1.0 / (1.0 + np.abs(seen[:, 2])))
        ax.plot(
            seen[:, 0] * reach, seen[:, 1] * reach, "o", color="#1f6fb4", markersize=5, alpha=0.8
        )
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        for tilt in (30.0, 60.0, 90.0):
            radius = np.sqrt(2.0) * np.sin(np.deg2rad(tilt) / 2.0)
            line = (
                {"color": "#39424e", "linewidth": 1.0}
                if tilt == 90.0
                else {"color": "#dfe3e8", "linewidth": 0.8}
            )
            ax.plot(radius * np.cos(angle), radius * np.sin(angle), zorder=0, **line)
        for label, at in (
            ("x", (1.08, 0.0)),
            ("−x", (-1.08, 0.0)),
            ("y", (0.0, 1.08)),
            ("−y", (0.0, -1.08)),
        ):
            ax.text(*at, label, ha="center", va="center", fontsize=9, color="#5b6472")
        ax.plot(0.0, 0.0, "+", color=SOFT, zorder=0)
        ax.set_title(f"{'+' if side > 0 else '−'}z up ({len(seen)} directions)", fontsize=10)
        ax.set_aspect("equal")
        ax.set_axis_off()
    figure.suptitle(title, fontsize=10, color="#5b6472")
    return figure


def remarks(readings: Readings, tool: ToolCalibration, clean: Compensated) -> list[str]:
    """What a user should know about a compensated recording, one line each."""
    import numpy as np

    from farhand.sensing.misread import dead_axes
    from farhand.sensing.poses import poses_of

    found = dead_axes(readings, poses_of(readings))
    if clean.tracked and len(readings) > 1 and not np.ptp(readings.time):
        found.append(
            f"t is {readings.time[0]:g} s all the time: drift cannot be told from contact; is it in s?"
        )
    apart = float(np.median(np.diff(readings.time))) if len(readings) > 1 else 0.0
    if apart >= RARE and clean.drift.any():
        found.append(
            f"the readings are {apart:.3g} s apart, too far to tell drift from contact: is t in s? Otherwise use "
            "--drift none"
        )
    else:
        found += clean.advice
    if tool.sign < 0.0:
        found.append(opposite_sign(tool))
    if tool.thermal is not None and readings.temperature is None:
        found.append(
            "the calibration knows how the bias goes with temperature, but the recording has no column temp"
        )
    if len(clean.contact) > 1 and clean.contact.all():
        found.append(
            "every reading counts as contact, so no drift was followed: if nothing touched the tool, the zero has "
            "moved since the calibration; calibrate again"
        )
    return found


def opposite_sign(tool: ToolCalibration) -> str:
    """The line that says so."""
    return (
        f"opposite sign: the fitted mass is negative ({tool.mass:.4g} kg), so the sensor reports what it exerts on the "
        "tool, or the base's z axis points down; compensation keeps that sign"
    )


def calibration_json(found: Identification, readings: Readings) -> dict[str, Any]:
    """What ``calibrate --json`` writes."""
    before, after = found.before, found.after
    return {
        "tool": found.tool.to_json(),
        "readings": len(readings),
        "left_out": found.left_out,
        "poses": len(found.poses),
        "directions": len(found.poses.distinct),
        "condition": found.condition,
        "residual": {"force": found.residual[0], "torque": found.residual[1]},
        "before": {"force": before[0], "torque": before[1]},
        "after": {"force": after[0], "torque": after[1]},
        "removed": {"force": removed(before[0], after[0]), "torque": removed(before[1], after[1])},
        "advice": list(found.advice),
    }


def compensation_json(
    readings: Readings, tool: ToolCalibration, clean: Compensated
) -> dict[str, Any]:
    """What ``compensate --json`` and ``report --json`` write."""
    import numpy as np

    def rms(wrench: Any) -> dict[str, float]:
        free = wrench[~clean.contact] if not clean.contact.all() else wrench
        length = [
            np.sqrt((free[:, part] ** 2).sum(axis=1).mean()) for part in (slice(0, 3), slice(3, 6))
        ]
        return {"force": float(length[0]), "torque": float(length[1])}

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
    """Share of the root mean square that is gone, [-]."""
    return 1.0 - after / before if before > 0.0 else 0.0


def calibration_rows(found: Identification) -> list[tuple[str, str]]:
    """The calibration as a table, each number with half its 95 % interval."""
    tool = found.tool
    half = 0.5 * (tool.intervals[:, 1] - tool.intervals[:, 0])
    rows = [
        ("mass", f"{tool.mass:.4f} kg ± {half[0]:.2g}"),
        ("centre of mass", f"{_triple(1e3 * tool.com, 1e3 * half[1:4])} mm"),
        ("bias force", f"{_triple(tool.bias_force, half[4:7])} N"),
        ("bias torque", f"{_triple(tool.bias_torque, half[7:])} N·m"),
    ]
    if tool.yaw_deviation:
        rows.append(("yaw of the sensor", f"{tool.yaw:.4f} rad ± {2.0 * tool.yaw_deviation:.2g}"))
    if tool.thermal is not None:
        slope = tool.thermal
        rows.append(
            ("thermal slope, force", f"{_triple(slope.slope[:3], 2 * slope.deviation[:3])} N/°C")
        )
    moving = f"; {found.left_out} readings in motion left out" if found.left_out else ""
    rows += [
        ("poses", f"{len(found.poses)}, condition number {found.condition:.2f}{moving}"),
        ("left over per pose", f"{found.residual[0]:.3g} N, {found.residual[1]:.3g} N·m"),
        ("noise of a reading", f"{tool.noise[:3].mean():.3g} N, {tool.noise[3:].mean():.3g} N·m"),
        ("force", _change(found.before[0], found.after[0], "N")),
        ("torque", _change(found.before[1], found.after[1], "N·m")),
    ]
    return rows


def compensation_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The compensation as a table."""
    before, after, share = result["before"], result["after"], result["contact_share"]
    which = {None: "", 1.0: " with contact"}.get(share, " without contact")
    return [
        (f"force{which}", _change(before["force"], after["force"], "N")),
        (f"torque{which}", _change(before["torque"], after["torque"], "N·m")),
        ("drift followed", _followed(result)),
        ("contact", _contact(share, result["largest_force"])),
    ]


def _followed(result: dict[str, Any]) -> str:
    if result["contact_share"] is None:
        return "none, as asked for"
    if result["contact_share"] == 1.0:
        return "none: no reading is free of contact"
    drift = result["drift"]["largest"]
    return f"up to {max(drift[:3]):.3g} N, {max(drift[3:]):.3g} N·m over {result['seconds']:.4g} s"


def _contact(share: float | None, largest: float) -> str:
    if share is None:
        return f"not looked for; the largest force is {largest:.4g} N"
    words = "every reading" if share == 1.0 else f"{100.0 * share:.3g} % of the readings"
    return f"{words}, up to {largest:.4g} N"


def _change(before: float, after: float, unit: str) -> str:
    share = 100.0 * removed(before, after)
    said = f"{share:.1f} % removed" if share >= 0.0 else f"{-share:.1f} % more"
    return f"{before:.4g} {unit} before, {after:.3g} {unit} after (root mean square; {said})"


def _triple(values: Any, half: Any) -> str:
    return ", ".join(
        f"{value:.4g} ± {reach:.2g}" for value, reach in zip(values, half, strict=True)
    )


RARE = 1.0
"""Time between readings from which on drift and contact cannot be told apart, [s]."""
