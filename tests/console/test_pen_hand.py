"""A visitor's hand on a pen: however it is dragged, no arm is led into its limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import viser

from farhand.console.scene import scene_of
from farhand.console.status import GAVE_WAY, Health, summary
from farhand.console.viewer import Console
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, build_rig
from tests.console.test_controls import FRAME, drag

FAR = 0.5  # [m], as far as a mouse goes
HELD_S, REST_S = 5.0, 2.0


class Page:
    """The youBot's page in virtual time."""

    def __init__(self, scenario: str) -> None:
        self.rig = build_rig("youbot", Options(scenario=scenario, linked=True))
        self.server = viser.ViserServer("127.0.0.1", 0, verbose=False)
        session = self.rig.session
        requests: Any = SimpleNamespace(
            send=lambda name, path="", value=None: session.commands.post(name, path, value)
        )
        scene = self.scene = scene_of(self.rig)
        self.console = Console(self.server, Reader(session.telemetry.path), scene, requests)
        self.said: set[str] = set()

    def run(self, seconds: float) -> None:
        """Let the session and its page go on; stop at a trip."""
        for _ in range(round(seconds / FRAME)):
            self.rig.session.run(FRAME)
            self.console.frame(FRAME, Health(), False, False)
            seen = summary(self.console.reading, self.scene, Health())
            self.said.add(seen["warning"])
            if self.rig.session.trips:
                return

    def close(self) -> None:
        """Take it down."""
        self.server.stop()
        self.rig.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "direction"),
    [("rest", (0, 0, -1)), ("rest", (1, 0, 0)), ("rest", (0, 1, 0)), ("wall", (-1, 0, 0))],
    ids=["down", "back", "aside", "into the wall"],
)
def test_a_pull_far_out_of_the_region_stops_nothing(scenario, direction):
    """Twice, held for seconds: the hand gives way and says so, and no guard trips."""
    page = Page(scenario)
    try:
        page.run(1.0)
        for _ in range(2):
            far = np.array(page.console.grasp._handle.position) + FAR * np.array(direction)
            drag(page.console, "start", far)
            page.run(HELD_S)
            assert [str(trip) for trip in page.rig.session.trips] == []
            drag(page.console, "end", far)
            page.run(REST_S)
        assert [str(trip) for trip in page.rig.session.trips] == []
        assert GAVE_WAY in page.said
        assert not page.console.grasp.gave_way
    finally:
        page.close()
