"""The guided lesson: push, add delay until it shakes, switch on a layer, feel it calm down."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from farhand.console.scene import Scene

LESSON = tomllib.loads((Path(__file__).parent / "page" / "lesson.toml").read_text("utf-8"))


def lesson(scene: Scene) -> list[dict[str, Any]]:
    """The steps for the rig that they were tried on, with a link; none for any other."""
    menus = scene["menus"]
    paths = {knob["path"] for knob in scene["knobs"]}
    fits = menus["restartable"] and scene["rig"] == LESSON["rig"]
    return LESSON["steps"] if fits and paths.issuperset(LESSON["needs"]) else []
