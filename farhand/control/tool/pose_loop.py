"""Pose loop: the tool's acceleration that brings it to a reference pose, by PID or, in orientation, by sliding mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import Reference
from farhand.parameters import parameter
from farhand.spatial import ATTITUDE_ERRORS, attitude_error

Array = np.ndarray


@dataclass
class PoseLoop:
    r"""Accelerations for position and orientation, one above the other, linear part first.

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
        """Nothing integrated yet."""
        self.changed = False
        self.position_error, self.orientation_error = np.zeros(3), np.zeros(3)
        self.reset()

    def refresh(self) -> None:
        """Note that the settings changed, so that the controller lets its torque slide and not jump."""
        self.changed = True

    def reset(self) -> None:
        """Forget the integrals."""
        self.integral, self.integral_o = np.zeros(3), np.zeros(3)

    def position(self, arm: Arm, reference: Reference, dt: float) -> Array:
        """w_p, [m/s²], and the integral moved on by ``dt`` [s]."""
        error = self.position_error = reference.position - arm.position
        rate = reference.twist[:3] - arm.twist[:3]
        self.integral = np.clip(self.integral + dt * error, -self.limit, self.limit)
        return (
            reference.acceleration[:3] + self.kd * rate + self.kp * error + self.ki * self.integral
        )

    def orientation(self, arm: Arm, reference: Reference, dt: float) -> Array:
        """w_o, [rad/s²], and the integral moved on by ``dt`` [s]."""
        error = self.orientation_error = attitude_error(
            arm.rotation, reference.rotation, self.error
        )
        rate, ahead = reference.twist[3:] - arm.twist[3:], reference.acceleration[3:]
        self.integral_o = np.clip(self.integral_o + dt * error, -self.limit_o, self.limit_o)
        if self.law == "sliding":
            s = rate + self.slope * error
            return ahead + self.slope * rate + self.reach * s + self.relay * self._sign(s)
        return ahead + self.kdo * rate + self.kpo * error + self.kio * self.integral_o

    def _sign(self, s: Array) -> Array:
        return np.clip(s / self.layer, -1.0, 1.0) if self.layer > 0.0 else np.sign(s)
