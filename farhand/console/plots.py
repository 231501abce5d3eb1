"""The last ten seconds of forces, tracking error, energy, tick time and link age."""

from __future__ import annotations

import itertools
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
"""Title, colour, and smallest range of the axis."""

DASHES: dict[str, tuple[float, ...]] = {
    "solid": (),
    "dashed": (6, 3),
    "dotted": (2, 3),
    "dash-dotted": (10, 3, 2, 3),
}


class Plots:
    """Curves that move with the run.

    Args:
        timed: whether ticks are timed; those of a recording were not.
    """

    def __init__(self, gui: viser.GuiApi, scene: Scene, timed: bool = True) -> None:
        robots = [robot for robot in scene["robots"] if robot["role"] != "object"]
        self._robots = [robot["name"] for robot in robots]
        self._rows: deque[list[float]] = deque(maxlen=int(SECONDS * RATE))
        self._shown: list[tuple[viser.GuiUplotHandle, list[int], float]] = []
        colours = [palette.role_colour(robot["role"]) for robot in robots]
        named = zip(self._robots, DASHES, strict=False)
        names = ", ".join(f"{robot} {dash}" for robot, dash in named)
        self._add(gui, f"force on the tools, N ({names})", colours, 1, 5.0)
        first = 1 + len(colours)
        coupled = any(thing["kind"] == "tie" for thing in scene["things"])
        for place, (title, colour, least) in enumerate(_COUPLED if coupled else ()):
            self._add(gui, title, [colour], first + place, least)
        if timed:
            self._add(gui, "time a tick takes, µs", [palette.PURPLE], first + len(_COUPLED), 100.0)

    def add(self, reading: Reading, health: Health) -> None:
        """Add the newest numbers, at most :data:`RATE` a second."""
        if reading.time_ns is None:
            return
        t = 1e-9 * reading.time_ns
        if self._rows:
            since = t - self._rows[-1][0]
            # A replay was moved, or a new session began
            if not 0.0 <= since <= SECONDS:
                self._rows.clear()
            elif since < 0.999 / RATE:
                return
        forces = [float(np.linalg.norm(reading.measured(name))) for name in self._robots]
        coupled = reading.engagement > 0.0
        error = 1e3 * reading.error if coupled else math.nan
        self._rows.append([t, *forces, error, reading.energy, 1e3 * reading.age, health.tick])

    def show(self) -> None:
        """Draw what there is."""
        if len(self._rows) < 2:
            return
        # The browser does not draw a curve with a gap
        table = np.nan_to_num(np.array(self._rows).T)
        for plot, columns, least in self._shown:
            kept = np.zeros(table.shape[1])
            kept[-1] = least
            plot.data = (*(np.ascontiguousarray(table[column]) for column in columns), kept)

    def _add(
        self, gui: viser.GuiApi, title: str, colours: list[palette.Colour], first: int, least: float
    ) -> None:
        """One diagram; an invisible curve keeps its axis from magnifying noise."""
        dashes = itertools.cycle(DASHES.values())
        series = [
            uplot.Series(label="", stroke=palette.css(colour), width=2, dash=next(dashes))
            for colour in colours
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
