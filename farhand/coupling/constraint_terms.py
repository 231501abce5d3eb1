"""What a rigid connection of two arms has to do, from the models of both: Γ and the acceleration it must undo."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from farhand.arm import Arm

Array = np.ndarray


class ArmTerms:
    r"""One arm's block of the stacked system, from that arm's data alone.

    .. math:: B_i, \qquad J_i^\top, \qquad b_i = c_i - J_i^\top h_i - \tau_i + \mu_i \odot \dot q_i

    Args:
        system: where the block lies.
        joints: which joints of the stacked system are this arm's.
    """

    def __init__(self, system: PairTerms, joints: slice) -> None:
        self._B, self._JT = system.B[joints, joints], system.rhs[joints, :6]
        self.b, self._term = system.rhs[joints, 6], system.term[joints]

    def update(self, arm: Arm, wrench: Array | None, external_torque: Array | None, scale: Array | None = None) -> None:
        """Fill the block from the arm's present terms and what is known to push on it.

        Args:
            arm: the arm at its present state.
            wrench: h, measured at its tool, [N] and [N·m].
            external_torque: τ, known to act on its links, [N·m].
            scale: 6 × 6 matrix that turns and scales its twist into the other's workspace, if it is not one.
        """
        b, term, J = self.b, self._term, arm.J
        self._B[:] = arm.M
        self._JT[:] = J.T if scale is None else J.T @ scale.T
        np.subtract(arm.bias, arm.gravity, b)
        b += np.multiply(arm.viscous, arm.v, term)
        if wrench is not None:
            b -= wrench.dot(J, term)
        if external_torque is not None:
            b -= external_torque


class PairTerms:
    r"""The stacked system of two arms: Γ, and what both would do without the constraint.

    .. math:: J = [J_1 \; J_2], \qquad B = \mathrm{diag}(B_1, B_2), \qquad b = [-b_1; b_2]

    .. math:: \Gamma = J B^{-1} J^\top = \Gamma_1 + \Gamma_2, \qquad J B^{-1} b = J_2 B_2^{-1} b_2 - J_1 B_1^{-1} b_1

    One Cholesky solve serves both: b is the last column beside Jᵀ. Two small systems cost two calls, and at this size
    the calls are what costs.

    Args:
        nv: number of velocities of each arm.

    Attributes:
        gamma: Γ, 6 × 6, [1/kg] and [1/(kg·m²)].
        response: J B⁻¹ b, [m/s²] and [rad/s²].
    """

    def __init__(self, nv: tuple[int, int]) -> None:
        n = sum(nv)
        self.B, self.rhs, self.term = np.zeros((n, n), order="F"), np.zeros((n, 7), order="F"), np.zeros(n)
        self.arms = ArmTerms(self, slice(0, nv[0])), ArmTerms(self, slice(nv[0], n))
        self._J, self._product = self.rhs[:, :6].T, np.zeros((6, 7))
        self.gamma, self.response = self._product[:, :6], self._product[:, 6]

    def solve(self) -> None:
        """Γ and the response, once both blocks are filled."""
        leader = self.arms[0].b
        np.negative(leader, leader)
        _, solved, _ = dposv(self.B, self.rhs)
        self._J.dot(solved, self._product)
