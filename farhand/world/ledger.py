"""Ledger: the energy that each source has given to the robots of a world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from farhand.spatial import Array
from farhand.world.kernels import begin_step, end_step, sum_touches

MAX_SPEED_SQUARED = 1e12
"""Sum of squared velocities above which a simulation has diverged, [rad²/s²]."""

PAGE_STEPS = 128
"""Steps that are noted before they are added up."""


class Ledger:
    r"""Notes every step and adds the notes up a page at a time, or when the work is read.

    The sources are actuators, damping, constraints, pushes and touches. Over a step of length h the
    work of a force is that force times the mean velocity, exact for constant inertia:

    .. math:: \Delta q = \tfrac{h}{2}(v + v'), \qquad W_\tau = \tau^\top \Delta q, \qquad
              W_w = w^\top J \Delta q

    A note is three copies; adding up a whole page costs as much as a few single steps.

    Args:
        robots: which velocities belong to each robot.
        damping: viscous friction of every joint, a live view, [N·m·s/rad].
        h: length of a step, [s].

    Attributes:
        J: tool Jacobians of all robots, one below the other, 6 rows each; write it.
        torque: joint torques of all robots in the next step, [N·m]; write it.
        push: joint torques of those who push on links, [N·m]; write it.
    """

    def __init__(self, robots: Sequence[slice], damping: Array, h: float) -> None:
        self._robots, self._damping, self._h = list(robots), damping, h
        self._nv = len(damping)
        count, nv = len(robots), self._nv
        self._live = np.zeros(6 * count * nv + 2 * nv)
        self.J = self._live[: 6 * count * nv].reshape(6 * count, nv)
        self.torque, self.push = self._live[-2 * nv : -nv], self._live[-nv:]
        self._owners = np.zeros(0, dtype=np.int64)
        self._wrenches = np.zeros((0, 6))
        self._joint_work = np.zeros((4, nv))  # by actuators, damping, constraints, pushes
        self._touch_work = np.zeros(0)
        self._noted, self._constrained = 0, False
        self._open()

    def touches(self, owners: Sequence[int]) -> Array:
        """Rows into which touches on the robots with these numbers write their wrenches."""
        self.add_up()
        known = self._touch_work
        self._owners = np.array(owners, dtype=np.int64)
        self._touch_work = np.zeros(len(owners))
        self._touch_work[: len(known)] = known
        self._wrenches = np.zeros((len(owners), 6))
        self._open()
        return self._wrenches

    def sum_touches(self, contact: Array, wrench: Array) -> None:
        """The wrench on all tools, into ``wrench``; ``contact`` is the engine's own share."""
        sum_touches(self._wrenches, self._owners, contact, wrench)

    def before(self, v: Array, wrench: Array, applied: Array) -> None:
        """Note the forces of the coming step and the velocity at its start; sum the torques.

        Args:
            v: velocities of all robots, [rad/s].
            wrench: on all tools, [N] and [N·m].
            applied: result: joint torque of all of it, [N·m].
        """
        begin_step(
            self._live,
            wrench,
            self._wrenches,
            v,
            self._noted,
            self._page_live,
            self._page_touch,
            self._page_v,
            applied,
        )

    def after(self, v: Array, constraint: Array | None) -> bool:
        """Note the velocity at the step's end, and the joint torque of constraints if any.

        False, and the step does not count, if the velocities show that the simulation diverged.
        """
        row = self._noted
        if not end_step(v, row, self._page_v) < MAX_SPEED_SQUARED:
            return False
        if constraint is not None:
            self._page_constraint[row] = constraint
            self._constrained = True
        self._noted = row + 1
        if self._noted == PAGE_STEPS:
            self.add_up()
        return True

    def joint_work(self, robot: int) -> list[float]:
        """Work on one robot so far by actuators, damping, constraints and pushes, [J]."""
        self.add_up()
        return [float(work) for work in self._joint_work[:, self._robots[robot]].sum(axis=1)]

    def touch_work(self, touch: int) -> float:
        """Work of one touch so far, [J]."""
        self.add_up()
        return float(self._touch_work[touch])

    def add_up(self) -> None:
        """Add the notes to the accounts and begin a new page."""
        n, nv, count = self._noted, self._nv, len(self._robots)
        if not n:
            return
        v = self._page_v[:n]
        moved = v.sum(axis=1) * (0.5 * self._h)
        live = self._page_live[:n]
        self._joint_work[0] += np.einsum("nv,nv->v", live[:, -2 * nv : -nv], moved)
        # the engine damps with the velocity at the end of the step
        self._joint_work[1] -= self._damping * np.einsum("nv,nv->v", v[:, 1], moved)
        self._joint_work[3] += np.einsum("nv,nv->v", live[:, -nv:], moved)
        if self._constrained:
            self._joint_work[2] += np.einsum("nv,nv->v", self._page_constraint[:n], moved)
            self._page_constraint[:n] = 0.0
        jacobians = live[:, : 6 * count * nv].reshape(n, 6 * count, nv)
        tools = np.matmul(jacobians, moved[:, :, None]).reshape(n, count, 6)
        self._touch_work += np.einsum("ntc,ntc->t", self._page_touch[:n], tools[:, self._owners])
        self._noted, self._constrained = 0, False

    def _open(self) -> None:
        self._page_live = np.zeros((PAGE_STEPS, len(self._live)))
        self._page_touch = np.zeros((PAGE_STEPS, *self._wrenches.shape))
        self._page_v = np.zeros((PAGE_STEPS, 2, self._nv))
        self._page_constraint = np.zeros((PAGE_STEPS, self._nv))
