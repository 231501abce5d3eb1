"""Planar legs: inverse kinematics of three joints in a plane, as the published gait uses it for both legs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue

THIGH, SHANK, SOLE = 0.143, 0.139, 0.050
"""Hip to knee, knee to ankle, ankle to sole, [m]: published code of the author."""


Angles = tuple[float, float, float]


@dataclass(frozen=True)
class LegAngles:
    """Anatomical angles of one leg, [rad]: flexion, flexion, dorsiflexion."""

    hip: float
    knee: float
    ankle: float


def planar_angles(
    x: float, y: float, phi: float, l1: float, l2: float, sign: float = 1.0
) -> Angles:
    r"""Angles of a planar chain of three joints.

    .. math:: \theta_2 = \pm\arccos\frac{x^2 + y^2 - l_1^2 - l_2^2}{2 l_1 l_2}, \quad
              \theta_1 = \mathrm{atan2}(y(l_1 + l_2 c_2) - x l_2 s_2,\; x(l_1 + l_2 c_2) + y l_2 s_2), \quad
              \theta_3 = \varphi - \theta_1 - \theta_2

    Args:
        x: of the third joint from the first, [m].
        y: of the third joint from the first, [m].
        phi: orientation of the last link, [rad].
        l1: first link, [m].
        l2: second link, [m].
        sign: of θ₂.

    Raises:
        BadValue: the point is out of reach.
    """
    cosine = (x * x + y * y - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
    if abs(cosine) > 1.0 + 1e-12:
        reach = f"{abs(l1 - l2):.3g} to {l1 + l2:.3g} m"
        raise BadValue(
            f"a point {np.hypot(x, y):.4g} m away is out of reach of a leg that reaches {reach}"
        )
    second = sign * float(np.arccos(np.clip(cosine, -1.0, 1.0)))
    c, s = l1 + l2 * np.cos(second), l2 * np.sin(second)
    first = float(np.arctan2(y * c - x * s, x * c + y * s))
    return first, second, phi - first - second


def planar_point(first: float, second: float, third: float, l1: float, l2: float) -> Angles:
    """Where the third joint is, and the last link's orientation, for three angles."""
    x = l1 * np.cos(first) + l2 * np.cos(first + second)
    y = l1 * np.sin(first) + l2 * np.sin(first + second)
    return float(x), float(y), first + second + third


def support_leg(x: float, z: float) -> LegAngles:
    """Leg whose ankle stands below a hip at (x, z) [m] from the ankle, pelvis upright."""
    shank, bend, _ = planar_angles(x, z, np.pi / 2, SHANK, THIGH)
    ankle = np.pi / 2 - shank
    return LegAngles(bend - ankle, bend, ankle)


def free_leg(x: float, z: float, pitch: float = 0.0) -> LegAngles:
    """Leg whose ankle is at (x, z) [m] from its hip, with the foot's toes raised by ``pitch`` [rad], pelvis upright."""
    thigh, bend, foot = planar_angles(x, z, pitch, THIGH, SHANK, -1.0)
    return LegAngles(thigh + np.pi / 2, -bend, foot - np.pi / 2)
