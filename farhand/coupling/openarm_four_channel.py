"""OpenArm's four channels: positions and forces cross, with observers in place of sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.published import published
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling
from farhand.parameters import parameter

ALPHA, BETA = 1.0, 0.8
"""Weights of the published law's modes: of the leader's inertia, and of the follower's."""


@dataclass
class OpenArmFourChannel(SpringCoupling):
    r"""The law of ``tokirobot/openarm_bilateral``: a spring, a force servo, a disturbance observer.

    .. math::
        w_b &= K e + D\dot e + \rho_b K_f\,(\mathrm{fwd}(h_a) + h_b) - \mathrm{sat}(h_b) \\
        w_a &= \rho_a K_f\,(h_a + \mathrm{back}(h_b)) - \mathrm{sat}(h_a)
        - \mathrm{back}(K e + D\dot e)

    The saturated term takes away what touches the arm. At rest the spring has no tension and the
    hand feels what the follower touches. :math:`h_i`, zero if not measured, passes a low-pass of
    ``bandwidth`` on top of the rig's observers. Both arms are taken as equally heavy:
    :math:`\rho_a = \alpha/(\alpha + \beta)`, :math:`\rho_b = 1/(\alpha + \beta)`.
    """

    name = "openarm-four-channel"
    needs = frozenset({"observers"})

    published: bool = parameter(False, "-", "the makers' gains, for eight joints of OpenArms")
    force_gain: float = parameter(1.0, "-", "K_f, of the force servo", 0.0, 10.0)
    bandwidth: float = parameter(15.0, "rad/s", "of the observed efforts", 0.1, 1000.0)
    limit: float = parameter(50.0, "N", "most that is taken away at a tool or slide", 0.0, 1e4)
    rotational_limit: float = parameter(10.0, "N·m", "most about an axis", 0.0, 1e3)

    def __post_init__(self) -> None:
        """Prepare the filtered efforts and what is asked of either side."""
        super().__post_init__()
        self._sizes = self.port.leader_size, self.port.size
        self._h, self._on = (tuple(map(np.zeros, self._sizes)) for _ in range(2))
        self.refresh()

    def refresh(self) -> None:
        """Take the makers' gains, or those of the rig; limits for each side."""
        self.spring.refresh()
        self._force, self._cut = np.full(1, self.force_gain), np.full(1, self.bandwidth)
        limits = self.limit, self.rotational_limit
        self._limits = self.port.spread(*limits, leader=True), self.port.spread(*limits)
        if self.published:
            gains = published(self.name, *self._sizes)
            self.spring.gains(gains["stiffness"], gains["damping"])
            self._force, self._cut = gains["force_gain"], gains["bandwidth"]
            self._limits = (gains["limit"],) * 2

    def engage(self, a: Side, b: Side) -> None:
        """Couple the present poses, with no effort remembered."""
        super().engage(a, b)
        for kept in self._h:
            kept[:] = 0.0

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Spring, force servo and disturbance observer on both sides."""
        self.measure(a, b)
        pull = self.spring.pull(self.error, self.rate)
        for kept, side in zip(self._h, (a, b), strict=True):
            measured = self.port.measured(side)
            kept += -np.expm1(-self._cut * dt) * ((0.0 if measured is None else measured) - kept)
        (h_a, h_b), (on_a, on_b), (most_a, most_b) = self._h, self._on, self._limits
        across = h_a if self.mapping.plain else np.linalg.pinv(self.mapping.matrix.T) @ h_a
        servo = self._force / (ALPHA + BETA)
        on_b[:] = pull + servo * (across + h_b) - np.clip(h_b, -most_b, most_b)
        self.mapping.back(ALPHA * servo * h_b - pull, out=on_a)
        on_a += ALPHA * servo * h_a - np.clip(h_a, -most_a, most_a)
        return a.effort(on_a), b.effort(on_b, self.mapping)
