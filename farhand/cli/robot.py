"""``farhand robot``: what is in a robot's file, and everything that keeps it from being run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.report.output import check_file, say, say_error, show_table, stdout, write_json

if TYPE_CHECKING:
    from farhand.robots import Robot, RobotCheck

ModelFile = Annotated[
    str, Argument(metavar="FILE", help="An MJCF or URDF file, a folder with model.xml, or a name.")
]
Variant = Annotated[str | None, Option(metavar="NAME", help="Parameter set of its toml.")]


def robot(file: ModelFile, variant: Variant = None, json: JsonPath = None) -> int:
    """Check a robot's file: joints, limits, masses, tool, home, and all problems at once.

    The exit code is 0 if it can be run, and 2 if not.

    Example: [bold]farhand robot panda.xml[/bold]
    """
    check_file(json)
    from farhand.robots import check_robot

    checked = check_robot(file, variant)
    content = _content(checked)
    write_json(json, content)
    _show(content, checked.robot)
    for line in checked.problems:
        say_error(line)
    return 2 if checked.problems else 0


def _content(checked: RobotCheck) -> dict[str, Any]:
    """What was found, as it is written to a file."""
    content: dict[str, Any] = {"runs": not checked.problems, "problems": list(checked.problems)}
    robot = checked.robot
    if robot is None:
        return content
    model, limits = robot.compile(), robot.limits
    joints = []
    for dof, joint in enumerate(model.dof_jntid.tolist()):
        body = int(model.jnt_bodyid[joint])
        units = limits.units(dof)
        numbers = (limits.lower, limits.upper, limits.velocity, limits.torque)
        lower, upper, velocity, torque = (_finite(array[dof]) for array in numbers)
        joints.append(
            {
                "joint": model.joint(joint).name or f"{joint + 1}",
                "body": model.body(body).name or "(unnamed)",
                "mass": float(model.body_mass[body]),
                "lower": lower,
                "upper": upper,
                "velocity": velocity,
                "torque": torque,
                "units": list(units),
            }
        )
    carrier = int(model.site_bodyid[model.site(robot.tool).id])
    return content | {
        "name": robot.name,
        "source": str(robot.source),
        "joints": joints,
        "mass": float(model.body_mass.sum()),
        "tool": {"body": model.body(carrier).name, "why": robot.sources["tool"]},
        "home": {"q": robot.home.tolist(), "why": robot.sources.get("home", "as its toml says")},
        "notes": list(robot.notes),
    }


def _show(content: dict[str, Any], robot: Robot | None) -> None:
    """Print it for a person."""
    if robot is None:
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    say(Text(content["name"], "bold").append(f" {content['source']}", "not bold dim"))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in ("joint", "moves", "mass", "from", "to", "speed", "effort"):
        table.add_column(header, justify="left" if header in ("joint", "moves") else "right")
    for row in content["joints"]:
        position, speed, effort = row["units"]
        table.add_row(
            Text(row["joint"], "cyan"),
            Text(row["body"]),
            f"{row['mass']:.3g} kg",
            *(f"{_number(row[key])} {position}" for key in ("lower", "upper")),
            f"{_number(row['velocity'])} {speed}",
            f"{_number(row['torque'])} {effort}",
        )
    show_table(table)
    home = ", ".join(f"{number:.4g}" for number in content["home"]["q"])
    tool = content["tool"]
    lines = [
        f"mass   {content['mass']:.4g} kg",
        f"tool   on {tool['body'] or '(unnamed)'}: {tool['why']}",
        f"home   [{home}]: {content['home']['why']}",
        *(f"note   {line}" for line in content["notes"] if not line.endswith(tool["why"])),
    ]
    for line in lines:
        say(Text(f"  {line}"))
    verdict = "can be run" if content["runs"] else "cannot be run yet; what keeps it from that:"
    console.print(Text(f"  it {verdict}", "green" if content["runs"] else "yellow"))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _number(value: float | None) -> str:
    return "any" if value is None else f"{value:.4g}"
