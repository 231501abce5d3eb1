"""The picture of the README: the dual-arm rig at its wall, with forces and positions of the run.

Run with ``MUJOCO_GL=egl python docs/images/picture_of_demo.py docs/images/demo.png``.
Needs off-screen OpenGL.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mujoco
import numpy as np

from farhand.rigs import Rig, build_rig

WIDTH, HEIGHT = 1600, 700  # [pixels]
PRESSED = 32.5  # [s] into the demo, when the follower presses on the wall
LEADER, FOLLOWER, WALL = "#2f6db3", "#d9772b", "#5b8a5b"
ARROW = 0.004  # length of a force arrow, [m/N]


def add(
    scene: mujoco.MjvScene, kind: int, size: list[float], position: list[float], rgba: list[float]
) -> None:
    """Put one more shape into a rendered scene, aligned with the world's axes."""
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(
        geom,
        kind,
        np.array(size),
        np.array(position),
        np.eye(3).ravel(),
        np.array(rgba, np.float32),
    )
    scene.ngeom += 1


def add_arrow(scene: mujoco.MjvScene, start: np.ndarray, force: np.ndarray, colour: str) -> None:
    """Draw a force [N] that acts at ``start``."""
    geom = scene.geoms[scene.ngeom]
    rgba = np.array(matplotlib.colors.to_rgba(colour), np.float32)
    mujoco.mjv_initGeom(
        geom, mujoco.mjtGeom.mjGEOM_ARROW, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba
    )
    mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_ARROW, 0.011, start, start + ARROW * force)
    geom.size[2] *= 2.0  # arrows are drawn half as long as they say
    geom.emission = 0.6
    scene.ngeom += 1


def photograph(rig: Rig) -> np.ndarray:
    """The two arms as they stand now, with the wall and the forces on the tools."""
    world = rig.world
    view = world.model.vis
    view.global_.offwidth, view.global_.offheight = WIDTH, HEIGHT
    view.headlight.ambient[:], view.headlight.diffuse[:] = 0.45, 0.55
    camera = mujoco.MjvCamera()
    camera.lookat, camera.distance, camera.azimuth, camera.elevation = (
        [0.24, 0.62, 0.33],
        1.6,
        128.0,
        -20.0,
    )
    with mujoco.Renderer(world.model, HEIGHT, WIDTH) as renderer:
        renderer.update_scene(world.data, camera)
        scene, box = renderer.scene, mujoco.mjtGeom.mjGEOM_BOX
        add(scene, box, [20.0, 20.0, 0.005], [0.0, 0.0, -0.005], [0.98, 0.98, 0.98, 1.0])
        scene.geoms[scene.ngeom - 1].emission = 0.35
        for position in ([-12.0, 0.0, 0.0], [0.0, -12.0, 0.0], [0.0, 12.0, 0.0], [12.0, 0.0, 0.0]):
            thin = [0.1 if value else 20.0 for value in position[:2]]
            add(scene, box, [*thin, 20.0], position, [1.0, 1.0, 1.0, 1.0])
            scene.geoms[scene.ngeom - 1].emission = 1.0
        for name, colour in (("leader", LEADER), ("follower", WALL)):
            port = world.ports[name]
            add_arrow(scene, port.tool.position - ARROW * port.wrench[:3], port.wrench[:3], colour)
        add(scene, box, [0.01, 0.25, 0.35], [0.46, 1.14, 0.35], [0.36, 0.64, 0.36, 0.5])
        return renderer.render()


def draw(rig: Rig, photo: np.ndarray, path: Path) -> None:
    """The photograph above, positions and forces over time below."""
    figure = plt.figure(figsize=(11, 7.8), layout="constrained")
    rows = figure.subplot_mosaic(
        [["photo", "photo"], ["position", "force"]], height_ratios=[2.0, 1.0]
    )
    rows["photo"].imshow(photo)
    rows["photo"].axis("off")
    history = rig.metrics.history
    time = history.times("leader")
    for name, colour in (("leader", LEADER), ("follower", FOLLOWER)):
        x = history.signal(name, "position_tool_in_world")[:, 0]
        rows["position"].plot(time, x, color=colour, label=f"{name}'s tool")
    rows["position"].axhline(0.45, color=WALL, linestyle=":", label="wall")
    rows["position"].set(xlabel="time [s]", ylabel="x [m]")
    for name, colour, label in (
        ("leader", LEADER, "hand on leader"),
        ("follower", WALL, "wall on follower"),
    ):
        force = np.linalg.norm(history.signal(name, "wrench_measured_in_world")[:, :3], axis=1)
        rows["force"].plot(
            time, force, color=colour, label=label, linestyle="-" if name == "leader" else "--"
        )
    rows["force"].set(xlabel="time [s]", ylabel="force [N]")
    for name in ("position", "force"):
        rows[name].legend(frameon=False)
        rows[name].spines[["top", "right"]].set_visible(False)
        rows[name].axvline(PRESSED, color="0.8", linewidth=1, zorder=0)
    figure.savefig(path, dpi=110)


def main(path: Path) -> None:
    """Run the demo, stop for the photograph while the follower presses, and write the picture."""
    rig = build_rig("dual-arm")
    rig.session.run(PRESSED, between=rig.metrics.pull)
    photo = photograph(rig)
    rig.session.run(rig.scenario.seconds - PRESSED, between=rig.metrics.pull)
    draw(rig, photo, path)
    rig.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png"))
