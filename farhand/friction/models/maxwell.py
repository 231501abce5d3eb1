"""Maxwell slip, Leuven and GMS: elasto-slide elements that remember every turning point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.friction.models.implicit import newton
from farhand.friction.models.model import Array, ForceAndState, Friction, register
from farhand.friction.models.stribeck import ShapedLevel
from farhand.parameters import parameter


@dataclass(kw_only=True)
class Elements(Friction):
    """N elements per joint, each a spring k_i in series with a slider W_i."""

    stiffness: Array = parameter(250.0, "N·m/rad", "stiffness of all elements", 1e-9, 1e9)
    level_shares: Array = parameter((0.1, 0.2, 0.3, 0.4), "-", "shares of the level", 0.0, 1.0)
    stiffness_shares: Array = parameter(
        (0.55, 0.27, 0.13, 0.05), "-", "shares of the stiffness", 1e-9, 1.0
    )

    def reset(self) -> None:
        """All springs slack; one torque per element and joint is the state, [N·m]."""
        self.level_shares = np.atleast_1d(np.asarray(self.level_shares, dtype=float))
        self.stiffness_shares = np.atleast_1d(np.asarray(self.stiffness_shares, dtype=float))
        self.state = np.zeros((len(self.level_shares), self.joints))

    def refresh(self) -> None:
        """Shares add up and go together; one column per joint from here on."""
        super().refresh()
        for name in ("level_shares", "stiffness_shares"):
            total = getattr(self, name).sum()
            if abs(total - 1.0) > 1e-6:
                raise BadValue(f"{self.name}.{name} add up to {total:g}, must be 1")
        if len(self.level_shares) != len(self.stiffness_shares):
            sizes = f"{len(self.level_shares)} and {len(self.stiffness_shares)} elements"
            raise BadValue(
                f"{self.name}.level_shares and stiffness_shares have {sizes}; give both as many"
            )
        self._shares = self.level_shares[:, np.newaxis]
        self._springs = self.stiffness_shares[:, np.newaxis] * self.stiffness

    @property
    def stored(self) -> Array:
        """Energy of the springs, [J]."""
        return 0.5 * (self.state**2 / self._springs).sum(axis=0)


@register
@dataclass(kw_only=True)
class MaxwellSlip(Elements):
    """Hysteresis with non-local memory: F_i ← clip(F_i + k_i v dt, ±W_i), F = Σ F_i.

    Independent of rate; inner loops close. No Stribeck fall, no lag, no viscous friction.
    """

    name = "maxwell-slip"

    coulomb: Array = parameter(0.03718, "N·m", "dry friction while sliding", 1e-9, 1e4)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Stretch every spring, slide every slider that is at its limit."""
        limit = self._shares * self.coulomb
        after = np.clip(self.state + self._springs * (velocity * dt), -limit, limit)
        return after.sum(axis=0), after

    def curve(self, velocity: Array) -> Array:
        """F_c sgn v, [N·m]."""
        return self.coulomb * np.sign(velocity)


@register
@dataclass(kw_only=True)
class Leuven(ShapedLevel, Elements):
    r"""LuGre with the hysteresis of Maxwell-slip elements in the place of the linear bristle.

    .. math:: \dot z = v\left(1 - \mathrm{sgn}\Bigl(\frac{F_h}{s}\Bigr)
              \left|\frac{F_h}{s}\right|^n\right), \qquad
              F = F_h(z) + \sigma_1 \dot z + \sigma_2 v, \qquad s = g(v)\,\mathrm{sgn}\,v

    Each step solves the implicit Euler equation of z, which is monotone, so the update is stable
    and passive for any stiffness. The sliders of F_h reach F_s in all, the highest level.
    """

    name = "leuven"

    damping: Array = parameter(0.127, "N·m·s/rad", "damping of the bristles", 0.0, 1e4)
    exponent: Array = parameter(2.0, "-", "sharpness of the change to sliding", 1.0, 20.0)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Find how far z moves so that its rate at the end of the step carries it there."""
        direction, distance, level = np.sign(velocity), np.abs(velocity) * dt, self.level(velocity)
        limit, n = self._shares * self.breakaway, self.exponent

        def surplus(moved: Array) -> tuple[Array, Array]:
            torque = self.state + self._springs * (moved * direction)
            inside = np.abs(torque) < limit
            held = np.where(inside, torque, np.copysign(limit, torque)).sum(axis=0)
            ratio = held * direction / level
            power = np.abs(ratio) ** (n - 1.0)
            slope = distance * n * power * (self._springs * inside).sum(axis=0) / level
            return moved - distance * (1.0 - ratio * power), 1.0 + slope

        first = -surplus(np.zeros_like(distance))[0]
        moved = direction * newton(surplus, np.minimum(first, 0.0), np.maximum(first, 0.0))
        after = np.clip(self.state + self._springs * moved, -limit, limit)
        force = after.sum(axis=0) + self.damping / dt * moved + self.viscous * velocity
        return force, after


@register
@dataclass(kw_only=True)
class Gms(ShapedLevel, Elements):
    r"""Generalised Maxwell slip: each slider follows the Stribeck curve with a lag of its own.

    .. math:: \text{stick: } \dot F_i = k_i v \ \text{ until } |F_i| = \alpha_i g(v), \qquad
              \text{slip: } \dot F_i = \mathrm{sgn}(v)\,C\left(\alpha_i - \frac{|F_i|}{g(v)}\right)

    and F = Σ F_i + σ1 ż + σ2 v, ż the mean rate of the springs. A slipping element sticks again
    when the motion reverses. Slip is advanced by its exact solution; an element's spring is never
    stretched faster than the joint moves, without which the slip equation makes energy at low
    speed.
    """

    name = "gms"

    attraction: Array = parameter(1.0, "N·m/s", "rate of slipping torque to the curve", 1e-9, 1e9)
    damping: Array = parameter(0.0, "N·m·s/rad", "damping of the elements", 0.0, 1e4)

    def reset(self) -> None:
        """All springs slack and sticking; below the torques stands whether each element slips."""
        super().reset()
        self.state = np.concatenate([self.state, np.zeros_like(self.state)])

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Stick until the level is reached, then follow it with a lag until the motion reverses."""
        direction, level = np.where(velocity < 0.0, -1.0, 1.0), self.level(velocity)
        torque, slipping = np.split(self.state, 2)
        before = torque * direction  # along the motion
        limit = self._shares * level
        slips = ((slipping > 0.0) | (before > limit)) & (before >= 0.0) & (velocity != 0.0)
        stretched = before + self._springs * (np.abs(velocity) * dt)
        relaxed = limit + (before - limit) * np.exp(-self.attraction / level * dt)
        after = np.minimum(np.where(slips, relaxed, np.maximum(limit, before)), stretched)
        stretch = (after - before) / self._springs * self.stiffness_shares[:, np.newaxis]
        rate = stretch.sum(axis=0) / dt
        force = (after.sum(axis=0) + self.damping * rate) * direction + self.viscous * velocity
        return force, np.concatenate([after * direction, slips | (stretched >= limit)])

    @property
    def stored(self) -> Array:
        """Energy of the springs, [J]."""
        return 0.5 * (np.split(self.state, 2)[0] ** 2 / self._springs).sum(axis=0)
