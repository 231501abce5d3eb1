"""How a tool accelerates under a wrench, from the model of its arm."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.coupling import kernels
from farhand.coupling.side import NO_WRENCH

Array = np.ndarray

UNSCALED = np.eye(6)


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
        self._no_torque = np.zeros(nv)

    def update(
        self,
        arm: Arm,
        wrench: Array | None,
        external_torque: Array | None = None,
        scale: Array | None = None,
    ) -> None:
        """Both terms at the arm's present state.

        Args:
            arm: the arm at its present state.
            wrench: h, measured at its tool, [N] and [N·m].
            external_torque: τ, known to act on its links, [N·m].
            scale: 6 × 6 matrix that turns and scales its twist into the other's workspace, if it is
                not one.
        """
        kernels.tool_terms(
            arm.state,
            arm.nq,
            NO_WRENCH if wrench is None else wrench,
            self._no_torque if external_torque is None else external_torque,
            scale is not None,
            UNSCALED if scale is None else scale,
            self.gamma,
            self.A,
        )


LEVER = 0.1
"""What a radian counts as for an arm that cannot do all that is asked of its tool, [m/rad]."""


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
