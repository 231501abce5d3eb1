"""Bands: rubber bands beside the motors of ankle and knee, as springs of one joint's angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from farhand.robots.springs import JointSpring


@dataclass(frozen=True)
class AnkleBand(JointSpring):
    r"""A band in front of the ankle, stretched so far that it helps to lean forward, :math:`\tau = k\,q - p`.

    Without pretension it would hold the ankle at home and only burden a leg that bends: the hips go
    back, and the weight with them.

    Attributes:
        stiffness: k, [N·m/rad]; the published text gives none, so it is assumed.
        pretension: p, [N·m]; assumed.
    """

    stiffness: float = 0.5
    pretension: float = 0.5

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]."""
        return self.stiffness * q - self.pretension

    def energy(self, q: float) -> float:
        """½ k q² − p q, [J]."""
        return q * (0.5 * self.stiffness * q - self.pretension)


@dataclass(frozen=True)
class WrappedBand(JointSpring):
    r"""A band wrapped round a pulley at the knee: it stretches as the knee flexes and helps it to stretch again.

    .. math:: \tau = k\,\rho\,(l + \rho\,q)

    Attributes:
        stiffness: k, [N/m]; assumed.
        radius: ρ, [m]; about 30 mm by the published text.
        pretension: l, stretch with the leg straight, [m]; assumed.
    """

    stiffness: float = 1000.0
    radius: float = 0.03
    pretension: float = 0.02

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]; zero where the band is slack."""
        return self.stiffness * self.radius * max(0.0, self.pretension + self.radius * q)

    def energy(self, q: float) -> float:
        """½ k (l + ρ q)², [J]."""
        return 0.5 * self.stiffness * max(0.0, self.pretension + self.radius * q) ** 2


@dataclass(frozen=True)
class StraightBand(JointSpring):
    r"""The published simulator's band: a straight line between points on shank and thigh.

    .. math:: s(q) = \sqrt{a^2 + b^2 + 2ab\cos q}, \qquad \tau = -k\,(s - s_0)\,ab \sin(q)/s, \qquad s_0 = a + b - l

    Its ends approach each other as the knee flexes, so it unloads and pulls the knee further in:
    the reported defect.

    Attributes:
        stiffness: k, [N/m]; assumed.
        arm: a = b, distance of either end from the knee's axis, [m]; about 30 mm by the published
            text.
        pretension: l, stretch with the leg straight, [m]; assumed.
    """

    stiffness: float = 1000.0
    arm: float = 0.03
    pretension: float = 0.02

    def _length(self, q: float) -> float:
        return 2.0 * self.arm * abs(math.cos(0.5 * q))  # a = b

    def stretch(self, q: float) -> float:
        """How far it is stretched at an angle [rad], [m]."""
        return max(0.0, self._length(q) - 2.0 * self.arm + self.pretension)

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]; zero where the band is slack."""
        return -self.stiffness * self.stretch(q) * self.arm * math.sin(0.5 * q)

    def energy(self, q: float) -> float:
        """½ k (s − s₀)², [J]."""
        return 0.5 * self.stiffness * self.stretch(q) ** 2
