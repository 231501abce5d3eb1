"""Haptic objects: where a limb may go, as surfaces with a distance and a way back, and the sum of what they push with.

A distance is positive where the limb may be. Everything takes one place or many: the last axis
holds x, y, z.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farhand.control.haptic.limit_force import Push
from farhand.errors import BadValue
from farhand.mapping.limbs import ArmChain, LegChain

Array = np.ndarray

TINY = 1e-12
"""Length below which there is no direction, [m]."""


class HapticObject(ABC):
    """One surface.

    Attributes:
        name: of the object on the page and in recordings.
    """

    name: str

    @abstractmethod
    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance to the surface [m], positive where one may be, and the unit vector that leads inward from it."""


@dataclass(frozen=True)
class Ball(HapticObject):
    """A ball that must not be left, or must not be entered.

    Attributes:
        name: of the object.
        centre: [m].
        radius: [m].
        inside: whether one must stay inside.
    """

    name: str
    centre: tuple[float, float, float]
    radius: float
    inside: bool = False

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back."""
        length, unit = _direction(np.asarray(p, dtype=float) - np.array(self.centre))
        return (self.radius - length, -unit) if self.inside else (length - self.radius, unit)


@dataclass(frozen=True)
class HalfSpace(HapticObject):
    """A plane with a free side.

    Attributes:
        name: of the object.
        point: on the plane, [m].
        normal: unit vector to the free side.
    """

    name: str
    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    @classmethod
    def through(
        cls, p1: Array, p2: Array, p3: Array, free: Array, name: str = "plane"
    ) -> HalfSpace:
        """The plane through three touched places, free on the side of ``free``, such as the pen's wrist, [m].

        Raises:
            BadValue: the three lie on a line, or ``free`` lies on the plane.
        """
        u, v = np.subtract(p2, p1), np.subtract(p3, p1)
        n = np.cross(u, v)
        area, sides = float(np.linalg.norm(n)), float(np.linalg.norm(u) * np.linalg.norm(v))
        if not area > 1e-6 * sides or sides == 0.0:
            raise BadValue(
                "three places on a line make no plane: touch the board at the corners of a triangle"
            )
        n = n / area
        side = float(n @ np.subtract(free, p1))
        if abs(side) < 1e-9:
            raise BadValue("the free side of the plane is not known: hold the pen off the board")
        n = n * math.copysign(1.0, side)
        return cls(
            name,
            (float(p1[0]), float(p1[1]), float(p1[2])),
            (float(n[0]), float(n[1]), float(n[2])),
        )

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back."""
        n = np.array(self.normal)
        offset = np.asarray(p, dtype=float) - np.array(self.point)
        return offset @ n, np.broadcast_to(n, offset.shape)


@dataclass(frozen=True)
class Torus(HapticObject):
    """A torus about an axis through the origin that must not be entered.

    Attributes:
        name: of the object.
        axis: unit vector.
        major: radius of the circle, [m].
        minor: radius of the ring, [m].
    """

    name: str
    axis: tuple[float, float, float]
    major: float
    minor: float

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back."""
        p, axis = np.asarray(p, dtype=float), np.array(self.axis)
        along = (p @ axis)[..., None] * axis
        _, out = _direction(p - along)
        length, unit = _direction(p - self.major * out)
        return length - self.minor, unit


@dataclass(frozen=True)
class ElbowObject(HapticObject):
    r"""What a 3-DOF arm cannot reach because of its shoulder: a ball on one side, a torus on the other, without a seam.

    Abduction turns the elbow on a circle; at 90° the arm is singular, so the ball of radius L₂
    about the sideways elbow is out of reach. Shoulder flexion at its limit θ sweeps a torus of
    major radius L₁ and minor radius L₂ about (cos θ, 0, sin θ). Where flexion covers half a turn,
    as here from −45° to 135°, both limits share one torus, and the place is out of reach exactly if
    it is inside the torus on the lower back side, or inside the ball on the other. On the plane
    between the two sides ball and torus have the same section, so distance and direction are
    continuous.

    Attributes:
        name: of the object.
        ball: about the sideways elbow.
        torus: of the flexion limits.
        front: unit vector to the side of the ball.
    """

    name: str
    ball: Ball
    torus: Torus
    front: tuple[float, float, float]

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back."""
        p = np.asarray(p, dtype=float)
        ahead = p @ np.array(self.front) >= 0.0
        if p.ndim == 1:
            return (self.ball if ahead else self.torus).locate(p)
        (s_ball, n_ball), (s_torus, n_torus) = self.ball.locate(p), self.torus.locate(p)
        return np.where(ahead, s_ball, s_torus), np.where(
            np.asarray(ahead)[..., None], n_ball, n_torus
        )


@dataclass(frozen=True)
class AnkleObject(HapticObject):
    """One flexion limit of the ankle: the torus that the thigh sweeps about the knee held at that limit.

    Attributes:
        name: of the object.
        leg: whose ankle.
        upper: whether it is the limit forward.
    """

    name: str
    leg: LegChain
    upper: bool

    def locate(self, p: Array) -> tuple[Array, Array]:
        """Distance and way back, in the plane that leans with the leg."""
        p = np.asarray(p, dtype=float) - np.array([0.0, 0.0, self.leg.sole])
        _, out = _direction(p * np.array([0.0, 1.0, 1.0]))
        limit = (self.leg.highest if self.upper else self.leg.lowest)[1]
        knee = self.leg.shank * (
            math.sin(limit) * np.array([1.0, 0.0, 0.0]) + math.cos(limit) * out
        )
        length, unit = _direction(p - knee)
        # of the line from ankle to hip
        beyond = np.arctan2(p[..., 0], np.linalg.norm(p[..., 1:], axis=-1)) - limit
        if self.upper:
            turned = np.linalg.norm(p, axis=-1) * beyond
            return np.where(
                beyond > 0.0, np.minimum(length - self.leg.thigh, -turned), length - self.leg.thigh
            ), unit
        return np.where(beyond < 0.0, self.leg.thigh - length, np.inf), -unit


def exact_arm(arm: ArmChain) -> list[HapticObject]:
    """Every limit of the arm's workspace, exactly: sphere outside, sphere inside, sagittal plane, elbow."""
    if abs(arm.highest[0] - arm.lowest[0] - math.pi) > 1e-9:
        raise BadValue("one torus serves both flexion limits only where they are 180° apart")
    low = arm.lowest[0]
    ball = Ball("elbow", (0.0, arm.side * arm.upper, 0.0), arm.fore)
    torus = Torus("flexion", (math.cos(low), 0.0, math.sin(low)), arm.upper, arm.fore)
    return [*_shell(arm), ElbowObject("elbow", ball, torus, (-math.sin(low), 0.0, math.cos(low)))]


def seed_arm(arm: ArmChain) -> list[HapticObject]:
    """The published approximation: one sphere about the elbow at the backward limit, exact at zero abduction only."""
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
    """Every limit of the leg's workspace, exactly: spheres, ankle flexion, and the two planes of its lean."""
    near, far = leg.reach
    centre = (0.0, 0.0, leg.sole)
    planes = [
        HalfSpace(name, centre, (0.0, -sign * leg.side * math.cos(angle), sign * math.sin(angle)))
        for name, angle, sign in (
            ("lean-out", leg.highest[0], 1.0),
            ("lean-in", leg.lowest[0], -1.0),
        )
    ]
    ankle = [AnkleObject("ankle-back", leg, False), AnkleObject("ankle-front", leg, True)]
    return [Ball("outer", centre, far, inside=True), Ball("inner", centre, near), *ankle, *planes]


@dataclass
class ObjectForce:
    """The sum of what several objects push with.

    Attributes:
        objects: the objects.
        push: how hard each pushes.
    """

    objects: Sequence[HapticObject]
    push: Push

    def inside(self, p: Array) -> Array:
        """Whether places [m] are on the free side of every object."""
        return np.logical_and.reduce([item.locate(p)[0] >= 0.0 for item in self.objects])

    def distances(self, p: Array) -> Array:
        """Distance to every object, [m], one column each."""
        return np.stack([item.locate(p)[0] for item in self.objects], axis=-1)

    def force(self, p: Array, scale: float = 1.0) -> Array:
        """Push at a place [m], [N]; ``scale`` divides distances, to judge them in the hand's metres."""
        total = np.zeros(3)
        for item in self.objects:
            s, n = item.locate(p)
            if s < scale * self.push.zone:
                total += self.push.magnitude(s / scale) * n
        return total


@dataclass
class VirtualWorkspace:
    r"""The limb's workspace around the pen: the same objects, smaller by the motion scale, about a virtual centre.

    .. math:: C = P_0 - E_0/k, \qquad P_{robot} = k\,(P - C)

    Attributes:
        force_of: objects and their law, in the limb's metres.
        scale: k, robot metres per hand metre, [-].
        in_hand: whether zones are hand metres; by default they are robot metres and keep their
            meaning (sources/humanoid E-18).
        centre: C, [m].
    """

    force_of: ObjectForce
    scale: float = 2.0
    in_hand: bool = False

    def __post_init__(self) -> None:
        """No centre yet."""
        self.centre = np.zeros(3)

    def begin(self, pen: Array, end: Array) -> None:
        """Find the centre from where pen and limb are when they are coupled, [m]."""
        self.centre = np.asarray(pen, dtype=float) - np.asarray(end, dtype=float) / self.scale

    def place(self, pen: Array) -> Array:
        """Place of the limb that belongs to the pen's, [m]."""
        return self.scale * (np.asarray(pen, dtype=float) - self.centre)

    def force(self, pen: Array) -> Array:
        """Push on the pen at its place [m], [N]."""
        return self.force_of.force(self.place(pen), self.scale if self.in_hand else 1.0)


def _direction(offset: Array) -> tuple[Array, Array]:
    """Length and unit vector; the zero vector where there is no direction."""
    if offset.ndim == 1:  # one place, in every tick
        size = math.sqrt(float(offset.dot(offset)))
        return np.asarray(size), offset * (1.0 / max(size, TINY))
    length = np.linalg.norm(offset, axis=-1)
    return length, offset / np.maximum(length, TINY)[..., None]
