"""``farhand arm``: find, calibrate and check arms on servo buses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from farhand.report.output import check_files, say, show_table

if TYPE_CHECKING:
    from farhand.plants.servo_arm.bus import ServoBus
    from farhand.plants.servo_arm.description import ServoArm

arm = typer.Typer(
    help="Arms on servo buses (Feetech, Dynamixel): find them, calibrate and check them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Ports = Annotated[
    list[str] | None, Argument(metavar="[PORT]…", help="Where to look; default: all serial ports.")
]
Port = Annotated[str, Argument(metavar="PORT", help="Serial port of the arm.")]
Which = Annotated[
    str, Option("--arm", metavar="ARM", help="so101, koch, … or FILE.toml; default: by its servos.")
]
Out = Annotated[
    Path | None, Option("--out", metavar="F.json", help="Where LeRobot's calibration file goes.")
]
From = Annotated[
    Path | None, Option("--from", metavar="F.json", help="Store this file instead of measuring.")
]


@arm.command("find")
def find_arms(ports: Ports = None) -> None:
    """Say which servo arms answer at which port.

    Example: [bold]farhand arm find[/bold]
    """
    from farhand.errors import FileError
    from farhand.plants.servo_arm.tools import find

    where = ports or _all_ports()
    found = list(find(where))
    for one in found:
        servos = ", ".join(f"{id_} {kind}" for id_, kind in one.servos.items())
        say(
            f"{one.port}: {one.arm or 'an unknown arm'} ({one.family}, {one.volts:.1f} V): {servos}"
        )
        if one.arm:
            say(f"  use it as {one.family}:{one.port}")
    if not found:
        raise FileError(
            f"no servo answers at {', '.join(where) or 'any serial port: there is none'}"
        )


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
def check_arm(port: Port, which: Which = "") -> None:
    """Move each joint by 5 degrees and back with little force: direction, friction, noise, supply.

    Support the arm: it is let go at the end.

    Example: [bold]farhand arm check /dev/ttyACM0[/bold]
    """
    from rich.table import Table

    from farhand.plants.servo_arm.tools import check

    bus, one = _open(port, which)
    with bus:
        found = check(bus, one)
    table = Table()
    for title in ("joint", "servo", "moved", "friction", "load noise", "supply", "heat", "room"):
        table.add_column(title)
    for row in found:
        table.add_row(
            row.servo.joint,
            f"{row.servo.id} {row.servo.model.name}",
            f"{100 * row.moved:.0f} %",
            f"{row.friction:.3f} N·m",
            f"{row.noise:.4f} N·m",
            f"{row.volts:.1f} V",
            f"{row.degrees:.0f} °C",
            f"{row.room:.2f} rad",
        )
    show_table(table)
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
    from farhand.plants.servo_arm.tools import find

    if not which:
        found = next(find([port]), None)
        if found is None:
            # says why the port cannot be opened
            ServoBus(port, load_arm("so101").family).close()
            raise FileError(f"no servo answers at {port}: is the arm switched on?")
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
    say(text)
    input()


def _still_moving() -> bool:
    """Whether the user has not pressed Enter yet."""
    import select
    import sys

    if select.select([sys.stdin], [], [], 0.0)[0]:
        sys.stdin.readline()
        return False
    return True
