"""Limbs of the humanoid PHUA: closed-form kinematics of its 3-DOF arm and leg.

Angles are anatomical and the same on both sides; base axes are x forward, y to the robot's left, z
up. Everything takes one configuration or many: the last axis holds the three angles or coordinates.
The formulas are those of the published system with its errata (sources/humanoid E-06, E-09, E-10,
E-29) and the corrected second angle of the arm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from farhand.mapping.ik.chain import Solution
from farhand.spatial import Array

SLACK = 1e-7
"""How far beyond a limit an angle may lie, [rad]: at a straight limb angles are known only to the
square root of the rounding error."""

SINGULAR = 0.01
"""Share of L₁L₂(L₁+L₂) below which the arm's determinant counts as singular, [-]; sources/humanoid
E-19 [A]."""


def _radians(*degrees: float) -> tuple[float, float, float]:
    first, second, third = map(math.radians, degrees)
    return first, second, third


class _Chain(ABC):
    """What arm and leg share: the choice between the two ways to reach a place."""

    @abstractmethod
    def forward(self, q: Array) -> Array:
        """Place of the limb's end, [m]."""

    @abstractmethod
    def candidates(self, p: Array) -> tuple[Array, Array]:
        """Both ways to reach places, and which exist inside the limits."""

    def solve(self, p: Array, near: Array) -> Solution:
        """Angles for one place, nearest to ``near`` [rad]; ``near`` itself if out of reach."""
        p = np.asarray(p, dtype=float)
        q, valid = self.candidates(p)
        # false for NaN too
        finite = float(np.abs(p).max()) < math.inf
        if finite and valid.any():
            distance = np.where(valid, np.abs(q - near).max(-1), math.inf)
            best = q[int(np.argmin(distance))]
            return Solution(best, "solved", float(np.linalg.norm(self.forward(best) - p)), 0.0, 0)
        start = np.array(near, dtype=float)
        if not finite:
            return Solution(start, "invalid", math.inf, 0.0, 0)
        # is an angle beyond its limit all that is wrong?
        met = (np.linalg.norm(self.forward(q) - p, axis=-1) < 1e-9).any()
        away = float(np.linalg.norm(self.forward(near) - p))
        return Solution(start, "limited" if met else "unreachable", away, 0.0, 0)


@dataclass(frozen=True)
class ArmChain(_Chain):
    r"""Shoulder flexion θ₁, shoulder abduction θ₂ and elbow flexion θ₃; the origin is the shoulder.

    .. math::
        x = L_1 c_2 s_1 + L_2 (c_1 s_3 + c_2 c_3 s_1), \quad y = \pm s_2 (L_1 + L_2 c_3), \quad
        z = L_2 (s_1 s_3 - c_1 c_2 c_3) - L_1 c_1 c_2

    with + on the left. Singular at a straight elbow and at 90° of abduction:
    :math:`\det J = \pm L_1 L_2 (L_1 + L_2 c_3) s_3 c_2`.
    """

    upper: float = 0.123  #: L₁, shoulder to elbow, [m]; published code of the author
    fore: float = 0.106  #: L₂, elbow to wrist, [m]; as above
    side: int = 1  #: +1 left, −1 right
    #: smallest angles, [rad]; stated in the source
    lowest: tuple[float, float, float] = _radians(-45.0, 0.0, 0.0)
    #: largest angles, [rad]; stated in the source
    highest: tuple[float, float, float] = _radians(135.0, 180.0, 120.0)

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest distance of the wrist from the shoulder, [m]."""
        a, b, cosine = self.upper, self.fore, math.cos(self.highest[2])
        return math.sqrt(a * a + b * b + 2.0 * a * b * cosine), a + b

    def forward(self, q: Array) -> Array:
        """Place of the wrist, [m]."""
        (s1, s2, s3), (c1, c2, c3) = _sines(q)
        a, b = self.upper, self.fore
        x = a * c2 * s1 + b * (c1 * s3 + c2 * c3 * s1)
        z = b * (s1 * s3 - c1 * c2 * c3) - a * c1 * c2
        return np.stack([x, self.side * s2 * (a + b * c3), z], axis=-1)

    def rotation(self, q: Array) -> Array:
        """Axes of the last link in base, as the published table of link parameters defines them."""
        (s1, s2, s3), (c1, c2, c3) = _sines(q)
        s2 = self.side * s2
        rows = [
            [c1 * s3 + c2 * c3 * s1, c1 * c3 - c2 * s1 * s3, s1 * s2],
            [c3 * s2, -s2 * s3, -c2],
            [s1 * s3 - c1 * c2 * c3, c3 * s1 + c1 * c2 * s3, -c1 * s2],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def angles(self, q: Array) -> Array:
        """Angles φ about z, θ about y, ψ about x of that rotation, [rad]; φ is called roll."""
        R = self.rotation(q)
        phi = np.arctan2(R[..., 1, 0], R[..., 0, 0])
        theta = np.arctan2(-R[..., 2, 0], R[..., 0, 0] * np.cos(phi) + R[..., 1, 0] * np.sin(phi))
        return np.stack([phi, theta, np.arctan2(R[..., 2, 1], R[..., 2, 2])], axis=-1)

    def jacobian(self, q: Array) -> Array:
        """Velocity of the wrist per joint velocity, 3 × 3, [m/rad]."""
        (s1, s2, s3), (c1, c2, c3) = _sines(q)
        b, arm, zero = self.fore, self.upper + self.fore * c3, np.zeros_like(s1)
        rows = [
            [c1 * c2 * arm - b * s1 * s3, -s1 * s2 * arm, b * (c1 * c3 - s1 * s3 * c2)],
            [zero, self.side * c2 * arm, -self.side * b * s2 * s3],
            [b * c1 * s3 + s1 * c2 * arm, c1 * s2 * arm, b * (s1 * c3 + c1 * s3 * c2)],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def determinant(self, q: Array) -> Array:
        """Closed form of det J, [m³]."""
        a, b = self.upper, self.fore
        stretch = a + b * np.cos(q[..., 2])
        return self.side * a * b * stretch * np.sin(q[..., 2]) * np.cos(q[..., 1])

    def singular(self, q: Array, share: float = SINGULAR) -> Array:
        """Whether det J is below a share of L₁L₂(L₁+L₂)."""
        full = self.upper + self.fore
        return np.abs(self.determinant(q)) < share * self.upper * self.fore * full

    def candidates(self, p: Array) -> tuple[Array, Array]:
        """Both ways to reach places, (…, 2, 3), [rad], and which exist in the limits, (…, 2)."""
        p = np.asarray(p, dtype=float)
        a, b = self.upper, self.fore
        x, y, z = p[..., 0], self.side * p[..., 1], p[..., 2]
        cosine = ((p * p).sum(-1) - a * a - b * b) / (2.0 * a * b)
        elbow = np.arccos(np.clip(cosine, -1.0, 1.0))
        across = b * np.sin(elbow)
        square = x * x + z * z - across * across
        opening = np.arctan2(np.sqrt(np.maximum(square, 0.0)), across)
        exists = (np.abs(cosine) <= 1.0 + 1e-12) & (square >= -1e-15)
        firsts = (np.arctan2(z, x) + sign * opening for sign in (1.0, -1.0))
        q = np.stack([self._branch(x, y, z, first, elbow) for first in firsts], axis=-2)
        return q, exists[..., None] & within(q, self.lowest, self.highest)

    def _branch(self, x: Array, y: Array, z: Array, first: Array, elbow: Array) -> Array:
        b, s3 = self.fore, np.sin(elbow)
        s1, c1 = np.sin(first), np.cos(first)
        # = c₂ (L₁ + L₂ c₃); the printed (4.10) divides by c₂
        ahead = (x - b * c1 * s3) * s1 - (z - b * s1 * s3) * c1
        return np.stack([np.arctan2(s1, c1), np.arctan2(y, ahead), elbow], axis=-1)


@dataclass(frozen=True)
class LegChain(_Chain):
    r"""Outward lean ρ of the ankle, dorsiflexion d and knee flexion k, from the sole to the hip.

    .. math::
        x = L_1 \sin d + L_2 \sin(d - k), \quad M = L_1 \cos d + L_2 \cos(d - k), \quad
        y = -M \sin r, \quad z = L_0 + M \cos r, \qquad r = \mp\rho

    with − on the left. The origin is on the sole under the ankle.
    """

    sole: float = 0.050  #: L₀, sole to ankle, [m]; published code of the author
    shank: float = 0.139  #: L₁, ankle to knee, [m]; as above
    thigh: float = 0.143  #: L₂, knee to hip, [m]; as above
    side: int = 1  #: +1 left, −1 right
    #: smallest angles, [rad]; stated in the source
    lowest: tuple[float, float, float] = _radians(-30.0, -40.0, 0.0)
    #: largest angles, [rad]; stated in the source
    highest: tuple[float, float, float] = _radians(45.0, 20.0, 130.0)
    #: of foot, shank and thigh, [kg]; stated in the source
    masses: tuple[float, float, float] = (0.444, 0.343, 0.243)
    #: distance of the shank's and the thigh's centre of mass from their lower joint, [m]; stated
    along: tuple[float, float] = (0.088519, 0.101284)
    #: distance of the shank's centre of mass to the outside, [m]; stated
    shank_out: float = 0.015861
    #: of the foot, forward of and above the origin, [m]; derived
    foot_com: tuple[float, float] = (0.009060, 0.0317)

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest distance of the hip end from the ankle, [m]."""
        a, b, cosine = self.shank, self.thigh, math.cos(self.highest[2])
        return math.sqrt(a * a + b * b + 2.0 * a * b * cosine), a + b

    def forward(self, q: Array) -> Array:
        """Place of the hip end, [m]."""
        r, d, k = -self.side * q[..., 0], q[..., 1], q[..., 2]
        x = self.shank * np.sin(d) + self.thigh * np.sin(d - k)
        height = self.shank * np.cos(d) + self.thigh * np.cos(d - k)
        return np.stack([x, -height * np.sin(r), self.sole + height * np.cos(r)], axis=-1)

    def candidates(self, p: Array) -> tuple[Array, Array]:
        """Both ways to reach places, (…, 2, 3), [rad], and which exist in the limits, (…, 2)."""
        p = np.asarray(p, dtype=float)
        a, b = self.shank, self.thigh
        x, y, up = p[..., 0], p[..., 1], p[..., 2] - self.sole
        distance = np.hypot(y, up)
        cosine = (x * x + distance * distance - a * a - b * b) / (2.0 * a * b)
        knee = np.arccos(np.clip(cosine, -1.0, 1.0))
        bend = np.arctan2(b * np.sin(knee), a + b * np.cos(knee))
        ways = []
        # the hip above and below the ankle
        for sign in (1.0, -1.0):
            lean = -self.side * np.arctan2(-sign * y, sign * up)
            ways.append(np.stack([lean, np.arctan2(x, sign * distance) + bend, knee], -1))
        q = np.stack(ways, axis=-2)
        return q, (np.abs(cosine) <= 1.0 + 1e-12)[..., None] & within(q, self.lowest, self.highest)

    def jacobian(self, q: Array) -> Array:
        """Velocity of the hip end per joint velocity, 3 × 3, [m/rad]."""
        return self._turned(q, self.shank, self.thigh, 0.0)

    def centre(self, q: Array) -> Array:
        """Centre of gravity of leg and foot, [m]; offsets below 3 mm are left out, as published."""
        m0, m1, m2 = self.masses
        r, d, k = -self.side * q[..., 0], q[..., 1], q[..., 2]
        r1, r2 = self.along
        out = self.side * self.shank_out
        up = m1 * r1 * np.cos(d) + m2 * (self.shank * np.cos(d) + r2 * np.cos(d - k))  # [kg·m]
        thigh = m2 * (self.shank * np.sin(d) + r2 * np.sin(d - k))
        x = m0 * self.foot_com[0] + m1 * r1 * np.sin(d) + thigh
        # the sign of the last term as in (4.25), erratum E-06
        y = -np.sin(r) * up + m1 * out * np.cos(r)
        z = m0 * self.foot_com[1] + (m1 + m2) * self.sole + np.cos(r) * up + m1 * out * np.sin(r)
        return np.stack([x, y, z], axis=-1) / sum(self.masses)

    def centre_jacobian(self, q: Array) -> Array:
        """Velocity of the centre of gravity per joint velocity, 3 × 3, [m/rad]."""
        _, m1, m2 = self.masses
        r1, r2 = self.along
        lower, sideways = m1 * r1 + m2 * self.shank, m1 * self.side * self.shank_out
        return self._turned(q, lower, m2 * r2, sideways) / sum(self.masses)

    def _turned(self, q: Array, lower: float, upper: float, out: float) -> Array:
        """Derivative of ``lower`` along the shank, ``upper`` along the thigh, ``out`` sideways."""
        r, d, k = -self.side * q[..., 0], q[..., 1], q[..., 2]
        x = lower * np.sin(d) + upper * np.sin(d - k)
        height = lower * np.cos(d) + upper * np.cos(d - k)
        sr, cr, zero = np.sin(r), np.cos(r), np.zeros_like(x)
        by_r = [zero, -height * cr - out * sr, -height * sr + out * cr]
        by_d = [height, x * sr, -x * cr]
        by_k = [-upper * np.cos(d - k), -upper * np.sin(d - k) * sr, upper * np.sin(d - k) * cr]
        rows = ([-self.side * v for v in by_r], by_d, by_k)
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-1)


def within(q: Array, lowest: tuple[float, ...], highest: tuple[float, ...]) -> Array:
    """Whether all angles lie inside the limits, [rad]."""
    return np.asarray(((q >= np.array(lowest) - SLACK) & (q <= np.array(highest) + SLACK)).all(-1))


def _sines(q: Array) -> tuple[list[Array], list[Array]]:
    s, c = np.sin(q), np.cos(q)
    return [s[..., i] for i in range(3)], [c[..., i] for i in range(3)]
