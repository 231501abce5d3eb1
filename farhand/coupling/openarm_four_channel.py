"""OpenArm's four channels: positions and forces cross, with observers in place of sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling.openarm import published
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import SpringCoupling
from farhand.parameters import parameter

Array = np.ndarray

ALPHA, BETA = 1.0, 0.8
"""Weights of the published law's modes: of the leader's inertia, and of the follower's."""


@dataclass
class OpenArmFourChannel(SpringCoupling):
    r"""The law of ``tokirobot/openarm_bilateral``: a spring, a force servo, a disturbance observer.

    .. math::
        w_b = K e + D\dot e + \rho_b K_f\,(\mathrm{fwd}(h_a) + h_b) - \mathrm{sat}(h_b)

        w_a = \rho_a K_f\,(h_a + \mathrm{back}(h_b)) - \mathrm{sat}(h_a)
        - \mathrm{back}(K e + D\dot e)

    The last term takes away what touches the arm, so that it moves only as the first two say; the
    force servo then lets both arms go where hand and environment together push. At rest the spring
    is without tension and the hand feels what the follower touches. :math:`h_i` passes a low-pass
    of ``bandwidth``; the published one is that of its observers, so it comes on top of the rig's.
    It weighs with both arms' inertias, :math:`\rho_a = \alpha J_a/(\alpha J_a + \beta J_b)` and
    :math:`\rho_b = J_b/(\alpha J_a + \beta J_b)`, and the arms are taken as equal here.

    An effort that is not measured counts as zero. Keeps the filtered efforts as its state.
    """

    name = "openarm-four-channel"
    needs = frozenset({"observers"})

    published: bool = parameter(False, "-", "the makers' gains, for eight joints of OpenArms")
    force_gain: float = parameter(1.0, "-", "K_f, of the force servo", 0.0, 10.0)
    bandwidth: float = parameter(15.0, "rad/s", "of the observed efforts", 0.1, 1000.0)
    limit: float = parameter(50.0, "N", "most that is taken away at a tool or slide", 0.0, 1e4)
    rotational_limit: float = parameter(10.0, "N·m", "most about an axis", 0.0, 1e3)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        self._sizes = self.port.leader_size, self.port.size
        self._h = tuple(np.zeros(size) for size in self._sizes)
        self._wanted = tuple(np.zeros(size) for size in self._sizes)
        self.refresh()

    def refresh(self) -> None:
        """Take the makers' gains, or those of the rig; one array for each side."""
        self.spring.refresh()
        if self.published:
            gains = published(self.name, *self._sizes)
            self.spring.gains(gains["stiffness"], gains["damping"])
            force, self._cut, limit = (gains[key] for key in ("force_gain", "bandwidth", "limit"))
            self._force, self._limit = (force, force), (limit, limit)
        else:
            self._force, self._cut = (np.full(1, self.force_gain),) * 2, np.full(1, self.bandwidth)
            limits = self.limit, self.rotational_limit
            self._limit = self.port.spread(*limits, leader=True), self.port.spread(*limits)

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
        (h_a, h_b), (on_a, on_b) = self._h, self._wanted
        back, across = np.zeros_like(h_a), h_a
        if not self.mapping.plain:
            across = np.linalg.pinv(self.mapping.matrix.T) @ h_a
        self.mapping.back(h_b, out=back)
        self.mapping.back(pull, out=on_a)
        force, limit = self._force, self._limit
        on_a[:] = ALPHA / (ALPHA + BETA) * force[0] * (h_a + back) - on_a - _cut(h_a, limit[0])
        on_b[:] = 1.0 / (ALPHA + BETA) * force[1] * (across + h_b) + pull - _cut(h_b, limit[1])
        return a.effort(on_a), b.effort(on_b, self.mapping)


def _cut(effort: Array, limit: Array) -> Array:
    cut: Array = np.clip(effort, -limit, limit)
    return cut
