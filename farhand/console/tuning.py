"""Tuning: forms for what can be changed while a run goes on, and for what begins a new session."""

from __future__ import annotations

from typing import Any

import viser

from farhand.console.menus import Knob, range_of
from farhand.console.requests import Requests
from farhand.console.scene import Scene

SCALES = ("law.mapping.motion_scale", "law.mapping.force_scale")
LINK = ("link.delay", "link.jitter", "link.loss")
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
MOST_GAINS = 8


class Tuning:
    """Forms for law, link and parameters.

    Args:
        gui: where they are put.
        scene: what there is to set.
        requests: the way to the session.
    """

    def __init__(self, gui: viser.GuiApi, scene: Scene, requests: Requests) -> None:
        self._gui, self._scene, self._requests = gui, scene, requests
        self._knobs = {knob["path"]: knob for knob in scene["knobs"]}
        self._inputs: dict[str, list[Any]] = {}

    def add_choices(self) -> None:
        """Law, layer, scenario and what the rig is built from: a change begins a new session in this page."""
        menus, gui = self._scene["menus"], self._gui
        if not menus["anew"]:
            return
        chosen, inputs = menus["chosen"], dict[str, Any]()
        gui.add_html(_note("These begin a new session here: the arms go back to where they start."))
        with gui.add_form(None) as form:
            if menus["laws"]:
                inputs["law"] = gui.add_dropdown("law", menus["laws"], initial_value=chosen["law"])
                inputs["layer"] = gui.add_dropdown(
                    "layer", menus["layers"], initial_value=chosen["layer"]
                )
            names = list(menus["scenarios"])
            inputs["scenario"] = gui.add_dropdown(
                "scenario", names, initial_value=chosen["scenario"]
            )
            about = gui.add_html(_note(menus["scenarios"][chosen["scenario"]]))
            for path, choices in menus["build"].items():
                inputs[path] = gui.add_dropdown(_label(path), choices, initial_value=chosen[path])
            start = gui.add_button("Start", hint="Begin a new session with these")
        inputs["scenario"].on_update(
            lambda _: setattr(about, "content", _note(menus["scenarios"][inputs["scenario"].value]))
        )
        start.on_click(lambda _: form.submit())
        form.on_submit(lambda _: self._requests.send("restart", "", self._wishes(inputs)))

    def _wishes(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What is chosen; of what the rig is built from only what was changed, for a scenario has its own say in it."""
        menus = self._scene["menus"]
        wanted = {name: item.value for name, item in inputs.items()}
        same = {name for name in menus["build"] if wanted.get(name) == menus["chosen"][name]}
        return {name: value for name, value in wanted.items() if name not in same}

    def add_live(self) -> None:
        """Scale, gains, hand, wall and link."""
        gains = [
            path
            for path in self._knobs
            if path.startswith(("law.", "layer.")) and path not in SCALES
        ]
        gains = [
            path for path in gains if ".mapping." not in path and not self._knobs[path]["choices"]
        ][:MOST_GAINS]
        for label, paths in (
            ("Scale", SCALES),
            ("Gains", gains),
            ("Hand", HAND),
            ("Wall", WALL),
            ("Limb", LIMB),
        ):
            known = [path for path in paths if path in self._knobs]
            if known:
                self._add_form(label, known)
        if LINK[0] in self._knobs and (
            self._scene["menus"]["linked"] or self._scene["menus"]["anew"]
        ):
            self._add_form(
                "Link", list(LINK), None if self._scene["menus"]["linked"] else self._relink
            )

    def add_any(self) -> None:
        """Every other parameter, one at a time."""
        gui, paths = self._gui, sorted(self._knobs)
        if not paths:
            return
        with gui.add_folder("Any parameter", expand_by_default=False), gui.add_form(None) as form:
            chosen = gui.add_dropdown("parameter", paths)
            value: Any = gui.add_text("value", _text(self._knobs[paths[0]]["value"]))
            about = gui.add_html(_note(_about(self._knobs[paths[0]])))
            button = gui.add_button("Set")

        def show(_: object) -> None:
            knob = self._knobs[chosen.value]
            value.value = _text(knob["value"])
            about.content = _note(_about(knob))

        chosen.on_update(show)
        button.on_click(lambda _: form.submit())
        form.on_submit(lambda _: self._requests.send("set", chosen.value, value.value))

    def known(self, path: str, value: Any) -> None:
        """Show the value a parameter now has."""
        if path not in self._knobs:
            return
        before = self._knobs[path]["value"]
        self._knobs[path]["value"] = (
            value if not isinstance(before, bool) else str(value).lower() in _TRUE
        )
        self.restore(path)

    def restore(self, path: str) -> None:
        """Put an input back to what its parameter really is, after a refusal."""
        for item in self._inputs.get(path, ()):
            value = self._knobs[path]["value"]
            item.value = value if isinstance(value, bool) else _text(value)

    def _add_form(self, label: str, paths: list[str], instead: Any = None) -> None:
        gui = self._gui
        with (
            gui.add_folder(label, expand_by_default=label in ("Scale", "Gains")),
            gui.add_form(None) as form,
        ):
            inputs = {path: self._add_input(path) for path in paths}
            button = gui.add_button("Apply", hint="or press Enter")
        button.on_click(lambda _: form.submit())

        def submit(_: object) -> None:
            changed = {p: i.value for p, i in inputs.items() if i.value != self._shown(p)}
            if instead is not None and changed:
                instead({path: item.value for path, item in inputs.items()})
                return
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
            item = gui.add_text(label, _text(knob["value"]), hint=hint)
        self._inputs.setdefault(path, []).append(item)
        return item

    def _shown(self, path: str) -> Any:
        value = self._knobs[path]["value"]
        return value if isinstance(value, bool) else _text(value)

    def _relink(self, values: dict[str, str]) -> None:
        """A run without a link has nothing to delay: it needs a new session with one."""
        options = {path.rpartition(".")[2]: value for path, value in values.items()}
        self._requests.send("restart", "", options)


def _label(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


_TRUE = ("true", "1", "on", "yes")


def _in_order(changed: dict[str, Any], knobs: dict[str, Knob]) -> list[str]:
    """Delay before jitter where the delay grows, after it where it shrinks: jitter must fit into the delay."""
    paths = list(changed)
    try:
        shrinks = float(changed["link.delay"]) < float(knobs["link.delay"]["value"])
    except (KeyError, ValueError):
        return paths
    return paths[::-1] if shrinks else paths


def _about(knob: Knob) -> str:
    return f"{knob['meaning']}; {range_of(knob)}"


def _text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if isinstance(value, list):
        return ",".join(f"{number:g}" for number in value)
    return (
        f"{value:g}"
        if isinstance(value, float)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _note(text: str) -> str:
    return (
        f"<div style='padding:0 14px 6px;font-size:12px;line-height:1.4;opacity:0.7'>{text}</div>"
    )
