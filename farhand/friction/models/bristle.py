"""Bristle model and reset integrator: contacts that bend like bristles, many or one on average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.friction.models.model import Array, ForceAndState, Friction, register
from farhand.parameters import parameter

SNAPS = 3
"""Snaps of one bristle that a step follows; with more, it counts as sliding steadily."""


@register
@dataclass(kw_only=True)
class Bristle(Friction):
    r"""N bristles per joint; each snaps at δ_s and takes hold again at random within ±δ_s.

    .. math:: F = \sum_i \sigma_0\,(x_i - b_i)

    While sliding, the mean is N σ0 δ_s/3: a bristle starts anywhere in ±δ_s and is carried to δ_s.
    The torque returned is the work of the step divided by its distance, so that no energy is lost
    or made by the step's length. Random, and undamped at rest.
    """

    name = "bristle"

    stiffness: Array = parameter(2.5, "N·m/rad", "stiffness of one bristle", 1e-9, 1e9)
    deflection: Array = parameter(4.5e-4, "rad", "deflection at which it snaps", 1e-9, 10.0)
    bristles: int = parameter(100, "-", "number of bristles", 1, 100_000)
    seed: int = parameter(0, "-", "seed of the random places", 0, 2**31)

    def reset(self) -> None:
        """All bristles straight, the same random places ahead."""
        self.state = np.zeros((self.bristles, self.joints))
        self._rng = np.random.default_rng(self.seed)
        self._draws = self._rng.random((SNAPS + 1, *self.state.shape))

    def refresh(self) -> None:
        """Start again if the number of bristles changed."""
        if len(self.state) != self.bristles:
            self.reset()

    def step(self, velocity: Array, dt: float, applied: Array | None = None) -> Array:
        """Advance; the bristles that snap next time will take hold elsewhere."""
        force = super().step(velocity, dt, applied)
        self._rng.random(out=self._draws)
        return force

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Bend, snap and take hold again; everything in units of δ_s and along the motion."""
        direction = np.where(velocity < 0.0, -1.0, 1.0)
        distance = np.abs(velocity) * dt / self.deflection
        bent = self.state * direction / self.deflection
        left, work = np.broadcast_to(distance, bent.shape), np.zeros(bent.shape)
        for start in 2.0 * self._draws[:-1] - 1.0:
            snaps = bent + left > 1.0
            work = np.where(snaps, work + 0.5 * (1.0 - bent**2), work)
            left = np.where(snaps, left - (1.0 - bent), left)
            bent = np.where(snaps, start, bent)
        often = bent + left > 1.0
        # Bristles that snap more often: mean work since the last hold.
        further = np.maximum((left + bent - 1.0) / 3.0 - 1.0 / 9.0, 0.0)
        end = np.where(often, 2.0 * np.sqrt(self._draws[-1]) - 1.0, bent + left)
        rest = np.where(often, 0.5 * (1.0 - bent**2) + further, 0.5 * (end**2 - bent**2))
        work = (work + rest).sum(axis=0)
        mean = np.divide(work, distance, out=end.sum(axis=0), where=distance > 1e-12)
        force = self.stiffness * self.deflection * direction * mean
        return force, end * direction * self.deflection

    def curve(self, velocity: Array) -> Array:
        """Mean torque while sliding, [N·m]."""
        return self.bristles * self.stiffness * self.deflection / 3.0 * np.sign(velocity)

    @property
    def stored(self) -> Array:
        """Energy of the bent bristles, [J]."""
        return 0.5 * self.stiffness * (self.state**2).sum(axis=0)


@register
@dataclass(kw_only=True)
class ResetIntegrator(Friction):
    r"""One bristle that bends to z_0, stiffer by 1 + a (its stiction), and then slides.

    .. math:: \dot z = \begin{cases} 0 & (v > 0, z \ge z_0) \text{ or } (v < 0, z \le -z_0) \\
              v & \text{else} \end{cases} \qquad
              F = (1 + a(z))\,\sigma_0 z + \sigma_1 \dot z, \quad a(z) = a \text{ if } |z| < z_0

    Over a step in which it starts to slide, a counts for the share of the step before that.
    """

    name = "reset-integrator"
    order = 1  # z [rad]

    stiffness: Array = parameter(104.0, "N·m/rad", "stiffness while sliding", 1e-9, 1e9)
    deflection: Array = parameter(3.6e-4, "rad", "deflection at the start of sliding", 1e-9, 10.0)
    stiction: Array = parameter(1.4, "-", "extra torque that starts motion, as a share", 0.0, 100.0)
    damping: Array = parameter(0.127, "N·m·s/rad", "damping before sliding", 0.0, 1e4)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Bend by the distance of the step, to z_0 at most."""
        before, distance = self.state[0], velocity * dt
        after = np.clip(before + distance, -self.deflection, self.deflection)
        sticking = np.where(np.abs(before) < self.deflection, 1.0, 0.0)
        share = np.divide(after - before, distance, out=sticking, where=distance != 0.0)
        spring = (1.0 + self.stiction * share) * self.stiffness * after
        return spring + self.damping * (after - before) / dt, after[np.newaxis]

    def curve(self, velocity: Array) -> Array:
        """σ0 z_0 sgn v, [N·m]."""
        return self.stiffness * self.deflection * np.sign(velocity)

    @property
    def stored(self) -> Array:
        """Energy of the bristle, with the stiffness it has on the way back, [J]."""
        return 0.5 * (1.0 + self.stiction) * self.stiffness * self.state[0] ** 2
