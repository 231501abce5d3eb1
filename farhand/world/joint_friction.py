"""Joint friction: any friction model at the joints of a robot in the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from farhand.friction.models.implicit import advance
from farhand.friction.models.model import Friction

if TYPE_CHECKING:
    from farhand.world.world import World

Array = np.ndarray

AT_REST = 1e-6
"""Speed below which a joint is held by what starts motion, [rad/s]."""


class JointFriction:
    """A friction model in MuJoCo, on top of the dry friction that the robot's file gives its joints.

    A model that jumps at zero becomes the engine's own dry friction, as large as its curve at the
    present speed: the engine solves for it together with all joints, so that a stuck joint is held
    exactly. A continuous one is solved against each joint's inertia, which keeps a stiff bristle
    stable at the world's step.

    Args:
        friction: the model, of as many joints as the robot.
        world: where the robot stands.
        robot: its name there.
    """

    def __init__(self, friction: Friction, world: World, robot: str) -> None:
        self.friction = friction
        self._data, self._dt = world.data, world.step_ns * 1e-9
        names = [
            mujoco.mj_id2name(world.model, mujoco.mjtObj.mjOBJ_JOINT, k)
            for k in range(world.model.njnt)
        ]
        # a loose object has none
        own = [k for k, name in enumerate(names) if name and name.startswith(f"{robot}/")]
        start = int(world.model.jnt_dofadr[own[0]])
        self._slice = slice(start, start + friction.joints)
        self._inertia = 1.0 / world.model.dof_invweight0[self._slice]
        self._own = world.placed[robot].robot.compile().dof_frictionloss.copy()
        self._resistance = np.zeros(friction.joints)
        # with the engine's defaults a joint below its dry friction creeps
        if friction.hold is not None:
            world.model.dof_solref[self._slice] = [0.002, 1.0]
            world.model.dof_solimp[self._slice] = [0.9999, 0.9999, 0.001, 0.5, 2.0]

    def join(self, model: mujoco.MjModel, robot: str) -> None:
        """Act on a robot of this world: nothing to look up."""

    def at(self, velocity: Array, dry: Array, torque: Array) -> None:
        """Write how large dry friction may be at this velocity [rad/s], or add what a continuous model resists with.

        Args:
            velocity: of the joints, [rad/s].
            dry: written, [N·m].
            torque: added to, [N·m].
        """
        friction = self.friction
        hold = friction.hold
        if hold is not None:
            sliding = np.abs(friction.quick(velocity))
            np.add(
                self._own,
                np.where(np.abs(velocity) < AT_REST, np.maximum(-hold[0], hold[1]), sliding),
                out=dry,
            )
            return
        dry[:] = self._own
        # of the last step: weight, motors and everything that pushes
        drive = self._data.qfrc_smooth[self._slice]
        drive = drive + self._resistance
        _, self._resistance = advance(friction, velocity, self._dt, drive, self._inertia)
        torque -= self._resistance
