"""A run of a team as a film: arms as stick figures, their load, and their forces on it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from farhand.analysis.history import History
from farhand.analysis.team import TeamMetrics
from farhand.world import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray

COLOURS = ("#1f5fa8", "#c05a12", "#3b7d3b", "#8a4f9e", "#7a6a2f")
STOPPED = "#b3261e"
EYE = np.array([[0.92, -0.39, 0.0], [0.14, 0.33, 0.93]])
"""From world to the picture: seen from the side and a little from above."""

ARROW_M_PER_N = 0.006
"""Length of the arrow of a force, [m/N]."""

PICTURE_SIZE = (5.6, 4.5)
"""At 80 dots per inch, [in]."""

EDGES = [(a, a | bit) for a in range(8) for bit in (1, 2, 4) if not a & bit]
"""Of a box; the bits of a corner's number say on which side it is."""

MAX_FRAMES = 150
"""Of a film; a longer run has them farther apart."""


class FilmScene:
    """Where everything is at any time of a run.

    Args:
        world: that it happened in.
        history: of the run.
        arms: names of the arms, in the order of the stream ``team``.
        thing: name of what is carried; None if there is nothing.
        size: its edges, [m].
    """

    def __init__(
        self, world: World, history: History, arms: list[str], thing: str | None, size: Array
    ) -> None:
        self.world, self.history, self.arms, self.thing = world, history, arms, thing
        self._data, self._half = mujoco.MjData(world.model), 0.5 * np.asarray(size, dtype=float)
        names = [world.model.body(index).name for index in range(world.model.nbody)]
        self._bodies = {
            arm: [k for k, n in enumerate(names) if n.startswith(f"{arm}/") and "payload" not in n]
            for arm in arms
        }
        wrenches = history.signal("team", "wrench_of_arms_on_object_in_world")
        self._forces = wrenches.reshape(-1, len(arms), 6)[:, :, :3]

    @property
    def end(self) -> float:
        """When the run ends, [s]."""
        return float(self.history.times("team")[-1])

    def look(self, time: float) -> None:
        """Put everything where it was at a time [s]."""
        start = 0
        for name, item in self.world.placed.items():
            size = len(item.robot.home)
            q = self.history.signal(name, "q")[self._row(name, time)]
            self._data.qpos[start : start + size] = q
            start += size
        mujoco.mj_kinematics(self.world.model, self._data)
        self.forces = self._forces[self._row("team", time)]

    def chain(self, arm: str) -> Array:
        """Joints of an arm from base to tool, in world, [m]."""
        joints = [self._data.xpos[k].copy() for k in self._bodies[arm]]
        return np.array([*joints, self._data.site(f"{arm}/tool").xpos.copy()])

    def box(self) -> Array:
        """The corners of what is carried, 8 × 3, in world, [m]."""
        body = self._data.body(f"{self.thing}/object")
        signs = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)]) * 2.0 - 1.0
        return body.xpos + (signs * self._half) @ body.xmat.reshape(3, 3).T

    def _row(self, stream: str, time: float) -> int:
        times = self.history.times(stream)
        return int(np.searchsorted(times, time - 1e-9).clip(0, len(times) - 1))


def film(
    scene: FilmScene,
    every: float = 0.25,
    faster: float = 2.0,
    stopped: Mapping[str, float] | None = None,
) -> bytes:
    """The whole run as an animated GIF, in colours few enough to keep it below 2 MB.

    Args:
        scene: the run.
        every: time between pictures, [s]; longer if there would be too many.
        faster: how many times faster it plays than it was, [-].
        stopped: when arms tripped, by name, [s]; they are red from then on.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure, pictures = Figure(figsize=PICTURE_SIZE, dpi=80), []
    every = max(every, scene.end / MAX_FRAMES)
    canvas, ax = FigureCanvasAgg(figure), figure.add_axes((0.0, 0.0, 1.0, 1.0))
    for time in np.arange(0.0, scene.end, every).tolist():
        ax.clear()
        scene.look(time)
        draw(ax, scene, time, stopped or {})
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3]).quantize(48))
    buffer, duration_ms = io.BytesIO(), round(1000.0 * every / faster)
    more = {"append_images": pictures[1:], "duration": duration_ms, "loop": 0}
    pictures[0].save(buffer, "GIF", save_all=True, **more)
    return buffer.getvalue()


def film_of(metrics: TeamMetrics, size: Array) -> bytes:
    """A measured run as an animated GIF.

    Args:
        metrics: of the run.
        size: edges of what is carried, [m].
    """
    scene = FilmScene(metrics.world, metrics.history, metrics.arms, metrics.thing, size)
    trips = reversed(metrics.session.trips)
    stopped = {record.where: 1e-9 * record.trip.time_ns for record in trips}
    return film(scene, stopped=stopped)


def draw(ax: Axes, scene: FilmScene, time: float, stopped: Mapping[str, float]) -> None:
    """One picture, from back to front: arms behind, the load, arms in front, forces."""
    chains = {arm: scene.chain(arm) for arm in scene.arms}
    look = dict(zip(scene.arms, COLOURS, strict=False))
    look |= dict.fromkeys((arm for arm in look if time >= stopped.get(arm, np.inf)), STOPPED)
    behind = [arm for arm in scene.arms if chains[arm][0, 1] > 0.0]
    for arm in behind:
        _draw_arm(ax, chains[arm], look[arm])
    if scene.thing is not None:
        corners = scene.box() @ EYE.T
        for a, b in EDGES:
            ax.plot(*corners[[a, b]].T, color="#8a6236", linewidth=1.5)
        ax.fill(*corners[[4, 5, 7, 6]].T, color="#d9b383")
    for arm in scene.arms:
        if arm not in behind:
            _draw_arm(ax, chains[arm], look[arm])
    for number, arm in enumerate(scene.arms):
        _draw_force(ax, chains[arm][-1], scene.forces[number], look[arm])
        state = " stopped" if look[arm] == STOPPED else ""
        label = f"{arm}\n{round(scene.forces[number, 2]):d} N{state}"
        x = -1.9 + 3.8 * number / len(scene.arms)
        ax.text(x, -0.62, label, color=look[arm], fontsize=10, va="top")
    ax.text(-1.9, 2.15, f"{time:.1f} s", fontsize=11, va="top")
    legend = "arrows: force of each arm on what is carried"
    ax.text(1.85, 2.15, legend, fontsize=8, va="top", ha="right", color="#555")
    ax.set_xlim(-1.95, 1.95)
    ax.set_ylim(-0.95, 2.2)
    ax.set_aspect("equal", adjustable="box")
    ax.axis("off")


def _draw_arm(ax: Axes, chain: Array, colour: str) -> None:
    x, y = (chain @ EYE.T).T
    ax.plot(x, y, "-", color=colour, linewidth=5.0, alpha=0.75, solid_capstyle="round")
    ax.plot(x, y, "o", color=colour, markersize=5.0)


def _draw_force(ax: Axes, at: Array, force: Array, colour: str) -> None:
    if np.linalg.norm(force) < 1.0:
        return
    (x, y), (to_x, to_y) = (EYE @ at).tolist(), (EYE @ (at + ARROW_M_PER_N * force)).tolist()
    for shade, width, head in (("white", 5.0, 18.0), (colour, 2.5, 14.0)):
        style = {"arrowstyle": "-|>", "color": shade, "linewidth": width, "mutation_scale": head}
        ax.annotate("", (to_x, to_y), (x, y), arrowprops=style)
