"""Tracking controller: a pose for the tool becomes joint velocities, for arms that take nothing else."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from farhand.control.controller import Channels, Controller, ControlRequest, Target
from farhand.control.joint.limited_pd import LimitedPD
from farhand.errors import BadValue
from farhand.mapping.ik import STATUSES, Pose, Solution
from farhand.plants.plant import Command, JointVelocity
from farhand.robots import Placement
from farhand.spatial import rotation_from_quaternion

Array = np.ndarray

_STATUS = {name: float(index) for index, name in enumerate(STATUSES)}


class JointModel(Protocol):
    """What is known of the joints that are driven: all of an arm, or some of a larger robot.

    Attributes:
        nv: how many.
        q: where they are, live, [rad].
    """

    nv: int
    q: Array


class IkSolver(Protocol):
    """Anything that finds joints for a pose."""

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """Joints for a pose of the tool in the arm's base."""


class TrackingController(Controller):
    """Joint velocities that bring the tool to a target: inverse kinematics, then a limited loop per joint.

    Only the target's position and orientation count, never its twist: when nothing new arrives the
    arm goes to the last target and no further. Without a target, tripped or without a good sample,
    the velocities go to zero within the step limits and stay there. Efforts are left to others.

    Args:
        arm: the controller's model, kept up to date by the station.
        solver: inverse kinematics of the arm in its base.
        placement: where the base stands in the world.
        speed: largest speed of every joint, [rad/s].
        pd: gains and limits.
        rate: of the loop, [Hz].

    Attributes:
        reference: joints the arm is sent to; None while it is stopping or at rest, [rad].
        status: of the last inverse kinematics; recorded as its index in
            :data:`farhand.mapping.ik.STATUSES`.
    """

    commands = JointVelocity
    channel = ("velocity_commanded", "rad/s")
    exerts_effort = False

    def __init__(
        self,
        arm: JointModel,
        solver: IkSolver,
        placement: Placement,
        speed: Array,
        pd: LimitedPD,
        rate: float = 120.0,
    ) -> None:
        if len(pd.step_limit) != arm.nv:
            raise BadValue(
                f"the loop has limits for {len(pd.step_limit)} joints, the arm has {arm.nv}"
            )
        self.arm, self.solver, self.pd, self._speed = arm, solver, pd, speed
        self._period_ns = round(1e9 / rate)
        self._base = np.array(placement.position)
        self._R_base = rotation_from_quaternion(np.array(placement.quaternion))
        self.command: Command = JointVelocity(arm.nv)
        self.reference: Array | None = None
        self.status = "solved"
        self._due_ns = 0
        self._recorded, self._recorded_status = np.full(arm.nv, np.nan), np.full(1, np.nan)

    @property
    def parts(self) -> dict[str, Any]:
        """Gains and limits of the loop."""
        return {"pd": self.pd}

    def stand(self, position: Array, rotation: Array) -> None:
        """Say where the arm's base stands in the world, if it moves, [m]."""
        self._base, self._R_base = position, rotation

    def record(self, stream: Channels) -> Array:
        """Declare the velocity, the joints it goes for and how they were found; not a number where there are none."""
        self.record_reference(stream)
        return super().record(stream)

    def record_reference(self, stream: Channels) -> None:
        """Declare all but the velocity."""
        self._recorded = stream.channel("q_reference", self.arm.nv, "rad")
        self._recorded_status = stream.channel("ik_status", 1, "index")

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Velocities towards the target asked for; in between the loop's own steps the last ones."""
        if now_ns < self._due_ns:
            return self.command
        self._due_ns = max(self._due_ns + self._period_ns, now_ns)
        if asked.target is None or asked.tripped or not asked.valid:
            self._stop()
        else:
            self.pd.step(self._solve(asked.target), self.arm.q, self._period_ns * 1e-9)
        self.holding = self.reference is None
        self._recorded[:] = np.nan if self.reference is None else self.reference
        self._recorded_status[0] = np.nan if self.reference is None else _STATUS[self.status]
        np.multiply(self.pd.command, self._speed, out=self.command.value)
        return self.command

    def forget(self) -> None:
        """Look for the next joints near where the arm is, not near where it was sent before."""
        self.reference = None

    def give_up(self) -> None:
        """Stand still."""
        self.command.value[:] = 0.0

    def _stop(self) -> None:
        """Take the velocities towards zero by one step."""
        pd, self.reference = self.pd, None
        left = pd.command - np.clip(pd.command, -pd.step_limit, pd.step_limit)
        pd.reset()
        pd.command = left

    def _solve(self, target: Target) -> Array:
        """Joints for the target, or as near as the arm can get; the last ones where there is no answer near them."""
        start = self.arm.q.copy() if self.reference is None else self.reference
        R = self._R_base.T
        found = self.solver.solve(
            Pose(R.dot(target.position - self._base), R.dot(target.rotation)), start
        )
        self.status, self.reference = found.status, found.q
        return found.q
