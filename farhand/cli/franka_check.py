"""``farhand franka-check``: whether a Franka arm and this machine are fit to feel contact."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.report.output import check_files, say, show_table, show_values, within, write_json

Host = Annotated[str, Argument(metavar="HOST", help="Address of the arm.")]
RobotName = Annotated[
    str | None, Option("--robot", metavar="ROBOT", help="Its model; default: fr3 or fr3-arm.")
]
Seconds = Annotated[float, Option("--seconds", metavar="S", help="How long the arm is held.")]
STYLES = {"ok": "green", "marginal": "yellow", "no": "red"}


def franka_check(
    host: Host, robot: RobotName = None, seconds: Seconds = 5.0, json: JsonPath = None
) -> None:
    """Hold a Franka arm and move each joint by 3 degrees: link, model, friction, verdict per law.

    Keep clear of the arm, a hand on its stop. Exit code 1 if no law can be used.

    Example: [bold]farhand franka-check 172.16.0.2[/bold]
    """
    within("--seconds", seconds, 1.0, 60.0, "s")
    check_files(json, read=[])
    from dataclasses import asdict

    from rich.table import Table

    from farhand.plants.franka.check import check_arm
    from farhand.plants.franka.plant import FrankaPlant
    from farhand.robots import load_robot

    model = load_robot(robot or FrankaPlant.robot_at(host, "leader"))
    found = check_arm(host, model, seconds)
    link, theirs = found.link, found.model
    estimate = "the arm's own" if found.own_estimate else "none of the arm: Farhand's observer"
    rows = [
        ("client", found.client),
        ("model, mass at the flange", f"{found.robot}, {found.mass:.3f} kg"),
        ("contact estimate", estimate),
        ("cycles", f"{link.rate:.0f} /s, {link.lost} states lost"),
        ("jitter of states, 99 %", f"{1e3 * link.jitter:.3f} ms"),
        ("answer, 99 %", f"{1e6 * link.callback:.0f} µs, {link.late} above 300 µs"),
        ("state to torque", f"{1e3 * link.delay:.1f} ms at most, mean of 100 cycles"),
        ("least success rate", f"{link.success:.2f}"),
        ("mass matrix", f"{theirs.inertia:.1%}, {theirs.inertia_most:.2g} kg·m² of an element"),
        ("Coriolis", f"{theirs.coriolis:.2g} N·m at 0.5 rad/s"),
        ("gravity", f"{theirs.gravity:.2g} N·m"),
        ("Jacobian", f"{theirs.jacobian:.2g} m"),
        ("dry friction", " ".join(f"{one:.2f}" for one in found.friction) + " N·m"),
        ("hidden by it at the tool", f"{found.hidden:.1f} N"),
    ]
    beside = f"largest differences of the models at {theirs.postures} postures"
    show_values(f"Franka arm at {host}", rows, beside)
    table = Table("law", "verdict")
    for law, verdict in found.laws.items():
        table.add_row(law, f"[{STYLES[verdict]}]{verdict}[/]")
    show_table(table)
    write_json(json, asdict(found))
    if all(verdict == "no" for verdict in found.laws.values()):
        say("no law can be used: see which of the values above is out of its limits")
        raise typer.Exit(1)
