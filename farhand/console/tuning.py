"""Forms for what can be changed live, and for what begins a new session."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from farhand.console.menus import Knob, range_of
from farhand.console.scene import Scene
from farhand.console.source import Requests
from farhand.console.things import chain_of
from farhand.mapping.ik.chain import STATUSES
from farhand.parameters import value_text

SCALES = ("law.mapping.motion_scale", "law.mapping.force_scale")
DELAY = "link.delay"
LINK = (DELAY, "link.jitter", "link.loss")
MAX_SLIDER_MS = 500.0
"""Round-trip delay at the slider's end; the form takes more."""

GLIDE_PERIOD_S = 0.1  # between two values that a moving slider sends
MAX_GLIDE_STEP_MS = 100.0
"""Largest change at once, of round trip: after a growth of 400 ms in one step, nothing would arrive
for 0.2 s, and the watchdog would part the arms."""

HAND = ("hand.stiffness", "hand.damping", "hand.open")
WALL = ("wall.present", "wall.point", "wall.stiffness", "wall.damping")
LIMB = (
    "follower.bus.orders.speed",
    "follower.bus.orders.passive",
    "follower.dead_band.width",
    "follower.single.joint",
    "follower.single.angle",
    "leader.force.update",
    "leader.device.inkwell.check",
    "demonstration.active",
)
MAX_GAINS = 8


class Glide:
    """A slider's value on its way to the session: not too often, and not in one jump.

    Args:
        send: takes a value.
        value: at the beginning.
    """

    def __init__(self, send: Callable[[float], None], value: float) -> None:
        self._send, self._sent, self._target, self._due = send, value, value, 0.0

    def move(self, target: float) -> None:
        """Go to another value."""
        self._target = target

    def step(self, now: float) -> None:
        """Send the next value, if it is time; ``now`` in [s]."""
        left = self._target - self._sent
        if left and now >= self._due:
            self._due = now + GLIDE_PERIOD_S
            self._sent += min(MAX_GLIDE_STEP_MS, max(-MAX_GLIDE_STEP_MS, left))
            self._send(self._sent)

    def settle(self, value: float) -> bool:
        """Take over a value that was set elsewhere; False while this one is still moving."""
        moving = self._target != self._sent
        if not moving:
            self.stop(value)
        return not moving

    def stop(self, value: float) -> None:
        """Go no farther, because a value was refused; ``value`` is the true one."""
        self._sent = self._target = value


class Tuning:
    """Forms for law, link and parameters."""

    def __init__(self, gui: viser.GuiApi, scene: Scene, requests: Requests) -> None:
        self._gui, self._scene, self._requests = gui, scene, requests
        self._knobs = {knob["path"]: knob for knob in scene["knobs"]}
        self._inputs: dict[str, list[Any]] = {}
        self._slider: Any = None
        self._glide: Glide | None = None

    def add_delay(self) -> None:
        """A slider for the link's delay that acts while it is moved, or why there is none."""
        menus, gui = self._scene["menus"], self._gui
        if menus["unlinked"] or DELAY not in self._knobs:
            gui.add_html(_note(menus["unlinked"]))
            return
        hint = "Round trip; it changes while you move the slider, and the session goes on"
        shown = self._on_slider(DELAY)
        slider: Any = gui.add_slider("delay [ms]", 0.0, MAX_SLIDER_MS, 1.0, shown, hint=hint)
        glide = Glide(lambda delay: self._requests.send("set", DELAY, delay), self._number(DELAY))

        def slide(event: Any) -> None:
            # Only a visitor's own move counts, not the value that is shown in answer to it
            if event.client_id is not None:
                glide.move(float(slider.value))

        slider.on_update(slide)
        self._slider, self._glide = slider, glide

    def follow(self) -> None:
        """Send what a moving slider has to send; call it with every frame."""
        if self._glide is not None:
            self._glide.step(time.monotonic())

    def add_choices(self) -> None:
        """Delay, law, layer, scenario and parts of the rig; all but the delay begin a session."""
        self.add_delay()
        menus, gui = self._scene["menus"], self._gui
        if not menus["restartable"]:
            return
        inputs = dict[str, Any]()

        def choose(name: str, choices: list[str]) -> None:
            value = menus["chosen"][name]
            hint = menus["meanings"].get(name)
            inputs[name] = gui.add_dropdown(_label(name), choices, initial_value=value, hint=hint)

        fresh = "These begin a new session here: the arms go back to where they start"
        gui.add_html(_note(f"{fresh}, and what you have set stays."))
        with gui.add_form(None) as form:
            if menus["laws"]:
                choose("law", menus["laws"])
                choose("layer", menus["layers"])
            choose("scenario", list(menus["scenarios"]))
            about = gui.add_html(_note(menus["scenarios"][menus["chosen"]["scenario"]]))
            for path, choices in menus["build"].items():
                choose(path, choices)
            start = gui.add_button("Start a new session", hint="With these choices")

        def describe(_: object) -> None:
            about.content = _note(menus["scenarios"][inputs["scenario"].value])

        inputs["scenario"].on_update(describe)
        start.on_click(lambda _: form.submit())
        form.on_submit(lambda _: self._requests.send("restart", "", self._changes(inputs)))

    def _changes(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What is chosen; unchanged parts of the rig are left to the scenario."""
        menus = self._scene["menus"]
        values = {name: item.value for name, item in inputs.items()}
        same = {name for name in menus["build"] if values.get(name) == menus["chosen"][name]}
        return {name: value for name, value in values.items() if name not in same}

    def add_live(self) -> None:
        """Scale, gains, hand, wall and link."""
        gains = [
            path
            for path, knob in self._knobs.items()
            if path.startswith(("law.", "layer.")) and not knob["choices"]
        ]
        gains = [path for path in gains if path not in SCALES and ".mapping." not in path]
        forms = {"Scale": SCALES, "Gains": gains[:MAX_GAINS], "Hand": HAND, "Wall": WALL}
        for label, paths in (forms | {"Robot": LIMB}).items():
            known = [path for path in paths if path in self._knobs]
            if known:
                self._add_form(label, known)
        if DELAY in self._knobs and self._scene["menus"]["linked"]:
            self._add_form("Link", list(LINK))

    def add_any(self) -> None:
        """Every other parameter, one at a time."""
        gui, paths = self._gui, sorted(self._knobs)
        if not paths:
            return
        with gui.add_folder("Any parameter", expand_by_default=False), gui.add_form(None) as form:
            chosen = gui.add_dropdown("parameter", paths)
            value: Any = gui.add_text("value", value_text(self._knobs[paths[0]]["value"]))
            about = gui.add_html(_note(_about(self._knobs[paths[0]])))
            button = gui.add_button("Set")

        def show(_: object) -> None:
            knob = self._knobs[chosen.value]
            value.value = value_text(knob["value"])
            about.content = _note(_about(knob))

        chosen.on_update(show)
        button.on_click(lambda _: form.submit())
        form.on_submit(lambda _: self._requests.send("set", chosen.value, value.value))

    def known(self, path: str, value: Any) -> None:
        """Show the value a parameter now has."""
        if path not in self._knobs:
            return
        if isinstance(self._knobs[path]["value"], bool):
            value = str(value).lower() in ("true", "1", "on", "yes")
        self._knobs[path]["value"] = value
        self._show(path)

    def restore(self, path: str) -> None:
        """Show the true value of a parameter again, after a refusal."""
        if path == DELAY and self._glide is not None:
            self._glide.stop(self._number(path))
            self._slider.value = self._on_slider(path)
        self._show(path)

    def _show(self, path: str) -> None:
        for item in self._inputs.get(path, ()):
            item.value = self._shown(path)
        # While somebody moves the slider, what it shows is ahead of what is set
        if path == DELAY and self._glide is not None and self._glide.settle(self._number(path)):
            self._slider.value = self._on_slider(path)

    def _add_form(self, label: str, paths: list[str]) -> None:
        gui, expanded = self._gui, label in ("Scale", "Gains")
        with gui.add_folder(label, expand_by_default=expanded), gui.add_form(None) as form:
            inputs = {path: self._add_input(path) for path in paths}
            button = gui.add_button("Apply", hint="or press Enter")
        button.on_click(lambda _: form.submit())

        def submit(_: object) -> None:
            changed = {p: i.value for p, i in inputs.items() if i.value != self._shown(p)}
            for path in _in_order(changed, self._knobs):
                self._requests.send("set", path, changed[path])

        form.on_submit(submit)

    def _add_input(self, path: str) -> Any:
        knob, gui = self._knobs[path], self._gui
        label = _label(path) + ("" if knob["unit"] == "-" else f" [{knob['unit']}]")
        hint = _about(knob)
        if isinstance(knob["value"], bool):
            item: Any = gui.add_checkbox(label, knob["value"], hint=hint)
        elif knob["choices"]:
            item = gui.add_dropdown(label, knob["choices"], initial_value=knob["value"], hint=hint)
        else:
            item = gui.add_text(label, value_text(knob["value"]), hint=hint)
        self._inputs.setdefault(path, []).append(item)
        return item

    def _shown(self, path: str) -> Any:
        value = self._knobs[path]["value"]
        return value if isinstance(value, bool) else value_text(value)

    def _number(self, path: str) -> float:
        return float(self._knobs[path]["value"])

    def _on_slider(self, path: str) -> float:
        return min(float(round(self._number(path))), MAX_SLIDER_MS)


def _label(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


def _in_order(changed: dict[str, Any], knobs: dict[str, Knob]) -> list[str]:
    """The paths with delay before jitter if the delay grows, else after: jitter must fit in."""
    paths = list(changed)
    try:
        shrinks = float(changed["link.delay"]) < float(knobs["link.delay"]["value"])
    except (KeyError, ValueError):
        return paths
    return paths[::-1] if shrinks else paths


def _about(knob: Knob) -> str:
    return f"{knob['meaning']}; {range_of(knob)}"


def _note(text: str) -> str:
    style = "padding:0 14px 6px;font-size:12px;line-height:1.4;opacity:0.7"
    return f"<div style='{style}'>{html.escape(text)}</div>"


def try_place(limb: str, text: str) -> str:
    """Angles of a limb for a place ``x,y,z`` [m] in its base, or why there are none."""
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        return f"{text!r} is not three numbers with commas between them"
    chain = chain_of(limb)
    start = np.clip(np.zeros(3), chain.lowest, chain.highest)
    solution = chain.solve(np.array([x, y, z]), start)
    if solution.status != "solved":
        return f"{solution.status}: {STATUSES[solution.status]}"
    return "solved: " + ", ".join(f"{angle:.1f}°" for angle in np.degrees(solution.q))


def add_trial(gui: viser.GuiApi, scene: Scene) -> Any:
    """A form to try where a limb can reach, without moving it; None if the rig leads no limb."""
    limb = scene["menus"]["chosen"].get("rig.limb")
    if limb is None:
        return None
    with gui.add_folder("Inverse kinematics", expand_by_default=False), gui.add_form(None) as form:
        hint = f"Of the {limb}'s end from its base"
        place = gui.add_text("x,y,z [m]", "0.15,0.08,-0.10", hint=hint)
        answer = gui.add_html(_note("Nothing moves: this only shows which angles would be sent."))
        button = gui.add_button("Try")
    button.on_click(lambda _: form.submit())
    form.on_submit(lambda _: setattr(answer, "content", _note(try_place(limb, place.value))))
    return form
