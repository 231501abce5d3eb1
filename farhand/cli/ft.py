"""``farhand ft``: calibrate your own force/torque sensor, and compensate its recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from farhand.cli.options import JsonPath, ReportFolder
from farhand.report.output import Bar, check_files, note, say, show_values, within, write_json

if TYPE_CHECKING:
    from farhand.sensing.compensation import Compensated
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import ToolCalibration

ft = typer.Typer(
    help="Your own force/torque sensor: calibrate it, compensate a recording, report on it.\n\n"
    "Files are CSV with a header, SI units and the columns t,qx,qy,qz,qw,fx,fy,fz,tx,ty,tz in any "
    "order, and temp [°C] if there is one. The quaternion turns sensor axes into the base frame, "
    "z up.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


Raw = Annotated[Path, Argument(metavar="RAW.csv", help="Recording of the sensor.")]
ToolFile = Annotated[
    Path, Option("--tool", metavar="TOOL.json", help="Calibration from farhand ft calibrate.")
]
ToolId = Annotated[
    str, Option("--tool-id", metavar="NAME", help="Name of the tool; another one is refused.")
]
SensorId = Annotated[
    str, Option("--sensor-id", metavar="NAME", help="Name of the sensor, likewise.")
]
Drift = Annotated[
    str, Option("--drift", metavar="track|none", help="Follow a drifting zero between contacts.")
]


@ft.command("calibrate")
def calibrate(
    raw: Raw,
    out: Annotated[Path, Option(metavar="TOOL.json", help="The calibration to write.")],
    tool_id: Annotated[str, Option(metavar="NAME", help="Kept with the result.")] = "",
    sensor_id: Annotated[str, Option(metavar="NAME", help="Kept with the result.")] = "",
    gravity: Annotated[float, Option(metavar="G", help="Gravity, m/s².")] = 9.81,
    yaw: Annotated[bool, Option("--yaw", help="Also find the turn about z.")] = False,
    thermal: Annotated[
        bool | None, Option(help="Fit the bias over temp; default: if it varies.")
    ] = None,
    weighting: Annotated[
        str, Option(metavar="auto|pose|sample", help="How much each pose counts.")
    ] = "auto",
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Find bias, mass and centre of mass from readings at rest in different orientations.

    Nothing may touch the tool meanwhile.

    Example: [bold]farhand ft calibrate raw.csv --out tool.json --tool-id gripper --report
    report[/bold]
    """
    check_files(out, json, read=[raw], report=report)
    within("--gravity", gravity, 0.1, 100.0, "m/s²")
    from farhand.report import ft as page
    from farhand.sensing.identification import identify
    from farhand.sensing.readings import read_readings

    how: dict[str, Any] = {"yaw": yaw, "thermal": thermal, "weighting": weighting}
    how |= {"tool_id": tool_id, "sensor_id": sensor_id}
    with Bar("calibrating"):
        readings = read_readings(raw)
        fit = identify(readings, gravity=gravity, **how)
    fit.tool.save(out)
    write_json(json, page.calibration_json(fit, readings))
    show_values(f"calibration of {tool_id or raw.name}", page.calibration_rows(fit))
    if fit.tool.sign < 0.0:
        note(page.opposite_sign(fit.tool))
    for line in fit.advice:
        note(line)
    if report is not None:
        path = page.calibration_page(fit, readings, raw.name).save(report)
        say(f"report: {path}")


@ft.command("compensate")
def compensate(
    raw: Raw,
    tool: ToolFile,
    out: Annotated[Path, Option(metavar="OUT.csv", help="The compensated recording.")],
    drift: Drift = "track",
    tool_id: ToolId = "",
    sensor_id: SensorId = "",
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Remove bias, weight, heat and drift; adds standard deviations as sfx … stz.

    Example: [bold]farhand ft compensate raw.csv --tool tool.json --out clean.csv[/bold]
    """
    check_files(out, json, read=[raw, tool], report=report)
    from farhand.sensing.readings import write_readings

    readings, known, clean = _compensated(raw, tool, drift, tool_id, sensor_id)
    write_readings(out, clean.readings, clean.deviations)
    _finish(readings, known, clean, raw, json, report)


@ft.command("report")
def report_on(
    raw: Raw,
    tool: ToolFile,
    report: Annotated[Path, Option("--report", metavar="DIR", help="Where index.html goes.")],
    drift: Drift = "track",
    tool_id: ToolId = "",
    sensor_id: SensorId = "",
    json: JsonPath = None,
) -> None:
    """Show a recording before and after: residuals, orientations, drift and contact.

    Example: [bold]farhand ft report raw.csv --tool tool.json --report report[/bold]
    """
    check_files(json, read=[raw, tool], report=report)
    readings, known, clean = _compensated(raw, tool, drift, tool_id, sensor_id)
    _finish(readings, known, clean, raw, json, report)


def _compensated(
    raw: Path, tool: Path, drift: str, tool_id: str, sensor_id: str
) -> tuple[Readings, ToolCalibration, Compensated]:
    from farhand.sensing.compensation import compensate as remove
    from farhand.sensing.readings import read_readings
    from farhand.sensing.tool import load_tool

    known = load_tool(tool, tool_id=tool_id, sensor_id=sensor_id)
    readings = read_readings(raw)
    with Bar("compensating") as bar:
        clean = remove(readings, known, drift, bar.update)
    return readings, known, clean


def _finish(
    readings: Readings,
    tool: ToolCalibration,
    clean: Compensated,
    raw: Path,
    json: Path | None,
    report: Path | None,
) -> None:
    """Write and print the results of a compensation."""
    from farhand.report import ft as page

    result = page.compensation_json(readings, tool, clean)
    write_json(json, result)
    show_values(raw.name, page.compensation_rows(result))
    for line in page.remarks(readings, tool, clean):
        note(line)
    if report is not None:
        path = page.compensation_page(readings, tool, clean, result, raw.name).save(report)
        say(f"report: {path}")
