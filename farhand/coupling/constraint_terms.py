"""How a tool, or the joints of an arm, accelerate under a motor effort, from the arm's model."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from farhand.arm import Arm
from farhand.coupling import kernels
from farhand.coupling.side import NO_WRENCH

Array = np.ndarray

UNSCALED = np.eye(6)

LEVER = 0.1
"""What a radian counts as for an arm that cannot do all that is asked of its tool, [m/rad]."""


class ToolTerms:
    r"""One arm: its tool accelerates by :math:`\ddot x = \Gamma w - A` under a motor wrench w.

    .. math::
        \Gamma = J B^{-1} J^\top, \qquad A = J B^{-1} b - \dot J \dot q, \qquad
        b = c - J^\top h - \tau + \mu \odot \dot q

    Gravity is taken as compensated; Coriolis, viscous friction, the measured wrench h and the known
    joint torque τ are in A.

    Args:
        nv: number of velocities of the arm.

    Attributes:
        gamma: Γ, 6 × 6, [1/kg] and [1/(kg·m²)].
        A: [m/s²] and [rad/s²].
    """

    def __init__(self, nv: int) -> None:
        self.gamma, self.A = np.zeros((6, 6)), np.zeros(6)
        self._few, self._no_torque = nv < 6, np.zeros(nv)

    def update(
        self,
        arm: Arm,
        measured: Array | None,
        external_torque: Array | None = None,
        scale: Array | None = None,
    ) -> None:
        """Both terms at the arm's present state.

        Args:
            arm: the arm at its present state.
            measured: h, at its tool, [N] and [N·m].
            external_torque: τ, known to act on its links, [N·m].
            scale: 6 × 6 matrix that turns and scales its twist into the other's workspace, if it is
                not one.
        """
        kernels.tool_terms(
            arm.state,
            arm.nq,
            NO_WRENCH if measured is None else measured,
            self._no_torque if external_torque is None else external_torque,
            scale is not None,
            UNSCALED if scale is None else scale,
            self.gamma,
            self.A,
        )

    def exert(self, accelerations: Array, damping: float) -> Array:
        """Γ (Γ² + ρ² I)⁻¹ times accelerations, one per column: the wrenches that cause them.

        An arm of less than six joints cannot do all of it and keeps to the place rather than to the
        angle.
        """
        if self._few and damping > 0.0:
            effort: Array = placing_inverse(self.gamma, damping) @ accelerations
            return effort
        return kernels.damped(self.gamma, accelerations, damping)


class JointTerms:
    r"""The joints of one arm: :math:`\Gamma = M^{-1}`, :math:`A = M^{-1}(c + \mu\dot q - \tau_e)`.

    :math:`\tau_e` is all external torque that is known, so there is nothing beside it.

    Args:
        nv: number of velocities of the arm.
    """

    def __init__(self, nv: int) -> None:
        self.gamma, self.A, self._M = np.zeros((nv, nv)), np.zeros(nv), np.eye(nv)
        self._right = np.eye(nv, nv + 1, order="F")

    def update(
        self, arm: Arm, measured: Array | None, external_torque: Array | None = None
    ) -> None:
        """Both terms at the arm's present state."""
        right = self._right.copy(order="F")
        right[:, -1] = arm.bias - arm.gravity + arm.viscous * arm.v
        if measured is not None:
            right[:, -1] -= measured
        if external_torque is not None:
            right[:, -1] -= external_torque
        found = dposv(arm.M, right)[1]
        self.gamma[:], self.A[:], self._M = found[:, :-1], found[:, -1], arm.M

    def exert(self, accelerations: Array, damping: float) -> Array:
        """M times accelerations: it never needs damping."""
        effort: Array = self._M @ accelerations
        return effort


Terms = ToolTerms | JointTerms


def placing_inverse(gamma: Array, damping: float) -> Array:
    """The damped inverse of Γ for fewer than six joints: position comes before orientation.

    Minimises |W(Γ w − a)|² + ρ²|w|² where W counts an angle as :data:`LEVER` of way; unweighted, a
    radian counts as a metre, and centimetres are given away for degrees.

    Args:
        gamma: Γ, 6 × 6, [1/kg] and so on.
        damping: ρ > 0, [1/kg].
    """
    weighted = gamma * np.repeat([1.0, LEVER * LEVER], 3)
    return np.linalg.solve(weighted @ gamma + damping * damping * np.eye(6), weighted)
