"""Ledger: the forces on the robots of a world, and the energy that each source has given them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from farhand.compiled import bind
from farhand.spatial import Array
from farhand.world.kernels import MAX_SPEED_SQUARED, begin_step, end_step, sum_touches


class Ledger:
    r"""Sums the forces before every step, and puts down their work after it.

    The sources are actuators, damping, constraints, pushes and touches. Over a step of length h the
    work of a force is that force times the mean velocity, exact for constant inertia:

    .. math:: \Delta q = \tfrac{h}{2}(v + v'), \qquad W_\tau = \tau^\top \Delta q, \qquad
              W_w = w^\top J \Delta q

    Args:
        robots: which velocities belong to each robot.
        model: of the world.
        data: its state.

    Attributes:
        live: the other attributes in one array, in this order.
        J: tool Jacobians of all robots, one below the other, 6 rows each; write it.
        torque: joint torques of all robots in the next step, [N·m]; write it.
        push: joint torques of those who push on links, [N·m]; write it.
        wrench: on all tools, one after the other, [N] and [N·m].
        contact: the part of it from the engine's own contacts; write it.
        twist: of all tools, [m/s] and [rad/s]; write it.
    """

    def __init__(self, robots: Sequence[slice], model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._robots, self._half_step = list(robots), 0.5 * model.opt.timestep
        self._damping, self._constraint = model.dof_damping, data.qfrc_constraint
        self._v, self._applied, self._nv = data.qvel, data.qfrc_applied, model.nv
        rows, nv = 6 * len(robots), model.nv
        sizes = (rows * nv, nv, nv, rows, rows, rows)
        self.live = np.zeros(sum(sizes))
        jacobians, self.torque, self.push, self.wrench, self.contact, self.twist = np.split(
            self.live, np.cumsum(sizes)[:-1]
        )
        self.J = jacobians.reshape(rows, nv)
        self._touches, self._books = np.zeros((0, 7)), np.zeros(5 * nv)
        self._bind()

    def _bind(self) -> None:
        """Give the compiled functions their arrays."""
        live, v, books = self.live, self._v, self._books
        #: applies all forces in the coming step
        self.begin: Callable[[], None] = bind(begin_step, live, v, books, self._applied)
        settings = self._damping, self._constraint, self._half_step, books
        self._end = bind(end_step, live, self._touches, v, *settings)
        #: sums the wrench on all tools, from the contacts and all touches
        self.sum_touches: Callable[[], None] = bind(sum_touches, self._touches, self._nv, live)

    def touches(self, owners: Sequence[int]) -> Array:
        """Rows into which touches on the robots with these numbers write their wrenches."""
        books = np.zeros(5 * self._nv + len(owners))
        books[: len(self._books)] = self._books
        self._books, self._touches = books, np.zeros((len(owners), 7))
        self._touches[:, 6] = owners
        self._bind()
        return self._touches[:, :6]

    def end(self) -> bool:
        """Put down the work of a step; False, and it does not count, if the velocities diverged."""
        speed: float = self._end()
        return speed < MAX_SPEED_SQUARED

    def joint_work(self, robot: int) -> list[float]:
        """Work on one robot so far by actuators, damping, constraints and pushes, [J]."""
        work = self._books[self._nv : 5 * self._nv].reshape(4, self._nv)
        return [float(total) for total in work[:, self._robots[robot]].sum(axis=1)]

    def touch_work(self, touch: int) -> float:
        """Work of one touch so far, [J]."""
        return float(self._books[5 * self._nv + touch])
