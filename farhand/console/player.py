"""The page of a recording: its panel, and the process behind it."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import viser

from farhand.console.drawing import Drawing
from farhand.console.gate import open_server
from farhand.console.live import Action, Live
from farhand.console.scene import Scene
from farhand.console.serve import Tokens
from farhand.console.source import RecordedSource, Requests
from farhand.console.status import Health, Reading, about, derived, log, panel
from farhand.console.viewer import (
    FRAME_PERIOD_S,
    FRAMES_PER_STATUS,
    behave,
    clear,
    grasp_of,
    greet_all,
    know_clients,
    parent_gone,
    tell,
)
from farhand.console.views import Views
from farhand.errors import FarhandError
from farhand.recording.loader import load

SPEEDS = ("0.1 ×", "0.25 ×", "0.5 ×", "1 ×", "2 ×", "5 ×", "10 ×")
SLIDER_STEP_S = 0.01
BEFORE_S, ROWS_BEFORE = 10.0, 300  # how much before a chosen time is plotted


class Player:
    """A recording on the page: its picture, and the panel beside it.

    Args:
        speed: how many times faster than it was, [-].

    Attributes:
        reading: what there was at the time shown.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        source: RecordedSource,
        scene: Scene,
        live: Live,
        speed: float = 1.0,
    ) -> None:
        clear(server)
        self._scene, self._source, self._live, self._speed = scene, source, live, speed
        self.reading, self._playing = Reading(), True
        self._sought: float | None = None  # [s], to be shown at the next frame
        self.drawing = Drawing(server, scene)
        self.grasp = grasp_of(server, scene, Requests(None), live=False)
        gui = server.gui
        gui.set_panel_label(f"{scene['rig']} · {scene['law']} · recorded")
        first = 1e-9 * source.start_ns
        last = max(1e-9 * source.end_ns, first + SLIDER_STEP_S)
        self._slider: Any = gui.add_slider("time [s]", first, last, SLIDER_STEP_S, first)
        self._slider.on_update(self._slide)
        self._play = gui.add_button("Pause  (P)")
        self._play.on_click(lambda _: self.play(not self._playing))
        now = f"{speed:g} ×"
        choice = gui.add_dropdown("speed", sorted({*SPEEDS, now}, key=_number), initial_value=now)
        choice.on_update(lambda _: setattr(self, "_speed", _number(choice.value)))
        self.views = Views(server, scene, self.drawing.kinematics, self.drawing.view, live)
        self._status = gui.add_html("")
        self._log = gui.add_html("", order=1e9)
        live.begin(source, about(scene, source, live=False), self.actions)

    @property
    def actions(self) -> dict[str, Action]:
        """What visitors may ask for by key, or by a link."""
        return {
            "play": lambda number, value: self.play(not self._playing),
            "seek": lambda number, value: self.go_to(float(value)),
            "view": lambda number, value: self.views.choose(number, str(value)),
            "hello": lambda number, value: self.views.greet(number),
        }

    def play(self, on: bool) -> None:
        """Play on, from the start if it is at the end, or pause."""
        if on and self._source.closed:
            self._seek(1e-9 * self._source.start_ns)
        self._playing = on
        self._play.label = "Pause  (P)" if on else "Play  (P)"

    def go_to(self, t: float) -> None:
        """Show a time, [s], or the nearest there is, at the next frame; and stay there."""
        self.play(False)
        # In this order, a time that is not a number is the first
        self._sought = min(max(self._slider.min, t), self._slider.max)

    def seek(self, t: float) -> None:
        """Show a time, [s], at once, and stay there."""
        self.go_to(t)
        self.frame(0.0, status=True)

    def frame(self, dt: float, status: bool) -> None:
        """Go on by ``dt`` [s] of the visitor's time if it plays, or to where it was sent; draw."""
        if self._sought is not None:
            sought, self._sought = self._sought, None
            self._seek(sought)
        elif self._playing:
            self._read(1e-9 * self._source.now_ns + dt * self._speed)
            self._slider.value = float(round(1e-9 * self._source.now_ns, 2))
            if self._source.closed:
                self.play(False)
        self._draw(dt)
        if status:
            self._status.content = panel(self.reading, self._scene)
            self._log.content = log(self.reading)
            self.reading.refusals.clear()

    def _seek(self, t: float) -> None:
        """Read the recording at a time, [s], with the seconds before it in the plots."""
        first = max(1e-9 * self._source.start_ns, t - BEFORE_S)
        self.reading = Reading()
        for earlier in [*np.linspace(first, t, ROWS_BEFORE, endpoint=False), t]:
            self._read(float(earlier))
        self._slider.value = float(round(t, 2))

    def _read(self, t: float) -> None:
        self._source.seek(round(1e9 * t))
        self.reading.refresh(self._source, self._scene)
        if self.reading.time_ns is not None:
            row = derived(self.reading, self._scene, Health())
            self._live.sample(1e-9 * self.reading.time_ns, row)

    def _draw(self, dt: float) -> None:
        reading = self.reading
        self.drawing.update(reading)
        self.views.update()
        if self.grasp is not None:
            self.grasp.update(reading, self.drawing.kinematics, dt)
        reading.changes.clear()
        now = round(1e-9 * (reading.time_ns or 0), 2)
        tell(self._live, reading, self._scene, Health(), time=now)

    def _slide(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        if event.client is not None:
            self._sought = self._slider.value


def _number(speed: str) -> float:
    return float(speed.removesuffix(" ×"))


def view(
    recording: Path,
    scene: Scene,
    speed: float,
    at: float | None,
    host: str,
    port: int,
    tokens: Tokens,
    pipes: tuple[Connection, Connection],
    health: Any,
) -> None:
    """Serve the page of a recording, which stands at the time ``at`` [s] or plays from its start.

    Otherwise as :func:`farhand.console.viewer.view`.
    """
    outgoing = pipes[1]
    behave()
    live = Live()
    try:
        source = RecordedSource(load(recording))
        server = open_server(host, port, tokens, scene["rig"], live)
    except FarhandError as error:
        outgoing.send(str(error))
        return
    know_clients(server, live)
    player = Player(server, source, scene, live, speed)
    if at is not None:
        player.go_to(at)
    greet_all(live)
    outgoing.send(server.get_port())
    last, frame = time.monotonic(), 0
    while not parent_gone():
        now = time.monotonic()
        player.frame(now - last, frame % FRAMES_PER_STATUS == 0)
        last, frame = now, frame + 1
        time.sleep(FRAME_PERIOD_S)
    server.stop()
