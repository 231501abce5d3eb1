"""Limb page: try out where a limb with a closed form can reach, without moving it."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import viser

from farhand.console.bounds import chain_of
from farhand.console.scene import Scene
from farhand.mapping.ik.chain import STATUSES


def limb_of(scene: Scene) -> str | None:
    """The limb that a rig leads, such as ``left-arm``; None where it has no closed form."""
    found = scene["menus"]["chosen"].get("rig.limb")
    return str(found) if found else None


def try_place(limb: str, text: str) -> str:
    """Angles of a limb for a place in its base, given as ``x,y,z`` [m], in words."""
    try:
        place = np.array([float(part) for part in text.split(",")])
    except ValueError:
        return f"{text!r} is not three numbers with commas between them"
    if place.shape != (3,):
        return f"{text!r} is not three numbers with commas between them"
    chain = chain_of(limb)
    found = chain.solve(place, np.clip(np.zeros(3), chain.lowest, chain.highest))
    if found.status != "solved":
        return f"{found.status}: {STATUSES[found.status]}"
    return "solved: " + ", ".join(f"{angle:.1f}°" for angle in np.degrees(found.q))


def add_trial(gui: viser.GuiApi, scene: Scene) -> Any:
    """A form that tries a place out; None where the rig leads no such limb."""
    limb = limb_of(scene)
    if limb is None:
        return None
    with gui.add_folder("Inverse kinematics", expand_by_default=False), gui.add_form(None) as form:
        place = gui.add_text(
            "x,y,z [m]", "0.15,0.08,-0.10", hint=f"Of the {limb}'s end from its base"
        )
        said = gui.add_html(_note("Nothing moves: this only says which angles would be sent."))
        button = gui.add_button("Try")
    button.on_click(lambda _: form.submit())
    form.on_submit(lambda _: setattr(said, "content", _note(try_place(limb, place.value))))
    return form


def _note(text: str) -> str:
    return (
        f"<div style='padding:0 14px 6px;font-size:12px;line-height:1.4'>{html.escape(text)}</div>"
    )
