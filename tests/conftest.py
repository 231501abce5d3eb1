"""What every test shares: reproducible property tests without deadlines, plots without a display,
and rigs to run.
"""

from __future__ import annotations

import os

# Matrices here are small: threads of the linear algebra library only get in each other's way.
# Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The compiled functions, whatever this machine's cache holds: tests compare bits between processes.
os.environ.setdefault("FARHAND_KERNELS", "compiled")

import gc
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from farhand.rigs import Rig

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("farhand", deadline=None, derandomize=True)
settings.load_profile("farhand")

QUICK = ("control", "coupling", "mapping", "safety", "world")
"""Folders whose tests ``make check`` runs."""

WALL_TIME = (
    *("browser", "console", "faults/test_processes", "loop/test_clock", "loop/test_interrupts"),
    *("loop/test_latch", "loop/test_overruns", "link/test_udp", "link/test_zenoh", "publishing"),
    *("plants/damiao", "plants/drivers", "plants/franka", "plants/servo_arm", "plants/servo_bus"),
    *("cli/test_can_sim", "cli/test_servo_sim", "rigs/humanoid/test_humanoid_plants", "realtime"),
    *("recording/test_playback", "recording/test_recorder", "running", "test_client"),
)
"""Folders and files whose tests wait on the wall clock. The host of a virtual machine may take the
core away for longer than such a test can bear, so one that fails is tried twice more; the summary
lists it as RERUN."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the quick folders, and those that are tried twice."""
    # Mutants are judged without it: a test that fails there has done its work
    twice = config.pluginmanager.hasplugin("rerunfailures")
    for item in items:
        place = item.path.relative_to(Path(__file__).parent).as_posix()
        if place.startswith(tuple(f"{folder}/" for folder in QUICK)):
            item.add_marker("quick")
        if twice and place.startswith(WALL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))


def pytest_collection_finish() -> None:
    """Keep all that is imported and collected out of later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unlocked_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops in the test process do not lock its memory: that of a thousand tests takes seconds."""
    if "/tests/realtime/" not in str(request.path):
        monkeypatch.setattr("farhand.realtime.privileges.may_lock", lambda: False)


QUIET = [
    (f"{side}.plant.{noise}", 0.0)
    for side in ("leader", "follower")
    for noise in ("force_noise", "torque_noise")
]
"""Settings that silence the dual-arm rig's wrench sensors, so that every change of torque has a
cause."""


class Run:
    """A rig in virtual time with every signal kept, and the questions tests ask of it."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.session, self.world, self.history = (
            rig,
            rig.session,
            rig.world,
            rig.metrics.history,
        )
        self.leader, self.follower = rig.session.stations
        self.bridge = rig.session.bridges[0]

    def on(self, seconds: float) -> Run:
        """Run on for so many seconds."""
        self.session.run(seconds, self.rig.metrics.pull)
        return self

    def post(self, *commands: str) -> Run:
        """Post commands written as ``SECONDS:NAME``."""
        for command in commands:
            self.session.commands.post_text(command)
        return self

    @property
    def trips(self) -> list[tuple[str, str]]:
        """Where and of what kind, in order."""
        return [(record.where, record.trip.kind) for record in self.session.trips]

    @property
    def metrics(self) -> dict[str, Any]:
        """Values of all metrics by name."""
        return {name: entry["value"] for name, entry in self.rig.metrics.result().items()}

    def signal(
        self, stream: str, channel: str, since: float = 0.0, until: float = math.inf
    ) -> np.ndarray:
        """Rows of a channel in a window of time, [s]."""
        times = self.history.times(stream)
        return self.history.signal(stream, channel)[
            (times >= since - 1e-9) & (times < until - 1e-9)
        ]

    def largest_step(
        self, stream: str, channel: str, since: float = 0.0, until: float = math.inf
    ) -> float:
        """Largest change of any component of a channel from one tick to the next."""
        return float(np.abs(np.diff(self.signal(stream, channel, since, until), axis=0)).max())

    def tool_speed(self, station: str, since: float = 0.0, until: float = math.inf) -> float:
        """Largest speed of the tool point, [m/s]."""
        twist = self.signal(station, "twist_tool_in_world", since, until)
        return float(np.linalg.norm(twist[:, :3], axis=1).max())


@pytest.fixture
def dual_arm() -> Iterator[Callable[..., Run]]:
    """Build the dual-arm rig: ``dual_arm(law=…, scenario=…, settings=[…], …)``; sensors are silent
    unless asked for.
    """
    from farhand.rigs import Options, build_rig

    runs: list[Run] = []

    def build(
        quiet: bool = True, settings: list[tuple[str, object]] | None = None, **options: Any
    ) -> Run:
        chosen = [*(QUIET if quiet else []), *(settings or [])]
        runs.append(Run(build_rig("dual-arm", Options(settings=chosen, **options))))
        return runs[-1]

    yield build
    for run in runs:
        run.rig.close()
