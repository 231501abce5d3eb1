"""Lyapunov monitors: functions that must not grow while models and wrenches are exact."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.task import PoseLoop
from farhand.control.trajectory.paths import Reference
from farhand.coupling import Side
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.spatial import attitude_potential, orientation_potential, rotation_vector


class LyapunovMonitor:
    r"""Watches the Lyapunov functions of :math:`\ddot y + K_d \dot y + K_p e = 0`.

    .. math::
        V_p = \tfrac12 \dot e_p^\top K_{tp}^{-1} \dot e_p + \tfrac12 e_p^\top e_p, \qquad
        V_o = \tfrac12 \tilde\omega^\top K_{op}^{-1} \tilde\omega + U(R_e), \qquad
        \dot V_o = -\tilde\omega^\top K_{op}^{-1} K_{od}\, \tilde\omega \le 0

    U belongs to the law's orientation error, :math:`\dot U = e_o^\top \tilde\omega`, with the
    relative rotation :math:`R_e = R_t R_b^\top`. The argument needs equal entries in K_op and is
    almost global: at θ = π the error jumps.

    Attributes:
        translation: V_p at the last sample, [m²].
        rotation: V_o at the last sample, [rad²].
        largest: the largest V_o so far, [rad²].
        rise: the largest increase of V_o from one sample to the next, [rad²].
    """

    def __init__(self, law: VirtualConstraints) -> None:
        self._law = law
        self.translation = self.rotation = self.largest = self.rise = 0.0
        self._samples = 0

    def sample(self, a: Side, b: Side) -> None:
        """Evaluate both functions at the present state of the two sides."""
        law, mapping = self._law, self._law.mapping
        mapping.forward(a.position, a.rotation, a.twist)
        shift, rate = mapping.position - b.position, mapping.twist - b.twist
        turned = rotation_vector(mapping.rotation @ b.rotation.T)
        scaled = 0.5 * rate * rate / law.proportional
        before = self.rotation
        self.translation = float(scaled[:3].sum() + 0.5 * shift @ shift)
        self.rotation = float(scaled[3:].sum() + orientation_potential(turned, law.orientation))
        if self._samples:
            self.rise = max(self.rise, self.rotation - before)
        self.largest = max(self.largest, self.rotation)
        self._samples += 1


class AttitudeMonitor:
    r"""Watches the function of :math:`\dot\omega_e + K_{do}\,\omega_e + K_{po} O_e = 0`.

    .. math:: V = K_{po}\,U(R_f, R_d) + \tfrac12 \omega_e^\top \omega_e, \qquad
              \dot V = -K_{do}\,\omega_e^\top \omega_e \le 0

    U is :math:`2\,\varepsilon^\top\varepsilon` for the axis-angle error, and for the quaternion's
    :math:`(\eta - 1)^2 + \varepsilon^\top\varepsilon`. At 180° the axis-angle error vanishes: an
    unstable equilibrium. Valid without integral and relay.

    Attributes:
        value: V at the last sample, [rad²/s²].
        rise: the largest increase from one sample to the next, [rad²/s²].
    """

    def __init__(self, loop: PoseLoop) -> None:
        self._loop = loop
        self.value, self.rise = np.nan, 0.0

    def sample(self, arm: Arm, reference: Reference) -> None:
        """Evaluate it for a tool and its reference."""
        before, rate = self.value, reference.twist[3:] - arm.twist[3:]
        potential = attitude_potential(arm.rotation, reference.rotation, self._loop.error)
        self.value = self._loop.kpo * potential + 0.5 * float(rate @ rate)
        self.rise = max(self.rise, self.value - before) if np.isfinite(before) else 0.0
