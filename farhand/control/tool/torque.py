"""Torque controller: what couplings pull with becomes joint torque, on top of the arm's weight."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, Controller, ControlRequest
from farhand.control.joint.still import Still
from farhand.plants.plant import Brake, Command, JointTorque

Array = np.ndarray

LET_GO = 0.2
"""Time over which an arm that may move again stops being held still, [s]."""


class Assist(Protocol):
    """What adds to the joints' torque what nobody asked for, such as help against friction."""

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """Torque to add, [N·m]: see :meth:`farhand.control.joint.assists.FrictionOffset.torque`."""


class TorqueController(Controller):
    r"""Joint torque :math:`\tau = J^\top w + g(q)`, the gravity of the controller's own model.

    Where no coupling is engaged, an arm at rest is either held still or free to be moved; a tripped
    one is always held.

    Args:
        arm: the controller's model, kept up to date by the station.
        rest: ``"hold"`` or ``"free"`` when not coupled.
        period_ns: time between ticks, [ns].
        can_brake: whether the plant has brakes, for an arm whose state is not known.
        assist: what helps the joints against their friction, or None.

    Attributes:
        still: how the arm is stopped and held.
    """

    commands = JointTorque
    channel = ("torque_commanded", "N·m")

    def __init__(
        self,
        arm: Arm,
        rest: str = "hold",
        period_ns: int = 1_000_000,
        can_brake: bool = False,
        assist: Assist | None = None,
    ) -> None:
        self.arm, self.rest, self.assist = arm, rest, assist
        self.still = Still()
        self.holding = False
        self.command: Command = JointTorque(arm.nv)
        self._brake, self._can_brake = Brake(arm.nv), can_brake
        self._brake.value = self.command.value
        self._dt = period_ns * 1e-9
        self._letting = 0.0
        self._held, self._last_held = np.zeros(arm.nv), np.zeros(arm.nv)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, and what helps against friction."""
        return (
            {"still": self.still}
            if self.assist is None
            else {"still": self.still, "assist": self.assist}
        )

    def record(self, stream: Channels) -> Array:
        """Declare the torque."""
        self._brake.value = super().record(stream)
        return self._brake.value

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort asked for; brakes, where there are any, for an arm whose state is not known."""
        arm, torque, gain = self.arm, self.command.value, asked.gain
        asked.effort.dot(arm.J, torque)
        if self.assist is not None and asked.valid:
            torque += self.assist.torque(arm, torque, asked.wrench)
        torque += arm.gravity
        if gain < 1.0 and (asked.tripped or self.rest == "hold"):
            self._held[:] = (1.0 - gain) * self._hold(asked.valid)
            torque += self._held
        elif self.holding or self._letting > 0.0:
            torque += self._let_go()
        return self.command if asked.valid or not self._can_brake else self._brake

    def give_up(self) -> None:
        """Carry the weight, as last known."""
        self.command.value[:] = self.arm.gravity

    def _let_go(self) -> Array:
        """What is left of holding still: its last torque, faded out, so that letting go is soft."""
        if self.holding:
            self.holding, self._letting = False, 1.0
            self._last_held[:] = self._held
        self._letting = max(0.0, self._letting - self._dt / LET_GO)
        np.multiply(self._last_held, self._letting, self._held)
        return self._held

    def _hold(self, valid: bool) -> Array:
        """Torque without gravity that stops the arm and keeps it; without a valid sample, as predicted by the model."""
        if not self.holding:
            self.still.begin(self.arm)
            self.holding = True
        if not valid:
            # the brakes stop the arm; when samples come back, holding starts from there
            if self._can_brake:
                self.holding = False
                return np.zeros(self.arm.nv)
            self.arm.update(self.still.q, self.still.v)
        return self.still.step(self.arm, self._dt)
