"""``farhand torque``: is the motor torque of your own arm good enough to feel?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from farhand.cli.options import JsonPath, ReportFolder, Seed
from farhand.report.output import Bar, check_files, note, say, show_values, within, write_json

torque = typer.Typer(
    help="Your own arm's motor torque: is it good enough to feel, what is wrong, a model of it.\n\n"
    "Logs are CSV with a header, SI units and the columns t, q1…, v1… (may lack) and torque1… or "
    "current1… in any order; joints' names serve too: q_elbow. Nothing may touch the arm.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

Log = Annotated[Path, Argument(metavar="LOG.csv", help="Log of the whole arm in free motion.")]
RobotFile = Annotated[
    str, Option("--robot", metavar="FILE", help="The arm: a name, or an MJCF or URDF file.")
]


@torque.command("check")
def check(log: Log, robot: RobotFile, json: JsonPath = None, report: ReportFolder = None) -> None:
    """Say what is wrong with an arm's torques, and what contacts could be felt with them.

    Per joint: scale, sign, offset, delay, steps and friction, with 95 % intervals. For the arm:
    errors of the file, tool mass, tilt, and the noise floor at the tool in newtons.

    Example: [bold]farhand torque check log.csv --robot openarm --report report[/bold]
    """
    check_files(json, read=[log], report=report)
    result, floors = _checked(log, robot)
    from farhand.report import torque as page

    write_json(json, page.check_json(result, floors))
    page.show(result, floors)
    if report is not None:
        say(f"report: {page.check_page(result, floors).save(report)}")


@torque.command("fit")
def fit(
    log: Log,
    robot: RobotFile,
    out: Annotated[Path, Option(metavar="MODEL.json", help="The identified model to write.")],
    json: JsonPath = None,
    report: ReportFolder = None,
) -> None:
    """Fit masses, inertias, friction and torque scale to a log of an exciting motion.

    Masses and inertias stay possible. The file is for --model of run, compare and the others.

    Example: [bold]farhand torque fit log.csv --robot openarm --out model.json[/bold]
    """
    check_files(out, json, read=[log], report=report)
    result, floors = _checked(log, robot)
    from farhand.errors import Mismatch
    from farhand.report import torque as page
    from farhand.torque.fit import identified

    for one in result.findings:
        if one.kind == "contact":
            raise Mismatch(f"{log.name}: {one.text}")
        if one.kind == "swapped" or result.arrangement.turned:
            raise Mismatch(f"{log.name}: {one.text}; mend the log's columns first, then fit")
    write_json(out, identified(result).to_json())
    write_json(json, page.check_json(result, floors))
    say(f"model of {result.robot.name} fitted to {log.name}", style="bold")
    page.show_findings(result)
    show_values("joints and arm", page.fit_rows(result, floors))
    for line in result.open_questions():
        note(f"cannot be identified from this log: {line}")
    if mend := page.to_mend(result):
        note(f"the drives' readings stay as they are: mend {mend} there before a law uses them")
    if report is not None:
        say(f"report: {page.check_page(result, floors).save(report)}")
    say(f"model: {out}; farhand run … --model {out} uses it")


@torque.command("protocol")
def protocol(
    robot: RobotFile,
    out: Annotated[Path, Option(metavar="MOTION.csv", help="The set points to write.")],
    seconds: Annotated[float, Option(metavar="S", help="How long it takes.")] = 60.0,
    speed: Annotated[float, Option(metavar="SHARE", help="Of each joint's speed limit.")] = 0.3,
    rate: Annotated[float, Option(metavar="HZ", help="Set points per second.")] = 100.0,
    seed: Seed = 0,
) -> None:
    """Write a motion that shows everything a fit needs: all joints at once, from home and back.

    It stays within the limits of joints and speed, and the arm does not touch itself. What stands
    around the arm is not known: run it slowly first (--speed 0.1).

    Example: [bold]farhand torque protocol --robot openarm --out motion.csv[/bold]
    """
    check_files(out)
    within("--seconds", seconds, 15.0, 1200.0, "s")
    within("--speed", speed, 0.02, 1.0)
    within("--rate", rate, 20.0, 1000.0, "Hz")
    with Bar("searching"):
        import numpy as np

        from farhand.friction.fit.data import write_columns
        from farhand.robots import load_robot
        from farhand.torque.excitation import excitation

        loaded = load_robot(robot)
        motion = excitation(loaded, seconds, speed, rate, np.random.default_rng(seed))
    columns: dict[str, Any] = {"t": motion.time}
    for key, values in (("q", motion.q), ("v", motion.v)):
        columns |= {f"{key}{k + 1}": values[:, k] for k in range(values.shape[1])}
    write_columns(out, columns)
    rows = []
    for dof, name in enumerate(motion.names):
        lowest, highest = motion.q[:, dof].min(), motion.q[:, dof].max()
        share = f"{100 * motion.speeds[dof]:.0f} % of its speed limit"
        fast = share if motion.speeds[dof] > 0.0 else "its speed limit is not known"
        unit = loaded.limits.units(dof)[0]
        rows.append((name, f"{lowest:.2f} to {highest:.2f} {unit}, {fast}"))
    show_values(f"{len(motion.time)} set points over {seconds:g} s", rows)
    if motion.size < 1.0:
        say(
            f"the motion has {100 * motion.size:.0f} % of the size that limits allow: "
            "beyond it the arm would touch itself"
        )
    say("log t, q, v and torque at 200 Hz or more while it moves; nothing may touch the arm")
    say(f"set points: {out}; then: farhand torque check LOG.csv --robot {robot}")


def _checked(log: Path, robot: str) -> tuple[Any, dict[str, Any]]:
    """The check of a log, and the noise floors with the data sheet and with the fitted model."""
    with Bar("checking"):
        from farhand.robots import load_robot
        from farhand.torque.check import check as examine
        from farhand.torque.fit import identified
        from farhand.torque.floor import noise_floor
        from farhand.torque.log import read_log

        loaded = load_robot(robot)
        result = examine(read_log(log, loaded), loaded)
        floors = {"fitted model": noise_floor(loaded, result.log, identified(result))}
        if result.log.kind == "torque":
            floors["data sheet"] = noise_floor(loaded, result.log, None)
    return result, floors
