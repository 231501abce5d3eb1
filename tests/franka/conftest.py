"""Simulated Franka arms for the maker's client: ``make test-franka`` runs these tests.

franka-sim and the client have an environment of their own, whose Python
``$FARHAND_FRANKA_PYTHON`` names. Both of the simulator's enforcement flags are on: it ends a motion
when commands are late or limits are broken, as an arm does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("FARHAND_FRANKA_PYTHON")
SCRIPT = str(Path(__file__).with_name("simulated_arm.py"))
ENFORCED = {
    "FRANKA_SIM_ENFORCE_COMM_CONSTRAINTS": "1",
    "FRANKA_SIM_ENFORCE_MOTION_LIMITS": "1",
    "PYTHONUNBUFFERED": "1",
}


class SimulatedFranka:
    """An arm of franka-sim in a process of its own.

    Args:
        host: its address.
        log: where the simulator's own words go.
        more: further arguments.
    """

    def __init__(self, host: str, log: Path, *more: str) -> None:
        self.host = host
        with log.open("w") as words:
            self.process = subprocess.Popen(
                [str(PYTHON), SCRIPT, host, *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                env={**os.environ, **ENFORCED},
            )
        line = "-"
        while line and not line.startswith("ready"):
            line = self.process.stdout.readline()
        assert line, log.read_text()[-2000:]

    def ask(self, line: str = "look") -> dict[str, Any]:
        """Move the hand, or look; what is true then."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = ""
        while not answer.startswith("{"):
            answer = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(answer)
        return found

    def kill(self) -> None:
        """End it at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[Callable[..., SimulatedFranka]]:
    """Starts arms at addresses of their own, and ends them."""
    if PYTHON is None:
        pytest.skip("FARHAND_FRANKA_PYTHON names no Python with franka-sim: make test-franka")
    arms: list[SimulatedFranka] = []

    def start(*more: str) -> SimulatedFranka:
        number = len(arms) + 11
        host = f"127.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250}.{number}"
        arms.append(SimulatedFranka(host, tmp_path / f"{number}.log", *more))
        return arms[-1]

    yield start
    for arm in arms:
        arm.kill()
