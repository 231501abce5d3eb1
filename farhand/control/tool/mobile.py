"""Mobile controller: an arm that tracks the leader, on a base that the leader drives in rate mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, Controller, ControlRequest
from farhand.control.joint.joint_units import joined
from farhand.control.tool.tracking import TrackingController
from farhand.mapping.rate import RateMode
from farhand.mapping.vehicle import Vehicle, VehicleMapping
from farhand.plants.plant import Command, JointVelocity

Array = np.ndarray

BASE = 4
"""Joints of the base, before those of the arm."""


class Carried:
    """The arm's joints of a mobile robot.

    Args:
        arm: the whole robot's model.
    """

    def __init__(self, arm: Arm) -> None:
        self.nv, self.q = arm.nv - BASE, arm.q[BASE:]


class MobileController(Controller):
    """Joint velocities for base and arm together.

    The base moves only while a target of a :class:`~farhand.mapping.vehicle.VehicleMapping` is
    followed; without one, tripped or without a good sample it comes to rest within the rate mode's
    own rise time.

    Args:
        tracking: of the arm's joints, see :class:`Carried`.
        vehicle: where the base stands.
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
        self.command: Command = JointVelocity(BASE + len(tracking.command.value))
        tracking.command.value = self.command.value[BASE:]

    @property
    def parts(self) -> dict[str, Any]:
        """The arm's loop and the base's rate mode."""
        return self.tracking.parts | {"rate": self.rate}

    @property
    def status(self) -> str:
        """Of the arm's last inverse kinematics."""
        return self.tracking.status

    @property
    def unit(self) -> str:
        """Of x, y, yaw and z of the base, then of the arm's joints."""
        return joined(["m/s", "m/s", "rad/s", "m/s", *["rad/s"] * (len(self.command.value) - BASE)])

    def record(self, stream: Channels) -> Array:
        """Declare the velocity of all joints, and what the arm's go for."""
        value = super().record(stream)
        self.tracking.record_reference(stream)
        self.tracking.command.value = value[BASE:]
        return value

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Velocities of this tick."""
        vehicle, target = self.vehicle, asked.target
        if asked.valid:
            vehicle.compute()
            self.tracking.stand(*vehicle.stand())
        self.tracking.step(asked, now_ns)
        if now_ns >= self._due_ns:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            driven = isinstance(target, VehicleMapping) and asked.valid and not asked.tripped
            offset = target.offset if driven and isinstance(target, VehicleMapping) else None
            velocity = self.rate.step(offset, self._period_ns * 1e-9)
            self.command.value[:BASE] = vehicle.joint_velocity(velocity)
        self.holding = self.tracking.holding and not self.rate.v.any()
        return self.command

    def forget(self) -> None:
        """Look for the arm's next joints near where they are."""
        self.tracking.forget()

    def give_up(self) -> None:
        """Stand still."""
        self.command.value[:] = 0.0
