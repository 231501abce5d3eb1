"""Replaying: the panel of a recording: play, pause, and a slider over its time."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from farhand.console.drawing import Drawing
from farhand.console.plots import RATE, SECONDS, Plots
from farhand.console.scene import Scene
from farhand.console.source import RecordedSource
from farhand.console.status import Health, Reading, log, panel
from farhand.console.views import Views

SPEEDS = ("0.1 ×", "0.25 ×", "0.5 ×", "1 ×", "2 ×", "5 ×", "10 ×")
STEP = 0.01  # [s], of the slider


class Replaying:
    """The panel beside the picture of a recording.

    Args:
        server: where it is shown.
        scene: what was recorded.
        source: the recording.
        drawing: the picture.
        speed: how many times faster than it was, [-].

    Attributes:
        reading: what there was at the time shown.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        scene: Scene,
        source: RecordedSource,
        drawing: Drawing,
        speed: float = 1.0,
    ) -> None:
        self._scene, self._source, self._speed = scene, source, speed
        self.reading, self._playing, self._sought = Reading(), True, False
        gui = server.gui
        gui.set_panel_label(f"{scene['rig']} · {scene['law']} · recorded")
        first, last = (
            1e-9 * source.start_ns,
            max(1e-9 * source.end_ns, 1e-9 * source.start_ns + STEP),
        )
        self._slider: Any = gui.add_slider("time [s]", first, last, STEP, first)
        self._slider.on_update(self._slide)
        self._play = gui.add_button("Pause  (P)")
        self._play.on_click(lambda _: self.play(not self._playing))
        choice = gui.add_dropdown(
            "speed", sorted({*SPEEDS, f"{speed:g} ×"}, key=_number), initial_value=f"{speed:g} ×"
        )
        choice.on_update(lambda _: setattr(self, "_speed", _number(choice.value)))
        gui.add_command("Play or pause", hotkey="P").on_trigger(
            lambda _: self.play(not self._playing)
        )
        self.views = Views(server, scene, drawing.kinematics, drawing.view)
        self._status = gui.add_html("")
        self._log = gui.add_html("", order=1e9)
        self._plots = Plots(gui, scene, timed=False)

    def play(self, on: bool) -> None:
        """Play on from where it stands, from the start if that is the end, or pause."""
        if on and self._source.closed:
            self.seek(1e-9 * self._source.start_ns)
        self._playing = on
        self._play.label = "Pause  (P)" if on else "Play  (P)"

    def seek(self, t: float) -> None:
        """Show the recording at a time, [s], with the seconds before it in the plots."""
        first = max(1e-9 * self._source.start_ns, t - SECONDS)
        self.reading = Reading()
        for earlier in [*np.arange(first, t, 1.0 / RATE), t]:
            self._go(float(earlier))
        self._slider.value = float(round(t, 2))

    def advance(self, dt: float) -> Reading:
        """Go on by ``dt`` [s] of the visitor's time if it plays, or to where the slider was put."""
        if self._sought:
            self._sought = False
            self.seek(self._slider.value)
        elif self._playing:
            self._go(1e-9 * self._source.now_ns + dt * self._speed)
            self._slider.value = float(round(1e-9 * self._source.now_ns, 2))
            if self._source.closed:
                self.play(False)
        return self.reading

    def show(self) -> None:
        """Put status and curves into the panel."""
        self._status.content = panel(self.reading, self._scene)
        self._log.content = log(self.reading)
        self.reading.refusals.clear()
        self._plots.show()

    def _go(self, t: float) -> None:
        self._source.seek(round(1e9 * t))
        self.reading.refresh(self._source, self._scene)
        self._plots.add(self.reading, Health())

    def _slide(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        self._sought = self._sought or event.client is not None


def _number(speed: str) -> float:
    return float(speed.removesuffix(" ×"))
