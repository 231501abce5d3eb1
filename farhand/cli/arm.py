"""``farhand arm``: find, calibrate and check arms on servo buses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from farhand.report.output import Bar, check_files, check_picture, counting, say, show_table

if TYPE_CHECKING:
    from farhand.plants.servo_arm.bus import ServoBus
    from farhand.plants.servo_arm.description import ServoArm
    from farhand.plants.servo_arm.tools import Found

arm = typer.Typer(
    help="Arms on servo buses (Feetech, Dynamixel): find them, calibrate and check them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

Ports = Annotated[
    list[str] | None, Argument(metavar="PORT", help="Where to look; default: all serial ports.")
]
Port = Annotated[str, Argument(metavar="PORT", help="Serial port of the arm.")]
Which = Annotated[
    str, Option("--arm", metavar="ARM", help="so101, koch, … or FILE.toml; default: by its servos.")
]
Out = Annotated[
    Path | None, Option("--out", metavar="F.json", help="Where LeRobot's calibration file goes.")
]
Picture = Annotated[
    Path | None,
    Option("--picture", metavar="F.png", help="Draw how each joint moved; PNG, SVG or PDF."),
]
From = Annotated[
    Path | None, Option("--from", metavar="F.json", help="Store this file instead of measuring.")
]


COLUMNS = (
    "joint",
    "servo",
    "moved\n%",
    "friction\nN·m",
    "noise\nN·m",
    "supply\nV",
    "heat\n°C",
    "room\nrad",
)

MOVED = 0.6
"""Share of its range from which a joint counts as moved in a calibration."""


@arm.command("find")
def find_arms(ports: Ports = None) -> None:
    """Say which servo arms answer at which port.

    Example: [bold]farhand arm find[/bold]
    """
    from farhand.errors import FileError
    from farhand.plants.servo_arm.tools import find, why_closed

    where = ports or _all_ports()
    found: list[Found] = []
    with counting("looking at") as show:
        for number, port in enumerate(where):
            show(number, len(where), port)
            found += find([port])
    for one in found:
        servos = ", ".join(f"{id_} {kind}" for id_, kind in one.servos.items())
        say(
            f"{one.port}: {one.arm or 'an unknown arm'} ({one.family}, {one.volts:.1f} V): {servos}"
        )
        if one.arm:
            say(f"  use it as {one.family}:{one.port}")
    if not where:
        raise FileError("this machine has no serial port: is the arm's USB cable connected?")
    if not found:
        closed = [reason for port in where if (reason := why_closed(port))]
        silent = ", ".join(port for port in where if not why_closed(port))
        switched = [f"no servo answers at {silent}: is the arm switched on?"] if silent else []
        raise FileError("; ".join([*closed, *switched]))


@arm.command("calibrate")
def calibrate_arm(port: Port, which: Which = "", out: Out = None, file: From = None) -> None:
    """Find the middle and the ends of every joint, and store them in the servos, as LeRobot does.

    Example: [bold]farhand arm calibrate /dev/ttyACM0 --out my_arm.json[/bold]
    """
    check_files(out, read=[file] if file else [])
    from farhand.plants.servo_arm.calibration import Calibration
    from farhand.plants.servo_arm.tools import calibrate, store

    given = Calibration.read(file) if file is not None else None
    bus, one = _open(port, which)
    with bus:
        if given is not None:
            store(bus, one, given)
            found = given
        else:
            found = calibrate(bus, one, _ask, _still_moving)
    if out is not None:
        found.write(out)
    for name, row in found.joints.items():
        say(f"{name}: {row.range_min} to {row.range_max}, offset {row.homing_offset}")


@arm.command("check")
def check_arm(port: Port, which: Which = "", picture: Picture = None) -> None:
    """Move each joint by 5 degrees and back with little force: direction, friction, noise, supply.

    Support the arm: it is let go at the end.

    Example: [bold]farhand arm check /dev/ttyACM0 --picture arm.png[/bold]
    """
    check_picture("--picture", picture)
    check_files(picture, read=[])
    from rich.table import Table

    from farhand.plants.servo_arm.tools import check

    bus, one = _open(port, which)
    with bus, counting("moving") as show:
        found = check(bus, one, show=show)
    table = Table()
    for title in COLUMNS:
        table.add_column(title, no_wrap=True)
    for row in found:
        table.add_row(
            row.servo.joint,
            f"{row.servo.id}",
            f"{100 * row.moved:.0f}",
            f"{row.friction:.3f}",
            f"{row.noise:.4f}",
            f"{row.volts:.1f}",
            f"{row.degrees:.0f}",
            f"{row.room:.2f}",
        )
    show_table(table)
    if picture is not None:
        from farhand.report.figures import save_figure
        from farhand.report.servo_arm import draw_check

        save_figure(draw_check(found), picture)
        say(f"picture: {picture}")
    problems = [f"{row.servo.joint} {row.problem}" for row in found if row.problem]
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(1)
    say("every joint moves the right way")


def _open(port: str, which: str) -> tuple[ServoBus, ServoArm]:
    from farhand.errors import FileError, Mismatch
    from farhand.plants.servo_arm.bus import ServoBus
    from farhand.plants.servo_arm.description import load_arm
    from farhand.plants.servo_arm.tools import find, why_closed

    if not which:
        with Bar(f"looking at {port}"):
            found = next(find([port]), None)
        if found is None:
            silent = f"no servo answers at {port}: is the arm switched on?"
            raise FileError(why_closed(port) or silent)
        if not found.arm:
            ids = ", ".join(f"{id_} {kind}" for id_, kind in found.servos.items())
            raise Mismatch(f"no arm with these servos is known ({ids}): say which with --arm")
        which = found.arm
    one = load_arm(which)
    return ServoBus(port, one.family, one.baud), one


def _all_ports() -> list[str]:
    from serial.tools.list_ports import comports

    return [port.device for port in comports() if port.hwid != "n/a"]


def _ask(text: str) -> None:
    from farhand.errors import FileError

    say(text)
    try:
        input()
    except EOFError:
        raise FileError("nobody can press Enter here: run this in a terminal") from None


def _still_moving(shares: Mapping[str, float]) -> bool:
    """Whether the user has not pressed Enter yet; a terminal shows which joints are left."""
    import select
    import shutil
    import sys

    ended = bool(select.select([sys.stdin], [], [], 0.01)[0])
    if sys.stdout.isatty():
        left = ", ".join(name for name, share in shares.items() if share < MOVED)
        width = shutil.get_terminal_size().columns - 1
        line = f"still to move: {left or 'none'}"[:width]
        print(f"\r{line:<{width}}", end="\n" if ended else "", flush=True)
    if ended:
        sys.stdin.readline()
    return not ended
