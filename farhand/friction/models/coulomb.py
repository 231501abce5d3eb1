"""Coulomb, viscous and static friction: the oldest curves, which have no memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.friction.models.model import Array, StaticFriction, register
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class Coulomb(StaticFriction):
    """Dry friction: F = F_c sgn v."""

    name = "coulomb"

    coulomb: Array = parameter(0.03718, "N·m", "dry friction while sliding", 0.0, 1e4)

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        return self.coulomb * np.sign(velocity)

    @property
    def hold(self) -> tuple[Array, Array]:
        """At rest dry friction balances up to F_c, [N·m]."""
        return -self.coulomb, self.coulomb


@register
@dataclass(kw_only=True)
class Viscous(StaticFriction):
    """Fluid friction: F = σ2 v."""

    name = "viscous"

    viscous: Array = parameter(0.01898, "N·m·s/rad", "viscous friction", 0.0, 1e4)

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        return self.viscous * velocity


@register
@dataclass(kw_only=True)
class CoulombViscous(Coulomb):
    """Dry and fluid friction: F = F_c sgn v + σ2 v."""

    name = "coulomb-viscous"

    viscous: Array = parameter(0.01898, "N·m·s/rad", "viscous friction", 0.0, 1e4)

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        return self.coulomb * np.sign(velocity) + self.viscous * velocity


@register
@dataclass(kw_only=True)
class Stiction(CoulombViscous):
    r"""Dry and fluid friction with a higher threshold at rest.

    .. math:: F = F_c\,\mathrm{sgn}\,v + \sigma_2 v \quad (v \ne 0), \qquad
              F = \mathrm{clip}(\tau, -F_s, F_s) \quad (v = 0)
    """

    name = "stiction"
    needs_applied = True

    breakaway: Array = parameter(0.08976, "N·m", "torque that starts motion", 0.0, 1e4)

    def refresh(self) -> None:
        """Starting takes at least what sliding does."""
        check_breakaway(self.name, self.coulomb, self.breakaway)

    @property
    def hold(self) -> tuple[Array, Array]:
        """At rest it balances up to F_s, [N·m]."""
        return -self.breakaway, self.breakaway


def check_breakaway(name: str, coulomb: Array, breakaway: Array) -> None:
    """Refuse a break-away torque below the sliding torque, [N·m]."""
    for low, high in zip(coulomb, breakaway, strict=True):
        if high < low:
            raise BadValue(
                f"{name}.breakaway = {high:g} must be at least {name}.coulomb = {low:g} N·m"
            )
