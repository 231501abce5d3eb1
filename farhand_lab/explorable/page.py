"""The page of the explorable: runs, predictions, text and script in one HTML file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import farhand
from farhand.analysis.stability.loop import HANDS
from farhand.console import palette
from farhand_lab.explorable.runs import CHANNELS, HAND, MISSING, SAMPLE_S, Grid, unsettled

HERE = Path(__file__).parent

COLOURS = {
    "leader": palette.ROLES["leader"],
    "follower": palette.ROLES["follower"],
    "hand": palette.HAND,
    "wall": palette.WALL,
    "link": palette.COUPLING,
    "error": palette.SPRING,
    "reference": palette.GREY,
}
"""Colours of the console, by what they show."""

LAWS = {
    "position-force": "The follower goes where the leader is. The hand feels the force measured "
    "at the wall.",
    "position-position": "One spring between the two tools, felt on both sides. No force sensor.",
    "four-channel": "Motion and force in both directions, with a model of both arms.",
}
LAYERS = {
    "none": "Nothing watches the energy.",
    "tdpa": "Time-domain passivity: adds damping when more energy would come out than went in.",
    "waves": "Wave variables: sends waves instead of motion and force, which a delay cannot make "
    "unstable.",
}
"""One line on each, for somebody who meets them for the first time."""


def write_page(
    grid: Grid,
    rows: dict[str, dict[str, Any]],
    predictions: dict[str, list[list[float]]],
    drawing: dict[str, Any],
) -> str:
    """The HTML file.

    Args:
        grid: what the page offers.
        rows: results of :func:`farhand_lab.explorable.runs.record` by the cell's name.
        predictions: of :func:`farhand_lab.explorable.runs.predict` by ``law/wall``.
        drawing: from :func:`farhand_lab.explorable.runs.drawing`.
    """
    hand = HANDS[HAND]
    data = {
        "laws": [{"name": law, "about": LAWS.get(law, "")} for law in grid.laws],
        "layers": [{"name": layer, "about": LAYERS.get(layer, "")} for layer in grid.layers],
        "walls": [{"value": wall, "label": wall_label(wall, grid)} for wall in grid.walls],
        "delays": list(grid.delays),
        "seconds": grid.seconds,
        "sample": SAMPLE_S,
        "channels": CHANNELS,
        "missing": MISSING,
        "hand": {"stiffness": hand.stiffness, "damping": hand.damping},
        "steps": steps(grid, rows, predictions),
        "colours": {name: palette.css(colour) for name, colour in COLOURS.items()},
        "predictions": predictions,
        "drawing": drawing,
        "runs": {name: {**row, "unsettled": unsettled(row)} for name, row in rows.items()},
    }
    page = (HERE / "page.html").read_text(encoding="utf-8")
    parts = {
        "STYLE": (HERE / "page.css").read_text(encoding="utf-8"),
        "COLOURS": "".join(f"--{name}: {palette.css(c)}; " for name, c in COLOURS.items()),
        "VERSION": farhand.__version__,
        # "</" would end the script
        "DATA": json.dumps(data, separators=(",", ":"), sort_keys=True).replace("</", "<\\/"),
        "SCRIPT": (HERE / "page.js").read_text(encoding="utf-8"),
    }
    for name, text in parts.items():
        page = page.replace(f"@{name}@", text)
    return page


def wall_label(stiffness: float, grid: Grid) -> str:
    """A wall in words."""
    if stiffness == 0.0:
        return "no wall"
    walls = [wall for wall in grid.walls if wall > 0.0]
    word = "stiff" if stiffness == max(walls) else "soft"
    return f"{word}, {stiffness:g} N/m"


def steps(
    grid: Grid, rows: dict[str, dict[str, Any]], predictions: dict[str, list[list[float]]]
) -> list[dict[str, Any]]:
    """The five steps of the guide; their delays are those at which the recorded runs turn."""
    law, bare, wall = grid.laws[0], grid.layers[0], grid.walls[0]
    layer = grid.layers[1] if len(grid.layers) > 1 else bare

    def row(layer: str, delay: float) -> dict[str, Any]:
        return rows[f"{law}/{layer}/{wall:g}/{delay:g}"]

    def is_rough(delay: float) -> bool:
        found = row(bare, delay)
        return bool(found.get("shakes") or found.get("stopped") or unsettled(found))

    rough = [delay for delay in grid.delays if is_rough(delay)]
    onset = rough[0] if rough else grid.delays[-1]
    calm = [delay for delay in grid.delays if delay < onset] or [grid.delays[0]]
    longer = [delay for delay in grid.delays if delay > onset] or [onset]
    ranges = predictions[f"{law}/{wall:g}"]
    limit = ranges[0][1] if ranges else 0.0
    peak, held = (_newtons(row(around, onset)) for around in (bare, layer))
    texts = [
        (
            "Push",
            grid.delays[0],
            bare,
            "The green spring is your hand. It moves the leader to the left; the follower, far "
            "away, copies it and meets the wall. What it touches comes back: hand force and "
            "contact force rise together.",
        ),
        (
            "Add delay",
            calm[-1],
            bare,
            f"Every message now needs {calm[-1]:g} ms. You still push for a moment after the "
            "follower has hit the wall. It settles, but look at the bar under the slider: the "
            "margin is nearly used up.",
        ),
        (
            "Until it shakes",
            onset,
            bare,
            f"At {onset:g} ms you push against news that is too old, and each correction is "
            f"larger than the last: up to {peak} N. The prediction, made without any run, put the "
            f"limit at {limit:.0f} ms.",
        ),
        (
            "Switch on a layer",
            onset,
            layer,
            f"Same delay, same wall, same hand. The layer {layer} counts energy at both ends and "
            f"damps whatever was never put in. The largest contact force is now {held} N.",
        ),
        (
            "Feel it calm down",
            longer[min(1, len(longer) - 1)],
            layer,
            "A much longer delay, and still calm. The price: motion feels heavier, and the hand "
            "no longer feels exactly what the wall gets. Now try the other laws: which of them "
            "never needed a layer, and what does the hand feel instead?",
        ),
    ]
    return [
        {"title": title, "text": text, "law": law, "wall": wall, "layer": around, "delay": delay}
        for title, delay, around, text in texts
    ]


def _newtons(row: dict[str, Any]) -> int:
    """The largest contact force, rounded as the page does; 0 for a run that was refused."""
    return math.floor(row.get("peak", {}).get("contact", 0.0) + 0.5)
