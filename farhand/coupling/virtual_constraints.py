"""Virtual constraints: the tools are tied as if by a rigid rod, by a force from both models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.compiled import Repeated
from farhand.coupling.constraint_terms import UNSCALED, Terms
from farhand.coupling.coupling import Coupling, per_axis
from farhand.coupling.kernels import constraint_force, damped
from farhand.coupling.side import NO_WRENCH, Effort, Side
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
        gamma: Γ at the last step, 6 × 6, [1/kg] and [1/(kg·m²)].
    """

    name = "virtual-constraints"
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

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        n, m = self.port.leader_size, self.port.size
        self._efforts, self.gamma = np.zeros(m + n), np.zeros((m, m))
        self.multiplier, self._felt = self._efforts[:m], self._efforts[m:]
        self.proportional, self.derivative = (
            per_axis(gains, m) for gains in (self.proportional, self.derivative)
        )
        self._terms: tuple[Terms, Terms] | None = None
        self._repeated = Repeated()
        self.refresh()

    def refresh(self) -> None:
        """Stack the gains."""
        self._gains = np.concatenate([self.proportional, self.derivative, [self.damping]])

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """The constraint force: u on the follower, −u on the leader."""
        one, two = a.arm, b.arm
        assert one is not None and two is not None  # "models" is among the needs
        if self.port.space == "joints":
            return self._tie_joints(a, b, one, two)
        mapping = self.mapping
        # the error is found in the same call, where that is possible
        straight, plain = mapping.straight and self.orientation == "rotvec", mapping.plain
        if not straight:
            self.measure(a, b)
            self.error[3:] = orientation_error(self.error[3:], self.orientation)
        self._repeated.call(
            constraint_force,
            one.state,
            one.nq,
            a.known_wrench if self.leader_wrench else NO_WRENCH,
            a.known_torque,
            not plain,
            UNSCALED if plain else mapping.matrix,
            two.state,
            two.nq,
            b.known_wrench if self.follower_wrench else NO_WRENCH,
            b.known_torque,
            straight,
            mapping.offsets,
            mapping.target,
            self.motion,
            self._gains,
            self.gamma,
            mapping.force_scale,
            self._efforts,
        )
        # other mappings bring forces back in other ways
        if not mapping.straight:
            mapping.back(self.multiplier, self._felt)
            np.negative(self._felt, self._felt)
        return a.effort(self._felt), b.effort(self.multiplier)

    def _tie_joints(self, a: Side, b: Side, one: Arm, two: Arm) -> tuple[Effort, Effort]:
        """The same between joints, where Γ₁ = M₁⁻¹ and Γ₂ = M₂⁻¹."""
        self.measure(a, b)
        if self._terms is None:
            self._terms = self.port.terms(one), self.port.terms(two)
        (first, second), S = self._terms, self.mapping.matrix
        first.update(one, a.torque if self.leader_wrench else None)
        second.update(two, b.torque if self.follower_wrench else None)
        wanted = second.A - S @ first.A + self.derivative * self.rate
        wanted += self.proportional * self.error
        self.gamma[:] = S @ first.gamma @ S.T + second.gamma
        self.multiplier[:] = damped(self.gamma, wanted[:, None], self.damping)[:, 0]
        self.mapping.back(self.multiplier, self._felt)
        np.negative(self._felt, self._felt)
        return a.effort(self._felt), b.effort(self.multiplier)
