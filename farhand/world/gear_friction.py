"""Gear friction: a joint's resistance in the world, which sticks as dry friction does and slides as a curve says."""

from __future__ import annotations

import mujoco
import numpy as np

from farhand.errors import ModelError
from farhand.friction.models.waiboer import Gears

Array = np.ndarray

ONSET = 1e-3
"""Speed below which a joint counts as at rest, where a term helps instead of resisting; assumed,
[rad/s]."""


class GearFriction:
    """The RX160's gears in MuJoCo: every term is dry friction whose size follows the speed of the step before.

    The engine solves for dry friction together with the dynamics of all joints, so a stuck joint is
    held by just what balances it, and starts when that is more than the term at rest. The shared
    gear is a tendon of joints 5 and 6.

    Args:
        gears: the curves.
        tendon: name of the tendon in the robot's model.
    """

    def __init__(self, gears: Gears, tendon: str = "gear_56") -> None:
        self.gears, self._tendon = gears, tendon
        self._shared = np.zeros(1)

    def join(self, model: mujoco.MjModel, robot: str) -> None:
        """Act on a robot of this world."""
        found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TENDON, f"{robot}/{self._tendon}")
        if found < 0:
            raise ModelError(
                f"{robot} has no tendon {self._tendon!r} for the gear that joints 5 and 6 share"
            )
        self._shared = model.tendon_frictionloss[found : found + 1]

    def at(self, velocity: Array, dry: Array, torque: Array) -> None:
        """Write how large dry friction may be at this velocity [rad/s], and add what helps along.

        Args:
            velocity: of the six joints, [rad/s].
            dry: written, [N·m].
            torque: added to, [N·m].
        """
        gears = self.gears
        u = gears.directions.dot(velocity)
        size = gears.terms.level(np.abs(u))
        np.maximum(size[:6], 0.0, out=dry)
        self._shared[0] = max(float(size[6]), 0.0)
        if size.min() < 0.0:
            torque -= (np.tanh(u / ONSET) * np.minimum(size, 0.0)).dot(gears.directions)
