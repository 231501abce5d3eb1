"""Plots: the last ten seconds of forces, tracking error, energy, tick time and link age."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import viser
from viser import uplot

from farhand.console import palette
from farhand.console.scene import Scene
from farhand.console.status import Health, Reading

Array = np.ndarray

SECONDS, RATE = 10.0, 20.0  # [s], [1/s] points kept
HEIGHT = 130  # [px]
PADDING = (8, 24, 0, 0)  # [px], so that the topmost number of an axis is whole

_COUPLED = (
    ("tracking error, mm", palette.COUPLING, 1.0),
    ("energy put into the coupling, J", palette.GREEN, 0.1),
    ("age of what the other side sent, ms", palette.ORANGE, 2.0),
)
"""Title, colour, and how much the axis shows at least."""

DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 3), (10, 3, 2, 3))
WORDS = ("solid", "dashed", "dotted", "dash-dotted")


class Plots:
    """Curves that move with the run.

    Args:
        gui: where they are put.
        scene: whose forces.
        timed: whether ticks are timed; those of a recording were not.
    """

    def __init__(self, gui: viser.GuiApi, scene: Scene, timed: bool = True) -> None:
        robots = [robot for robot in scene["robots"] if robot["role"] != "object"]
        self._robots = [robot["name"] for robot in robots]
        self._rows: deque[list[float]] = deque(maxlen=int(SECONDS * RATE))
        self._shown: list[tuple[viser.GuiUplotHandle, list[int], float]] = []
        colours = [palette.role_colour(robot["role"]) for robot in robots]
        names = ", ".join(
            f"{robot['name']} {word}" for robot, word in zip(robots, WORDS, strict=False)
        )
        self._add(gui, f"force on the tools, N ({names})", colours, 1, 5.0)
        first = 1 + len(colours)
        coupled = any(thing["kind"] == "tie" for thing in scene["things"])
        for place, (title, colour, least) in enumerate(_COUPLED if coupled else ()):
            self._add(gui, title, [colour], first + place, least)
        if timed:
            self._add(gui, "time a tick takes, µs", [palette.PURPLE], first + len(_COUPLED), 100.0)

    def add(self, reading: Reading, health: Health) -> None:
        """Take in the newest numbers, at most so many a second."""
        if reading.time_ns is None:
            return
        t = 1e-9 * reading.time_ns
        if self._rows and not self._rows[-1][0] + 0.999 / RATE <= t <= self._rows[-1][0] + SECONDS:
            if self._rows[-1][0] <= t < self._rows[-1][0] + SECONDS:
                return
            self._rows.clear()  # another time altogether
        forces = [float(np.linalg.norm(reading.measured(name))) for name in self._robots]
        coupled = reading.engagement > 0.0
        error = 1e3 * reading.error if coupled else math.nan
        self._rows.append([t, *forces, error, reading.energy, 1e3 * reading.age, health.tick])

    def show(self) -> None:
        """Draw what there is."""
        if len(self._rows) < 2:
            return
        # the browser draws nothing of a curve with a gap
        table = np.nan_to_num(np.array(self._rows).T)
        for plot, columns, least in self._shown:
            kept = np.zeros(table.shape[1])
            kept[-1] = least
            plot.data = (*(np.ascontiguousarray(table[column]) for column in columns), kept)

    def _add(
        self, gui: viser.GuiApi, title: str, colours: list[palette.Colour], first: int, least: float
    ) -> None:
        """One diagram; a curve that is not seen keeps its axis from showing noise as if it were large."""
        series = [
            uplot.Series(
                label="", stroke=palette.css(colour), width=2, dash=DASHES[n % len(DASHES)]
            )
            for n, colour in enumerate(colours)
        ]
        plot = gui.add_uplot(
            tuple(np.zeros(2) for _ in range(2 + len(colours))),
            (uplot.Series(label="s"), *series, uplot.Series(label="", stroke="transparent")),
            title=title,
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
            axes=(uplot.Axis(size=28), uplot.Axis(size=48)),
            legend=uplot.Legend(show=False),
            height=HEIGHT,
            padding=PADDING,
        )
        self._shown.append((plot, [0, *range(first, first + len(colours))], least))
