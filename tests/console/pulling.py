"""A page in virtual time, and somebody who pulls its hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import viser

from farhand.console.scene import scene_of
from farhand.console.status import Health, summary
from farhand.console.viewer import FRAMES_PER_STATUS, Console
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, build_rig
from farhand.world import Wall
from tests.console.test_controls import FRAME, drag

FAR = 0.5  # [m], as far as a mouse goes


class Page:
    """A rig's page; nothing waits.

    Attributes:
        said: every warning.
        most: force of the wall on the follower, [N].
    """

    def __init__(self, rig: str, scenario: str) -> None:
        self.rig = build_rig(rig, Options(scenario=scenario, linked=True))
        self.server = viser.ViserServer("127.0.0.1", 0, verbose=False)
        session = self.rig.session
        requests: Any = SimpleNamespace(
            send=lambda name, path="", value=None: session.commands.post(name, path, value)
        )
        scene = self.scene = scene_of(self.rig)
        self.console = Console(self.server, Reader(session.telemetry.path), scene, requests)
        touches = self.rig.world.ports["follower"].touches
        self.touch = next(touch for _, touch, _ in touches if isinstance(touch, Wall))
        self.said: set[str] = set()
        self.most, self._frames = 0.0, 0

    def run(self, seconds: float) -> None:
        """Let the session and its page go on; stop at a trip."""
        for _ in range(round(seconds / FRAME)):
            self.rig.session.run(FRAME)
            self.console.frame(FRAME, Health(), False, self._frames % FRAMES_PER_STATUS == 0)
            self._frames += 1
            self.said.add(summary(self.console.reading, self.scene, Health())["warning"])
            self.most = max(self.most, self.touch.force)
            if self.rig.session.trips:
                return

    def pull(self, way: np.ndarray) -> np.ndarray:
        """Take the handle and hold it a way [m] from where it was; returns where that is."""
        far = np.array(self.console.grasp._handle.position) + way
        drag(self.console, "start", far)
        return far

    def move(self, place: np.ndarray) -> None:
        """Hold the handle at another place."""
        drag(self.console, "update", place)

    def let_go(self, place: np.ndarray) -> None:
        """Let go of the handle."""
        drag(self.console, "end", place)

    def close(self) -> None:
        """Take it down."""
        self.server.stop()
        self.rig.close()
