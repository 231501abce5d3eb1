"""The picture of the arms with a gripper, each at its home and drawn to fill its field.

Run with ``MUJOCO_GL=egl python docs/images/picture_of_robots.py docs/images/robots.png``.
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

from farhand.robots import Robot, load_robot, robot_names

WIDTH, HEIGHT = 480, 400  # of one field, [pixels]
COLUMNS = 3


def photograph(robot: Robot) -> np.ndarray:
    """The robot on a floor, from half left in front of it."""
    spec = robot.spec()
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 1], rgba=[0.8, 0.84, 0.88, 1])
    world.add_light(pos=[1, -2, 3], dir=[-0.3, 0.6, -1], diffuse=[0.5, 0.5, 0.5])
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.global_.offwidth, spec.visual.global_.offheight = WIDTH, HEIGHT
    spec.stat.extent = 2.0
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos = robot.home
    mujoco.mj_forward(model, data)
    drawn = data.geom_xpos[model.geom_type != int(mujoco.mjtGeom.mjGEOM_PLANE)]
    camera = mujoco.MjvCamera()
    camera.lookat = 0.5 * (drawn.min(axis=0) + drawn.max(axis=0))
    camera.distance = 1.65 * np.linalg.norm(np.ptp(drawn, axis=0))
    camera.azimuth, camera.elevation = 125, -35
    with mujoco.Renderer(model, HEIGHT, WIDTH) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render()


def main(path: Path) -> None:
    """Write the picture."""
    robots = [robot for robot in map(load_robot, robot_names()) if robot.gripper]
    rows = -(-len(robots) // COLUMNS)
    size = COLUMNS * WIDTH / 200, rows * HEIGHT / 200
    figure, fields = plt.subplots(rows, COLUMNS, figsize=size, dpi=110, squeeze=False)
    for field, robot in zip(fields.flat, robots, strict=False):
        field.imshow(photograph(robot))
        field.text(8, 26, robot.name, fontsize=7, color="#333333")
    for field in fields.flat:
        field.axis("off")
    figure.subplots_adjust(0, 0, 1, 1, 0.01, 0.01)
    figure.savefig(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
