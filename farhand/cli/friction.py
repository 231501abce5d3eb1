"""``farhand friction``: identify the friction of your own joint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from farhand.cli.options import JsonPath, ReportFolder, Seed
from farhand.errors import BadValue, UnknownName
from farhand.report.output import (
    check_files,
    check_picture,
    counting,
    note,
    say,
    show_values,
    within,
    write_json,
)

friction = typer.Typer(
    help="Your own joint's friction: what motion to log, fit a model to the log, look at both.\n\n"
    "Logs are CSV with a header, SI units and the columns t,position,velocity,torque in any order, "
    "one joint per file.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

Data = Annotated[
    Path, Argument(metavar="DATA.csv", help="Log of the joint: t,position,velocity,torque.")
]


@friction.command("fit")
def fit(
    data: Data,
    out: Annotated[Path, Option(metavar="F.json", help="The fitted model to write.")],
    model: Annotated[str, Option(metavar="NAME", help="See farhand list, or auto.")] = "kfm",
    inertia: Annotated[
        float | None, Option(metavar="J", help="Inertia, kg·m²; default: estimate it.")
    ] = None,
    gravity: Annotated[
        bool, Option("--gravity", help="Also fit a torque that varies with the position.")
    ] = False,
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Fit a friction model to a log of any motion, with 95 % intervals and a hold-out error.

    Example: [bold]farhand friction fit log.csv --model lugre --out friction.json --report
    report[/bold]
    """
    check_files(out, json, read=[data], report=report)
    if inertia is not None:
        within("--inertia", inertia, 0.0, 1e6, "kg·m²")
    # The imports take seconds where the disk is slow
    with counting("fitting") as progress:
        from farhand.friction.fit.data import read_recording
        from farhand.friction.fit.fit import TERMS
        from farhand.friction.fit.fit import fit as identify
        from farhand.friction.fit.loading import to_json
        from farhand.report.friction import fit_page, fit_rows

        if model != "auto" and model not in TERMS:
            raise UnknownName("friction model", model, [*TERMS, "auto"])
        estimate = identify(read_recording(data), model, inertia, gravity, progress=progress)
    content = to_json(estimate)
    write_json(out, content)
    write_json(json, content)
    show_values(f"{estimate.model} fitted to {data.name}", fit_rows(estimate))
    for line in estimate.warnings:
        note(line)
    if report is not None:
        say(f"report: {fit_page(estimate, data.name).save(report)}")


@friction.command("plot")
def plot(
    source: Annotated[Path, Argument(metavar="F.json|DATA.csv", help="A model or a log.")],
    out: Annotated[Path, Option(metavar="PNG", help="The picture to write.")],
) -> None:
    """Draw a fitted model's curve, or a log over time and torque over velocity.

    Example: [bold]farhand friction plot friction.json --out curve.png[/bold]
    """
    check_files(out, read=[source])
    check_picture("--out", out)
    from farhand.report.figures import save_figure
    from farhand.report.friction import curve_figure, log_figure

    if source.suffix.lower() == ".json":
        from farhand.friction.fit.loading import load, read

        load(source)
        figure = curve_figure(read(source))
    else:
        from farhand.friction.fit.data import read_recording

        figure = log_figure(read_recording(source))
    save_figure(figure, out)
    say(f"picture: {out}")


@friction.command("protocol")
def protocol(
    out: Annotated[Path, Option(metavar="PROTOCOL.csv", help="The set points to write.")],
    speed: Annotated[float | None, Option(metavar="V", help="Highest speed, rad/s.")] = None,
    torque: Annotated[
        float | None, Option(metavar="T", help="Highest torque of ramps, N·m.")
    ] = None,
    travel: Annotated[
        float | None, Option(metavar="A", help="Range of motion, rad; default: unlimited.")
    ] = None,
    robot: Annotated[str, Option(metavar="NAME", help="Use this robot's limits.")] = "",
    joint: Annotated[int, Option(metavar="N", help="Which joint of it, from 1.")] = 1,
    minutes: Annotated[float, Option(metavar="M", help="How long it may take.")] = 30.0,
    simulate: Annotated[
        Path | None, Option(metavar="DATA.csv", help="Also log a simulated joint here.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Write the motion to run on a joint: steady speeds, sweep, break-away ramps and loops.

    Columns are t (s), mode, setpoint (rad/s or N·m), phase and instruction; set points change
    linearly between rows.

    Example: [bold]farhand friction protocol --robot ur5e --joint 6 --out protocol.csv[/bold]
    """
    check_files(out, simulate, read=[])
    within("--minutes", minutes, 0.5, 600.0, "min")
    speed, torque, travel = _limits(robot, joint, speed, torque, travel)
    from farhand.friction.fit import protocol as part
    from farhand.friction.fit.data import write_columns, write_recording

    phases = part.protocol(speed, torque, travel, minutes)
    table = list(part.rows(phases))
    names = ("t", "mode", "setpoint", "phase", "instruction")
    columns: dict[str, list[Any]] = dict(
        zip(names, map(list, zip(*table, strict=True)), strict=True)
    )
    for name, digits in (("t", 4), ("setpoint", 6)):
        columns[name] = [f"{value:.{digits}f}" for value in columns[name]]
    log = _simulated(phases, speed, torque, seed) if simulate is not None else None
    write_columns(out, columns)
    if simulate is not None and log is not None:
        write_recording(simulate, log)
    show_values(f"{len(table)} set points over {table[-1][0] / 60.0:.3g} min", _phase_rows(phases))
    beside = f"; log of a simulated joint: {simulate}" if simulate else ""
    say(f"set points: {out}{beside}")


def _limits(
    robot: str, joint: int, speed: float | None, torque: float | None, travel: float | None
) -> tuple[float, float, float]:
    """Limits of speed [rad/s], torque [N·m] and travel [rad]; a share of the robot's by default."""
    import numpy as np

    if robot:
        from farhand.robots import load_robot

        limits = load_robot(robot).limits
        within("--joint", joint, 1, len(limits.lower))
        k = joint - 1
        speed = 0.5 * float(limits.velocity[k]) if speed is None else speed
        torque = 0.2 * float(limits.torque[k]) if torque is None else torque
        travel = 0.5 * float(limits.upper[k] - limits.lower[k]) if travel is None else travel
    speed, torque = 1.0 if speed is None else speed, 1.0 if torque is None else torque
    travel = np.inf if travel is None else travel
    for name, value in (("--speed", speed), ("--torque", torque)):
        if robot and not np.isfinite(value):
            raise BadValue(f"{name} of joint {joint} of {robot} is not known; give it")
        within(name, value, 1e-6, 1e6)
    if not travel > 0.0:
        raise BadValue(f"--travel {travel:g} must be above 0 rad")
    return speed, torque, travel


def _simulated(phases: list[Any], speed: float, torque: float, seed: int) -> Any:
    """The log of a joint whose friction fits the limits, with encoder steps and torque noise."""
    import numpy as np

    from farhand.friction import make
    from farhand.friction.fit.protocol import simulate

    top = 0.5 * torque
    values: dict[str, Any] = {"coulomb": 0.5 * top, "breakaway": top, "viscous": 0.5 * top / speed}
    values |= {"stribeck_velocity": 0.05 * speed, "shape": 1.2}
    values |= {"stiffness": top / 1e-4, "damping": 0.02 * np.sqrt(top)}
    joint = make("lugre", **values)
    inertia = 0.1 * top / speed
    return simulate(phases, joint, inertia, 2.0 * np.pi / 4000, 0.02, np.random.default_rng(seed))


def _phase_rows(phases: list[Any]) -> list[tuple[str, str]]:
    from farhand.friction.fit.protocol import INSTRUCTIONS

    return [(phase.name, f"{phase.duration:.4g} s, {INSTRUCTIONS[phase.name]}") for phase in phases]
