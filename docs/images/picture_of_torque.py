"""The pictures of docs/torque.md: noise floors of an OpenArm, and floors over detected contacts.

Run with ``python docs/images/picture_of_torque.py FOLDER CONTACTS.json…``; the JSON files are what
``python -m farhand_lab.torque.felt floors ROBOT SEED`` prints.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from farhand.report.figures import GREY, LOOKS, dress, new_figure, save_figure, styled
from farhand.report.torque import floor_figure
from farhand.torque.floor import DIRECTIONS, NoiseFloor

MODELS = ("data sheet", "fitted model")


def contacts_figure(rows):
    """Predicted floor over the smallest contact that was detected, every arm and direction."""
    figure = new_figure(6.5, 4.8)
    ax = figure.add_subplot()
    pairs = [
        (one["detected"], one["predicted"])
        for row in rows
        for m in MODELS
        for one in row[m].values()
    ]
    low, high = 0.6 * np.min(pairs), 1.6 * np.max(pairs)
    line = np.array([low, high])
    ax.fill_between(line, 0.7 * line, 1.3 * line, color="#eef1f4", label="within 30 %")
    ax.plot(line, line, color=GREY, linewidth=1.0)
    for look, row in zip(LOOKS, rows, strict=False):
        for model, face in zip(MODELS, ("white", look["color"]), strict=True):
            x, y = zip(
                *((one["detected"], one["predicted"]) for one in row[model].values()), strict=True
            )
            ax.plot(
                x,
                y,
                linestyle="",
                marker=look["marker"],
                color=look["color"],
                markerfacecolor=face,
                label=f"{row['robot']}, {model}",
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    ratios = np.array([y / x for x, y in pairs])
    inside = int(np.sum(np.abs(ratios - 1.0) <= 0.3))
    title = (
        f"The floor of one log predicts the smallest contact: {inside} of {len(pairs)} within 30 %"
    )
    dress(
        ax, "smallest contact detected in simulation [N]", "floor predicted from a log [N]", title
    )
    ax.legend(frameon=False, fontsize=8)
    return figure


def main(folder: str, *files: str) -> None:
    """Write both pictures."""
    rows = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]
    with styled("screen"):
        first = rows[0]
        floors = {
            model: NoiseFloor(
                np.array([first[model][way]["log"] for way in DIRECTIONS]),
                np.zeros(3),
                np.zeros(0),
                np.zeros(3),
            )
            for model in MODELS
        }
        save_figure(floor_figure(floors), Path(folder) / "torque-floor.svg")
        save_figure(contacts_figure(rows), Path(folder) / "torque-contacts.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
