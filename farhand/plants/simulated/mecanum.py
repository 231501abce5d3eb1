"""Mecanum bases: their kinematics and odometry, and an arm on such a base as a plant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import mujoco
import numpy as np

from farhand.errors import BadValue
from farhand.friction import Friction
from farhand.friction.velocity import StateVariableFilter, quantised
from farhand.parameters import parameter
from farhand.plants.plant import Command, Sample
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.spatial import Array
from farhand.world.joints import JointPush
from farhand.world.world import Port, World

WHEELS = ("FL", "FR", "RL", "RR")
"""Order of the wheels: front or rear, left or right."""

TICK = 2.0 * math.pi / 4000.0 / (9405.0 / 364.0)
"""One count of a motor's encoder at the wheel: 4000 per turn, as stated, behind the gear, [rad]."""


@dataclass(frozen=True)
class LinkMap:
    r"""Kinematics of a mecanum base; all wheels forward turn it to the left.

    .. math::
        V = B\,w, \quad w = A\,V, \quad B A = 1_3, \qquad \tau = B^\top W, \quad W = A^\top \tau,
        \qquad A = \frac1r
        \begin{bmatrix} -1 & 1 & l \\ 1 & 1 & l \\ -1 & -1 & l \\ 1 & -1 & l \end{bmatrix}

    V = (v_x, v_y, ψ̇) and W = (F_x, F_y, M_z) are in the base's axes. Both directions keep power,
    and :math:`B^\top W` are the smallest torques that make a wrench. The published matrix is lost
    (erratum ER-01); this one is from the public driver of the robot.
    """

    # From the public driver configuration, sources/youbot §2.9 [X].
    radius: float = 0.0475  #: r, of a wheel, [m]
    length: float = 0.47  #: from front to rear axle, [m]
    width: float = 0.30  #: from left to right wheels, [m]
    A: Array = field(init=False, repr=False, compare=False)  #: wheel speeds per twist, 4 × 3
    B: Array = field(init=False, repr=False, compare=False)  #: twist per wheel speeds, 3 × 4

    def __post_init__(self) -> None:
        """Compute the matrices once."""
        if not (self.radius > 0.0 and self.length + self.width > 0.0):
            raise BadValue(f"a base with wheels of {self.radius:g} m needs lengths above 0 m")
        r, arm = self.radius, self.lever
        A = np.array([[-1, 1, arm], [1, 1, arm], [-1, -1, arm], [1, -1, arm]]) / r
        B = 0.25 * r * np.array([[-1, 1, -1, 1], [1, 1, -1, -1], np.full(4, 1.0 / arm)])
        for name, matrix in (("A", A), ("B", B)):
            matrix.flags.writeable = False
            object.__setattr__(self, name, matrix)

    @property
    def lever(self) -> float:
        """l, half of length plus width, [m]."""
        return 0.5 * (self.length + self.width)

    def twist(self, wheels: Array) -> Array:
        """(v_x, v_y, ψ̇) of the base for wheel speeds [rad/s]; the last axis is the wheels'."""
        twist: Array = wheels @ self.B.T
        return twist

    def speeds(self, twist: Array) -> Array:
        """Wheel speeds for a twist of the base, [rad/s]."""
        speeds: Array = twist @ self.A.T
        return speeds

    def torques(self, wrench: Array) -> Array:
        """Wheel torques that make a wrench (F_x, F_y, M_z) on the base, [N·m]."""
        torques: Array = wrench @ self.B
        return torques

    def wrench(self, torques: Array) -> Array:
        """Wrench on the base that wheel torques make, [N] and [N·m]."""
        wrench: Array = torques @ self.A
        return wrench


class Odometry:
    """The pose of a base by the counts of its wheels: twists of the Link Map along arcs.

    Only whole counts are seen. The rest of a count stays with the wheel, so the error never grows
    beyond one count of each wheel along the path.

    Args:
        link: the wheels.
        tick: angle of one count at the wheel, [rad]; 0 for an ideal encoder.
    """

    def __init__(self, link: LinkMap, tick: float = TICK) -> None:
        self.link, self.tick = link, tick
        self.pose = np.zeros(3)  #: x, y, ψ since the start, in the axes of the start, [m] and [rad]
        self._counted = np.zeros(4)

    def start(self, pose: Array, angles: Array) -> None:
        """Start at ``pose`` [m, rad] with the wheels at ``angles`` [rad]."""
        self.pose[:], self._counted = pose, quantised(angles, self.tick)

    def update(self, angles: Array) -> Array:
        """The pose after the wheels have turned to ``angles`` [rad]; the array is reused."""
        counted = quantised(angles, self.tick)
        moved = self.link.twist(counted - self._counted)
        self._counted = counted
        move_along_arc(self.pose, moved)
        return self.pose


def move_along_arc(pose: Array, moved: Array) -> None:
    """Move a pose (x, y, ψ) by a displacement in its own axes, as a constant twist, [m, rad]."""
    dx, dy, turn = moved.tolist()
    half = 0.5 * turn
    chord = math.sin(half) / half if abs(half) > 1e-9 else 1.0
    heading = pose[2] + half
    c, s = math.cos(heading) * chord, math.sin(heading) * chord
    pose[0] += c * dx - s * dy
    pose[1] += s * dx + c * dy
    pose[2] += turn


@dataclass
class MecanumWheels:
    """Torques and encoders of the wheels of a base."""

    # Assumed.
    torque_limit: float = parameter(2.0, "N·m", "largest torque of one wheel", 0.0, 100.0)
    tick: float = parameter(TICK, "rad", "encoder count at the wheel", 0.0, 0.1)
    odometry: bool = parameter(True, "-", "whether the base is known from its wheels alone")


class WheelFriction(JointPush):
    """Friction of four wheels as a force on the base's three joints, in every step of the world.

    Args:
        port: of the robot, whose first three joints are x, y and yaw.
        link: the wheels.
        friction: a model of four joints.

    Attributes:
        torque: at the wheels, at the last step, [N·m].
        speed: of the wheels, [rad/s].
        drive: torque of their motors, written by the plant, [N·m].
    """

    def __init__(self, port: Port, link: LinkMap, friction: Friction) -> None:
        if friction.joints != 4:
            has = f"friction {friction.name!r} is of {friction.joints} joints"
            raise BadValue(f"a base has 4 wheels, but {has}")
        self.now = np.zeros(port.nv)
        self.torque, self.speed, self.drive = np.zeros(4), np.zeros(4), np.zeros(4)
        self._port, self._link, self._friction = port, link, friction
        self._t = 0.0

    def at(self, t: float) -> None:
        """Write the friction's force at time ``t`` [s] into ``now``."""
        dt, self._t = t - self._t, t
        if dt <= 0.0:
            return
        turn = turned(-self._port.q[2])
        self.speed = self._link.speeds(turn @ self._port.v[:3])
        self.torque = self._friction.step(self.speed, dt, self.drive)
        self.now[:3] = turn.T @ self._link.wrench(-self.torque)


class MecanumPlant(SimulatedPlant):
    r"""A robot of the World on mecanum wheels; its first three joints are x, y and yaw of the base.

    The commanded force W on the base, in world axes like its slides, becomes wheel torques
    :math:`\tau = B^\top R^\top W`, which are limited and resisted by the friction of the wheels.
    The pose and speed of the base are known only from the counts of the wheels. Wheels do not slip.

    Args:
        wheels: limits and encoders; others not listed as for :class:`SimulatedPlant`.
        friction: of the four wheels; None for none.
        link: their geometry.

    Attributes:
        wheel_torque: commanded at the wheels, after the limit, [N·m].
        wheel_angle: true, since the start, [rad].
        filter: from the counts of the wheels to their speed.
        resistance: the friction, or None.
    """

    def __init__(
        self,
        world: World,
        name: str,
        wheels: MecanumWheels | None = None,
        friction: Friction | None = None,
        link: LinkMap | None = None,
        imperfections: Imperfections | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(world, name, imperfections, rng)
        kinds = self._model.jnt_type[:3].tolist()
        if kinds != [int(mujoco.mjtJoint.mjJNT_SLIDE)] * 2 + [int(mujoco.mjtJoint.mjJNT_HINGE)]:
            robot = world.placed[name].robot.name
            raise BadValue(f"a mecanum plant needs base joints x, y and yaw; {robot} has none")
        self.wheels, self.link = wheels or MecanumWheels(), link or LinkMap()
        self.wheel_torque, self.wheel_angle = np.zeros(4), np.zeros(4)
        self.odometry = Odometry(self.link, self.wheels.tick)
        self.odometry.start(self.port.q[:3], self.wheel_angle)
        self.resistance = WheelFriction(self.port, self.link, friction) if friction else None
        if self.resistance is not None:
            world.push(name, self.resistance)
        # 20 Hz, ζ = 1: assumed, sources/youbot §2.9.
        self.filter = StateVariableFilter()
        self._speed = np.zeros(4)
        self._base = self.port.q[:3].copy()
        self._seen_ns = world.now_ns

    def read(self, now_ns: int) -> Sample:
        """The latest sample, with the base as its wheels measure it."""
        sample = super().read(now_ns)
        if self.world.now_ns != self._seen_ns:
            self._roll((self.world.now_ns - self._seen_ns) * 1e-9)
            self._seen_ns = self.world.now_ns
        if self.wheels.odometry:
            sample.q[:3] = self.odometry.pose
            sample.v[:3] = turned(self.odometry.pose[2]) @ self.link.twist(self._speed)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Take joint torques; those of the base go through the wheels."""
        super().write(command, now_ns)
        heading = self.odometry.pose[2] if self.wheels.odometry else self.port.q[2]
        torques = self.link.torques(turned(-heading) @ self.port.torque[:3])
        limit = self.wheels.torque_limit
        self.wheel_torque = np.clip(torques, -limit, limit)
        self.port.torque[:3] = turned(self.port.q[2]) @ self.link.wrench(self.wheel_torque)
        if self.resistance is not None:
            self.resistance.drive[:] = self.wheel_torque

    def _roll(self, dt: float) -> None:
        """Turn the wheels with the base, and update the odometry and the filter."""
        moved = self.port.q[:3] - self._base
        self._base[:] = self.port.q[:3]
        self.wheel_angle += self.link.speeds(along_chord(moved, self._base[2]))
        self.odometry.tick = self.wheels.tick
        self.odometry.update(self.wheel_angle)
        self._speed = self.filter.step(quantised(self.wheel_angle, self.wheels.tick), dt)


def turned(angle: float) -> Array:
    """Rotation of a planar vector (x, y, ψ) by an angle about z [rad], 3 × 3."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def along_chord(moved: Array, heading: float) -> Array:
    """Displacement (x, y, ψ) in world axes as one in base axes, for a constant twist."""
    half = 0.5 * moved[2]
    own: Array = turned(half - heading) @ moved
    chord = math.sin(half) / half if abs(half) > 1e-9 else 1.0
    own[:2] /= chord
    return own
