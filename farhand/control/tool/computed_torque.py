"""Computed torque: the tool follows a trajectory; the measured load is cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.task import FadedSettings, PoseLoop, TaskController
from farhand.control.trajectory.paths import Reference
from farhand.friction import Gears
from farhand.mapping.ik import Pose, Solver
from farhand.parameters import parameter
from farhand.robots import Placement
from farhand.spatial import Array


class Guide(Protocol):
    """A path of the tool over time; :class:`farhand.control.trajectory.paths.Trajectory` is one."""

    def at(self, t: float, reference: Reference) -> None:
        """Write pose, twist and acceleration at time ``t`` [s]."""


@dataclass
class ComputedTorqueOptions(FadedSettings):
    """What the controller does beside following."""

    cancel_load: bool = parameter(True, "-", "whether the measured load is cancelled")
    model: str = parameter(
        "measured", "-", "configuration of the model", choices=("measured", "ik", "reference")
    )


class ComputedTorque(TaskController):
    r"""Feedback linearisation of the tool's motion.

    .. math:: \ddot q^* = J^{-1}(w - \dot J \dot q), \qquad \tau_f = -J^\top h_{meas}

    with w of :class:`PoseLoop`: an exact model leaves :math:`\ddot x_e + K_d \dot x_e + K_p x_e =
    0`. Without the last term a load pulls the tool away; with it, the filter's delay kicks the arm
    the other way when the load goes.

    Args:
        solver: inverse kinematics of the arm in its base, for an ``options.model`` other than
            ``measured``.
        placement: where the base stands in the world.
    """

    def __init__(
        self,
        arm: Arm,
        loop: PoseLoop | None = None,
        gears: Gears | None = None,
        period_ns: int = 4_000_000,
        can_brake: bool = False,
        solver: Solver | None = None,
        placement: Placement | None = None,
    ) -> None:
        super().__init__(arm, loop, gears, period_ns, can_brake)
        self.options = ComputedTorqueOptions()
        self._guide: Guide | None = None
        self._from_ns = 0
        self._solver = solver
        self._base, self._R_base = (placement or Placement()).pose()
        self._q = arm.q.copy()

    @property
    def parts(self) -> dict[str, Any]:
        """Gains, dead zone, compensation, options, and how it holds still."""
        return {**super().parts, "options": self.options}

    def follow(self, guide: Guide, from_ns: int) -> None:
        """Follow a path that begins at ``from_ns``."""
        self._guide, self._from_ns = guide, from_ns
        self.change()

    def begin(self) -> None:
        """Start where the arm is; after a stop, drop the path that was under way."""
        super().begin()
        self._q[:] = self.arm.q
        if self._last.any():
            self._guide = None

    def acceleration(self, request: ControlRequest, now_ns: int) -> Array:
        """q̈*, [rad/s²]."""
        reference, arm, target = self.reference, self.arm, request.target
        if self._guide is not None:
            self._guide.at((now_ns - self._from_ns) * 1e-9, reference)
        elif target is not None:
            reference.stand(target.position, target.rotation)
            reference.twist[:] = target.twist
        tool = np.empty(6)
        tool[:3] = self.loop.position(arm, reference, self._dt)
        tool[3:] = self.loop.orientation(arm, reference, self._dt)
        tool -= arm.drift
        return self.inverse(arm.J).dot(tool)

    def effort(self, request: ControlRequest) -> Array:
        """What cancels the load, [N·m]; zero without a measurement."""
        wrench = self.measured(request) if self.options.cancel_load else None
        return np.zeros(self.arm.nv) if wrench is None else -wrench.dot(self.arm.J)

    def _torque(self, request: ControlRequest, now_ns: int) -> Array:
        if self.options.model == "measured" or self._solver is None:
            return super()._torque(request, now_ns)
        arm, q = self.arm, self.arm.q.copy()
        acceleration = self.acceleration(request, now_ns)
        load = self.effort(request)
        back, source = self._R_base.T, arm if self.options.model == "ik" else self.reference
        pose = Pose(back.dot(source.position - self._base), back.dot(source.rotation))
        solution = self._solver.solve(pose, self._q)
        self._q[:] = solution.q if solution.status == "solved" else q
        # evaluate the model at the other configuration, then restore the measured one
        arm.update(self._q, arm.v.copy())
        torque = arm.M.dot(acceleration) + arm.bias + load
        arm.update(q, arm.v.copy())
        self._add_friction(torque)
        return torque + request.effort.dot(arm.J)
