"""The panel of a live run, by mouse and keyboard: stop, coupling, hand, tuning, recording."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import viser

from farhand.console.drawing import Drawing
from farhand.console.grasp import KEY_STEP_M, Grasp
from farhand.console.live import Action, Live
from farhand.console.scene import Scene
from farhand.console.source import Requests
from farhand.console.status import GRIPPER, Health, Reading, log, newtons, panel, state
from farhand.console.tuning import Tuning, add_trial
from farhand.console.views import EYES, OVERVIEW, Views

BUTTON_HOLD_S, KEY_HOLD_S = 0.35, 0.8
"""How long a dead-man counts as held after the last event; a key repeats only after half a
second."""

SQUEEZE = "fingers.squeeze"
PRESSED = ("engage", "release", "clutch", "reset")
SETTLE_S = 1.0  # after a motion, in which the state is still shown with every frame
SURE_S = 4.0  # within which a second press ends the run
NOTICE_S = 8.0  # how long a refusal stays on the page

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
    "workspace, or the region of a pen, orange in rate mode; axes show where the pen moves the "
    "follower. A ring at a tool: it touched something just now. “law”: what the law asks for, as "
    "nothing measures it; “synthetic”: computed from the limits of the follower."
)


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
        live: Live,
    ) -> None:
        self._server, self._scene, self._requests, self._grasp = server, scene, requests, grasp
        self._drawing, self._moving_until = drawing, 0.0
        self._clutched = self._was_held = self._recording = False
        self._fingers: Any = None  # slider that closes a coupled gripper
        self._held_until = 0.0  # [s], by the monotonic clock
        self._sure_until = 0.0  # [s], by the same clock
        gui = server.gui
        gui.set_panel_label(f"{scene['rig']} · {scene['law']}")
        coupled = any(thing["kind"] == "tie" for thing in scene["things"])
        if coupled:
            couple = gui.add_button_group("coupling", ("Engage", "Release", "Clutch"))
            couple.on_click(lambda _: self._press(couple.value.lower()))
        trips = gui.add_button_group("after a stop", ("Reset",))
        trips.on_click(lambda _: self._press("reset"))
        self.views = Views(server, scene, drawing.kinematics, drawing.view, live)
        if self.views.has_eyes:
            view = gui.add_button_group("view", ("Overview", "Follower's eyes"))
            view.on_click(
                lambda event: self.views.give(event.client, EYES if "'" in view.value else OVERVIEW)
            )
        self._status = gui.add_html("")
        self._tuning = Tuning(gui, scene, requests)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Drive"):
            self._add_drive(drawing)
        with tabs.add_tab("State"):
            self._state = gui.add_html("")
        with tabs.add_tab("Tune"):
            self._tuning.add_live()
            add_trial(gui, scene)
            self._tuning.add_any()
        if scene["menus"]["records"]:
            with tabs.add_tab("Record"):
                self._add_record()
        with tabs.add_tab("Log"):
            self._log = gui.add_html("")

    @property
    def actions(self) -> dict[str, Action]:
        """What visitors may ask for by key or by the page's own buttons."""
        requests, grasp = self._requests, self._grasp

        def press(name: str) -> Action:
            return lambda number, value: self._press(name)

        actions: dict[str, Action] = {name: press(name) for name in PRESSED}
        actions |= {
            "stop": lambda number, value: requests.send("stop"),
            "hold": lambda number, value: self._hold(KEY_HOLD_S),
            "view": lambda number, value: self.views.choose(number, str(value)),
            "hello": lambda number, value: self.views.greet(number),
            "set": lambda number, value: self._set(value),
            "restart": lambda number, value: requests.send("restart", "", dict(value)),
            "again": lambda number, value: requests.send("again"),
        }
        if grasp is not None:
            actions["nudge"] = lambda number, value: grasp.nudge(
                KEY_STEP_M * np.array(value, float)
            )
            actions["path"] = lambda number, value: grasp.release()
        return actions

    def show(self, reading: Reading, health: Health, recording: bool) -> None:
        """Put the newest status into the panel, and report what was refused."""
        _put(self._status, panel(reading, self._scene, health))
        _put(self._log, log(reading))
        self._show_state(reading)
        for path, value in reading.changes.items():
            self._tuning.known(path, value)
        for path, why in reading.refusals:
            self._tuning.restore(path)
            self.refuse(why)
        reading.changes.clear()
        reading.refusals.clear()
        if recording != self._recording and self._scene["menus"]["records"]:
            self._recording = recording
            self._record.label = "Stop recording" if recording else "Record"
            self._record.color = "red" if recording else None

    def follow(self, reading: Reading) -> None:
        """Show where the joints are while they move; move a slider's value and the cameras on."""
        if self._drawing.moved:
            self._moving_until = time.monotonic() + SETTLE_S
        if time.monotonic() < self._moving_until:
            self._show_state(reading)
        self._tuning.follow()
        self.views.update()

    def _show_state(self, reading: Reading) -> None:
        _put(self._state, state(reading, self._scene, self._drawing.kinematics))

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

    def _press(self, what: str) -> None:
        if what == "clutch":
            self._clutched = not self._clutched
            self._requests.send("clutch" if self._clutched else "declutch")
            return
        self._clutched = False
        self._requests.send(what)

    def _set(self, values: list[tuple[str, object]]) -> None:
        for path, value in values:
            self._requests.send("set", path, value)

    def _hold(self, seconds: float) -> None:
        self._held_until = time.monotonic() + seconds

    def _add_drive(self, drawing: Drawing) -> None:
        gui = self._server.gui
        if self._grasp is not None:
            spring = f"a spring of {self._grasp.stiffness:.0f} N/m"
            roles = {robot["name"]: robot["role"] for robot in self._scene["robots"]}
            whose = self._grasp.robot
            what = "beam or box" if roles[whose] == "object" else f"{whose}'s tool"
            gui.add_markdown(
                f"**Drag the arrows on the {what}.** Your hand is {spring} "
                f"that pulls with at most {newtons(self._grasp.most)}."
            )
            back = gui.add_button("Hand back to its path  (H)")
            back.on_click(lambda _: self._grasp.release() if self._grasp else None)
        self._add_fingers()
        hint = "Coupled only while the button below or D is held"
        coupled = any(thing["kind"] == "tie" for thing in self._scene["things"])
        self._deadman = gui.add_checkbox("dead-man", False, hint=hint, visible=coupled)
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
            for name, layer in drawing.layers.items():
                self._add_layer(name, layer)
        if self._scene["menus"]["restartable"]:
            gui.add_button("Play again").on_click(lambda _: self._requests.send("again"))
            hint = "As Ctrl-C where it was started; press twice"
            end = gui.add_button("End the run", color="gray", hint=hint)
            end.on_click(lambda _: self._end(end))

    def _add_fingers(self) -> None:
        """A slider that closes the leader's gripper, where the coupling passes it on."""
        values = {knob["path"]: knob["value"] for knob in self._scene["knobs"]}
        coupled = any(GRIPPER in thing.get("joints", ()) for thing in self._scene["things"])
        if SQUEEZE not in values or not coupled:
            return
        hint = "Your fingers on the leader's gripper: 0 open, 1 closed"
        slider: Any = self._server.gui.add_slider(
            "close the gripper", 0.0, 1.0, 0.05, float(values[SQUEEZE]), hint=hint
        )
        slider.on_update(lambda _: self._requests.send("set", SQUEEZE, float(slider.value)))
        self._fingers = slider

    def _add_layer(self, name: str, layer: viser.FrameHandle) -> None:
        box = self._server.gui.add_checkbox(f"show {name}", True)
        box.on_update(lambda _: setattr(layer, "visible", box.value))

    def _end(self, button: viser.GuiButtonHandle) -> None:
        """End the run at the second press within a few seconds."""
        if time.monotonic() < self._sure_until:
            self._requests.send("end", "", True)
            return
        self._sure_until = time.monotonic() + SURE_S
        button.label = "End the run for everybody?"
        threading.Timer(SURE_S, lambda: setattr(button, "label", "End the run")).start()

    def _add_record(self) -> None:
        gui, rig = self._server.gui, self._scene["rig"]
        name = gui.add_text("file", f"{rig}.mcap", hint="In the folder that farhand was started in")

        def record(_: object) -> None:
            self._requests.send("record", "" if self._recording else name.value)

        self._record = gui.add_button("Record")
        self._record.on_click(record)
        gui.add_markdown("Play it again with `farhand replay FILE`; everything done here is in it.")


def _put(item: viser.GuiHtmlHandle, content: str) -> None:
    """Show a text; one that is there already is not sent again."""
    if item.content != content:
        item.content = content
