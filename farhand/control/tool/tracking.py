"""Tracking: a target pose becomes joint velocities, for an arm alone or on a mobile base."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller, ControlRequest, JointModel, Target
from farhand.control.joint.joint_units import join_units
from farhand.control.joint.loops import LimitedPD
from farhand.errors import BadValue
from farhand.mapping.ik import STATUS_INDEX, Pose, Solution
from farhand.mapping.vehicle import RateMode, Vehicle, VehicleMapping
from farhand.plants.plant import Channels, Command, JointVelocity
from farhand.robots import Placement
from farhand.spatial import Array

BASE_JOINTS = 4
"""Joints of a mobile base, before those of its arm."""


class IkSolver(Protocol):
    """Inverse kinematics: the solvers of :mod:`farhand.mapping.ik`, and joint copies."""

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """Joints for a pose of the tool in the arm's base."""


class TrackingController(Controller):
    """Joint velocities that bring the tool to a target: inverse kinematics, then a limited loop.

    Only the target's position and orientation count, never its twist: when nothing new arrives the
    arm goes to the last target and no further. Without a target, tripped or without a good sample,
    the velocities go to zero within the step limits and stay there.

    Args:
        arm: the controller's model, kept up to date by the station.
        solver: inverse kinematics of the arm in its base.
        placement: where the base stands in the world.
        speed: largest speed of every joint, [rad/s].
        rate: of the loop, [Hz].
    """

    commands = JointVelocity
    channel = ("velocity_commanded", "rad/s")
    exerts_effort = False
    arm: JointModel

    def __init__(
        self,
        arm: JointModel,
        solver: IkSolver,
        placement: Placement,
        speed: Array,
        pd: LimitedPD,
        rate: float = 120.0,
    ) -> None:
        limits = len(pd.step_limit)
        if limits != arm.nv:
            raise BadValue(f"the loop has limits for {limits} joints, the arm has {arm.nv}")
        self.arm, self.solver, self.pd, self._speed = arm, solver, pd, speed
        self._period_ns = round(1e9 / rate)
        self._base, self._R_base = placement.pose()
        self.command: Command = JointVelocity(arm.nv)
        #: joints the arm is sent to; None while it is stopping or at rest, [rad]
        self.reference: Array | None = None
        self._due_ns = 0
        self._recorded, self._recorded_status = np.full(arm.nv, np.nan), np.full(1, np.nan)

    @property
    def parts(self) -> dict[str, Any]:
        """Gains and limits of the loop."""
        return {"pd": self.pd}

    def set_base(self, position: Array, rotation: Array) -> None:
        """Set where the arm's base stands in the world, if it moves, [m]."""
        self._base, self._R_base = position, rotation

    def record(self, stream: Channels) -> Array:
        """Declare velocity, reference joints and status; NaN where there is no reference."""
        self.record_reference(stream)
        return super().record(stream)

    def record_reference(self, stream: Channels) -> None:
        """Declare all but the velocity."""
        self._recorded = stream.channel("q_reference", self.arm.nv, "rad")
        self._recorded_status = stream.channel("ik_status", 1, "index")

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Velocities towards the target; the last ones between two steps of the loop."""
        if now_ns < self._due_ns:
            return self.command
        self._due_ns = max(self._due_ns + self._period_ns, now_ns)
        if request.target is None or request.tripped or not request.valid:
            self._stop()
        else:
            self.pd.step(self._solve(request.target), self.arm.q, self._period_ns * 1e-9)
        self.holding = self.reference is None
        self._recorded[:] = np.nan if self.reference is None else self.reference
        self._recorded_status[0] = np.nan if self.reference is None else STATUS_INDEX[self.status]
        np.multiply(self.pd.command, self._speed, out=self.command.value)
        return self.command

    def forget(self) -> None:
        """Search the next joints near where the arm is, not near where it was sent before."""
        self.reference = None

    def _stop(self) -> None:
        """Take the velocities towards zero by one step."""
        pd, self.reference = self.pd, None
        left = pd.command - np.clip(pd.command, -pd.step_limit, pd.step_limit)
        pd.reset()
        pd.command = left

    def _solve(self, target: Target) -> Array:
        """Joints for the target, or the closest the arm can get."""
        start = self.arm.q.copy() if self.reference is None else self.reference
        back = self._R_base.T
        pose = Pose(back.dot(target.position - self._base), back.dot(target.rotation))
        solution = self.solver.solve(pose, start)
        self.status, self.reference = solution.status, solution.q
        return solution.q


class ArmOnBase:
    """The arm's joints of a mobile robot, as a :class:`~farhand.control.controller.JointModel`."""

    model = None

    def __init__(self, robot: Arm) -> None:
        self.nv, self.q = robot.nv - BASE_JOINTS, robot.q[BASE_JOINTS:]


class MobileController(Controller):
    """Joint velocities for base and arm together: the arm tracks, the leader drives the base.

    The base moves only while a target of a :class:`~farhand.mapping.vehicle.VehicleMapping` is
    followed; without one, tripped or without a good sample it comes to rest within the rate mode's
    own rise time.

    Args:
        tracking: of the arm's joints, see :class:`ArmOnBase`.
        rate: velocity of the base from the leader's offset.
        period: time between the steps of the base's velocity, [s].
    """

    commands = JointVelocity
    channel = ("velocity_commanded", "rad/s")
    exerts_effort = False

    def __init__(
        self, tracking: TrackingController, vehicle: Vehicle, rate: RateMode, period: float
    ) -> None:
        self.tracking, self.vehicle, self.rate = tracking, vehicle, rate
        self._period_ns, self._due_ns = round(1e9 * period), 0
        self.command: Command = JointVelocity(BASE_JOINTS + len(tracking.command.value))
        tracking.command.value = self.command.value[BASE_JOINTS:]

    @property
    def parts(self) -> dict[str, Any]:
        """The arm's loop and the base's rate mode."""
        return self.tracking.parts | {"rate": self.rate}

    @property
    def unit(self) -> str:
        """Of x, y, yaw and z of the base, then of the arm's joints."""
        return join_units(["m/s", "m/s", "rad/s", "m/s", *["rad/s"] * self.tracking.arm.nv])

    def record(self, stream: Channels) -> Array:
        """Declare the velocity of all joints, and the arm's reference."""
        value = super().record(stream)
        self.tracking.record_reference(stream)
        self.tracking.command.value = value[BASE_JOINTS:]
        return value

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Velocities of this tick."""
        vehicle, target = self.vehicle, request.target
        if request.valid:
            vehicle.update()
            self.tracking.set_base(*vehicle.arm_base())
        self.tracking.step(request, now_ns)
        self.status = self.tracking.status
        if now_ns >= self._due_ns:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            offset = None
            if isinstance(target, VehicleMapping) and request.valid and not request.tripped:
                offset = target.offset
            velocity = self.rate.step(offset, self._period_ns * 1e-9)
            self.command.value[:BASE_JOINTS] = vehicle.joint_velocity(velocity)
        self.holding = self.tracking.holding and not self.rate.v.any()
        return self.command

    def forget(self) -> None:
        """Search the arm's next joints near where they are."""
        self.tracking.forget()
