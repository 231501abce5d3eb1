"""Stribeck friction: less resistance as a film of lubricant builds up, then more as it shears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import Mismatch
from farhand.friction.models.coulomb import check_breakaway
from farhand.friction.models.model import Array, ForceAndState, Friction, StaticFriction, register
from farhand.parameters import parameter


@dataclass(kw_only=True)
class StribeckLevel(Friction):
    r"""The dry part of a Stribeck curve, :math:`g(v) = F_c + (F_s - F_c)\,e^{-|v/v_s|^\delta}`."""

    coulomb: Array = parameter(0.03718, "N·m", "dry friction while sliding", 1e-9, 1e4)
    breakaway: Array = parameter(0.08976, "N·m", "torque that starts motion", 1e-9, 1e4)
    stribeck_velocity: Array = parameter(0.1516, "rad/s", "speed of the Stribeck fall", 1e-9, 1e4)
    viscous: Array = parameter(0.01898, "N·m·s/rad", "viscous friction", 0.0, 1e4)

    def refresh(self) -> None:
        """Starting takes at least what sliding does."""
        super().refresh()
        check_breakaway(self.name, self.coulomb, self.breakaway)

    @property
    def delta(self) -> Array:
        """Exponent δ, [-]."""
        return np.array(2.0)

    def level(self, velocity: Array) -> Array:
        """g(v), always positive, [N·m]."""
        decay = np.exp(-np.power(np.abs(velocity) / self.stribeck_velocity, self.delta))
        return self.coulomb + (self.breakaway - self.coulomb) * decay

    def curve(self, velocity: Array) -> Array:
        """Steady state of every model built on g: g(v) sgn v + σ2 v, [N·m]."""
        return self.level(velocity) * np.sign(velocity) + self.viscous * velocity


@dataclass(kw_only=True)
class ShapedLevel(StribeckLevel):
    """A Stribeck curve whose exponent is a parameter."""

    shape: Array = parameter(1.047, "-", "exponent of the Stribeck curve", 0.1, 10.0)

    @property
    def delta(self) -> Array:
        """Exponent δ, [-]."""
        return self.shape


@register
@dataclass(kw_only=True)
class Stribeck(StribeckLevel, StaticFriction):
    """The classical curve with a Gaussian fall: F = g(v) sgn v + σ2 v, δ = 2."""

    name = "stribeck"

    @property
    def hold(self) -> tuple[Array, Array]:
        """At rest it balances up to F_s, [N·m]."""
        return -self.breakaway, self.breakaway


@register
@dataclass(kw_only=True)
class Kfm(ShapedLevel, Stribeck):
    r"""Kinetic friction model: the Stribeck curve with a free exponent δ.

    .. math:: F = \bigl[F_c + (F_s - F_c)\,e^{-|v/v_s|^\delta}\bigr]\,\mathrm{sgn}\,v + \sigma_2 v
    """

    name = "kfm"


@register
@dataclass(kw_only=True)
class Karnopp(Kfm):
    r"""A band around zero velocity counts as rest.

    .. math:: F = \mathrm{clip}(\tau, -F_s, F_s) \quad (|v| < v_0), \qquad
              F = g(v)\,\mathrm{sgn}\,v + \sigma_2 v \quad (|v| \ge v_0)

    Sticks exactly, needs the applied torque :math:`\tau`, has no displacement before sliding.
    """

    name = "karnopp"
    needs_applied = True

    band: Array = parameter(0.01, "rad/s", "speed that counts as rest", 1e-9, 10.0)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """The applied torque inside the band, the curve outside."""
        if applied is None:
            raise Mismatch(
                f"friction model {self.name!r} needs the applied torque at rest; pass applied="
            )
        held = np.clip(applied, -self.breakaway, self.breakaway)
        return np.where(np.abs(velocity) < self.band, held, self.curve(velocity)), self.state


@register
@dataclass(kw_only=True)
class Threshold(ShapedLevel, StaticFriction):
    r"""The Stribeck curve with its jump at zero replaced by a steep line up to v_0.

    Continuous, and needs no applied torque, but a joint under load creeps instead of sticking.
    """

    name = "threshold"

    band: Array = parameter(0.01, "rad/s", "speed where the steep line ends", 1e-9, 10.0)

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        edge = np.maximum(np.abs(velocity), self.band)
        return super().curve(edge) * (velocity / edge)
