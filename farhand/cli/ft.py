"""``farhand ft``: a user's own force/torque sensor: calibrate it with its tool, and take both off a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farhand.report.ft import (
    calibration_json,
    calibration_rows,
    compensation_json,
    compensation_rows,
    opposite_sign,
    remarks,
)
from farhand.report.output import (
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
    from farhand.sensing.readings import Readings
    from farhand.sensing.tool import ToolCalibration

ft = typer.Typer(
    help="Your own force/torque sensor: calibrate it, compensate a recording, report on it.\n\n"
    "Files are CSV with a header, SI units and the columns t,qx,qy,qz,qw,fx,fy,fz,tx,ty,tz in any order, and "
    "temp [°C] if there is one. The quaternion turns sensor axes into the base frame, z up.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


Raw = Annotated[Path, typer.Argument(metavar="RAW.csv", help="Recording of the sensor.")]
ToolFile = Annotated[
    Path, typer.Option("--tool", metavar="TOOL.json", help="Calibration from farhand ft calibrate.")
]
ToolId = Annotated[
    str, typer.Option("--tool-id", metavar="NAME", help="Name of the tool; another one is refused.")
]
SensorId = Annotated[
    str, typer.Option("--sensor-id", metavar="NAME", help="Name of the sensor, likewise.")
]
Drift = Annotated[
    str,
    typer.Option(
        "--drift",
        metavar="track|none",
        help="Follow a wandering zero while nothing touches the tool.",
    ),
]


@ft.command("calibrate")
def calibrate(
    raw: Raw,
    out: Annotated[
        Path, typer.Option("--out", metavar="TOOL.json", help="Where the calibration goes.")
    ],
    tool_id: Annotated[
        str, typer.Option("--tool-id", metavar="NAME", help="Kept with the result.")
    ] = "",
    sensor_id: Annotated[
        str, typer.Option("--sensor-id", metavar="NAME", help="Kept with the result.")
    ] = "",
    gravity: Annotated[float, typer.Option("--gravity", metavar="G", help="Gravity, m/s².")] = 9.81,
    yaw: Annotated[
        bool, typer.Option("--yaw", help="Also find the turn of the sensor about its z axis.")
    ] = False,
    thermal: Annotated[
        bool | None,
        typer.Option(
            "--thermal/--no-thermal", help="Fit the bias over temp; default: if it varies."
        ),
    ] = None,
    weighting: Annotated[
        str,
        typer.Option("--weighting", metavar="auto|pose|sample", help="How much each pose counts."),
    ] = "auto",
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Find bias, mass and centre of mass from readings at rest in different orientations, nothing touching the tool.

    Example: [bold]farhand ft calibrate raw.csv --out tool.json --tool-id gripper --report
    report[/bold]
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
        from farhand.report.ft import calibration_page

        stdout().print(
            f"report: {calibration_page(found, readings, raw.name).save(report)}", soft_wrap=True
        )


@ft.command("compensate")
def compensate(
    raw: Raw,
    tool: ToolFile,
    out: Annotated[
        Path, typer.Option("--out", metavar="OUT.csv", help="Where the compensated recording goes.")
    ],
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


def _compensated(
    raw: Path, tool: Path, drift: str, tool_id: str, sensor_id: str
) -> tuple[Readings, ToolCalibration, Compensated]:
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
    readings: Readings,
    tool: ToolCalibration,
    clean: Compensated,
    raw: Path,
    json: Path | None,
    report: Path | None,
) -> None:
    """What compensate and report have in common once the work is done."""
    result = compensation_json(readings, tool, clean)
    write_json(json, result)
    show_values(raw.name, compensation_rows(result))
    for line in remarks(readings, tool, clean):
        note(line)
    if report is not None:
        from farhand.report.ft import compensation_page

        page = compensation_page(readings, tool, clean, result, raw.name)
        stdout().print(f"report: {page.save(report)}", soft_wrap=True)
