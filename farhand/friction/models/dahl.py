"""Dahl's model: hysteresis before sliding that does not depend on rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.friction.models.model import Array, ForceAndState, Friction, register
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class Dahl(Friction):
    r"""Friction as a function of displacement.

    .. math:: \frac{dF}{dx} = \sigma_0 \left(1 - \frac{F}{F_c}\,\mathrm{sgn}\,v\right)^{\alpha}

    With :math:`u = 1 - F\,\mathrm{sgn}(v)/F_c` this is :math:`du/d|x| = -(\sigma_0/F_c)\,u^\alpha`,
    which has a closed solution: the update is exact over any step. No stiction, no Stribeck fall;
    larger α makes the corners sharper.
    """

    name = "dahl"
    order = 1  # F [N·m]

    coulomb: Array = parameter(0.03718, "N·m", "dry friction while sliding", 1e-9, 1e4)
    stiffness: Array = parameter(250.0, "N·m/rad", "slope at zero torque", 1e-9, 1e9)
    exponent: Array = parameter(1.0, "-", "shape of the hysteresis", 0.1, 10.0)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """The exact solution over the distance of the step."""
        direction = np.sign(velocity)
        before = np.maximum(1.0 - self.state[0] * direction / self.coulomb, 0.0)
        distance = self.stiffness / self.coulomb * np.abs(velocity) * dt
        linear, curved = before * np.exp(-distance), self._power(before, distance)
        after = np.where(self.exponent == 1.0, linear, curved)
        force = np.where(direction == 0.0, self.state[0], self.coulomb * (1.0 - after) * direction)
        return force, force[np.newaxis]

    def _power(self, before: Array, distance: Array) -> Array:
        """The solution for α ≠ 1; below 1 it reaches F_c after a finite distance."""
        beta = np.where(self.exponent == 1.0, 1.0, 1.0 - self.exponent)
        with np.errstate(divide="ignore", over="ignore"):
            return np.power(np.maximum(np.power(before, beta) - beta * distance, 0.0), 1.0 / beta)

    def curve(self, velocity: Array) -> Array:
        """F_c sgn v, [N·m]."""
        return self.coulomb * np.sign(velocity)

    @property
    def stored(self) -> Array:
        """Energy of the spring that F stands for, F²/(2σ0), [J]."""
        return 0.5 * self.state[0] ** 2 / self.stiffness
