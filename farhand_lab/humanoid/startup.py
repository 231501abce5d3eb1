"""Start-up of the humanoid's application: what runs when a part is missing, and H-35.

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

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farhand.errors import FarhandError
from farhand.plants.drivers.worker import urgent
from farhand.plants.servo_bus.driver import SerialLine, ServoDriver
from farhand.plants.servo_bus.frames import CENTRE
from farhand.plants.servo_bus.joints import bus_joints
from farhand.plants.servo_bus.simulated_bus import PseudoTerminal
from farhand_lab.harness import Finding, experiment
from farhand_lab.humanoid.bus_bench import all_joints, bench
from farhand_lab.mutation import Mutation

DEFAULT_PORT = "/dev/ttyUSB0"
USAGE = (
    "usage: [--help] [--debug] [PORT]; PORT is the servo bus, /dev/ttyUSB0 by default; "
    "--debug needs no hardware"
)


@dataclass(frozen=True)
class Arguments:
    """The command line."""

    port: str = DEFAULT_PORT  #: of the servo bus
    debug: bool = False  #: whether hardware may be missing
    help: bool = False  #: whether to print only the usage
    error: str = ""  #: what is wrong with the command line, or empty

    @classmethod
    def parse(cls, words: Sequence[str]) -> Arguments:
        """Read a command line; never raises."""
        ports = [word for word in words if not word.startswith("-")]
        options = [word for word in words if word.startswith("-")]
        unknown = [word for word in options if word not in ("--debug", "--help")]
        error = "more than one port" if len(ports) > 1 else ""
        if unknown:
            error = f"unknown argument {unknown[0]!r}"
        return cls([*ports, DEFAULT_PORT][0], "--debug" in words, "--help" in words, error)


@dataclass(frozen=True)
class Hardware:
    """What answered."""

    bus_fault: str = ""  #: what is wrong with the robot's bus, or empty
    pen: bool = True  #: whether the haptic device is there
    threads: bool = True  #: whether all threads could be started
    page: bool = True  #: whether the page could be opened


@dataclass(frozen=True)
class Started:
    """What runs, and the exit code if the application ends."""

    code: int  #: 0 on success, 1 on failure, 2 for wrong arguments
    kinematics: bool = False  #: whether kinematics runs
    commanding: bool = False  #: whether servos are commanded and scanned
    haptics: bool = False  #: whether the haptic loop exists
    page: bool = False  #: whether there is a page
    messages: tuple[str, ...] = ()  #: what is printed, line by line


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
    """Start as the arguments say, with the hardware there is.

    Args:
        words: of the command line.
        look: finds the hardware at a port; by default the bus is probed and the rest is there.
    """
    arguments = Arguments.parse(words)
    if arguments.error:
        return Started(2, messages=(arguments.error, USAGE))
    if arguments.help:
        return Started(0, messages=(USAGE,))
    hardware = look(arguments.port) if look is not None else Hardware(probe(arguments.port))
    messages = []
    if not hardware.threads:
        messages.append("a thread did not start")
    if hardware.bus_fault:
        messages.append(f"robot: {hardware.bus_fault}; scanning and commanding are off")
    if not hardware.pen:
        messages.append("no haptic device; the haptic loop is not started")
    if not hardware.page:
        messages.append("no page; going on without it")
    missing = bool(hardware.bus_fault) or not hardware.pen
    if not hardware.threads or (missing and not arguments.debug):
        return Started(1, messages=tuple(messages))
    commanding = not hardware.bus_fault
    return Started(0, True, commanding, hardware.pen, hardware.page, tuple(messages))


MATRIX: tuple[tuple[list[str], Hardware, Started], ...] = (
    ([], Hardware(), Started(0, True, True, True, True)),
    ([], Hardware(bus_fault="no answer"), Started(1)),
    ([], Hardware(pen=False), Started(1)),
    ([], Hardware(threads=False), Started(1)),
    ([], Hardware(page=False), Started(0, True, True, True, False)),
    (["--debug"], Hardware("no answer", pen=False), Started(0, True, False, False, True)),
    (["--debug"], Hardware("no answer"), Started(0, True, False, True, True)),
    (["--debug"], Hardware(threads=False), Started(1)),
    (["--debug"], Hardware(page=False), Started(0, True, True, True, False)),
    (["--help"], Hardware("no answer"), Started(0)),
    (["--fast"], Hardware(), Started(2)),
)
"""Arguments, what hardware answers, and what must run."""


@experiment("H-35")
def startup() -> Finding:
    """The matrix; then real probes of a missing port and of servos on a pseudo-terminal."""
    right = 0
    for words, hardware, expected in MATRIX:
        result = start(words, lambda _port, hardware=hardware: hardware)  # type: ignore[misc]
        complete = expected == Started(0, True, True, True, True)
        right += replace(result, messages=()) == expected and bool(result.messages) != complete
    ports: list[str] = []

    def look(port: str) -> Hardware:
        ports.append(port)
        return Hardware()

    start(["/dev/other"], look)
    start([], look)
    missing = start(["/dev/no-such-port"])
    with _servos(0) as path:
        whole = start([path])
    with _servos(23) as path:
        dead, bare = start([path]), start(["--debug", path])
    ok = right == len(MATRIX) and ports == ["/dev/other", DEFAULT_PORT] and missing.code == 1
    ok = ok and whole.code == 0 and whole.commanding
    ok = ok and dead.code == 1 and bare.kinematics and not bare.commanding
    note = f"with servo 23 dead: {dead.messages[0]}" if dead.messages else "a dead servo passes"
    return Finding(right, ok, note)


@contextlib.contextmanager
def _servos(dead_id: int) -> Iterator[str]:
    """Twenty servos on a pseudo-terminal, one of them dead."""
    made = bench(all_joints())
    made.bus.faults.dead = dead_id
    with urgent(), PseudoTerminal(made.bus) as terminal:
        yield terminal.path


MUTATIONS = [
    Mutation("debug-needs-hardware", "--debug is ignored", ("H-35",)).change(
        Arguments, "parse", lambda parse: lambda words: parse([w for w in words if w != "--debug"])
    ),
    Mutation("never-probes", "every bus counts as whole", ("H-35",)).patch(
        sys.modules[__name__], "probe", lambda port: ""
    ),
]
