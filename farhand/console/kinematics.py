"""Kinematics: where every body and tool is, worked out in the viewer's own process from joint angles."""

from __future__ import annotations

import mujoco
import numpy as np

from farhand.console.scene import Scene, model_of
from farhand.robots import q_from_pinocchio, q_to_pinocchio

Array = np.ndarray


class Kinematics:
    """Forward kinematics of all robots of a scene.

    Args:
        scene: what is drawn.

    Attributes:
        model: the compiled model of all robots.
        body_position: of every body in world, shape (bodies, 3), [m]; a live view.
        body_quaternion_wxyz: of every body in world, shape (bodies, 4); a live view.
        tool_position: of every robot's tool in world by name, [m]; live views.
    """

    def __init__(self, scene: Scene) -> None:
        self.model = model_of(scene)
        self._data = mujoco.MjData(self.model)
        self._parts = {robot["name"]: slice(*robot["q"]) for robot in scene["robots"]}
        self._q = np.array(q_to_pinocchio(self.model, np.array(scene["posture"])))
        self.body_position, self.body_quaternion_wxyz = self._data.xpos, self._data.xquat
        self.tool_position = {
            r["name"]: self._data.site_xpos[r["tool_site"]] for r in scene["robots"]
        }
        self._tool_axes = {r["name"]: self._data.site_xmat[r["tool_site"]] for r in scene["robots"]}
        self._roots = {r["name"]: r["bodies"][0]["index"] for r in scene["robots"] if r["bodies"]}
        self.update({})

    def update(self, configurations: dict[str, Array]) -> None:
        """Move the named robots to configurations in Pinocchio's convention, [rad] or [m]; those with NaN stay."""
        for name, q in configurations.items():
            if np.isfinite(q).all():
                self._q[self._parts[name]] = q
        self._data.qpos[:] = q_from_pinocchio(self.model, self._q)
        mujoco.mj_kinematics(self.model, self._data)

    def configuration(self, robot: str) -> Array:
        """Where a robot's joints are, in Pinocchio's convention, [rad] or [m]; a live view."""
        return self._q[self._parts[robot]]

    def tool_axes(self, robot: str) -> Array:
        """Axes of a robot's tool in world, one per column."""
        return self._tool_axes[robot].reshape(3, 3)

    def centre_of_mass(self, robot: str) -> Array:
        """Centre of mass of a robot in world, [m]."""
        mujoco.mj_comPos(self.model, self._data)
        return np.array(self._data.subtree_com[self._roots[robot]])
