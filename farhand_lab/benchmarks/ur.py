"""Time of a command of the real client through the simulated UR controller, and tracking.

Nothing here without the extra ``ur``. The controller runs in a process of its own, as a real one
would.
"""

from __future__ import annotations

import atexit
import importlib.util
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np

from farhand.errors import FileError
from farhand_lab.benchmarks.measure import Benchmark, Prepared

META: dict[str, Any] = {}
LOOKAHEAD, GAIN = 0.1, 300.0
"""Of the servo: the client's usual values, [s] and [-]."""

AMPLITUDE, PERIOD, SECONDS = 0.2, 2.0, 4.0
"""Of the sine, [rad], [s] and [s]."""


class Tracking(NamedTuple):
    """How the arm followed a sine."""

    error_max: float  #: largest distance of a joint from the sine at that time, [rad]
    lag: float  #: by how much the sine must be delayed to fit the joint best, [s]
    error_late: float  #: largest distance from the sine so delayed, [rad]
    rate: float  #: commands sent, [Hz]


@contextmanager
def controller_process(host: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """``farhand ur-sim`` in another process, until the block ends."""
    command = [sys.executable, "-m", "farhand", "ur-sim", "--host", host, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if "rtde" not in line:
            raise FileError(f"farhand ur-sim did not start: {line.strip()}")
        yield process
    finally:
        process.terminate()
        process.communicate()


def own_address() -> str:
    """A loop-back address that another process is unlikely to use."""
    pid = os.getpid()
    return f"127.{128 + pid % 100}.{pid // 100 % 250}.{1 + pid // 25_000 % 250}"


def sine(receive: Any, control: Any, seconds: float = SECONDS) -> Tracking:
    """Send the last joint along a sine by ``servoJ`` and measure how it follows."""
    start, began = np.array(receive.getActualQ()), time.perf_counter()
    rows: list[tuple[float, float, float]] = []
    while (t := time.perf_counter() - began) < seconds:
        period = control.initPeriod()
        target = start.copy()
        target[5] += _wave(t)
        control.servoJ(target.tolist(), 0.0, 0.0, 0.002, LOOKAHEAD, GAIN)
        rows.append((t, float(receive.getActualQ()[5]) - start[5], _wave(t)))
        control.waitPeriod(period)
    control.servoStop()
    times, joint, targets = np.array(rows).T
    lags = np.arange(0.0, 0.3, 0.001)
    off = [np.abs(joint - np.array([_wave(t - lag) for t in times])).max() for lag in lags]
    best = int(np.argmin(off))
    largest, rate = float(np.abs(joint - targets).max()), len(times) / seconds
    return Tracking(largest, float(lags[best]), float(off[best]), rate)


def _wave(t: float) -> float:
    """A sine that begins softly, [rad]."""
    return AMPLITUDE * math.sin(2.0 * math.pi * t / PERIOD) * min(max(t, 0.0), 1.0)


def _servo() -> Prepared:
    """From ``servoJ`` to the first package that shows it; the floor waits for a package."""
    from rtde_control import RTDEControlInterface
    from rtde_receive import RTDEReceiveInterface

    host, side, held = own_address(), [1.0], ExitStack()
    # The works live as long as the process
    atexit.register(held.close)
    held.enter_context(controller_process(host))
    receive, control = RTDEReceiveInterface(host), RTDEControlInterface(host)
    held.callback(receive.disconnect)
    held.callback(control.disconnect)
    META["servoj sine"] = sine(receive, control)._asdict()
    start = receive.getActualQ()

    def react() -> None:
        side[0] = -side[0]
        before = receive.getTargetQdd()[5]
        control.servoJ([*start[:5], start[5] + 0.01 * side[0]], 0.0, 0.0, 0.002, LOOKAHEAD, GAIN)
        while abs(receive.getTargetQdd()[5] - before) < 1.0:
            time.sleep(2e-5)

    def package() -> None:
        before = receive.getTimestamp()
        while receive.getTimestamp() == before:
            time.sleep(2e-5)

    return react, package, {}


BENCHMARKS = [Benchmark("ur/servoj", _servo, calls=20, each=True, meta=META)]
if importlib.util.find_spec("rtde_control") is None:
    BENCHMARKS.clear()
