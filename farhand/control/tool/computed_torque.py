"""Computed torque: the tool follows a trajectory, with what touches it cancelled by what the wrist cell says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.tool.task import TaskController
from farhand.control.trajectory.paths import Reference
from farhand.friction import Gears
from farhand.mapping.ik import Pose, Solver
from farhand.parameters import parameter
from farhand.robots import Placement
from farhand.spatial import rotation_from_quaternion

Array = np.ndarray


class Guide(Protocol):
    """A path of the tool over time, such as :class:`farhand.control.trajectory.paths.Trajectory`."""

    def at(self, t: float, reference: Reference) -> None:
        """Write pose, twist and acceleration at time ``t`` [s]."""


@dataclass
class ComputedTorqueOptions:
    """What the controller does beside following."""

    cancel_load: bool = parameter(True, "-", "whether the measured load is cancelled")
    model: str = parameter(
        "measured", "-", "configuration of the model", choices=("measured", "ik", "reference")
    )

    def __post_init__(self) -> None:
        """No change pending."""
        self.changed = False

    def refresh(self) -> None:
        """Note that the settings changed."""
        self.changed = True


class ComputedTorque(TaskController):
    r"""Feedback linearisation of the tool's motion.

    .. math:: \ddot q^* = J^{-1}(w - \dot J \dot q), \qquad \tau_f = -J^\top h_{meas}

    with w of :class:`PoseLoop`: an exact model leaves :math:`\ddot x_e + K_d \dot x_e + K_p x_e =
    0`. Without the last term a load pulls the tool away; with it, the filter's delay kicks the arm
    the other way when the load goes.

    Args:
        arm: the controller's model, kept up to date by the station.
        loop: gains.
        gears: the controller's friction curves; none is compensated without.
        period_ns: time between ticks, [ns].
        can_brake: whether the plant has brakes.
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
        self._solver, place = solver, placement or Placement()
        self._base, self._R_base = (
            np.array(place.position),
            rotation_from_quaternion(np.array(place.quaternion)),
        )
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
        """Start where the arm is; a path that was under way before a stop is given up."""
        super().begin()
        self._q[:] = self.arm.q
        if self._last.any():
            self._guide = None

    def acceleration(self, asked: ControlRequest, now_ns: int) -> Array:
        """q̈*, [rad/s²]."""
        reference, arm = self.reference, self.arm
        if self._guide is not None:
            self._guide.at((now_ns - self._from_ns) * 1e-9, reference)
        elif asked.target is not None:
            target = asked.target
            reference.stand(target.position, target.rotation)
            reference.twist[:] = target.twist
        wanted = np.empty(6)
        wanted[:3] = self.loop.position(arm, reference, self._dt)
        wanted[3:] = self.loop.orientation(arm, reference, self._dt)
        wanted -= arm.drift
        return self.inverse(arm.J).dot(wanted)

    def effort(self, asked: ControlRequest) -> Array:
        """What cancels the load, [N·m]; nothing where there is no measurement."""
        wrench = self.measured(asked) if self.options.cancel_load else None
        return np.zeros(self.arm.nv) if wrench is None else -wrench.dot(self.arm.J)

    def _torque(self, asked: ControlRequest, now_ns: int) -> Array:
        if self.options.model == "measured" or self._solver is None:
            return super()._torque(asked, now_ns)
        arm, q = self.arm, self.arm.q.copy()
        wanted = self.acceleration(asked, now_ns)
        load = self.effort(asked)
        back, source = self._R_base.T, arm if self.options.model == "ik" else self.reference
        pose = Pose(back.dot(source.position - self._base), back.dot(source.rotation))
        found = self._solver.solve(pose, self._q)
        self._q[:] = found.q if found.status == "solved" else q
        arm.update(self._q, arm.v.copy())
        torque = arm.M.dot(wanted) + arm.bias + load
        arm.update(q, arm.v.copy())
        if self.gears is not None and self.compensation.friction:
            torque += self.gears.smooth(arm.v, self.compensation.friction_speed)
        return torque + asked.effort.dot(arm.J)
