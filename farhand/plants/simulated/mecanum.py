"""Mecanum plant: a simulated arm on a base whose three joints stand for four wheels with friction and encoders."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.errors import BadValue
from farhand.friction import Friction
from farhand.friction.velocity import StateVariableFilter, quantised
from farhand.parameters import parameter
from farhand.plants.plant import Command, Sample
from farhand.plants.simulated.link_map import TICK, LinkMap, Odometry
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.world.joints import JointPush
from farhand.world.world import Port, World

Array = np.ndarray


@dataclass
class MecanumWheels:
    """What the wheels of a base give and tell."""

    # assumed
    torque_limit: float = parameter(2.0, "N·m", "largest torque of one wheel", 0.0, 100.0)
    tick: float = parameter(TICK, "rad", "encoder count at the wheel", 0.0, 0.1)
    odometry: bool = parameter(True, "-", "whether the base is known from its wheels alone")


class WheelFriction(JointPush):
    """Friction of four wheels as a force on the base's three joints, evaluated in every step of the world.

    Args:
        port: of the robot, whose first three joints are x, y and yaw.
        link: the wheels.
        friction: a model of four joints.

    Attributes:
        torque: at the wheels, at the last step, [N·m].
        speed: of the wheels, [rad/s].
        drive: what their motors push with, [N·m]; the plant writes it.
    """

    def __init__(self, port: Port, link: LinkMap, friction: Friction) -> None:
        if friction.joints != 4:
            raise BadValue(
                f"a base has 4 wheels, but friction {friction.name!r} is of {friction.joints} joints"
            )
        self.now, self.torque, self.speed, self.drive = (
            np.zeros(port.nv),
            np.zeros(4),
            np.zeros(4),
            np.zeros(4),
        )
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
    r"""A robot of the World whose first three joints are the x, y and yaw of a base on mecanum wheels.

    The base's commanded force W, in world axes like its slides, becomes wheel torques :math:`\tau =
    B^\top R^\top W`, which are cut at their limit and resisted by the wheels' friction. Its place
    and speed are known only from the wheels' counts. Wheels do not slip.

    Args:
        world: the world the robot stands in.
        name: the robot's name there.
        wheels: limits and encoders.
        friction: of the four wheels; None for none.
        link: their geometry.
        imperfections: what is wrong with the rest.
        rng: source of the sensor noise.

    Attributes:
        wheel_torque: commanded at the wheels, after the limit, [N·m].
        wheel_angle: true, since the start, [rad].
        filter: makes the wheels' speed from their counts.
        resistance: the friction at work, or None.
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
            raise BadValue(
                f"a mecanum plant needs base joints x, y and yaw; {world.placed[name].robot.name} has none"
            )
        self.wheels, self.link = wheels or MecanumWheels(), link or LinkMap()
        self.wheel_torque, self.wheel_angle = np.zeros(4), np.zeros(4)
        self.odometry = Odometry(self.link, self.wheels.tick)
        self.odometry.start(self.port.q[:3], self.wheel_angle)
        self.resistance = WheelFriction(self.port, self.link, friction) if friction else None
        if self.resistance is not None:
            world.push(name, self.resistance)
        self.filter = StateVariableFilter()  # 20 Hz, ζ = 1: assumed, sources/youbot §2.9
        self._speed = np.zeros(4)
        self._base = self.port.q[:3].copy()
        self._seen_ns = world.now_ns

    def read(self, now_ns: int) -> Sample:
        """The latest sample, with the base as its wheels know it."""
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
        wanted, limit = (
            self.link.torques(turned(-heading) @ self.port.torque[:3]),
            self.wheels.torque_limit,
        )
        self.wheel_torque = np.clip(wanted, -limit, limit)
        self.port.torque[:3] = turned(self.port.q[2]) @ self.link.wrench(self.wheel_torque)
        if self.resistance is not None:
            self.resistance.drive[:] = self.wheel_torque

    def _roll(self, dt: float) -> None:
        """Turn the wheels by what the base has moved, and let the odometry and its filter see their counts."""
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
    """Displacement (x, y, ψ) in world axes as one in the base's own, for a constant twist that ends at ``heading``."""
    half = 0.5 * moved[2]
    own = turned(half - heading) @ moved
    chord = math.sin(half) / half if abs(half) > 1e-9 else 1.0
    own[:2] /= chord
    return own
