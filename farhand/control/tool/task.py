"""Task controller: what all model-based controllers of the tool share, on an arm that takes joint torques."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, ControlRequest
from farhand.control.tool.dead_zone import DeadZone
from farhand.control.tool.pose_loop import PoseLoop
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import Reference
from farhand.friction import Gears
from farhand.parameters import parameter
from farhand.plants.plant import Command
from farhand.spatial import robust_inverse

Array = np.ndarray


@dataclass
class WrenchCompensation:
    """What is added to the rigid-body model, and how softly changes come in."""

    friction: bool = parameter(True, "-", "whether gear friction is compensated")
    friction_speed: float = parameter(
        0.01, "rad/s", "speed from which the direction of motion is trusted", 1e-6, 10.0
    )
    fade: float = parameter(0.5, "s", "time over which a change takes effect", 0.0, 10.0)

    def __post_init__(self) -> None:
        """No change pending."""
        self.changed = False

    def refresh(self) -> None:
        """Note that the settings changed."""
        self.changed = True


class TaskController(TorqueController):
    r"""Joint torque from an acceleration of the joints and a wrench of the tool.

    .. math:: \tau = A(q)\,\ddot q^* + C\dot q + Q + S + \mathcal T(\dot q) + \tau_f

    A, C, Q and the springs S are the controller's own model, :math:`\mathcal T` its own gear
    friction. A change of any setting starts from the torque of the tick before and fades to the new
    law, so that no switch is felt as a jump. A tripped arm, or one without a good sample, is
    stopped and held as by :class:`TorqueController`.

    Args:
        arm: the controller's model, kept up to date by the station.
        loop: gains of position and orientation.
        gears: the controller's friction curves; none is compensated without.
        period_ns: time between ticks, [ns].
        can_brake: whether the plant has brakes.

    Attributes:
        loop: gains of position and orientation.
        reference: where the tool is sent or kept.
        zone: dead zone of the measured wrench.
        compensation: what is added to the model.
        margin: smallest singular value of the Jacobian at the last tick; small means near a
            singularity, [-].
    """

    NEAR = 0.05
    """Singular value below which the inverse of the Jacobian is damped; recommended."""

    def __init__(
        self,
        arm: Arm,
        loop: PoseLoop | None = None,
        gears: Gears | None = None,
        period_ns: int = 4_000_000,
        can_brake: bool = False,
    ) -> None:
        super().__init__(arm, "hold", period_ns, can_brake)
        self.loop, self.gears = loop or PoseLoop(), gears
        self.reference, self.zone, self.compensation = Reference(), DeadZone(), WrenchCompensation()
        self.margin = np.inf
        self._running, self._last = False, np.zeros(arm.nv)
        self._offset, self._fading = np.zeros(arm.nv), 0.0
        self._margin = np.zeros(1)

    @property
    def parts(self) -> dict[str, Any]:
        """Gains, dead zone, compensation, and how it holds still."""
        return {
            **super().parts,
            "loop": self.loop,
            "zone": self.zone,
            "compensation": self.compensation,
        }

    @property
    def near_singular(self) -> bool:
        """Whether the inverse of the Jacobian was damped at the last tick."""
        return self.margin < self.NEAR

    def record(self, stream: Channels) -> Array:
        """Declare the torque and the distance from a singularity."""
        self._margin = stream.channel("singular_margin", 1, "-")
        return super().record(stream)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Torque of the law; of standing still while tripped or blind."""
        torque = self.command.value
        if asked.tripped or not asked.valid:
            self._running = False
            command = super().step(asked, now_ns)
            self._last[:] = torque
            return command
        changed = self._changed()
        if not self._running:
            self.begin()
            self._running, self.holding = True, False
            self._fading, changed = 0.0, bool(self._last.any())
        np.copyto(torque, self._torque(asked, now_ns))
        if changed:
            self._begin_fade(torque)
        if self._fading > 0.0:
            torque += self._fading * self._offset
            self._fading = max(0.0, self._fading - self._dt / max(self.compensation.fade, self._dt))
        self._last[:] = torque
        self._margin[0] = self.margin
        return self.command

    def begin(self) -> None:
        """Start or start again where the arm is: nothing integrated, the reference at the tool."""
        self.loop.reset()
        self.reference.stand(self.arm.position, self.arm.rotation)

    @abstractmethod
    def acceleration(self, asked: ControlRequest, now_ns: int) -> Array:
        """Joint acceleration q̈* that the law wants, [rad/s²]."""

    @abstractmethod
    def effort(self, asked: ControlRequest) -> Array:
        """Joint torque τ_f of what the law does about forces, [N·m]."""

    def inverse(self, matrix: Array) -> Array:
        """The robust inverse; its margin is remembered."""
        inverse, self.margin = robust_inverse(matrix, self.NEAR, self.NEAR)
        return inverse

    def measured(self, asked: ControlRequest) -> Array | None:
        """The measured wrench behind the dead zone, [N] and [N·m]; None when there is no measurement."""
        return None if asked.wrench is None else self.zone.apply(asked.wrench)

    def change(self) -> None:
        """Let the next tick's torque fade in from this tick's."""
        self.compensation.changed = True

    def _torque(self, asked: ControlRequest, now_ns: int) -> Array:
        arm = self.arm
        torque = arm.M.dot(self.acceleration(asked, now_ns))
        torque += arm.bias
        torque += self.effort(asked)
        asked_too = asked.effort
        if asked_too.any():
            torque += asked_too.dot(arm.J)
        if self.gears is not None and self.compensation.friction:
            torque += self.gears.smooth(arm.v, self.compensation.friction_speed)
        return torque

    def _changed(self) -> bool:
        changed = False
        for part in self.parts.values():
            if getattr(part, "changed", False):
                part.changed, changed = False, True
        return changed

    def _begin_fade(self, torque: Array) -> None:
        np.subtract(self._last, torque, out=self._offset)
        self._fading = 1.0
