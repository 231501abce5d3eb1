"""LuGre: Dahl's bristle with the Stribeck curve as its level, damping and viscous friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.friction.models.model import Array, ForceAndState, register
from farhand.friction.models.stribeck import ShapedLevel
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class LuGre(ShapedLevel):
    r"""The average bristle.

    .. math:: \dot z = v - \sigma_0 \frac{|v|}{g(v)} z, \qquad
              F = \sigma_0 z + \sigma_1 \dot z + \sigma_2 v

    z is advanced by its exact solution for the step's velocity, :math:`z \leftarrow z_{ss} + (z -
    z_{ss}) e^{-\sigma_0 |v| dt/g}`, and ż is its mean over the step. Stiction, Stribeck fall, lag
    and presliding hysteresis; no non-local memory. With constant σ1 it is passive for every motion
    only if σ2 > σ1 (F_s − F_c)/F_c: a joint torn away fast while its bristles are still bent gets
    back a little more than they hold.
    """

    name = "lugre"
    order = 1  # z [rad]

    stiffness: Array = parameter(250.0, "N·m/rad", "stiffness of the bristles", 1e-9, 1e9)
    damping: Array = parameter(0.127, "N·m·s/rad", "damping of the bristles", 0.0, 1e4)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """The exact solution of the bristle at constant velocity."""
        before = self.state[0]
        level = self.level(velocity)
        target = level / self.stiffness * np.sign(velocity)
        share = -np.expm1(-self.stiffness * np.abs(velocity) * dt / level)
        change = (target - before) * share
        after = before + change
        force = self.stiffness * after + (self.damping / dt) * change + self.viscous * velocity
        return force, after[np.newaxis]

    @property
    def stored(self) -> Array:
        """Energy of the bristle, [J]."""
        return 0.5 * self.stiffness * self.state[0] ** 2
