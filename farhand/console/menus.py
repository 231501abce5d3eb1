"""What an operator may choose and set, as plain values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from farhand.coupling import every_law
from farhand.link.layers import every_layer
from farhand.parameters import children, declared, describe
from farhand.rigs.rig import scenarios_of

if TYPE_CHECKING:
    from farhand.rigs import Rig


class Knob(TypedDict):
    """One parameter that can be set while a run goes on."""

    path: str  # such as ``wall.stiffness``
    value: Any  # a number, a bool, a word or a list of numbers
    unit: str  # of the value, ``"-"`` for none
    meaning: str  # a few words
    low: float | None  # smallest value; None for no bound
    high: float | None  # largest value; None for no bound
    choices: list[str]  # allowed words; empty for any


class Menus(TypedDict):
    """What needs a new session to change, and what is chosen now."""

    laws: list[str]  # by name; empty if the rig has no coupling
    layers: list[str]  # passivity layers by name
    scenarios: dict[str, str]  # one line on each, by name
    # what the rig is built from, such as ``rig.limb``, with its choices
    build: dict[str, list[str]]
    meanings: dict[str, str]  # a few words on each of them
    # ``law``, ``layer``, ``scenario``, ``delay`` [ms], ``jitter`` [ms] and ``loss`` of this
    # session
    chosen: dict[str, Any]
    linked: bool  # whether a link carries the coupling, so that its delay can be changed live
    unlinked: str  # one line on why none does; empty if one does
    restartable: bool  # whether a visitor may begin a new session
    records: bool  # whether the page begins and ends recordings


def menus_of(rig: Rig) -> Menus:
    """What can be chosen for a rig."""
    options = rig.options
    link = rig.parts.link
    chosen: dict[str, Any] = {"law": rig.law, "layer": options.layer, "scenario": rig.scenario.name}
    network = options if link is None else link
    chosen |= {"delay": network.delay, "jitter": network.jitter, "loss": network.loss}
    # One side alone cannot be restarted from its page
    whole = options.side is None
    build, choices = {"rig": rig.construction}, dict[str, list[str]]()
    meanings = dict[str, str]()
    for path, value, _, meaning in describe(build) if whole else ():
        if names := list(declared(build, path)["choices"]):
            choices[path], meanings[path], chosen[path] = names, meaning, value
    coupled = bool(rig.session.bridges) and whole
    # a task has no other moves
    own = {rig.scenario.name: rig.scenario}
    scenarios = own if options.task is not None else scenarios_of(rig.name)
    return {
        "laws": sorted({*every_law(), rig.law}) if coupled else [],
        "layers": ["none", *every_layer()] if coupled else [],
        "scenarios": {name: s.title for name, s in scenarios.items()} if whole else {},
        "build": choices,
        "meanings": meanings,
        "chosen": chosen,
        "linked": link is not None and bool(link.connected),
        "unlinked": _unlinked(rig),
        "restartable": whole,
        "records": whole,
    }


def _unlinked(rig: Rig) -> str:
    """Why no emulated link carries the coupling, in one line; empty if one does."""
    link = rig.parts.link
    if not rig.session.bridges:
        return (
            "No data link couples these arms: each feels only what it holds, so there is no delay "
            "to set."
        )
    if rig.options.side is not None:
        return "The two sides meet over a real network, whose delay cannot be set here."
    if link is not None and link.connected:
        return ""
    if rig.parts.startup is not None:
        return "The start-up sequence runs in one process, so there is no delay to set."
    return "This run was started without a link, so there is no delay to set."


def knobs_of(parameters: object) -> list[Knob]:
    """Every live parameter."""
    return [_knob(parameters, path, value) for path, value, *_ in describe(parameters)]


def range_of(knob: Knob) -> str:
    """What a knob takes, such as ``0 to 10000 ms``."""
    if knob["choices"]:
        return " or ".join(knob["choices"])
    unit = "" if knob["unit"] == "-" else f" {knob['unit']}"
    low, high = knob["low"], knob["high"]
    if low is not None and high is not None:
        return f"{low:g} to {high:g}{unit}"
    if not isinstance(knob["value"], float):
        return unit.strip()
    return f"any number,{unit}" if unit else "any number"


def path_of(root: object, part: object, prefix: str = "") -> str | None:
    """Path of a part below ``root``; None if it is not there."""
    for name, child in children(root):
        path = f"{prefix}{name}"
        if child is part:
            return path
        if isinstance(child, Mapping | tuple) or dataclasses.is_dataclass(child):
            found = path_of(child, part, f"{path}.")
            if found is not None:
                return found
    return None


def _knob(parameters: object, path: str, value: Any) -> Knob:
    about = declared(parameters, path)
    return {
        "path": path,
        "value": value.tolist() if isinstance(value, np.ndarray | np.generic) else value,
        "unit": about["unit"],
        "meaning": about["doc"],
        "low": about["low"] if math.isfinite(about["low"]) else None,
        "high": about["high"] if math.isfinite(about["high"]) else None,
        "choices": list(about["choices"]),
    }
