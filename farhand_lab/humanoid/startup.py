"""Start-up of the humanoid's application: its arguments, what it needs, and what still runs when a part is missing.

========================  ==============  =======================  ===============================
missing                   no argument     ``--debug``              what still runs
========================  ==============  =======================  ===============================
robot's bus, or a servo   exit 1          goes on                  kinematics, haptics, page
pen                       exit 1          goes on                  kinematics, commanding, page
a thread                  exit 1          exit 1                   nothing
page                      goes on         goes on                  all but the page
========================  ==============  =======================  ===============================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farhand.errors import FarhandError
from farhand.plants.servo_bus.driver import SerialLine, ServoDriver
from farhand.plants.servo_bus.frames import CENTRE
from farhand.plants.servo_bus.joints import bus_joints

DEFAULT_PORT = "/dev/ttyUSB0"
USAGE = "usage: [--help] [--debug] [PORT]; PORT is the servo bus, /dev/ttyUSB0 by default; --debug needs no hardware"


@dataclass(frozen=True)
class Arguments:
    """What was asked for.

    Attributes:
        port: of the servo bus.
        debug: whether hardware may be missing.
        help: whether only the usage is wanted.
        wrong: what makes no sense, or empty.
    """

    port: str = DEFAULT_PORT
    debug: bool = False
    help: bool = False
    wrong: str = ""

    @classmethod
    def parse(cls, words: Sequence[str]) -> Arguments:
        """Read a command line; never raises."""
        ports = [word for word in words if not word.startswith("-")]
        unknown = [
            word for word in words if word.startswith("-") and word not in ("--debug", "--help")
        ]
        wrong = (
            f"unknown argument {unknown[0]!r}"
            if unknown
            else "more than one port"
            if len(ports) > 1
            else ""
        )
        return cls(
            ports[0] if ports else DEFAULT_PORT, "--debug" in words, "--help" in words, wrong
        )


@dataclass(frozen=True)
class Hardware:
    """What answered.

    Attributes:
        silent: what is wrong with the robot's bus, or empty.
        pen: whether the haptic device is there.
        threads: whether all threads could be started.
        page: whether the page could be opened.
    """

    silent: str = ""
    pen: bool = True
    threads: bool = True
    page: bool = True


@dataclass(frozen=True)
class Started:
    """What runs, and with which exit code the application ends if it does not.

    Attributes:
        code: 0 on success, 1 on failure, 2 for wrong arguments.
        kinematics: whether kinematics runs.
        commanding: whether servos are commanded and scanned.
        haptics: whether the haptic loop exists.
        page: whether there is a page.
        said: what is printed, line by line.
    """

    code: int
    kinematics: bool = False
    commanding: bool = False
    haptics: bool = False
    page: bool = False
    said: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether the application goes on."""
        return self.kinematics


def probe(port: str) -> str:
    """What is wrong with the servo bus at a port; empty if every servo answers."""
    joints = list(bus_joints().values())
    driver = ServoDriver(joints, np.full(len(joints), float(CENTRE)))
    try:
        with SerialLine(port) as line:
            line.run(driver.scan())
    except FarhandError as error:
        return str(error)
    return driver.fault or ""


def start(words: Sequence[str], look: Callable[[str], Hardware] | None = None) -> Started:
    """Start as the arguments say, with what hardware there is.

    Args:
        words: of the command line.
        look: finds the hardware at a port; by default the bus is probed and the rest is there.
    """
    arguments = Arguments.parse(words)
    if arguments.wrong:
        return Started(2, said=(arguments.wrong, USAGE))
    if arguments.help:
        return Started(0, said=(USAGE,))
    found = look(arguments.port) if look is not None else Hardware(probe(arguments.port))
    said = [
        text
        for missing, text in (
            (not found.threads, "a thread did not start"),
            (bool(found.silent), f"robot: {found.silent}; scanning and commanding are off"),
            (not found.pen, "no haptic device; the haptic loop is not made"),
            (not found.page, "no page; going on without it"),
        )
        if missing
    ]
    if not found.threads or (not arguments.debug and (found.silent or not found.pen)):
        return Started(1, said=tuple(said))
    return Started(0, True, not found.silent, found.pen, found.page, tuple(said))
