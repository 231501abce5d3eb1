"""Friction at rest made manageable for a simulation: Karnopp's zero-velocity band and the steep line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import Mismatch
from farhand.friction.models.model import FloatArray, StaticFriction, register
from farhand.friction.models.stribeck import ShapedLevel
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class Karnopp(ShapedLevel, StaticFriction):
    r"""A band around zero velocity counts as rest.

    .. math:: F = \mathrm{clip}(\tau, -F_s, F_s) \quad (|v| < v_0), \qquad
              F = g(v)\,\mathrm{sgn}\,v + \sigma_2 v \quad (|v| \ge v_0)

    Sticks exactly, but needs the applied torque :math:`\tau` and has no displacement before
    sliding.
    """

    name = "karnopp"
    needs_applied = True

    band: FloatArray = parameter(
        0.01, "rad/s", "speed below which the joint counts as at rest", 1e-9, 10.0
    )

    def move(
        self, velocity: FloatArray, dt: float, applied: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """The applied torque inside the band, the curve outside."""
        if applied is None:
            raise Mismatch(
                f"friction model {self.name!r} needs the applied torque at rest; pass applied="
            )
        held = np.clip(applied, -self.breakaway, self.breakaway)
        return np.where(np.abs(velocity) < self.band, held, self.curve(velocity)), self.state

    @property
    def hold(self) -> tuple[FloatArray, FloatArray]:
        """At rest it balances up to F_s, [N·m]."""
        return -self.breakaway, self.breakaway


@register
@dataclass(kw_only=True)
class Threshold(ShapedLevel, StaticFriction):
    r"""The Stribeck curve with its jump at zero replaced by a steep line up to v_0.

    Continuous and in need of nothing, but a joint under load creeps instead of sticking.
    """

    name = "threshold"

    band: FloatArray = parameter(
        0.01, "rad/s", "speed at which the steep line meets the curve", 1e-9, 10.0
    )

    def curve(self, velocity: FloatArray) -> FloatArray:
        """F(v), [N·m]."""
        edge = np.maximum(np.abs(velocity), self.band)
        return super().curve(edge) * (velocity / edge)
