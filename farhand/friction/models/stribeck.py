"""Stribeck friction: less resistance as a film of lubricant builds up, then more as it shears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.friction.models.coulomb import check_breakaway
from farhand.friction.models.model import FloatArray, Friction, StaticFriction, register
from farhand.parameters import parameter


@dataclass(kw_only=True)
class StribeckLevel(Friction):
    r"""The dry part of a Stribeck curve, :math:`g(v) = F_c + (F_s - F_c)\,e^{-|v/v_s|^\delta}`."""

    coulomb: FloatArray = parameter(0.03718, "N·m", "dry friction while sliding", 1e-9, 1e4)
    breakaway: FloatArray = parameter(0.08976, "N·m", "torque that starts motion", 1e-9, 1e4)
    stribeck_velocity: FloatArray = parameter(
        0.1516, "rad/s", "speed over which dry friction falls", 1e-9, 1e4
    )
    viscous: FloatArray = parameter(0.01898, "N·m·s/rad", "viscous friction", 0.0, 1e4)

    def refresh(self) -> None:
        """Starting takes at least what sliding does."""
        super().refresh()
        check_breakaway(self.name, self.coulomb, self.breakaway)

    @property
    def delta(self) -> FloatArray:
        """Exponent δ, [-]."""
        return np.array(2.0)

    def level(self, velocity: FloatArray) -> FloatArray:
        """g(v), always positive, [N·m]."""
        decay = np.exp(-np.power(np.abs(velocity) / self.stribeck_velocity, self.delta))
        return self.coulomb + (self.breakaway - self.coulomb) * decay

    def curve(self, velocity: FloatArray) -> FloatArray:
        """Steady state of every model built on g: g(v) sgn v + σ2 v, [N·m]."""
        return self.level(velocity) * np.sign(velocity) + self.viscous * velocity


@dataclass(kw_only=True)
class ShapedLevel(StribeckLevel):
    """A Stribeck curve whose exponent is a parameter."""

    shape: FloatArray = parameter(1.047, "-", "exponent of the Stribeck curve", 0.1, 10.0)

    @property
    def delta(self) -> FloatArray:
        """Exponent δ, [-]."""
        return self.shape


@register
@dataclass(kw_only=True)
class Stribeck(StribeckLevel, StaticFriction):
    """The classical curve with a Gaussian fall: F = g(v) sgn v + σ2 v, δ = 2."""

    name = "stribeck"

    @property
    def hold(self) -> tuple[FloatArray, FloatArray]:
        """At rest it balances up to F_s, [N·m]."""
        return -self.breakaway, self.breakaway


@register
@dataclass(kw_only=True)
class Kfm(ShapedLevel, StaticFriction):
    r"""Kinetic friction model: the Stribeck curve with a free exponent δ.

    .. math:: F = \bigl[F_c + (F_s - F_c)\,e^{-|v/v_s|^\delta}\bigr]\,\mathrm{sgn}\,v + \sigma_2 v
    """

    name = "kfm"

    @property
    def hold(self) -> tuple[FloatArray, FloatArray]:
        """At rest it balances up to F_s, [N·m]."""
        return -self.breakaway, self.breakaway
