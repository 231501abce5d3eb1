"""``farhand ft``: a user's own force/torque sensor: calibrate it with its tool, and take both off a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farhand.cli.output import (
    Bar,
    JsonPath,
    ReportFolder,
    check_files,
    check_folder,
    note,
    show_values,
    stdout,
    within,
    write_json,
)

if TYPE_CHECKING:
    from farhand.sensing.compensation import Compensated
    from farhand.sensing.identification import Identification
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import Tool

ft = typer.Typer(
    help="Your own force/torque sensor: calibrate it, compensate a recording, report on it.\n\n"
    "Files are CSV with a header, SI units and the columns t,qx,qy,qz,qw,fx,fy,fz,tx,ty,tz in any order, and "
    "temp [°C] if there is one. The quaternion turns sensor axes into the base frame, z up.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

RARE = 1.0
"""Time between readings from which on drift and contact cannot be told apart, [s]."""

Raw = Annotated[Path, typer.Argument(metavar="RAW.csv", help="Recording of the sensor.")]
ToolFile = Annotated[Path, typer.Option("--tool", metavar="TOOL.json", help="Calibration from farhand ft calibrate.")]
ToolId = Annotated[str, typer.Option("--tool-id", metavar="NAME", help="Name of the tool; another one is refused.")]
SensorId = Annotated[str, typer.Option("--sensor-id", metavar="NAME", help="Name of the sensor, likewise.")]
Drift = Annotated[
    str,
    typer.Option("--drift", metavar="track|none", help="Follow a wandering zero while nothing touches the tool."),
]


@ft.command("calibrate")
def calibrate(
    raw: Raw,
    out: Annotated[Path, typer.Option("--out", metavar="TOOL.json", help="Where the calibration goes.")],
    tool_id: Annotated[str, typer.Option("--tool-id", metavar="NAME", help="Kept with the result.")] = "",
    sensor_id: Annotated[str, typer.Option("--sensor-id", metavar="NAME", help="Kept with the result.")] = "",
    gravity: Annotated[float, typer.Option("--gravity", metavar="G", help="Gravity, m/s².")] = 9.81,
    yaw: Annotated[bool, typer.Option("--yaw", help="Also find the turn of the sensor about its z axis.")] = False,
    thermal: Annotated[
        bool | None, typer.Option("--thermal/--no-thermal", help="Fit the bias over temp; default: if it varies.")
    ] = None,
    weighting: Annotated[
        str, typer.Option("--weighting", metavar="auto|pose|sample", help="How much each pose counts.")
    ] = "auto",
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Find bias, mass and centre of mass from readings at rest in different orientations, nothing touching the tool.

    Example: [bold]farhand ft calibrate raw.csv --out tool.json --tool-id gripper --report report[/bold]
    """
    check_files(out, json, read=[raw])
    check_folder(report)
    within("--gravity", gravity, 0.1, 100.0, "m/s²")
    from farhand.sensing.identification import identify
    from farhand.sensing.readings import read_readings

    readings = read_readings(raw)
    found = identify(
        readings,
        gravity=gravity,
        yaw=yaw,
        thermal=thermal,
        weighting=weighting,
        tool_id=tool_id,
        sensor_id=sensor_id,
    )
    found.tool.save(out)
    write_json(json, calibration_json(found, readings))
    show_values(f"calibration of {tool_id or raw.name}", calibration_rows(found))
    if found.tool.sign < 0.0:
        note(opposite_sign(found.tool))
    for line in found.advice:
        note(line)
    if report is not None:
        from farhand.cli.ftreport import calibration_page

        stdout().print(f"report: {calibration_page(found, readings, raw.name).save(report)}", soft_wrap=True)


@ft.command("compensate")
def compensate(
    raw: Raw,
    tool: ToolFile,
    out: Annotated[Path, typer.Option("--out", metavar="OUT.csv", help="Where the compensated recording goes.")],
    drift: Drift = "track",
    tool_id: ToolId = "",
    sensor_id: SensorId = "",
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Take bias, weight, heat and drift off a recording; the columns stay, standard deviations sfx … stz are added.

    Example: [bold]farhand ft compensate raw.csv --tool tool.json --out clean.csv[/bold]
    """
    check_files(out, json, read=[raw, tool])
    check_folder(report)
    from farhand.sensing.readings import write_readings

    readings, known, clean = _compensated(raw, tool, drift, tool_id, sensor_id)
    write_readings(out, clean.readings, clean.deviations)
    _finish(readings, known, clean, raw, json, report)


@ft.command("report")
def report_on(
    raw: Raw,
    tool: ToolFile,
    report: Annotated[Path, typer.Option("--report", metavar="DIR", help="Where index.html goes.")],
    drift: Drift = "track",
    tool_id: ToolId = "",
    sensor_id: SensorId = "",
    json: JsonPath = None,
) -> None:
    """Show a recording before and after compensation: residuals, orientations visited, drift, contact.

    Example: [bold]farhand ft report raw.csv --tool tool.json --report report[/bold]
    """
    check_files(json, read=[raw, tool])
    check_folder(report)
    readings, known, clean = _compensated(raw, tool, drift, tool_id, sensor_id)
    _finish(readings, known, clean, raw, json, report)


def _compensated(raw: Path, tool: Path, drift: str, tool_id: str, sensor_id: str) -> tuple[Readings, Tool, Compensated]:
    from farhand.sensing.compensation import compensate as take_off
    from farhand.sensing.readings import read_readings
    from farhand.sensing.tool import load_tool

    known = load_tool(tool, tool_id=tool_id, sensor_id=sensor_id)
    readings = read_readings(raw)
    bar = Bar("compensating")
    try:
        clean = take_off(readings, known, drift, bar.update)
    finally:
        bar.close()
    return readings, known, clean


def _finish(
    readings: Readings, tool: Tool, clean: Compensated, raw: Path, json: Path | None, report: Path | None
) -> None:
    """What compensate and report have in common once the work is done."""
    result = compensation_json(readings, tool, clean)
    write_json(json, result)
    show_values(raw.name, compensation_rows(result))
    for line in remarks(readings, tool, clean):
        note(line)
    if report is not None:
        from farhand.cli.ftreport import compensation_page

        page = compensation_page(readings, tool, clean, result, raw.name)
        stdout().print(f"report: {page.save(report)}", soft_wrap=True)


def remarks(readings: Readings, tool: Tool, clean: Compensated) -> list[str]:
    """What a user should know about a compensated recording, one line each."""
    import numpy as np

    from farhand.sensing.misread import dead_axes
    from farhand.sensing.poses import poses_of

    found = dead_axes(readings, poses_of(readings))
    if clean.tracked and len(readings) > 1 and not np.ptp(readings.time):
        found.append(f"t is {readings.time[0]:g} s all the time: drift cannot be told from contact; is it in s?")
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
        found.append("the calibration knows how the bias goes with temperature, but the recording has no column temp")
    if len(clean.contact) > 1 and clean.contact.all():
        found.append(
            "every reading counts as contact, so no drift was followed: if nothing touched the tool, the zero has "
            "moved since the calibration; calibrate again"
        )
    return found


def opposite_sign(tool: Tool) -> str:
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


def compensation_json(readings: Readings, tool: Tool, clean: Compensated) -> dict[str, Any]:
    """What ``compensate --json`` and ``report --json`` write."""
    import numpy as np

    def rms(wrench: Any) -> dict[str, float]:
        free = wrench[~clean.contact] if not clean.contact.all() else wrench
        length = [np.sqrt((free[:, part] ** 2).sum(axis=1).mean()) for part in (slice(0, 3), slice(3, 6))]
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
        rows.append(("thermal slope, force", f"{_triple(slope.slope[:3], 2 * slope.deviation[:3])} N/°C"))
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
    return ", ".join(f"{value:.4g} ± {reach:.2g}" for value, reach in zip(values, half, strict=True))
