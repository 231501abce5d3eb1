"""Film: the team and its beam as moving stick figures, for the report."""

from __future__ import annotations

import io

import mujoco
import numpy as np

from farhand.experiments.page import Animation
from farhand.experiments.trial import Run

Array = np.ndarray

COLOURS = ("#1f5fa8", "#c05a12", "#3b7d3b", "#8a4f9e", "#7a6a2f")
EYE = np.array([[0.92, -0.39, 0.0], [0.14, 0.33, 0.93]])
"""From world to the picture: seen from the side and a little from above."""


def chains(found: Run, time: float) -> tuple[list[Array], Array]:
    """Joints of every arm from base to tool, and the corners of the beam's upper side, at a time [s], in world, [m]."""
    model, rig = found.rig.world.model, found.rig
    data = mujoco.MjData(model)
    start = 0
    for name, item in rig.world.placed.items():
        size = len(item.robot.home)
        row = int(np.searchsorted(found.times(name), time - 1e-9).clip(0, len(found.times(name)) - 1))
        data.qpos[start : start + size] = found.signal(name, "q")[row]
        start += size
    mujoco.mj_kinematics(model, data)
    arms = []
    for station in rig.session.stations:
        bodies = [k for k in range(model.nbody) if model.body(k).name.startswith(f"{station.name}/")]
        joints = [data.xpos[k].copy() for k in bodies if "payload" not in model.body(k).name]
        arms.append(np.array([*joints, data.site(f"{station.name}/tool").xpos.copy()]))
    body = data.body("object/object")
    half = 0.5 * np.asarray(rig.construction.size)  # type: ignore[attr-defined]
    corners = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]]) * half[:2]
    upper = np.column_stack([corners, np.full(5, half[2])])
    return arms, body.xpos + upper @ body.xmat.reshape(3, 3).T


def film(found: Run, every: float = 0.5) -> Animation:
    """The whole run, one picture every so many seconds, played twice as fast."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    pictures = []
    for time in np.arange(0.0, found.times("object")[-1], every):
        figure = Figure(figsize=(6.4, 3.6), dpi=80)
        canvas, ax = FigureCanvasAgg(figure), figure.subplots()
        arms, beam = chains(found, float(time))
        for arm, colour in zip(arms, COLOURS, strict=False):
            seen = arm @ EYE.T
            ax.plot(seen[:, 0], seen[:, 1], "-o", color=colour, linewidth=3.0, markersize=4.0)
        seen = beam @ EYE.T
        ax.fill(seen[:, 0], seen[:, 1], color="#b88a55")
        ax.set_xlim(-1.9, 1.9)
        ax.set_ylim(-0.6, 2.0)
        ax.set_aspect("equal")
        ax.axis("off")
        ax.set_title(f"{time:.1f} s", fontsize=10)
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3]).quantize(32))
    buffer = io.BytesIO()
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:], duration=int(500 * every), loop=0)
    return Animation(buffer.getvalue())
