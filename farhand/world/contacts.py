"""The engine's own contact on a tool, as the wrench that a wrist sensor has."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from farhand.spatial import Array


def contact_wrench(data: mujoco.MjData, touching: Array, position: Array, wrench: Array) -> None:
    """Write the contact wrench of the last step on some geoms about a point, [N] and [N·m].

    Cones must be elliptic and contacts without torsion, ``condim=3``.

    Args:
        data: of the world.
        touching: which of all geoms, one truth value each.
        position: of the point, [m].
        wrench: result, world axes.
    """
    wrench[:] = 0.0
    if not data.ncon:
        return
    contacts = data.contact
    start, mine = contacts.efc_address, touching[contacts.geom]
    rows = np.flatnonzero((mine[:, 0] != mine[:, 1]) & (start >= 0))
    if not len(rows):
        return
    # a contact force acts on the second geom
    sign = np.where(mine[rows, 1], 1.0, -1.0)[:, None]
    inside = data.efc_force[start[rows, None] + np.arange(3)] * sign
    force = np.einsum("nk,nkj->nj", inside, contacts.frame[rows].reshape(-1, 3, 3))
    wrench[:3] = force.sum(axis=0)
    wrench[3:] = np.cross(contacts.pos[rows] - position, force).sum(axis=0)


class ToolContact:
    """Geoms of a robot that touch things of the world, and what they feel.

    Args:
        names: of the geoms in the robot's model.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def join(self, model: mujoco.MjModel, robot: str) -> None:
        """Find the geoms of ``robot`` in the world's model."""
        self._touching = np.zeros(model.ngeom, dtype=bool)
        for name in self.names:
            self._touching[model.geom(f"{robot}/{name}").id] = True

    def feel(self, data: mujoco.MjData, position: Array, wrench: Array) -> None:
        """Write the contact wrench of the last step on the tool at ``position`` [m]."""
        contact_wrench(data, self._touching, position, wrench)

    def step(self, dt: float) -> None:
        """Nothing changes over time."""
