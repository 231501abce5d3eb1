"""A recording of a real run, made once for all tests that look at one."""

from __future__ import annotations

from pathlib import Path

import pytest

from farhand.recording.loader import Recording, load
from farhand.rigs import Options, build_rig
from farhand.running.rerun import record


@pytest.fixture(scope="session")
def demo_path(tmp_path_factory) -> Path:
    """Two arms for 0.8 s: coupled at once, parted at 0.3 s, coupled again at 0.6 s; the follower is
    read 3 ms late.
    """
    rig = build_rig(
        "dual-arm", Options(scenario="free", settings=[("follower.plant.sensor_delay", 3)])
    )
    for command in ("0.3:release", "0.6:engage", "0.7:set hand.drag=0.01,0,0.02"):
        rig.session.commands.post_text(command)
    return record(rig, tmp_path_factory.mktemp("recording") / "demo.mcap", 0.8)


@pytest.fixture(scope="session")
def demo(demo_path) -> Recording:
    """The same, loaded."""
    return load(demo_path)
