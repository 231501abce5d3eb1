"""How tools accelerate under wrenches, from the models: one arm, and two as one system."""

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

    def __init__(self, system: System, joints: slice) -> None:
        self._B, self._JT = system.B[joints, joints], system.rhs[joints, :6]
        self.b, self._term = system.rhs[joints, 6], system.term[joints]

    def update(
        self,
        arm: Arm,
        wrench: Array | None,
        external_torque: Array | None,
        scale: Array | None = None,
    ) -> None:
        """Fill the block from the arm's present terms and what is known to push on it.

        Args:
            arm: the arm at its present state.
            wrench: h, measured at its tool, [N] and [N·m].
            external_torque: τ, known to act on its links, [N·m].
            scale: 6 × 6 matrix that turns and scales its twist into the other's workspace, if it is
                not one.
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


class System:
    """Several arms in one linear system: block-diagonal B, and the right-hand sides [Jᵀ | b].

    One Cholesky solve serves both sides. Two small systems cost two calls, and at this size the
    calls are what costs.

    Args:
        nv: number of velocities of each arm.

    Attributes:
        gamma: J B⁻¹ Jᵀ, 6 × 6, [1/kg] and [1/(kg·m²)].
        response: J B⁻¹ b, [m/s²] and [rad/s²].
    """

    def __init__(self, *nv: int) -> None:
        n = sum(nv)
        self.B, self.rhs, self.term = (
            np.zeros((n, n), order="F"),
            np.zeros((n, 7), order="F"),
            np.zeros(n),
        )
        ends = np.cumsum(nv).tolist()
        self.arms = [
            ArmTerms(self, slice(end - count, end)) for end, count in zip(ends, nv, strict=True)
        ]
        self._J, self._product = self.rhs[:, :6].T, np.zeros((6, 7))
        self.gamma, self.response = self._product[:, :6], self._product[:, 6]

    def solve(self) -> None:
        """Γ and the response, once all blocks are filled."""
        _, solved, _ = dposv(self.B, self.rhs)
        self._J.dot(solved, self._product)


class PairTerms(System):
    r"""Two arms whose tools are to move as one: Γ, and what both would do without the constraint.

    .. math:: J = [J_1 \; J_2], \qquad B = \mathrm{diag}(B_1, B_2), \qquad b = [-b_1; b_2]

    .. math::

        \Gamma = J B^{-1} J^\top = \Gamma_1 + \Gamma_2, \qquad
        J B^{-1} b = J_2 B_2^{-1} b_2 - J_1 B_1^{-1} b_1
    """

    def solve(self) -> None:
        """Γ and the response, once both blocks are filled."""
        leader = self.arms[0].b
        np.negative(leader, leader)
        super().solve()


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


class ToolTerms(System):
    r"""One arm: its tool accelerates by :math:`\ddot x = \Gamma w - A` under a motor wrench w.

    .. math:: \Gamma = J B^{-1} J^\top, \qquad A = J B^{-1} b - \dot J \dot q

    Gravity is taken as compensated; Coriolis, viscous friction and the measured wrench are in A.
    """

    def __init__(self, nv: int) -> None:
        super().__init__(nv)
        self.A = np.zeros(6)  #: [m/s²] and [rad/s²]

    def update(self, arm: Arm, wrench: Array | None, external_torque: Array | None = None) -> None:
        """Both terms at the arm's present state."""
        self.arms[0].update(arm, wrench, external_torque)
        self.solve()
        np.subtract(self.response, arm.drift, self.A)
