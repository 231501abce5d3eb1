"""Haptic objects: surfaces that bound where a limb may go, and how hard they push at a distance.

A distance is positive where the limb may be. Everything takes one place or many: the last axis
holds x, y, z.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from farhand.errors import BadValue
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.parameters import parameter
from farhand.spatial import Array

MM = 1e3
"""Millimetres in a metre: the contact law's steepness is fixed at 1 per millimetre."""

MIN_LENGTH = 1e-12
"""Length below which a vector has no direction, [m]."""


class DistanceForce(Protocol):
    """A push away from a surface: :class:`LimitForce` warns, :class:`ContactForce` is touched."""

    zone: float  #: distance beyond which nothing pushes, [m]

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""


@dataclass
class LimitForce:
    r"""A limit that is felt before it is reached: a cubic over an approach zone, then a spring.

    .. math::
        F = \begin{cases} 0 & x > d \\
            F_{max}\,(2 (x/d)^3 - 3 (x/d)^2 + 1) & 0 < x \le d \\
            F_{max} - k_2 x & x \le 0 \end{cases}

    Its slope is zero at both ends of the zone and at most 1.5 F_max/d, halfway through it.
    """

    # stated: the plotted example
    zone: float = parameter(0.030, "m", "approach zone", 1e-5, 1.0)
    # sources/humanoid E-20
    peak: float = parameter(2.5, "N", "push at the limit", 0.0, 100.0)
    # sources/humanoid E-19 [A]
    wall: float = parameter(1000.0, "N/m", "stiffness beyond the limit", 0.0, 1e6)

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""
        s = np.asarray(s, dtype=float)
        u = np.clip(s / self.zone, 0.0, 1.0)
        return self.peak * (1.0 + u * u * (2.0 * u - 3.0)) + self.wall * np.maximum(-s, 0.0)


@dataclass
class ContactForce:
    r"""A surface to touch: a weak slope on approach, a steep rise in the last quarter, a spring.

    .. math::
        F = \begin{cases} 0 & s \ge d \\ \gamma k (d - s) & d_l \le s < d \\
            \alpha \tanh(\beta - s) + \theta & 0 < s < d_l \\ F_{max} - k_2 s & s \le 0 \end{cases}

    with s in millimetres inside the tanh. The three constants make it continuous at 0 and d_l with
    a slope of −1 N/mm halfway between (sources/humanoid E-02, E-04):

    .. math:: w = \frac{G \cosh d_l - \sinh d_l}{\sinh d_l - G}, \quad
              \beta = \tfrac12 (d_l + \mathrm{acosh}\,w), \quad
              \alpha = \cosh^2(\beta - d_l/2), \quad \theta = F_{max} - \alpha \tanh \beta

    where :math:`G = F_{max} - \gamma k (d - d_l)`. They exist for :math:`2 \tanh(d_l/2) \le G <
    \sinh d_l` only.
    """

    zone: float = parameter(0.030, "m", "approach zone", 1e-4, 1.0)  # stated
    # published code of the author
    peak: float = parameter(2.5, "N", "push at the surface", 0.01, 100.0)
    # published code; 10 is stated
    approach: float = parameter(0.2, "-", "share of the slope felt on approach", 0.0, 10.0)
    wall: float = parameter(1000.0, "N/m", "stiffness beyond the surface", 0.0, 1e6)  # assumed
    # stated
    margin: float = parameter(0.25, "-", "share of the zone in which the force rises", 0.01, 0.99)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Find the constants.

        Raises:
            BadValue: there are none; the message names the range of G.
        """
        self.slope = self.approach * self.peak / self.zone  # γk [N/m]
        dl = MM * self.margin * self.zone  # [mm]
        G = self.peak - self.slope * self.zone * (1.0 - self.margin)  # [N]
        # beyond 300, sinh and cosh are equal and soon overflow
        far = min(dl, 300.0)
        least, most = 2.0 * math.tanh(0.5 * dl), math.sinh(far)
        if not least <= G < most:
            need = f"it must be {least:.4g} N or more and below {most:.4g} N"
            change = "change peak, approach or zone"
            raise BadValue(
                f"no contact force rises by {G:.4g} N within {dl:g} mm; {need}: {change}"
            )
        w = (G * math.cosh(far) - math.sinh(far)) / (math.sinh(far) - G)
        self.beta = 0.5 * (dl + math.acosh(max(w, 1.0)))
        self.alpha = math.cosh(self.beta - 0.5 * dl) ** 2
        self.theta = self.peak - self.alpha * math.tanh(self.beta)

    def magnitude(self, s: Array | float) -> Array:
        """Push at distances s [m], [N]."""
        s = np.asarray(s, dtype=float)
        inside = self.alpha * np.tanh(self.beta - MM * np.clip(s, 0.0, self.zone)) + self.theta
        outside = self.slope * np.maximum(self.zone - s, 0.0)
        approach = np.where(s < self.margin * self.zone, inside, outside)
        return approach + self.wall * np.maximum(-s, 0.0)


class HapticObject(ABC):
    """One surface; its name is shown on the page and in recordings."""

    name: str

    @abstractmethod
    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance to the surface [m], and the unit vector that leads back to the free side."""


@dataclass(frozen=True)
class Ball(HapticObject):
    """A ball [m] that must not be entered, or with ``inside`` must not be left."""

    name: str
    centre: tuple[float, float, float]
    radius: float
    inside: bool = False

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, see :meth:`HapticObject.locate`."""
        length, unit = _direction(np.asarray(p, dtype=float) - np.array(self.centre))
        return (self.radius - length, -unit) if self.inside else (length - self.radius, unit)


@dataclass(frozen=True)
class HalfSpace(HapticObject):
    """A plane through ``point`` [m]; the unit vector ``normal`` leads to its free side."""

    name: str
    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    @classmethod
    def through(
        cls, p1: Array, p2: Array, p3: Array, free: Array, name: str = "plane"
    ) -> HalfSpace:
        """The plane through three touched places, free on the side of ``free``, [m].

        Raises:
            BadValue: the three lie on a line, or ``free`` lies on the plane.
        """
        u, v = np.subtract(p2, p1), np.subtract(p3, p1)
        n = np.cross(u, v)
        area, sides = float(np.linalg.norm(n)), float(np.linalg.norm(u) * np.linalg.norm(v))
        if not area > 1e-6 * sides:
            raise BadValue("three places on a line make no plane: touch corners of a triangle")
        n = n / area
        side = float(n @ np.subtract(free, p1))
        if abs(side) < 1e-9:
            raise BadValue("the free side of the plane is not known: hold the pen off the board")
        n = n * math.copysign(1.0, side)
        point = float(p1[0]), float(p1[1]), float(p1[2])
        return cls(name, point, (float(n[0]), float(n[1]), float(n[2])))

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, see :meth:`HapticObject.locate`."""
        n = np.array(self.normal)
        offset = np.asarray(p, dtype=float) - np.array(self.point)
        return offset @ n, np.broadcast_to(n, offset.shape)


@dataclass(frozen=True)
class Torus(HapticObject):
    """A torus of two radii [m] about an axis through the origin that must not be entered."""

    name: str
    axis: tuple[float, float, float]
    major: float
    minor: float

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, see :meth:`HapticObject.locate`."""
        p, axis = np.asarray(p, dtype=float), np.array(self.axis)
        along = (p @ axis)[..., None] * axis
        _, out = _direction(p - along)
        length, unit = _direction(p - self.major * out)
        return length - self.minor, unit


@dataclass(frozen=True)
class ElbowObject(HapticObject):
    r"""What a 3-DOF arm cannot reach because of its shoulder: a ball that passes into a torus.

    Abduction turns the elbow on a circle; at 90° the arm is singular, so the ball of radius L₂
    about the sideways elbow is out of reach. Shoulder flexion at its limit θ sweeps a torus of
    major radius L₁ and minor radius L₂ about (cos θ, 0, sin θ). Where flexion covers half a turn,
    as here from −45° to 135°, both limits share one torus, and the place is out of reach exactly if
    it is inside the torus on the lower back side, or inside the ball on the other. On the plane
    between the two sides ball and torus have the same section, so distance and direction are
    continuous.
    """

    name: str
    ball: Ball  #: about the sideways elbow
    torus: Torus  #: of the flexion limits
    front: tuple[float, float, float]  #: unit vector to the side of the ball

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, see :meth:`HapticObject.locate`."""
        p = np.asarray(p, dtype=float)
        ahead = p @ np.array(self.front) >= 0.0
        if p.ndim == 1:
            return (self.ball if ahead else self.torus).locate(p)
        (s_ball, n_ball), (s_torus, n_torus) = self.ball.locate(p), self.torus.locate(p)
        normal = np.where(np.asarray(ahead)[..., None], n_ball, n_torus)
        return np.where(ahead, s_ball, s_torus), normal


@dataclass(frozen=True)
class AnkleObject(HapticObject):
    """One flexion limit of the ankle: the torus that the thigh sweeps about the knee there."""

    name: str
    leg: LegChain
    upper: bool

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, in the plane that leans with the leg."""
        p = np.asarray(p, dtype=float) - np.array([0.0, 0.0, self.leg.sole])
        _, out = _direction(p * np.array([0.0, 1.0, 1.0]))
        limit = (self.leg.highest if self.upper else self.leg.lowest)[1]
        forward = np.array([1.0, 0.0, 0.0])
        knee = self.leg.shank * (math.sin(limit) * forward + math.cos(limit) * out)
        length, unit = _direction(p - knee)
        # angle of the line from ankle to hip beyond the limit
        beyond = np.arctan2(p[..., 0], np.linalg.norm(p[..., 1:], axis=-1)) - limit
        if self.upper:
            turned, distance = np.linalg.norm(p, axis=-1) * beyond, length - self.leg.thigh
            return np.where(beyond > 0.0, np.minimum(distance, -turned), distance), unit
        return np.where(beyond < 0.0, self.leg.thigh - length, np.inf), -unit


def exact_arm(arm: ArmChain) -> list[HapticObject]:
    """Every limit of the arm's workspace, exactly: two spheres, sagittal plane, elbow."""
    if abs(arm.highest[0] - arm.lowest[0] - math.pi) > 1e-9:
        raise BadValue("the flexion limits must be 180° apart to share one torus")
    low = arm.lowest[0]
    ball = Ball("elbow", (0.0, arm.side * arm.upper, 0.0), arm.fore)
    torus = Torus("flexion", (math.cos(low), 0.0, math.sin(low)), arm.upper, arm.fore)
    return [*_shell(arm), ElbowObject("elbow", ball, torus, (-math.sin(low), 0.0, math.cos(low)))]


def published_arm(arm: ArmChain) -> list[HapticObject]:
    """The published approximation: a sphere about the elbow, exact at zero abduction only."""
    q = np.array([arm.lowest[0], 0.0, 0.0])
    x, y, z = (arm.upper / (arm.upper + arm.fore) * arm.forward(q)).tolist()
    return [*_shell(arm), Ball("back", (x, y, z), arm.fore)]


def _shell(arm: ArmChain) -> list[HapticObject]:
    near, far = arm.reach
    return [
        Ball("outer", (0.0, 0.0, 0.0), far, inside=True),
        Ball("inner", (0.0, 0.0, 0.0), near),
        HalfSpace("sagittal", (0.0, 0.0, 0.0), (0.0, float(arm.side), 0.0)),
    ]


def exact_leg(leg: LegChain) -> list[HapticObject]:
    """Every limit of the leg's workspace, exactly: spheres, ankle flexion, planes of its lean."""
    near, far = leg.reach
    centre = (0.0, 0.0, leg.sole)
    leans = ("lean-out", leg.highest[0], 1.0), ("lean-in", leg.lowest[0], -1.0)
    planes = [
        HalfSpace(name, centre, (0.0, -sign * leg.side * math.cos(angle), sign * math.sin(angle)))
        for name, angle, sign in leans
    ]
    ankle = [AnkleObject("ankle-back", leg, False), AnkleObject("ankle-front", leg, True)]
    return [Ball("outer", centre, far, inside=True), Ball("inner", centre, near), *ankle, *planes]


@dataclass
class ObjectForce:
    """The sum of the pushes of several objects."""

    objects: Sequence[HapticObject]
    push: DistanceForce

    def inside(self, p: Array) -> Array:
        """Whether places [m] are on the free side of every object."""
        return np.logical_and.reduce([item.locate(p)[0] >= 0.0 for item in self.objects])

    def distances(self, p: Array) -> Array:
        """Distance to every object, [m], one column each."""
        return np.stack([item.locate(p)[0] for item in self.objects], axis=-1)

    def force(self, p: Array, scale: float = 1.0) -> Array:
        """Push at a place [m], [N]; ``scale`` converts distances to the hand's metres."""
        total = np.zeros(3)
        for item in self.objects:
            s, n = item.locate(p)
            if s < scale * self.push.zone:
                total += self.push.magnitude(s / scale) * n
        return total


@dataclass
class VirtualWorkspace:
    r"""The limb's workspace around the pen: the same objects, smaller by the motion scale.

    .. math:: C = P_0 - E_0/k, \qquad P_{robot} = k\,(P - C)

    Attributes:
        force_of: objects and their law, in the limb's metres.
        scale: k, robot metres per hand metre, [-].
        in_hand: whether zones are in hand metres; by default they are in robot metres
            (sources/humanoid E-18).
        centre: C, [m].
    """

    force_of: ObjectForce
    scale: float = 2.0
    in_hand: bool = False

    def __post_init__(self) -> None:
        self.centre = np.zeros(3)

    def begin(self, pen: Array, end: Array) -> None:
        """Find the centre from the places of pen and limb at engagement, [m]."""
        self.centre = np.asarray(pen, dtype=float) - np.asarray(end, dtype=float) / self.scale

    def place(self, pen: Array) -> Array:
        """Place of the limb for the pen's, [m]."""
        return self.scale * (np.asarray(pen, dtype=float) - self.centre)

    def force(self, pen: Array) -> Array:
        """Push on the pen at its place [m], [N]."""
        return self.force_of.force(self.place(pen), self.scale if self.in_hand else 1.0)


def _direction(offset: Array) -> tuple[Array, Array]:
    """Length and unit vector; the zero vector where there is no direction."""
    # one place, in every tick: faster than the general way
    if offset.ndim == 1:
        size = math.sqrt(float(offset.dot(offset)))
        return np.asarray(size), offset * (1.0 / max(size, MIN_LENGTH))
    length = np.linalg.norm(offset, axis=-1)
    return length, offset / np.maximum(length, MIN_LENGTH)[..., None]
