"""The panel of a live run, by mouse and keyboard: stop, coupling, hand, tuning, recording."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import viser

from farhand.console.drawing import Drawing
from farhand.console.grasp import KEY_STEP_M, Grasp
from farhand.console.plots import Plots
from farhand.console.scene import Scene
from farhand.console.source import Requests
from farhand.console.status import Health, Reading, log, panel, state
from farhand.console.tuning import Tuning, add_trial
from farhand.console.views import EYES, OVERVIEW, Views

BUTTON_HOLD_S, KEY_HOLD_S = 0.35, 0.8
"""How long a dead-man counts as held after the last event; a key repeats only after half a
second."""

NOTICE_S = 8.0  # how long a refusal stays on the page
STOP = "STOP  (Esc)"

KEYS = """
| key | does |
| --- | --- |
| **Esc** or **S** | stop |
| **E**, **R** | engage, release |
| **C** | clutch: release, move the hand, press again |
| **X** | clear trips |
| **D** (hold) | dead-man |
| **arrows**, **PgUp**, **PgDn** | move the hand by 1 cm |
| **H** | hand back to its path |
| **O**, **V** | overview, view from the follower |
"""

LEGEND = (
    "Arrows: force on each tool, {scale}. **Orange**: leader; **blue**: follower. Lattice bar: "
    "virtual constraint; dashes: another law; coil: tracking error. Grey lines: limits of the "
    "workspace."
)

_STEPS: dict[Any, tuple[str, tuple[float, float, float]]] = {
    "arrowup": ("hand +x", (1.0, 0.0, 0.0)),
    "arrowdown": ("hand -x", (-1.0, 0.0, 0.0)),
    "arrowleft": ("hand +y", (0.0, 1.0, 0.0)),
    "arrowright": ("hand -y", (0.0, -1.0, 0.0)),
    "pageup": ("hand +z", (0.0, 0.0, 1.0)),
    "pagedown": ("hand -z", (0.0, 0.0, -1.0)),
}


class Controls:
    """The panel beside the picture of a live run.

    Args:
        grasp: the visitor's hand; None if no hand can be dragged.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        scene: Scene,
        requests: Requests,
        grasp: Grasp | None,
        drawing: Drawing,
    ) -> None:
        self._server, self._scene, self._requests, self._grasp = server, scene, requests, grasp
        self._kinematics = drawing.kinematics
        self._clutched = self._was_held = self._recording = False
        self._held_until = 0.0  # [s], by the monotonic clock
        gui = server.gui
        gui.set_panel_label(f"{scene['rig']} · {scene['law']}")
        self._add_stop()
        couple = gui.add_button_group("coupling", ("Engage", "Release", "Clutch"))
        couple.on_click(lambda _: self._press(couple.value))
        trips = gui.add_button_group("trips", ("Reset",))
        trips.on_click(lambda _: self._press("Reset"))
        self.views = Views(server, scene, drawing.kinematics, drawing.view)
        self._status = gui.add_html("")
        self._tuning = Tuning(gui, scene, requests)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Drive"):
            self._add_drive()
        with tabs.add_tab("State"):
            self._state = gui.add_html("")
        with tabs.add_tab("Plots"):
            self._plots = Plots(gui, scene)
        with tabs.add_tab("Tune"):
            self._tuning.add_live()
            add_trial(gui, scene)
            self._tuning.add_any()
        if scene["menus"]["records"]:
            with tabs.add_tab("Record"):
                self._add_record()
        with tabs.add_tab("Log"):
            self._log = gui.add_html("")
        self._add_keys()

    def show(self, reading: Reading, health: Health, recording: bool) -> None:
        """Put the newest status into the panel, and report what was refused."""
        self._status.content = panel(reading, self._scene, health)
        self._log.content = log(reading)
        for path, value in reading.changes.items():
            self._tuning.known(path, value)
        for path, why in reading.refusals:
            self._tuning.restore(path)
            self.refuse(why)
        reading.changes.clear()
        reading.refusals.clear()
        self._plots.show()
        if recording != self._recording and self._scene["menus"]["records"]:
            self._recording = recording
            self._record.label = "Stop recording" if recording else "Record"
            self._record.color = "red" if recording else None

    def follow(self, reading: Reading, health: Health) -> None:
        """Show the newest numbers, and move the cameras that are on the follower."""
        self._plots.add(reading, health)
        self._state.content = state(reading, self._scene, self._kinematics)
        self.views.update()

    def refuse(self, why: str) -> None:
        """Show every visitor why something was not done."""
        for client in self._server.get_clients().values():
            client.add_notification("Refused", why, auto_close_seconds=NOTICE_S, color="orange")

    def keep_alive(self, reading: Reading) -> None:
        """Release the coupling when the dead-man is released."""
        if not self._deadman.value:
            return
        held = time.monotonic() < self._held_until
        if held and not self._was_held:
            self._requests.send("engage")
        elif not held and (self._was_held or reading.engagement >= 1.0):
            self._requests.send("release")
        self._was_held = held

    def _add_stop(self) -> None:
        """A button over the picture, and one at the top of the panel, where nothing can move it."""
        gui = self._server.gui
        floating = gui.add_panel()
        with floating.add_tab("Stop"):
            over = gui.add_button(STOP, color="red")
        floating.float(x=15, y=-15, width=230)
        for button in (over, gui.add_button(STOP, color="red")):
            button.on_click(lambda _: self._requests.send("stop"))

    def _press(self, what: str) -> None:
        if what == "Clutch":
            self._clutched = not self._clutched
            self._requests.send("clutch" if self._clutched else "declutch")
            return
        self._clutched = False
        self._requests.send(what.lower())

    def _hold(self, seconds: float) -> None:
        self._held_until = time.monotonic() + seconds

    def _add_drive(self) -> None:
        gui = self._server.gui
        if self._grasp is not None:
            spring = f"a spring of {self._grasp.stiffness:g} N/m"
            gui.add_markdown(
                f"**Drag the arrows on the {self._grasp.robot}'s tool.** Your hand is {spring} "
                f"that pulls with at most {self._grasp.most:.0f} N."
            )
            back = gui.add_button("Hand back to its path  (H)")
            back.on_click(lambda _: self._grasp.release() if self._grasp else None)
        hint = "Coupled only while the button below or D is held"
        self._deadman = gui.add_checkbox("dead-man", False, hint=hint)
        hold = gui.add_button("Hold to stay coupled  (D)", visible=False)
        hold.on_hold(lambda _: self._hold(BUTTON_HOLD_S), callback_hz=10.0)

        def arm(_: object) -> None:
            hold.visible = self._deadman.value
            self._requests.send("deadman", "", self._deadman.value)

        self._deadman.on_update(arm)
        self._tuning.add_choices()
        with gui.add_folder("Keys", expand_by_default=False):
            gui.add_markdown(KEYS)
        with gui.add_folder("What the picture shows", expand_by_default=False):
            gui.add_markdown(LEGEND.format(scale=f"10 cm for {self._scene['arrow']:g} N"))
        if self._scene["menus"]["restartable"]:
            end = gui.add_button("End the run", color="gray", hint="As Ctrl-C where it was started")
            end.on_click(lambda _: self._requests.send("end"))

    def _add_record(self) -> None:
        gui, rig = self._server.gui, self._scene["rig"]
        name = gui.add_text("file", f"{rig}.mcap", hint="In the folder that farhand was started in")

        def record(_: object) -> None:
            self._requests.send("record", "" if self._recording else name.value)

        self._record = gui.add_button("Record")
        self._record.on_click(record)
        gui.add_markdown("Play it again with `farhand replay FILE`; everything done here is in it.")

    def _add_keys(self) -> None:
        gui = self._server.gui
        presses: list[tuple[str, Any, Any]] = [
            ("Stop", "escape", lambda _: self._requests.send("stop")),
            ("Stop now", "S", lambda _: self._requests.send("stop")),
            ("Engage", "E", lambda _: self._press("Engage")),
            ("Release", "R", lambda _: self._press("Release")),
            ("Clutch", "C", lambda _: self._press("Clutch")),
            ("Clear trips", "X", lambda _: self._press("Reset")),
            ("Hold the dead-man", "D", lambda _: self._hold(KEY_HOLD_S)),
            ("Overview", "O", lambda event: self.views.choose(event.client, OVERVIEW)),
            ("View from the follower", "V", lambda event: self.views.choose(event.client, EYES)),
        ]
        grasp = self._grasp
        if grasp is not None:
            presses.append(("Hand back to its path", "H", lambda _: grasp.release()))
            for key, (label, axis) in _STEPS.items():
                step = KEY_STEP_M * np.array(axis)
                presses.append((label, key, lambda _, step=step: grasp.nudge(step)))
        for label, key, press in presses:
            gui.add_command(label, hotkey=key).on_trigger(press)
