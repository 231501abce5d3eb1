"""Any controller that makes joint torque, with friction compensation on top."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, Controller, ControlRequest
from farhand.errors import Mismatch
from farhand.friction.compensation import FrictionCompensation
from farhand.plants.plant import Brake, Command, JointTorque

Array = np.ndarray


class CompensatedController(Controller):
    """A controller's joint torque plus what its joints lose to friction.

    The velocity is estimated from the arm's measured positions; at rest the torque that the inner
    controller asks for beyond gravity says which way to help. Without a valid sample, and while
    braking, nothing is added.

    Args:
        inner: makes joint torque.
        arm: the controller's model, kept up to date by the station.
        compensation: of as many joints as the arm has.
        period_ns: time between ticks, [ns].
    """

    commands = JointTorque
    channel = ("torque_commanded", "N·m")

    def __init__(
        self,
        inner: Controller,
        arm: Arm,
        compensation: FrictionCompensation,
        period_ns: int = 1_000_000,
    ) -> None:
        if inner.commands is not JointTorque:
            raise Mismatch(
                f"friction compensation adds joint torque; the controller makes {inner.commands.name}"
            )
        if compensation.friction.joints != arm.nv:
            raise Mismatch(
                f"the friction model has {compensation.friction.joints} joints, the arm {arm.nv}"
            )
        self.inner, self.arm, self.compensation = inner, arm, compensation
        self._dt = period_ns * 1e-9

    @property
    def command(self) -> Command:  # type: ignore[override]
        """The inner controller's command; the compensation is added in place."""
        return self.inner.command

    @property
    def holding(self) -> bool:  # type: ignore[override]
        """Whether the arm is being held still."""
        return self.inner.holding

    @property
    def parts(self) -> dict[str, Any]:
        """Those of the inner controller, and the compensation."""
        return {**self.inner.parts, "compensation": self.compensation}

    def record(self, stream: Channels) -> Array:
        """Declare what is recorded."""
        return self.inner.record(stream)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """The inner command plus compensation."""
        command = self.inner.step(asked, now_ns)
        if not asked.valid:
            self.compensation.reset()
        elif not isinstance(command, Brake):
            arm = self.arm
            command.value += self.compensation.measured(
                arm.q, self._dt, command.value - arm.gravity
            )
        return command

    def give_up(self) -> None:
        """What the inner controller does, without help."""
        self.compensation.reset()
        self.inner.give_up()
