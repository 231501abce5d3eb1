"""Time of a cycle of a CAN bus: every motor of an OpenArm gets a frame and answers it.

The floor is the time of the bits on the wire, which the simulated bus keeps. ``slcan`` and
``udp_multicast`` are served by ``farhand can-sim`` in a process of its own; ``virtual``, a bus of
python-can inside one process, by a thread. Cycles per second are a million over the value.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from farhand.errors import FileError
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.server import BusAdaptor, MotorServer
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.wires import CanWire, PythonCanWire, VirtualWire, open_wire
from farhand.robots import load_robot
from farhand_lab.benchmarks.measure import Benchmark

CYCLES = 10
"""Times that :meth:`DamiaoDriver.measure_cycle` measures for one reading."""


@cache
def _served(interface: str) -> str:
    """The channel of an arm that is served until this process ends."""
    channel = f"239.76.{os.getpid() % 256}.{os.getpid() // 256 % 256}"
    if interface == "virtual":
        going = threading.Event()
        server = MotorServer(SimulatedCanArm(load_arm("openarm")), BusAdaptor("virtual", "bench"))
        threading.Thread(
            target=server.run, kwargs={"going": lambda: not going.is_set()}, daemon=True
        ).start()
        atexit.register(going.set)
        return "bench"
    if interface == "slcan":
        channel = str(Path(tempfile.mkdtemp(prefix="farhand-can-")) / "bus")
    words = [sys.executable, "-m", "farhand", "can-sim", "openarm", "--interface", interface]
    process = subprocess.Popen([*words, "--at", channel], stdout=subprocess.PIPE, text=True)
    atexit.register(process.terminate)
    assert process.stdout is not None
    if "8 motors" not in (line := process.stdout.readline()):
        raise FileError(f"farhand can-sim did not start: {line.strip()}")
    return channel


@cache
def _driver(interface: str, theirs: bool) -> DamiaoDriver:
    arm = load_arm("openarm")
    channel = _served(interface)
    wire: CanWire = (
        PythonCanWire(interface, channel)
        if theirs
        else open_wire(interface, channel, arm.bit_rate, arm.data_bit_rate)
    )
    driver = DamiaoDriver(arm, load_robot("openarm"), wire)
    driver.connect()
    return driver


@cache
def _bit_time(fd: bool) -> float:
    """Of a cycle on the wire, with the motors' latency, [µs]."""
    arm = load_arm("openarm")
    driver = DamiaoDriver(arm, load_robot("openarm"), VirtualWire(SimulatedCanArm(arm), fd))
    return 1e6 * driver.measure_cycle(0.5)


def _cycle(interface: str, theirs: bool = False) -> Callable[[], tuple[float, float]]:
    def read() -> tuple[float, float]:
        driver = _driver(interface, theirs)
        times = [driver.measure_cycle(0.5) for _ in range(CYCLES)]
        return 1e6 * sorted(times)[CYCLES // 2], _bit_time(driver.wire.fd)

    return read


BENCHMARKS = [
    Benchmark("can/slcan", None, pair=_cycle("slcan")),
    Benchmark("can/slcan-python-can", None, pair=_cycle("slcan", theirs=True)),
    Benchmark("can/udp_multicast", None, pair=_cycle("udp_multicast")),
    Benchmark("can/virtual", None, pair=_cycle("virtual")),
]
