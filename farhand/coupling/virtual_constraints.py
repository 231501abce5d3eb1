"""Virtual constraints: the tools are tied as if by a rigid rod, by a force from both models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from farhand.arm import Arm
from farhand.coupling.constraint_terms import PairTerms
from farhand.coupling.coupling import Coupling
from farhand.coupling.side import Effort, Side
from farhand.parameters import parameter
from farhand.spatial import ORIENTATION_ERRORS, orientation_error

Array = np.ndarray


@dataclass
class VirtualConstraints(Coupling):
    r"""Keep the tools' relative pose constant by the force a rigid connection would exert.

    .. math::
        \Gamma u = A_2 - A_1 - K_d\,\dot y - K_p\,e, \qquad
        \tau_1 = -J_1^\top u, \quad \tau_2 = +J_2^\top u

    with :math:`\Gamma = \Gamma_1 + \Gamma_2`, :math:`\dot y = J_2\dot q_2 - J_1\dot q_1`,
    :math:`e = [p_2 - p_1 - \Delta p;\; e_o]` and :math:`R_e = R_2 (R_1 \Delta R)^\top`. With exact
    models and wrenches the error obeys :math:`\ddot y + K_d \dot y + K_p e = 0`: the same
    second-order curve on all six axes, whatever the posture, and the hand feels both arms as one
    body. Γ is inverted with damping,
    :math:`\Gamma(\Gamma^2 + \rho^2 I)^{-1}`, so a pose in which both arms lose the same direction
    gives finite forces. A scaled or turned workspace enters as :math:`J_1 \to S J_1`, with S from
    the mapping.

    Needs both models. Wrenches are used where measured; without them the tie is a spring of
    stiffness
    :math:`\Gamma^{-1} K_p`, an order of magnitude softer than it looks. What it does badly: model
    errors, dry friction and delay enter directly, and it stiffens contact, so a slow loop shakes on
    a hard wall.

    Attributes:
        multiplier: u at the last step, [N] and [N·m].
    """

    name = "virtual-constraints"
    has_kernel = True
    needs = frozenset({"models"})
    properties = frozenset({"reciprocal", "symmetric"})
    shares_arms = False  # it takes its own effort for the only one

    proportional: Array = parameter((110.87,) * 6, "1/s²", "diagonal of K_p", 0.0, 1e5)
    derivative: Array = parameter((16.85,) * 6, "1/s", "diagonal of K_d", 0.0, 1e4)
    damping: float = parameter(0.01, "1/kg", "damping ρ of the inverse of Γ", 0.0, 1.0)
    orientation: str = parameter(
        "rotvec", "-", "orientation error", choices=tuple(ORIENTATION_ERRORS)
    )
    leader_wrench: bool = parameter(True, "-", "use the leader's measured wrench")
    follower_wrench: bool = parameter(True, "-", "use the follower's measured wrench")
    kernel: str = parameter(
        "numpy", "-", "plain or compiled linear algebra", choices=("numpy", "numba")
    )

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        self.multiplier, self._rhs, self._term = np.zeros(6), np.zeros(6), np.zeros(6)
        self._squared, self._felt = np.zeros((6, 6), order="F"), np.zeros(6)
        self._terms: PairTerms | None = None
        self.refresh()

    def refresh(self) -> None:
        """Prepare what depends on the parameters."""
        # ordered as what it is added to
        self._rho = np.asfortranarray(self.damping * self.damping * np.eye(6))
        self._compiled = None
        if self.kernel == "numba":
            from farhand.coupling.constraint_kernel import constraint_force

            self._compiled = constraint_force

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """The constraint force: u on the follower, −u on the leader."""
        assert a.arm is not None and b.arm is not None  # "models" is among the needs
        self.measure(a, b)
        if self.orientation != "rotvec":
            self.error[3:] = orientation_error(self.error[3:], self.orientation)
        wrench_a = a.wrench if self.leader_wrench else None
        wrench_b = b.wrench if self.follower_wrench else None
        if self._compiled is not None and self.damping > 0.0 and self.mapping.plain:
            self._compiled(
                _flat(a.arm, wrench_a, a.external_torque),
                _flat(b.arm, wrench_b, b.external_torque),
                self.error,
                self.rate,
                self.proportional,
                self.derivative,
                self.damping,
                self.multiplier,
            )
        else:
            self._evaluate(a, b, wrench_a, wrench_b)
        self.mapping.back(self.multiplier, self._felt)
        np.negative(self._felt, self._felt)
        return a.effort(self._felt), b.effort(self.multiplier)

    def _evaluate(self, a: Side, b: Side, wrench_a: Array | None, wrench_b: Array | None) -> None:
        """The multiplier, in NumPy."""
        assert a.arm is not None and b.arm is not None
        if self._terms is None:
            self._terms = PairTerms(a.arm.nv, b.arm.nv)
        terms, scale = self._terms, None if self.mapping.plain else self.mapping.matrix
        terms.arms[0].update(a.arm, wrench_a, a.external_torque, scale)
        terms.arms[1].update(b.arm, wrench_b, b.external_torque)
        terms.solve()
        drift = a.arm.drift if scale is None else scale @ a.arm.drift
        rhs, term = self._rhs, self._term
        np.add(terms.response, drift, rhs)
        rhs -= b.arm.drift
        rhs += np.multiply(self.derivative, self.rate, term)  # rate = −ẏ
        rhs += np.multiply(self.proportional, self.error, term)  # error = −e
        self._solve(terms.gamma, rhs)

    def _solve(self, gamma: Array, rhs: Array) -> None:
        """Γ (Γ² + ρ² I)⁻¹ rhs; without damping Γ⁻¹ rhs, unbounded in a common singularity."""
        if self.damping == 0.0:
            self.multiplier[:] = np.linalg.solve(gamma, rhs)
            return
        squared = self._squared
        gamma.dot(gamma, squared.T)  # symmetric, so its transpose is itself
        squared += self._rho
        _, solved, _ = dposv(squared, rhs)
        gamma.dot(solved, self.multiplier)


def _flat(arm: Arm, wrench: Array | None, external_torque: Array | None) -> tuple[Array, ...]:
    """An arm's terms for the compiled kernel, all known joint torques added up."""
    known = np.zeros(arm.nv) if wrench is None else wrench.dot(arm.J)
    if external_torque is not None:
        known += external_torque
    return arm.M, arm.J, arm.bias, arm.gravity, arm.viscous, arm.v, known, arm.drift
