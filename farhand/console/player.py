"""Player: the process behind the page of a recording."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import viser

from farhand.console.drawing import Drawing
from farhand.console.replaying import Replaying
from farhand.console.requests import Requests
from farhand.console.scene import Scene
from farhand.console.source import RecordedSource
from farhand.console.stage import suit
from farhand.console.viewer import (
    FRAMES_PER_STATUS,
    PERIOD,
    behave,
    clear,
    grasp_of,
    open_server,
    parent_gone,
)
from farhand.errors import FarhandError
from farhand.recording.loader import load


class Player:
    """A recording on the page.

    Args:
        server: where it is shown.
        source: the recording.
        scene: what to draw.
        speed: how many times faster than it was, [-].
        shadows: whether light casts them.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        source: RecordedSource,
        scene: Scene,
        speed: float = 1.0,
        shadows: bool = True,
    ) -> None:
        clear(server)
        self._server = server
        self.drawing = Drawing(server, scene, shadows)
        self.grasp = grasp_of(server, scene, Requests(None), live=False)
        self.replaying = Replaying(server, scene, source, self.drawing, speed)

    def frame(self, dt: float, status: bool) -> None:
        """Go on by ``dt`` [s] and draw."""
        self._draw(self.replaying.advance(dt), dt)
        if status:
            self.replaying.show()

    def seek(self, t: float) -> None:
        """Show a time, [s], and stay there."""
        self.replaying.play(False)
        self.replaying.seek(t)
        self._draw(self.replaying.reading, 0.0)
        self.replaying.show()

    def _draw(self, reading: Any, dt: float) -> None:
        self.drawing.update(reading)
        self.replaying.views.update()
        if self.grasp is not None:
            tool = self.drawing.kinematics.tool_position[self.grasp.robot]
            for path, value in reading.changes.items():
                self.grasp.change(path, value, tool)
            self.grasp.update(reading, tool, dt)
        reading.changes.clear()


def view(
    recording: Path,
    scene: Scene,
    speed: float,
    host: str,
    port: int,
    token: str,
    pipes: tuple[Connection, Connection],
    health: Any,
) -> None:
    """Serve the page of a recording; otherwise as :func:`farhand.console.viewer.view`."""
    outgoing = pipes[1]
    behave()
    try:
        source = RecordedSource(load(recording))
        server, opened, gate = open_server(host, port, token, scene["rig"])
    except FarhandError as error:
        outgoing.send(str(error))
        return
    player = Player(server, source, scene, speed)
    server.on_client_connect(lambda client: suit(client, *player.drawing.view))
    outgoing.send(opened)
    last, frame = time.monotonic(), 0
    while not parent_gone():
        now = time.monotonic()
        player.frame(now - last, frame % FRAMES_PER_STATUS == 0)
        last, frame = now, frame + 1
        time.sleep(PERIOD)
    gate.close()
