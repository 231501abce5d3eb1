"""A humanoid as a whole: loads of a motion, rubber bands, planar legs, half a step.

:class:`WholeBody` computes what the joints must give and where the weight goes while one foot
stands. :class:`StepClimb` is the published motion: the first half of climbing a step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pinocchio as pin

from farhand.control.trajectory.paths import Quintic
from farhand.errors import BadValue, UnknownName
from farhand.robots import Robot, load_robot
from farhand.robots.springs import JointSpring

Array = np.ndarray

SIDES = ("left", "right")
# hip to knee and knee to ankle, [m]: published code of the author
THIGH = 0.143
SHANK = 0.139
# ends of the four stages as shares of the whole, as published
STAGES = (0.0, 0.35, 0.567, 0.783, 1.0)
# steps shown in the publication, [m]
HEIGHTS = (0.025, 0.050, 0.075, 0.100, 0.125)
MAX_DORSIFLEXION = np.radians(20.0)

Angles = tuple[float, float, float]
Curve = Callable[[float], tuple[Array, Array, Array]]
"""Joint positions, velocities and accelerations at a time [s], each of shape (27,)."""


@dataclass(frozen=True)
class AnkleBand(JointSpring):
    r"""A stretched band in front of the ankle that helps to lean forward, :math:`\tau = k\,q - p`.

    Without pretension it would hold the ankle at home and only burden a leg that bends: the hips go
    back, and the weight with them.
    """

    stiffness: float = 0.5  #: k, [N·m/rad]; the published text gives none, so it is assumed
    pretension: float = 0.5  #: p, [N·m]; assumed

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]."""
        return self.stiffness * q - self.pretension

    def energy(self, q: float) -> float:
        """½ k q² − p q, [J]."""
        return q * (0.5 * self.stiffness * q - self.pretension)


@dataclass(frozen=True)
class WrappedBand(JointSpring):
    r"""A band round a pulley at the knee: it stretches as the knee flexes and helps it to extend.

    .. math:: \tau = k\,\rho\,(l + \rho\,q)
    """

    stiffness: float = 1000.0  #: k, [N/m]; assumed
    radius: float = 0.03  #: ρ, [m]; about 30 mm by the published text
    pretension: float = 0.02  #: l, stretch with the leg straight, [m]; assumed

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]; zero where the band is slack."""
        return self.stiffness * self.radius * max(0.0, self.pretension + self.radius * q)

    def energy(self, q: float) -> float:
        """½ k (l + ρ q)², [J]."""
        return 0.5 * self.stiffness * max(0.0, self.pretension + self.radius * q) ** 2


@dataclass(frozen=True)
class StraightBand(JointSpring):
    r"""The published simulator's band: a straight line between points on shank and thigh.

    .. math:: s(q) = \sqrt{a^2 + b^2 + 2ab\cos q}, \quad
              \tau = -k\,(s - s_0)\,ab \sin(q)/s, \quad s_0 = a + b - l

    Its ends approach each other as the knee flexes, so it unloads and pulls the knee further in:
    the reported defect.
    """

    stiffness: float = 1000.0  #: k, [N/m]; assumed
    #: a = b, distance of either end from the knee's axis, [m]; about 30 mm as published
    arm: float = 0.03
    pretension: float = 0.02  #: l, stretch with the leg straight, [m]; assumed

    def stretch(self, q: float) -> float:
        """How far it is stretched at an angle [rad], [m]."""
        length = 2.0 * self.arm * abs(math.cos(0.5 * q))  # a = b
        return max(0.0, length - 2.0 * self.arm + self.pretension)

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]; zero where the band is slack."""
        return -self.stiffness * self.stretch(q) * self.arm * math.sin(0.5 * q)

    def energy(self, q: float) -> float:
        """½ k (s − s₀)², [J]."""
        return 0.5 * self.stiffness * self.stretch(q) ** 2


@dataclass(frozen=True)
class BodyLoad:
    """What a motion takes at one moment; along a curve, one row per moment."""

    #: at every joint, bands not counted, [N·m]; the holding torque of a joint at rest
    torque: Array
    motor: Array  #: what is left for the motors where bands help, [N·m]
    #: wrench of the ground on the support foot at its sole point, world axes, [N], [N·m]
    ground: Array
    cog: Array  #: centre of gravity, [m]
    cog_velocity: Array  #: [m/s]
    cog_acceleration: Array  #: [m/s²]
    cop: Array  #: centre of pressure on the sole, x and y in world, [m]
    energy: Array  #: kinetic and potential, [J]
    power: Array  #: of all joints, [W]


class WholeBody:
    r"""A free-floating tree with one foot welded to the ground.

    The foot at rest gives the base its motion, :math:`J_b v_b = -J_j v_j` and
    :math:`J_b \dot v_b = -J_j \dot v_j - \dot J v`. Newton–Euler on the free tree needs a wrench on
    the base that nothing exerts; the ground exerts it at the foot instead:

    .. math:: w = J_b^{-\top} \tau_b, \qquad \tau = \tau_j - J_j^\top w

    The published simulator welds the tip of the foot; its toes are not joints, so any point of the
    foot is the same.

    Args:
        robot: a free-floating humanoid with sites ``left_sole`` and ``right_sole``; PHUA by
            default.
        support: which foot stands.
        bands: springs beside the motors, by joint.
        gravity: downward acceleration, [m/s²].
    """

    def __init__(
        self,
        robot: Robot | None = None,
        *,
        support: str = "right",
        bands: Mapping[str, JointSpring] | None = None,
        gravity: float = 9.81,
    ) -> None:
        if support not in SIDES:
            raise UnknownName("foot", support, SIDES)
        self.robot = robot or load_robot("phua")
        self.model = self.robot.pinocchio(gravity=gravity)
        self.data = self.model.createData()
        #: names of the joints, in the order of all joint arrays
        self.joints = list(self.model.names)[2:]
        self.sole = self.model.getFrameId(f"{support}_sole", pin.FrameType.OP_FRAME)
        start = self._sole_placement(np.zeros(len(self.joints)))
        # flat on the ground
        self._place = pin.SE3(np.eye(3), start.translation * [1.0, 1.0, 0.0])
        self.bands = {self.index(name): spring for name, spring in (bands or {}).items()}

    def index(self, joint: str) -> int:
        """Number of a joint."""
        if joint not in self.joints:
            raise UnknownName("joint", joint, self.joints)
        return self.joints.index(joint)

    def _sole_placement(self, q: Array) -> pin.SE3:
        """Where the support sole is, for a base at the origin."""
        full = np.concatenate([pin.SE3ToXYZQUAT(pin.SE3.Identity()), q])
        pin.forwardKinematics(self.model, self.data, full)
        return pin.updateFramePlacement(self.model, self.data, self.sole).copy()

    def configuration(self, q: Array) -> Array:
        """Base and joints with the support sole in its place; joint angles [rad]."""
        base = self._place * self._sole_placement(q).inverse()
        return np.concatenate([pin.SE3ToXYZQUAT(base), q])

    def at(self, q: Array, v: Array | None = None, a: Array | None = None) -> BodyLoad:
        """The load of joint angles [rad], velocities and accelerations, zero by default."""
        model, data = self.model, self.data
        v = np.zeros(len(q)) if v is None else v
        a = np.zeros(len(q)) if a is None else a
        full = self.configuration(q)
        J = pin.computeFrameJacobian(model, data, full, self.sole, pin.LOCAL)
        base, rest = np.linalg.inv(J[:, :6]), J[:, 6:]
        speed = np.concatenate([-base @ rest @ v, v])
        # the drift needs the velocities with zero accelerations
        pin.forwardKinematics(model, data, full, speed, np.zeros(model.nv))
        growth = np.concatenate([-base @ (rest @ a + self._drift()), a])
        free = pin.rnea(model, data, full, speed, growth)
        foot = base.T @ free[:6]  # on the foot, in its own axes
        torque = free[6:] - self._carried(rest, foot)
        energy = pin.computeKineticEnergy(model, data, full, speed)
        energy = energy + pin.computePotentialEnergy(model, data, full)
        cog = pin.centerOfMass(model, data, full, speed, growth).copy()
        place = pin.updateFramePlacement(model, data, self.sole)
        ground = np.concatenate([place.rotation @ foot[:3], place.rotation @ foot[3:]])
        motor = torque.copy()
        for joint, band in self.bands.items():
            motor[joint] += band.torque(float(q[joint]))
        return BodyLoad(
            torque=torque,
            motor=motor,
            ground=ground,
            cog=cog,
            cog_velocity=data.vcom[0].copy(),
            cog_acceleration=data.acom[0].copy(),
            cop=place.translation[:2] + np.array([-ground[4], ground[3]]) / ground[2],
            energy=np.array(energy),
            power=np.array(torque @ v),
        )

    def _drift(self) -> Array:
        """Acceleration of the sole when no velocity grows, [m/s²] and [rad/s²]."""
        return pin.getFrameAcceleration(self.model, self.data, self.sole, pin.LOCAL).vector

    @staticmethod
    def _carried(rest: Array, foot: Array) -> Array:
        """What the ground's wrench does at the joints, [N·m]."""
        return rest.T @ foot

    def along(self, curve: Curve, times: Array) -> BodyLoad:
        """The load at every time of a curve, as arrays with one row per time."""
        loads = [self.at(*curve(float(t))) for t in times]
        names = [field.name for field in fields(BodyLoad)]
        return BodyLoad(**{n: np.stack([getattr(load, n) for load in loads]) for n in names})


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
              \theta_3 = \varphi - \theta_1 - \theta_2, \\
              \theta_1 = \mathrm{atan2}(y(l_1 + l_2 c_2) - x l_2 s_2,\;
              x(l_1 + l_2 c_2) + y l_2 s_2)

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
    """Leg with its hip at (x, z) [m] from the ankle, pelvis upright."""
    shank, bend, _ = planar_angles(x, z, np.pi / 2, SHANK, THIGH)
    ankle = np.pi / 2 - shank
    return LegAngles(bend - ankle, bend, ankle)


def free_leg(x: float, z: float, pitch: float = 0.0) -> LegAngles:
    """Leg with its ankle at (x, z) [m] from the hip, toes raised by ``pitch`` [rad]."""
    thigh, bend, foot = planar_angles(x, z, pitch, THIGH, SHANK, -1.0)
    return LegAngles(thigh + np.pi / 2, -bend, foot - np.pi / 2)


@dataclass(frozen=True)
class StepClimb:
    """Half a step: hip lowered and drawn back, thigh up, foot forward, foot down on the step.

    Only the stages are published. Distances are assumed, within the joints' ranges for all
    published heights.
    """

    height: float = 0.050  #: of the step, [m]
    drop: float = 0.020  #: how far the hips are lowered, [m]
    back: float = 0.020  #: how far they are drawn back, [m]
    clearance: float = 0.030  #: how high above the step the foot passes, [m]
    forward: float = 0.100  #: how far the foot goes, [m]
    lifted: float = 0.050  #: how far forward it is when it is highest first, [m]
    duration: float = 10.0  #: of the whole, [s]
    support: str = "right"  #: the foot that stands

    def poses(self) -> list[tuple[LegAngles, LegAngles]]:
        """Support leg and free leg at the ends of the stages.

        Raises:
            BadValue: a pose is out of reach.
        """
        top = THIGH + SHANK
        stand = support_leg(0.0, top), free_leg(0.0, -top)
        lowered = support_leg(-self.back, top - self.drop)
        raised = self.height + self.clearance
        places = [(0.0, 0.0), (self.lifted, raised), (self.forward, raised)]
        places.append((self.forward, self.height))
        return [stand, *((lowered, self._free(x, z)) for x, z in places)]

    def _free(self, x: float, z: float) -> LegAngles:
        """Free leg with its ankle (x, z) from where it stood; flat, or toes down if need be."""
        hip_x, hip_z = -self.back, THIGH + SHANK - self.drop
        flat = free_leg(x - hip_x, z - hip_z)
        return LegAngles(flat.hip, flat.knee, min(flat.ankle, MAX_DORSIFLEXION))

    def on(self, body: WholeBody) -> ClimbCurve:
        """The motion of all joints of a body; joints that take no part stay at zero."""
        free = "left" if self.support == "right" else "right"
        rows = []
        for standing, swinging in self.poses():
            row = np.zeros(len(body.joints))
            for side, leg in ((self.support, standing), (free, swinging)):
                row[body.index(f"{side}_hip_flexion")] = leg.hip
                row[body.index(f"{side}_knee")] = leg.knee
                row[body.index(f"{side}_ankle_flexion")] = leg.ankle
            rows.append(row)
        return ClimbCurve(rows, [share * self.duration for share in STAGES])


class ClimbCurve:
    """Joint postures [rad] at times [s], with a quintic from rest to rest between them."""

    def __init__(self, postures: list[Array], times: list[float]) -> None:
        if len(postures) != len(times) or len(times) < 2:
            raise BadValue(
                f"{len(postures)} postures do not go with {len(times)} times; give two or more each"
            )
        self.postures = postures
        self.times = times
        rest = np.zeros_like(postures[0])
        self._segments = [
            Quintic([a, rest, rest], [b, rest, rest], end - begin)
            for (a, b), (begin, end) in zip(pairwise(postures), pairwise(times), strict=True)
        ]

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at a time [s]; at rest before and after."""
        t = min(max(t, self.times[0]), self.times[-1])
        index = min(bisect_right(self.times, t), len(self._segments)) - 1
        q, v, a = self._segments[index].at(t - self.times[index])
        return q, v, a
