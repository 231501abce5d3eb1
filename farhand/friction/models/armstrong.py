"""Armstrong's model: spring, lagged Stribeck curve, stiction that grows at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.friction.models.coulomb import check_breakaway
from farhand.friction.models.model import Array, ForceAndState, Friction, register
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class Armstrong(Friction):
    r"""Seven parameters, one for each effect seen on a machine.

    .. math:: L = F_c + \bigl(F_s(t_2) - F_c\bigr) \frac{1}{1 + (v_\tau/v_s)^2}, \qquad
              F_s(t_2) = F_{s0} + (F_{s\infty} - F_{s0}) \frac{t_2}{t_2 + \gamma}

    with the velocity :math:`v_\tau` lagged by τ_L and the time at rest t_2. The joint is a spring,
    F = σ0 x, until :math:`|\sigma_0 x|` reaches L, and then slides at L. The published model leaves
    open when to switch between the two; here the spring never stretches faster than the joint
    moves, which makes the switch passive.
    """

    name = "armstrong"
    order = 4  # deflection [rad], lagged speed [rad/s], time at rest [s], present F_s [N·m]

    coulomb: Array = parameter(0.03718, "N·m", "dry friction while sliding", 1e-9, 1e4)
    viscous: Array = parameter(0.01898, "N·m·s/rad", "viscous friction", 0.0, 1e4)
    stribeck_velocity: Array = parameter(0.1516, "rad/s", "speed of the Stribeck fall", 1e-9, 1e4)
    breakaway: Array = parameter(0.08976, "N·m", "starting torque after a long rest", 1e-9, 1e4)
    fresh_breakaway: Array = parameter(0.06, "N·m", "starting torque after a short rest", 1e-9, 1e4)
    dwell: Array = parameter(0.5, "s", "rest for half of the growth", 1e-9, 1e4)
    lag: Array = parameter(0.02, "s", "lag of friction behind velocity", 0.0, 10.0)
    stiffness: Array = parameter(250.0, "N·m/rad", "stiffness before sliding", 1e-9, 1e9)

    def refresh(self) -> None:
        """Starting takes at least what sliding does, and more after a rest."""
        check_breakaway(self.name, self.coulomb, self.fresh_breakaway)
        check_breakaway(self.name, self.fresh_breakaway, self.breakaway)

    def reset(self) -> None:
        """At rest for long."""
        super().reset()
        self.state[2] = 1e6
        self.state[3] = self.breakaway

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Stretch the spring as far as the level lets it."""
        deflection, lagged, rest, present = self.state
        keep = np.exp(-dt / np.maximum(self.lag, 1e-12))
        lagged = np.abs(velocity) + (lagged - np.abs(velocity)) * keep
        limit = self._level(lagged, present) / self.stiffness
        stretched = deflection + velocity * dt
        after = np.clip(stretched, -limit, limit)
        sliding = np.abs(stretched) > limit
        rest = np.where(sliding, 0.0, rest + dt)
        growth = (self.breakaway - self.fresh_breakaway) * rest / (rest + self.dwell)
        grown = self.fresh_breakaway + growth
        force = self.stiffness * after + self.viscous * velocity
        return force, np.stack([after, lagged, rest, np.where(sliding, present, grown)])

    def curve(self, velocity: Array) -> Array:
        """F(v) once motion has gone on for long after a long rest, [N·m]."""
        level = self._level(np.abs(velocity), self.breakaway)
        return level * np.sign(velocity) + self.viscous * velocity

    @property
    def stored(self) -> Array:
        """Energy of the spring, [J]."""
        return 0.5 * self.stiffness * self.state[0] ** 2

    def _level(self, speed: Array, static: Array) -> Array:
        fall = 1.0 + (speed / self.stribeck_velocity) ** 2
        return self.coulomb + (static - self.coulomb) / fall
