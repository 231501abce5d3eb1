"""What model-based controllers of the tool share: pose loop, dead zone, torque that fades in."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import TorqueController
from farhand.control.trajectory.paths import Reference
from farhand.friction import Gears
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command
from farhand.spatial import ATTITUDE_ERRORS, Array, attitude_error, robust_inverse


@dataclass
class FadedSettings:
    """Settings whose changes fade in, so that the torque does not jump."""

    def __post_init__(self) -> None:
        self.changed = False

    def refresh(self) -> None:
        """Note that a setting changed."""
        self.changed = True


@dataclass
class WrenchCompensation(FadedSettings):
    """What is added to the rigid-body model, and how slowly changes come in."""

    friction: bool = parameter(True, "-", "whether gear friction is compensated")
    friction_speed: float = parameter(
        0.01, "rad/s", "speed from which the direction of motion is trusted", 1e-6, 10.0
    )
    fade: float = parameter(0.5, "s", "time over which a change takes effect", 0.0, 10.0)


@dataclass
class DeadZone:
    r"""Weaken readings below c, :math:`\mathrm{sgn}(p)\,c^{1-b} |p|^b` for :math:`|p| < c`.

    What a force cell's compensation leaves over then moves nothing. The curve is odd, and
    continuous at c for any b ≥ 1. The published zone is a·p^b with a, b and c free; continuity
    fixes a. The zone also weakens a gentle hand.
    """

    force: float = parameter(1.0, "N", "force below which a reading counts less", 0.0, 1e3)
    moment: float = parameter(0.1, "N·m", "moment below which a reading counts less", 0.0, 1e2)
    exponent: float = parameter(3.0, "-", "how much less: power of the reading", 1.0, 20.0)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Stack the widths of the six axes, [N] and [N·m]."""
        self.width = np.repeat([self.force, self.moment], 3)

    def apply(self, wrench: Array) -> Array:
        """The wrench that counts, [N] and [N·m]."""
        share = np.abs(wrench) / np.maximum(self.width, 1e-300)
        return wrench * np.minimum(share, 1.0) ** (self.exponent - 1.0)


@dataclass
class PoseLoop(FadedSettings):
    r"""Accelerations for position and orientation, linear part first.

    .. math::
        w_p = \ddot x_d + K_d (\dot x_d - \dot x) + K_p x_e + K_i \int x_e, \qquad
        w_o = \dot\omega_d + K_{do}\,\omega_e + K_{po} O_e + K_{io} \int O_e

    or, in sliding mode, with :math:`s = \omega_e + \Lambda O_e` and a boundary layer Φ in place of
    the sign's jump,

    .. math:: w_o = \dot\omega_d + \Lambda \omega_e + K_1 s + K_2\,\mathrm{sat}(s/\Phi)

    which is a PD law of gains :math:`K_1 \Lambda` and :math:`\Lambda + K_1` and a small relay.
    Integrals are clamped per component. O_e is one of :data:`farhand.spatial.ATTITUDE_ERRORS`; at
    equal gains the quaternion's is half as stiff as the others.
    """

    kp: float = parameter(500.0, "1/s²", "position gain", 0.0, 1e5)
    kd: float = parameter(35.0, "1/s", "velocity gain", 0.0, 1e4)
    ki: float = parameter(0.0, "1/s³", "integral gain of position", 0.0, 1e6)
    limit: float = parameter(1.0, "m·s", "clamp of the integrated position error", 0.0, 1e3)
    kpo: float = parameter(200.0, "1/s²", "orientation gain", 0.0, 1e5)
    kdo: float = parameter(70.0, "1/s", "angular velocity gain", 0.0, 1e4)
    kio: float = parameter(0.0, "1/s³", "integral gain of orientation", 0.0, 1e6)
    limit_o: float = parameter(1.0, "rad·s", "clamp of the integrated orientation error", 0.0, 1e3)
    error: str = parameter(
        "axis-angle", "-", "kind of orientation error", choices=tuple(ATTITUDE_ERRORS)
    )
    law: str = parameter("pid", "-", "orientation law", choices=("pid", "sliding"))
    slope: float = parameter(100.0, "1/s", "slope Λ of the sliding surface", 0.0, 1e4)
    reach: float = parameter(10.0, "1/s", "gain K1 towards the surface", 0.0, 1e4)
    relay: float = parameter(1.0, "rad/s²", "relay K2", 0.0, 1e4)
    layer: float = parameter(0.0, "rad/s", "boundary layer of the relay", 0.0, 1e3)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.position_error, self.orientation_error = np.zeros(3), np.zeros(3)
        self.reset()

    def reset(self) -> None:
        """Clear the integrals."""
        self.integral, self.integral_o = np.zeros(3), np.zeros(3)

    def position(self, arm: Arm, reference: Reference, dt: float) -> Array:
        """w_p, [m/s²], and the integral moved on by ``dt`` [s]."""
        error = self.position_error = reference.position - arm.position
        rate = reference.twist[:3] - arm.twist[:3]
        self.integral = np.clip(self.integral + dt * error, -self.limit, self.limit)
        ahead = reference.acceleration[:3]
        return ahead + self.kd * rate + self.kp * error + self.ki * self.integral

    def orientation(self, arm: Arm, reference: Reference, dt: float) -> Array:
        """w_o, [rad/s²], and the integral moved on by ``dt`` [s]."""
        error = attitude_error(arm.rotation, reference.rotation, self.error)
        self.orientation_error = error
        rate, ahead = reference.twist[3:] - arm.twist[3:], reference.acceleration[3:]
        self.integral_o = np.clip(self.integral_o + dt * error, -self.limit_o, self.limit_o)
        if self.law == "sliding":
            s = rate + self.slope * error
            return ahead + self.slope * rate + self.reach * s + self.relay * self._sign(s)
        return ahead + self.kdo * rate + self.kpo * error + self.kio * self.integral_o

    def _sign(self, s: Array) -> Array:
        return np.clip(s / self.layer, -1.0, 1.0) if self.layer > 0.0 else np.sign(s)


class TaskController(TorqueController):
    r"""Joint torque from an acceleration of the joints and a wrench of the tool.

    .. math:: \tau = A(q)\,\ddot q^* + C\dot q + Q + S + \mathcal T(\dot q) + \tau_f

    A, C, Q and the springs S are the controller's own model, :math:`\mathcal T` its own gear
    friction. A change of any setting starts from the torque of the tick before and fades to the new
    law, so that nothing jumps. A tripped arm, or one without a good sample, is stopped and held as
    by :class:`TorqueController`.

    Args:
        loop: gains of position and orientation.
        gears: the controller's friction curves; without them no friction is compensated.

    Attributes:
        reference: where the tool is sent or kept.
        margin: smallest singular value of the Jacobian at the last tick; small means near a
            singularity, [-].
        resting: whether it holds still instead of following its law; write it.
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
        self.resting = False
        self._running, self._last = False, np.zeros(arm.nv)
        self._offset, self._fading = np.zeros(arm.nv), 0.0
        self._margin = np.zeros(1)

    @property
    def parts(self) -> dict[str, Any]:
        """Gains, dead zone, compensation, and how it holds still."""
        own = {"loop": self.loop, "zone": self.zone, "compensation": self.compensation}
        return super().parts | own

    def record(self, stream: Channels) -> Array:
        """Declare the torque and the distance from a singularity."""
        self._margin = stream.channel("singular_margin", 1, "-")
        return super().record(stream)

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Torque of the law; of standing still at rest, while tripped or without a sample."""
        torque = self.command.value
        if self.resting or request.tripped or not request.valid:
            self._running = False
            command = super().step(request, now_ns)
            self._last[:] = torque
            return command
        changed = self._settings_changed()
        if not self._running:
            self.begin()
            self._running, self.holding = True, False
            self._fading, changed = 0.0, bool(self._last.any())
        np.copyto(torque, self._torque(request, now_ns))
        if changed:
            self._begin_fade(torque)
        if self._fading > 0.0:
            torque += self._fading * self._offset
            self._fading = max(0.0, self._fading - self._dt / max(self.compensation.fade, self._dt))
        self._last[:] = torque
        self._margin[0] = self.margin
        return self.command

    def begin(self) -> None:
        """Start or restart where the arm is: nothing integrated, the reference at the tool."""
        self.loop.reset()
        self.reference.stand(self.arm.position, self.arm.rotation)

    @abstractmethod
    def acceleration(self, request: ControlRequest, now_ns: int) -> Array:
        """Joint acceleration q̈* of the law, [rad/s²]."""

    @abstractmethod
    def effort(self, request: ControlRequest) -> Array:
        """Joint torque τ_f of the law's answer to forces, [N·m]."""

    def inverse(self, matrix: Array) -> Array:
        """The robust inverse; :attr:`margin` keeps its smallest singular value."""
        inverse, self.margin = robust_inverse(matrix, self.NEAR, self.NEAR)
        return inverse

    def measured(self, request: ControlRequest) -> Array | None:
        """The measured wrench after the dead zone, [N] and [N·m]; None without a measurement."""
        return None if request.wrench is None else self.zone.apply(request.wrench)

    def change(self) -> None:
        """Let the next tick's torque fade in from this tick's."""
        self.compensation.changed = True

    def _torque(self, request: ControlRequest, now_ns: int) -> Array:
        arm = self.arm
        torque = arm.M.dot(self.acceleration(request, now_ns))
        torque += arm.bias
        torque += self.effort(request)
        if request.effort.any():
            torque += request.effort.dot(arm.J)
        self._add_friction(torque)
        return torque

    def _add_friction(self, torque: Array) -> None:
        if self.gears is not None and self.compensation.friction:
            torque += self.gears.smooth(self.arm.v, self.compensation.friction_speed)

    def _settings_changed(self) -> bool:
        changed = False
        for part in self.parts.values():
            if isinstance(part, FadedSettings) and part.changed:
                part.changed, changed = False, True
        return changed

    def _begin_fade(self, torque: Array) -> None:
        np.subtract(self._last, torque, out=self._offset)
        self._fading = 1.0
